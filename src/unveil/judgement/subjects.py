"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.describes.clusters import examine_clusters
from unveil.judgement.describes.grammar import examine_grammar
from unveil.judgement.describes.mixtures import examine_mixture
from unveil.judgement.describes.projections import examine_projection
from unveil.judgement.examine import Examiners
from unveil.judgement.real.clusterings import examine_partition
from unveil.judgement.real.mixtures import examine_groups

SUBJECTS: dict[str, Examiners] = {
    "mixtures.": Examiners(describes=examine_mixture, real=examine_groups),
    "chains.": Examiners(),
    "clusters.": Examiners(describes=examine_clusters, real=examine_partition),
    "projections.": Examiners(describes=examine_projection),
    "grammar.": Examiners(describes=examine_grammar),
}
