"""The models as the command line knows them: their words, and which parameter each option sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, NamedTuple

from unveil.estimation.registry import EXPECTATIONS, FAMILIES, SCHEDULES, STRUCTURES


class Kind(NamedTuple):
    """A model: its class, what it is for, which of its parameters each option sets, and what it takes."""

    estimator: str
    options: Mapping[str, str]
    group: str  # one of `GROUPS`
    line: str  # what it is for
    holes: bool = False  # missing cells
    takes: str = "number"  # what columns must be: number, count, yes/no, category, or any of them
    labelled: bool = False  # a column that says which class a row belongs to
    chained: bool = False  # rows are steps, and a column may say of which sequence
    text: bool = False  # sentences, one a line, in place of a table

    @property
    def words(self) -> bool:
        """Does it take columns of words?"""
        return self.takes in ("category", "any")


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

    GAUSSIAN_MIXTURE = (
        "gaussian-mixture",
        Kind("GaussianMixture", SHAPED, "mixtures", "groups of numbers, of any spread and slant", holes=True),
    )
    STUDENT_MIXTURE = (
        "student-mixture",
        Kind("StudentMixture", SHAPED, "mixtures", "the same with heavier tails, for rows that lie far out"),
    )
    MIXED_MIXTURE = (
        "mixed-mixture",
        Kind(
            "MixedMixture",
            SHAPED | {"kinds": "families"},
            "mixtures",
            "numbers, counts, yes/no and words in one table",
            holes=True,
            takes="any",
        ),
    )
    CATEGORICAL_MIXTURE = (
        "categorical-mixture",
        Kind(
            "CategoricalMixture", MIXES, "mixtures", "columns of words (latent classes)", holes=True, takes="category"
        ),
    )
    BERNOULLI_MIXTURE = (
        "bernoulli-mixture",
        Kind("BernoulliMixture", MIXES, "mixtures", "columns of yes/no", holes=True, takes="yes/no"),
    )
    POISSON_MIXTURE = (
        "poisson-mixture",
        Kind("PoissonMixture", MIXES, "mixtures", "columns of counts", holes=True, takes="count"),
    )
    K_MEANS = (
        "kmeans",
        Kind("KMeans", ITERATES | {"components": "n_clusters"}, "clusters", "round groups about their means"),
    )
    KERNEL_K_MEANS = (
        "kernel-kmeans",
        Kind("KernelKMeans", ITERATES | {"components": "n_clusters"}, "clusters", "groups of any shape, such as rings"),
    )
    K_MEDOIDS = (
        "kmedoids",
        Kind("KMedoids", RESTARTS | {"components": "n_clusters"}, "clusters", "groups about rows that stand for them"),
    )
    PCA = "pca", Kind("PCA", {"components": "n_components"}, "projections", "directions in which rows differ most")
    PROBABILISTIC_PCA = (
        "probabilistic-pca",
        Kind("ProbabilisticPCA", CLIMBS, "projections", "the same as a density, with noise", holes=True),
    )
    FACTOR_ANALYSIS = (
        "factor-analysis",
        Kind("FactorAnalysis", CLIMBS, "projections", "factors behind columns, with noise of their own", holes=True),
    )
    ICA = (
        "ica",
        Kind("ICA", SEEKS | {"components": "n_components"}, "projections", "sources that were mixed, pulled apart"),
    )
    DISCRIMINANT = (
        "discriminant",
        Kind(
            "LinearDiscriminantAnalysis",
            {"components": "n_components"},
            "projections",
            "directions that tell classes apart (--label)",
            labelled=True,
        ),
    )
    PRINCIPAL_CURVE = (
        "principal-curve",
        Kind(
            "PrincipalCurve",
            {"max_iter": "max_iter", "tol": "tol"},
            "projections",
            "a curve through the middle of rows",
        ),
    )
    TOPOGRAPHIC_MAP = (
        "topographic-map",
        Kind(
            "GenerativeTopographicMap",
            ITERATES | {"components": "n_components", "schedule": "schedule", "expectation": "expectation"},
            "projections",
            "a curve or sheet that bends with the rows",
            holes=True,
        ),
    )
    GAUSSIAN_HMM = (
        "gaussian-hmm",
        Kind("GaussianHMM", SHAPED, "sequences", "states behind numbers over time", holes=True, chained=True),
    )
    POISSON_HMM = (
        "poisson-hmm",
        Kind(
            "PoissonHMM", MIXES, "sequences", "states behind counts over time", holes=True, takes="count", chained=True
        ),
    )
    CATEGORICAL_HMM = (
        "categorical-hmm",
        Kind(
            "CategoricalHMM",
            MIXES,
            "sequences",
            "states behind words over time",
            holes=True,
            takes="category",
            chained=True,
        ),
    )
    MIXED_HMM = (
        "mixed-hmm",
        Kind(
            "MixedHMM",
            SHAPED | {"kinds": "families"},
            "sequences",
            "states behind columns of several kinds",
            holes=True,
            takes="any",
            chained=True,
        ),
    )
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
            "grammar",
            "rules behind sentences, one a line",
            text=True,
        ),
    )


GROUPS: Mapping[str, str] = {
    "mixtures": "groups as a density: how likely each row is, and in which group",
    "clusters": "groups about a centre: each row in one of them",
    "projections": "few columns in place of many",
    "sequences": "rows in order: hidden Markov models",
    "grammar": "sentences",
}
"""What models are for, in the order in which they are listed."""


def listed() -> dict[str, list[ModelName]]:
    """The models by what they are for."""
    return {group: [model for model in ModelName if model.kind.group == group] for group in GROUPS}


def named(word: str) -> ModelName:
    """The model that a word chooses; an error that names the nearest for a word that chooses none."""
    from typer import BadParameter  # typer keeps the words of no other error

    given = word.value if isinstance(word, ModelName) else word
    words = {model.value: model for model in ModelName} | {model.kind.estimator.lower(): model for model in ModelName}
    found = words.get(given.lower().replace("_", "-"))
    if found is None:
        near = {name: model.value for name, model in words.items()}
        raise BadParameter(f"no model is called {given!r} (unveil models lists them){did_you_mean(given, near)}")
    return found


def model_of(estimator: Any) -> ModelName:
    """The model that an estimator is."""
    return {model.kind.estimator: model for model in ModelName}[type(estimator).__name__]


def named_so_far(incomplete: str) -> list[tuple[str, str]]:
    """Models whose words begin so, each with its line: what a shell completes to."""
    return [(model.value, model.kind.line) for model in ModelName if model.value.startswith(incomplete)]


def did_you_mean(given: str, words: Mapping[str, str]) -> str:
    """A question about the nearest of `words` (in small letters, to as they are written); nothing where none is near.

    >>> did_you_mean("kmens", {"kmeans": "kmeans", "pca": "pca"}), did_you_mean("zzz", {"pca": "pca"})
    ('; did you mean kmeans?', '')
    """
    close = get_close_matches(given.lower(), words, n=1)
    return f"; did you mean {words[close[0]]}?" if close else ""


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
    hint = did_you_mean(given, words)
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
