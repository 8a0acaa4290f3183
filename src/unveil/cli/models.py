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


RESTARTS = {"seed": "random_state", "max_iter": "max_iter", "n_init": "n_init"}
ITERATES = RESTARTS | {"tol": "tol"}
SEEKS = {"seed": "random_state", "max_iter": "max_iter", "tol": "tol"}
CLIMBS = SEEKS | {"components": "n_components", "schedule": "schedule"}
WAYS = {"start": "init_params", "schedule": "schedule", "expectation": "expectation"}
MIXES = ITERATES | WAYS | {"components": "n_components"}
SHAPED = MIXES | {"covariance": "covariance_type"}


class ModelName(Enum):
    """The models, by the words that choose them, and what each is."""

    kind: Kind

    def __new__(cls, word: str, kind: Kind) -> ModelName:
        """A word, with the model that it chooses."""
        member = object.__new__(cls)
        member._value_, member.kind = word, kind
        return member

    PCA = "pca", Kind("PCA", {"components": "n_components"})
    PROBABILISTIC_PCA = "probabilistic-pca", Kind("ProbabilisticPCA", CLIMBS)
    FACTOR_ANALYSIS = "factor-analysis", Kind("FactorAnalysis", CLIMBS)
    ICA = "ica", Kind("ICA", SEEKS | {"components": "n_components"})
    PRINCIPAL_CURVE = "principal-curve", Kind("PrincipalCurve", {"max_iter": "max_iter", "tol": "tol"})
    TOPOGRAPHIC_MAP = (
        "topographic-map",
        Kind(
            "GenerativeTopographicMap",
            ITERATES | {"components": "n_components", "schedule": "schedule", "expectation": "expectation"},
        ),
    )
    DISCRIMINANT = "discriminant", Kind("LinearDiscriminantAnalysis", {"components": "n_components"}, labelled=True)
    K_MEANS = "kmeans", Kind("KMeans", ITERATES | {"components": "n_clusters"})
    KERNEL_K_MEANS = "kernel-kmeans", Kind("KernelKMeans", ITERATES | {"components": "n_clusters"})
    K_MEDOIDS = "kmedoids", Kind("KMedoids", RESTARTS | {"components": "n_clusters"})
    GAUSSIAN_MIXTURE = "gaussian-mixture", Kind("GaussianMixture", SHAPED)
    STUDENT_MIXTURE = "student-mixture", Kind("StudentMixture", SHAPED)
    BERNOULLI_MIXTURE = "bernoulli-mixture", Kind("BernoulliMixture", MIXES)
    POISSON_MIXTURE = "poisson-mixture", Kind("PoissonMixture", MIXES)
    CATEGORICAL_MIXTURE = "categorical-mixture", Kind("CategoricalMixture", MIXES, words=True)
    MIXED_MIXTURE = "mixed-mixture", Kind("MixedMixture", SHAPED | {"kinds": "families"}, words=True)
    GAUSSIAN_HMM = "gaussian-hmm", Kind("GaussianHMM", SHAPED, chained=True)
    POISSON_HMM = "poisson-hmm", Kind("PoissonHMM", MIXES, chained=True)
    CATEGORICAL_HMM = "categorical-hmm", Kind("CategoricalHMM", MIXES, words=True, chained=True)
    MIXED_HMM = "mixed-hmm", Kind("MixedHMM", SHAPED | {"kinds": "families"}, words=True, chained=True)
    GRAMMAR = (
        "grammar",
        Kind(
            "PCFG",
            ITERATES
            | {
                "components": "n_nonterminals",
                "grammar": "grammar",
                "schedule": "schedule",
                "expectation": "expectation",
            },
            text=True,
        ),
    )


CHAIN_STARTS = ("mixture", "runs", "progress")  # of `unveil.chains.starts`, besides
# those of `unveil.mixtures.starts.starts`, which takes long to import
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
    takers = ", ".join(other.value for other in ModelName if other.kind.labelled)
    if model.kind.labelled and label is None:
        raise ValueError(f"{model.value} needs --label, the column that says which class a row belongs to")
    if not model.kind.labelled and label is not None:
        raise ValueError(f"--label is not an option of {model.value}; it is one of {takers}")


def check_sequence(model: ModelName, sequence: str | None) -> None:
    """A ValueError if a column of sequences is named for a model that has none."""
    if sequence is not None and not model.kind.chained:
        takers = ", ".join(other.value for other in ModelName if other.kind.chained)
        raise ValueError(f"--sequence is not an option of {model.value}; it is one of {takers}")


def parameters(model: ModelName, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters of the estimator, from the options that were given."""
    options = model.kind.options
    meant = {name: value for name, value in given.items() if value is not None}
    for name in meant:
        if name not in options:
            takers = ", ".join(other.value for other in ModelName if name in other.kind.options)
            raise ValueError(f"--{name.replace('_', '-')} is not an option of {model.value}; it is one of {takers}")
    meant |= {"seed": seed} if "seed" in options else {}
    return {options[name]: value for name, value in meant.items()}
