"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.describes.chains import examine_chain_description
from unveil.judgement.describes.clusters import examine_clusters
from unveil.judgement.describes.grammar import examine_grammar
from unveil.judgement.describes.mixtures import examine_mixture
from unveil.judgement.describes.projections import examine_projection
from unveil.judgement.examine import Examiners
from unveil.judgement.real.chains import examine_states
from unveil.judgement.real.clusterings import examine_partition
from unveil.judgement.real.mixtures import examine_groups
from unveil.judgement.sound import examine_soundness

SUBJECTS: dict[str, Examiners] = {
    "mixtures.": Examiners(examine_soundness, examine_mixture, examine_groups),
    "chains.": Examiners(examine_soundness, examine_chain_description, examine_states),
    "clusters.": Examiners(examine_soundness, examine_clusters, examine_partition),
    "projections.": Examiners(examine_soundness, examine_projection),
    "grammar.": Examiners(examine_soundness, examine_grammar),
}
