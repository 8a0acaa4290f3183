"""The models as the command line knows them: their words, and which parameter each option sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, NamedTuple

from unveil.estimation.registry import EXPECTATIONS, FAMILIES, SCHEDULES, STRUCTURES


class Kind(NamedTuple):
    """A model: its class, which of its parameters each option sets, and what columns it takes besides numbers."""

    estimator: str
    options: Mapping[str, str]
    words: bool = False  # columns of words
    labelled: bool = False  # a column that says which class a row belongs to
    chained: bool = False  # rows are steps, and a column may say of which sequence
    text: bool = False  # sentences, one a line, in place of a table


class ModelName(Enum):
    """The models, by the words that choose them."""

    PCA = "pca"
    PROBABILISTIC_PCA = "probabilistic-pca"
    FACTOR_ANALYSIS = "factor-analysis"
    ICA = "ica"
    PRINCIPAL_CURVE = "principal-curve"
    TOPOGRAPHIC_MAP = "topographic-map"
    DISCRIMINANT = "discriminant"
    K_MEANS = "kmeans"
    KERNEL_K_MEANS = "kernel-kmeans"
    K_MEDOIDS = "kmedoids"
    GAUSSIAN_MIXTURE = "gaussian-mixture"
    STUDENT_MIXTURE = "student-mixture"
    BERNOULLI_MIXTURE = "bernoulli-mixture"
    POISSON_MIXTURE = "poisson-mixture"
    CATEGORICAL_MIXTURE = "categorical-mixture"
    MIXED_MIXTURE = "mixed-mixture"
    GAUSSIAN_HMM = "gaussian-hmm"
    POISSON_HMM = "poisson-hmm"
    CATEGORICAL_HMM = "categorical-hmm"
    MIXED_HMM = "mixed-hmm"
    GRAMMAR = "grammar"


RESTARTS = {"seed": "random_state", "max_iter": "max_iter", "n_init": "n_init"}
ITERATES = RESTARTS | {"tol": "tol"}
SEEKS = {"seed": "random_state", "max_iter": "max_iter", "tol": "tol"}
CLIMBS = SEEKS | {"components": "n_components", "schedule": "schedule"}
WAYS = {"start": "init_params", "schedule": "schedule", "expectation": "expectation"}
MIXES = ITERATES | WAYS | {"components": "n_components"}
SHAPED = MIXES | {"covariance": "covariance_type"}
KINDS = {
    ModelName.PCA: Kind("PCA", {"components": "n_components"}),
    ModelName.PROBABILISTIC_PCA: Kind("ProbabilisticPCA", CLIMBS),
    ModelName.FACTOR_ANALYSIS: Kind("FactorAnalysis", CLIMBS),
    ModelName.ICA: Kind("ICA", SEEKS | {"components": "n_components"}),
    ModelName.PRINCIPAL_CURVE: Kind("PrincipalCurve", {"max_iter": "max_iter", "tol": "tol"}),
    ModelName.TOPOGRAPHIC_MAP: Kind(
        "GenerativeTopographicMap",
        ITERATES | {"components": "n_components", "schedule": "schedule", "expectation": "expectation"},
    ),
    ModelName.DISCRIMINANT: Kind("LinearDiscriminantAnalysis", {"components": "n_components"}, labelled=True),
    ModelName.K_MEANS: Kind("KMeans", ITERATES | {"components": "n_clusters"}),
    ModelName.KERNEL_K_MEANS: Kind("KernelKMeans", ITERATES | {"components": "n_clusters"}),
    ModelName.K_MEDOIDS: Kind("KMedoids", RESTARTS | {"components": "n_clusters"}),
    ModelName.GAUSSIAN_MIXTURE: Kind("GaussianMixture", SHAPED),
    ModelName.STUDENT_MIXTURE: Kind("StudentMixture", SHAPED),
    ModelName.BERNOULLI_MIXTURE: Kind("BernoulliMixture", MIXES),
    ModelName.POISSON_MIXTURE: Kind("PoissonMixture", MIXES),
    ModelName.CATEGORICAL_MIXTURE: Kind("CategoricalMixture", MIXES, words=True),
    ModelName.MIXED_MIXTURE: Kind("MixedMixture", SHAPED | {"kinds": "families"}, words=True),
    ModelName.GAUSSIAN_HMM: Kind("GaussianHMM", SHAPED, chained=True),
    ModelName.POISSON_HMM: Kind("PoissonHMM", MIXES, chained=True),
    ModelName.CATEGORICAL_HMM: Kind("CategoricalHMM", MIXES, words=True, chained=True),
    ModelName.MIXED_HMM: Kind("MixedHMM", SHAPED | {"kinds": "families"}, words=True, chained=True),
    ModelName.GRAMMAR: Kind(
        "PCFG",
        ITERATES
        | {"components": "n_nonterminals", "grammar": "grammar", "schedule": "schedule", "expectation": "expectation"},
        text=True,
    ),
}
# those of `unveil.mixtures.starts.starts`, which takes long to import
CHAIN_STARTS = ("mixture", "runs", "progress")  # of `unveil.chains.starts`, besides
STARTS = ("auto", "kmeans", "k-means++", "whitened", "hierarchical", "furthest", "random_from_data", "random")
CHOICES: Mapping[str, Iterable[str]] = {
    "covariance": STRUCTURES,
    "start": (*STARTS, *CHAIN_STARTS),
    "schedule": SCHEDULES,
    "expectation": EXPECTATIONS,
    "kinds": FAMILIES,
}
"""Options that take a word, and their words."""


def chosen(option: str, given: str | None) -> str | None:
    """The word of `option` that was meant, in whatever case it was written.

    >>> chosen("covariance", "vev"), chosen("schedule", None)
    ('VEV', None)
    """
    if given is None:
        return None
    words = {word.lower(): word for word in CHOICES[option]}
    if given.lower() in words:
        return words[given.lower()]
    close = get_close_matches(given.lower(), words, n=1)
    hint = f"; did you mean {words[close[0]]}?" if close else ""
    raise ValueError(f"--{option} must be one of {', '.join(words.values())}, got {given!r}{hint}")


def check_label(model: ModelName, label: str | None) -> None:
    """A ValueError if the model needs a column of labels and has none, or the other way round."""
    takers = ", ".join(other.value for other, kind in KINDS.items() if kind.labelled)
    if KINDS[model].labelled and label is None:
        raise ValueError(f"{model.value} needs --label, the column that says which class a row belongs to")
    if not KINDS[model].labelled and label is not None:
        raise ValueError(f"--label is not an option of {model.value}; it is one of {takers}")


def check_sequence(model: ModelName, sequence: str | None) -> None:
    """A ValueError if a column of sequences is named for a model that has none."""
    if sequence is not None and not KINDS[model].chained:
        takers = ", ".join(other.value for other, kind in KINDS.items() if kind.chained)
        raise ValueError(f"--sequence is not an option of {model.value}; it is one of {takers}")


def parameters(model: ModelName, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters of the estimator, from the options that were given."""
    options = KINDS[model].options
    meant = {name: value for name, value in given.items() if value is not None}
    for name in meant:
        if name not in options:
            takers = ", ".join(other.value for other, kind in KINDS.items() if name in kind.options)
            raise ValueError(f"--{name.replace('_', '-')} is not an option of {model.value}; it is one of {takers}")
    meant |= {"seed": seed} if "seed" in options else {}
    return {options[name]: value for name, value in meant.items()}
