"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.describes.chains import examine_chain_description
from unveil.judgement.examine import Subject
from unveil.judgement.real.chains import examine_states

SUBJECTS: dict[str, Subject] = {
    "mixtures.": Subject(),
    "chains.": Subject(describes=examine_chain_description, real=examine_states),
    "clusters.": Subject(),
    "projections.": Subject(),
    "grammar.": Subject(),
}
