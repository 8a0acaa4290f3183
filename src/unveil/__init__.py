"""unveil finds the hidden structure in data: directions, groups, mixtures, sequences, grammars.

Public names load on first use, so that ``import unveil`` is instant.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "PCA": "unveil.projections.pca.pca",
    "ProbabilisticPCA": "unveil.projections.factors.probabilistic_pca",
    "FactorAnalysis": "unveil.projections.factors.factor_analysis",
    "LinearDiscriminantAnalysis": "unveil.projections.discriminant.discriminant",
    "ICA": "unveil.projections.ica.ica",
    "PrincipalCurve": "unveil.projections.curves.principal_curve",
    "GenerativeTopographicMap": "unveil.projections.topographic.topographic_map",
    "KMeans": "unveil.clusters.kmeans.kmeans",
    "KernelKMeans": "unveil.clusters.kernel_kmeans.kernel_kmeans",
    "KMedoids": "unveil.clusters.medoids.kmedoids",
    "GaussianMixture": "unveil.mixtures.gaussian",
    "BernoulliMixture": "unveil.mixtures.bernoulli",
    "CategoricalMixture": "unveil.mixtures.categorical",
    "PoissonMixture": "unveil.mixtures.poisson",
    "StudentMixture": "unveil.mixtures.student",
    "MixedMixture": "unveil.mixtures.mixed",
    "GaussianHMM": "unveil.chains.gaussian",
    "CategoricalHMM": "unveil.chains.categorical",
    "PoissonHMM": "unveil.chains.poisson",
    "MixedHMM": "unveil.chains.mixed",
    "PCFG": "unveil.grammar.pcfg.pcfg",
    "merge": "unveil.mixtures.merging",
    "scan": "unveil.sources.files.scan",
    "load": "unveil.estimation.persistence",
    "select": "unveil.selection",
}
_MODULES = ("engines", "expectations", "families", "grammar", "information", "plot", "schedules", "selection")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"unveil.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unveil' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
