"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.describes.mixtures import examine_mixture
from unveil.judgement.examine import Subject

SUBJECTS: dict[str, Subject] = {
    "mixtures.": Subject(describes=examine_mixture),
    "chains.": Subject(),
    "clusters.": Subject(),
    "projections.": Subject(),
    "grammar.": Subject(),
}
