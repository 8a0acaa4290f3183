"""Estimators, their peers, data and judges: declarations only.

Everything is left at its default on both sides. Where the defaults mean different models, the peer is told the one of
unveil: hmmlearn's Gaussian chains get full covariances, kmedoids Euclidean distances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.cases import OURS, Entry
from benchmarks.contenders.defaults import Recipe
from benchmarks.ordinary import judges
from benchmarks.ordinary.grid import Cell, Limits
from benchmarks.ordinary.judges import Judge
from benchmarks.ordinary.kinds import DISCRETE, HELD_OUT, HELD_OUT_VOICES, KINDS, VOICES
from benchmarks.ordinary.reference import LEARNT
from benchmarks.ordinary.tables import count_chains, mixed_voices, numbers, symbol_chains
from benchmarks.tasks.base import Arrays

CLOUDS = Limits(KINDS, HELD_OUT)
CHAINS = Limits(KINDS, HELD_OUT, most_rows=100_000, sequences=(1, 10))
CODED_CHAINS = Limits(DISCRETE, (), most_rows=100_000, sequences=(1, 10))
FEW_ROWS = Limits(KINDS, HELD_OUT, most_rows=4_000)
MOVES = {"start": "startprob_", "transition": "transmat_"}


@dataclass(frozen=True)
class Peer:
    """Another library, and how many rows it is given at most."""

    label: str
    path: str  # "module:Class", or a file of `contenders/` that can do it
    fixed: Mapping[str, Any] = field(default_factory=dict)  # arguments without which it would be another model
    most_rows: int = 1_000_000
    answers: bool = True  # whether its methods are timed


@dataclass(frozen=True)
class Subject:
    """An estimator among its peers."""

    name: str  # of unveil's class
    data: Callable[[Cell], Arrays]
    peers: tuple[Peer, ...]
    limits: Limits
    judge: Judge
    learnt: Mapping[str, str]  # names that the judge knows to attributes
    size: str | None = "k"  # the array that is the first argument: groups, or dimensions of a plane
    given: Mapping[str, str] = field(default_factory=dict)  # further arguments of `fit`, to arrays
    seeded: bool = True  # takes random_state
    verbs: tuple[str, ...] = ()  # methods that are timed, on all rows and on one
    marked: bool = False  # judged by the best sound of ten fits, too

    def everybody(self) -> tuple[Peer, ...]:
        """unveil first."""
        return (Peer(OURS.label, f"unveil:{self.name}"), *self.peers)

    def entry(self, peer: Peer) -> Entry:
        """A peer as a process is told of it."""
        if ":" not in peer.path:
            return Entry(peer.label, peer.path)
        recipe = Recipe(peer.path, self.learnt, peer.fixed, self.size, self.given, self.seeded)
        return Entry(peer.label, "defaults", recipe._asdict())


def _sklearn(path: str) -> tuple[Peer, ...]:
    return (Peer("scikit-learn", f"sklearn.{path}"),)


def _hmmlearn(name: str, **fixed: Any) -> tuple[Peer, ...]:
    return (Peer("hmmlearn", f"hmmlearn.hmm:{name}", fixed),)


def _chain(name: str, data: Any, limits: Limits, judge: Judge, learnt: Mapping[str, str], **fixed: Any) -> Subject:
    given, verbs = {"lengths": "lengths"}, ("predict",)
    return Subject(name, data, _hmmlearn(name, **fixed), limits, judge, {**MOVES, **learnt}, given=given, verbs=verbs)


SUBJECTS = (
    Subject(
        "GaussianMixture",
        numbers,
        (*_sklearn("mixture:GaussianMixture"), Peer("mclust (R)", "mclust", most_rows=10_000, answers=False)),
        CLOUDS,
        judges.MIXTURE,
        LEARNT,
        verbs=("predict", "score_samples"),
        marked=True,
    ),
    Subject(
        "KMeans",
        numbers,
        _sklearn("cluster:KMeans"),
        CLOUDS,
        judges.CENTRES,
        {"centres": "cluster_centers_"},
        verbs=("predict",),
    ),
    Subject(
        "KMedoids",
        numbers,
        (Peer("kmedoids (Rust)", "kmedoids:KMedoids", {"metric": "euclidean"}),),
        FEW_ROWS,
        judges.MEDOIDS,
        {"medoids": "medoid_indices_"},
    ),
    Subject(
        "PCA",
        numbers,
        _sklearn("decomposition:PCA"),
        CLOUDS,
        judges.PLANE,
        {"components": "components_"},
        size="plane",
        verbs=("transform",),
    ),
    Subject(
        "FactorAnalysis",
        numbers,
        _sklearn("decomposition:FactorAnalysis"),
        CLOUDS,
        judges.FACTORS,
        {"components": "components_", "mean": "mean_", "noise": "noise_variance_"},
        size="plane",
    ),
    Subject(
        "LinearDiscriminantAnalysis",
        numbers,
        _sklearn("discriminant_analysis:LinearDiscriminantAnalysis"),
        CLOUDS,
        judges.CLASSES,
        {"coefficients": "coef_", "intercepts": "intercept_"},
        size=None,
        given={"y": "labels"},
        seeded=False,
    ),
    Subject(
        "ICA",
        mixed_voices,
        _sklearn("decomposition:FastICA"),
        Limits(VOICES, HELD_OUT_VOICES),
        judges.UNMIXING,
        {"unmixing": "components_"},
        size=None,
        verbs=("transform",),
    ),
    _chain(
        "GaussianHMM",
        numbers,
        CHAINS,
        judges.GAUSSIAN_CHAIN,
        {"means": "means_", "covariances": "covars_"},
        covariance_type="full",
    ),
    _chain("CategoricalHMM", symbol_chains, CODED_CHAINS, judges.CATEGORICAL_CHAIN, {"emissions": "emissionprob_"}),
    _chain("PoissonHMM", count_chains, CODED_CHAINS, judges.POISSON_CHAIN, {"rates": "lambdas_"}),
)
