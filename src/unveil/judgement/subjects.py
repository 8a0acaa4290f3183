"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.examine import Subject
from unveil.judgement.real.clusterings import examine_clusters
from unveil.judgement.real.mixtures import examine_groups

SUBJECTS: dict[str, Subject] = {
    "mixtures.": Subject(real=examine_groups),
    "chains.": Subject(),
    "clusters.": Subject(real=examine_clusters),
    "projections.": Subject(),
    "grammar.": Subject(),
}
