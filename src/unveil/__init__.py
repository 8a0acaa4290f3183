"""unveil finds the hidden structure in data: directions, groups, mixtures, sequences, grammars.

Public names load on first use, so that ``import unveil`` is instant.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "PCA": "unveil.estimators.pca",
    "ProbabilisticPCA": "unveil.estimators.probabilistic_pca",
    "FactorAnalysis": "unveil.estimators.factor_analysis",
    "LinearDiscriminantAnalysis": "unveil.estimators.discriminant",
    "ICA": "unveil.estimators.ica",
    "PrincipalCurve": "unveil.estimators.principal_curve",
    "GenerativeTopographicMap": "unveil.estimators.topographic_map",
    "KMeans": "unveil.estimators.kmeans",
    "KernelKMeans": "unveil.estimators.kernel_kmeans",
    "KMedoids": "unveil.estimators.kmedoids",
    "GaussianMixture": "unveil.estimators.gaussian_mixture",
    "BernoulliMixture": "unveil.estimators.bernoulli_mixture",
    "CategoricalMixture": "unveil.estimators.categorical_mixture",
    "PoissonMixture": "unveil.estimators.poisson_mixture",
    "StudentMixture": "unveil.estimators.student_mixture",
    "MixedMixture": "unveil.estimators.mixed_mixture",
    "GaussianHMM": "unveil.estimators.gaussian_hmm",
    "CategoricalHMM": "unveil.estimators.categorical_hmm",
    "PoissonHMM": "unveil.estimators.poisson_hmm",
    "MixedHMM": "unveil.estimators.mixed_hmm",
    "PCFG": "unveil.estimators.pcfg",
    "merge": "unveil.estimators.merging",
    "scan": "unveil.sources.scan",
    "load": "unveil.estimators.persistence",
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
