"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.describes.clusters import examine_clusters
from unveil.judgement.describes.grammar import examine_grammar
from unveil.judgement.describes.mixtures import examine_mixture
from unveil.judgement.describes.projections import examine_projection
from unveil.judgement.examine import Subject

SUBJECTS: dict[str, Subject] = {
    "mixtures.": Subject(describes=examine_mixture),
    "chains.": Subject(),
    "clusters.": Subject(describes=examine_clusters),
    "projections.": Subject(describes=examine_projection),
    "grammar.": Subject(describes=examine_grammar),
}
