"""Words into objects: the one place where a string names a part.

Inside there are objects only. Each table maps a word to "module:Class", imported when it is asked for, so that a fit
on threads never loads Dask.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

ESTIMATORS = {
    "PCA": "unveil.estimators.pca:PCA",
    "ProbabilisticPCA": "unveil.estimators.probabilistic_pca:ProbabilisticPCA",
    "FactorAnalysis": "unveil.estimators.factor_analysis:FactorAnalysis",
    "LinearDiscriminantAnalysis": "unveil.estimators.discriminant:LinearDiscriminantAnalysis",
    "ICA": "unveil.estimators.ica:ICA",
    "PrincipalCurve": "unveil.estimators.principal_curve:PrincipalCurve",
    "GenerativeTopographicMap": "unveil.estimators.topographic_map:GenerativeTopographicMap",
    "KMeans": "unveil.estimators.kmeans:KMeans",
    "KernelKMeans": "unveil.estimators.kernel_kmeans:KernelKMeans",
    "KMedoids": "unveil.estimators.kmedoids:KMedoids",
    "GaussianMixture": "unveil.estimators.gaussian_mixture:GaussianMixture",
    "BernoulliMixture": "unveil.estimators.bernoulli_mixture:BernoulliMixture",
    "CategoricalMixture": "unveil.estimators.categorical_mixture:CategoricalMixture",
    "PoissonMixture": "unveil.estimators.poisson_mixture:PoissonMixture",
    "StudentMixture": "unveil.estimators.student_mixture:StudentMixture",
    "MixedMixture": "unveil.estimators.mixed_mixture:MixedMixture",
    "GaussianHMM": "unveil.estimators.gaussian_hmm:GaussianHMM",
    "CategoricalHMM": "unveil.estimators.categorical_hmm:CategoricalHMM",
    "PoissonHMM": "unveil.estimators.poisson_hmm:PoissonHMM",
    "MixedHMM": "unveil.estimators.mixed_hmm:MixedHMM",
    "PCFG": "unveil.estimators.pcfg:PCFG",
}
ENGINES = {"threads": "unveil.engines.threads:Threads", "dask": "unveil.engines.dask:Dask"}
SCHEDULES = {
    "batch": "unveil.schedules.batch:Batch",
    "incremental": "unveil.schedules.incremental:Incremental",
    "stepwise": "unveil.schedules.stepwise:Stepwise",
    "gradient": "unveil.schedules.gradient:Gradient",
    "ascent": "unveil.schedules.ascent:Ascent",
    "lbfgs": "unveil.schedules.ascent:LBFGS",
    "squarem": "unveil.schedules.squarem:Squarem",
}
EXPECTATIONS = {
    "exact": "unveil.expectations.exact:Exact",
    "hard": "unveil.expectations.hard:Hard",
    "sampled": "unveil.expectations.sampled:Sampled",
    "sparse": "unveil.expectations.sparse:Sparse",
    "annealed": "unveil.expectations.annealed:Annealed",
}
STRUCTURES = {  # scikit-learn's words, then mclust's: volume, shape and orientation equal, varying or identity
    "full": "unveil.families.covariance:Full",
    "tied": "unveil.families.covariance:Tied",
    "diag": "unveil.families.covariance:Diagonal",
    "spherical": "unveil.families.covariance:Spherical",
    "EII": "unveil.families.diagonals:EII",
    "VII": "unveil.families.covariance:Spherical",
    "EEI": "unveil.families.diagonals:EEI",
    "VEI": "unveil.families.diagonals:VEI",
    "EVI": "unveil.families.diagonals:EVI",
    "VVI": "unveil.families.covariance:Diagonal",
    "EEE": "unveil.families.covariance:Tied",
    "VEE": "unveil.families.ellipsoids:VEE",
    "EVE": "unveil.families.ellipsoids:EVE",
    "VVE": "unveil.families.ellipsoids:VVE",
    "EEV": "unveil.families.ellipsoids:EEV",
    "VEV": "unveil.families.ellipsoids:VEV",
    "EVV": "unveil.families.ellipsoids:EVV",
    "VVV": "unveil.families.covariance:Full",
}
FAMILIES = {
    "number": "unveil.families.gaussian:Gaussian",
    "count": "unveil.families.poisson:Poisson",
    "yes/no": "unveil.families.bernoulli:Bernoulli",
    "category": "unveil.families.categorical:Categorical",
    "waiting time": "unveil.families.exponential:Exponential",
}
"""What a column may be taken for."""
SEEDINGS = {
    "random": "unveil.seeding.random:RandomRows",
    "k-means++": "unveil.seeding.plusplus:PlusPlus",
    "plain-k-means++": "unveil.estimators.kmeans_starts:plain_plus_plus",
    "furthest-first": "unveil.seeding.furthest:Furthest",
    "k-means||": "unveil.seeding.scalable:Scalable",
}
GRAMMAR = {name: f"unveil.grammar.rules:{name}" for name in ("Grammar", "Nonterminal", "Rule")}
PARTS = {path.split(":")[1]: path for table in (ENGINES, SCHEDULES, EXPECTATIONS, GRAMMAR) for path in table.values()}
"""Parts that may stand in a parameter of an estimator, by class name: what a model file may mention."""


def lookup(path: str) -> Any:
    """The object at "module:name"."""
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


def resolve(argument: str, value: Any, table: Mapping[str, str], method: str) -> Any:
    """`value` itself if it is an object with `method`, or a new object of the class that the word names."""
    if isinstance(value, str):
        if value not in table:
            raise ValueError(f"{argument} must be one of {', '.join(map(repr, table))} or an object, got {value!r}")
        return lookup(table[value])()
    if not callable(getattr(value, method, None)):
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, table))} or an object, got {value!r}")
    return value
