"""What is measured, against whom, and what was asked: declarations only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.tasks.base import Task
from benchmarks.tasks.bernoulli import Bernoulli
from benchmarks.tasks.diagonal import Diagonal
from benchmarks.tasks.kmeans import KMeans, overlapping_blobs, uniform_noise
from benchmarks.tasks.missing import Missing
from benchmarks.tasks.mixture import Mixture
from benchmarks.tasks.pca import Pca

FASTEST = "the fastest peer"


@dataclass(frozen=True)
class Entry:
    """A library in a race: its file in `contenders/`, and the options of its function there."""

    label: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    agrees: float = 1e-9  # relative difference up to which two results count as the same
    follows: bool = False  # has no stopping rule, so it gets the number of iterations that unveil took


@dataclass(frozen=True)
class Case:
    """A task, who takes part, and how much faster than whom unveil is asked to be."""

    name: str
    task: Task
    peers: tuple[Entry, ...]
    asked: Mapping[str, float]
    rounds: int = 3
    warm_up: int = 3  # iterations of the fit that is not timed


OURS = Entry("unveil", "unveil")
SKLEARN = "scikit-learn"
EIGEN = "scikit-learn, covariance_eigh"

MIXTURES = (
    Entry(SKLEARN, "scikit_learn"),
    Entry("pomegranate", "pomegranate", {"precision": "float64"}),
    Entry("pomegranate (float32)", "pomegranate", {"precision": "float32"}, agrees=1e-4),
)
MCLUST = Entry("mclust (R)", "mclust")
WITH_MCLUST = (*MIXTURES, MCLUST)
CLASSES = (*MIXTURES[1:], Entry("StepMix", "stepmix"))
COMPLETE = Entry("unveil, complete rows", "unveil", {"rows": "rows"}, agrees=2e-2)
CLUSTERERS = (
    Entry("scikit-learn, lloyd", "scikit_learn", {"algorithm": "lloyd"}),
    Entry("scikit-learn, elkan", "scikit_learn", {"algorithm": "elkan"}),
    Entry("scikit-learn-intelex", "intelex"),
    Entry("faiss (float32)", "faiss", agrees=1e-3, follows=True),
)
DECOMPOSERS = (
    Entry(EIGEN, "scikit_learn", {"svd_solver": "covariance_eigh"}),
    Entry("scikit-learn, full", "scikit_learn", {"svd_solver": "full"}),
    Entry("scikit-learn-intelex", "intelex"),
)

CASES: Mapping[str, tuple[Case, ...]] = {
    "mixture": (
        Case("mixture, 200,000 x 16, 16 components", Mixture(200_000, 16, 16), MIXTURES, {SKLEARN: 20, FASTEST: 8}),
        Case(
            "mixture, 200,000 x 2, 8 components",
            Mixture(200_000, 2, 8, long=12),
            MIXTURES,
            {SKLEARN: 20, FASTEST: 6},
            5,
        ),
        Case("mixture, 50,000 x 64, 32 components", Mixture(50_000, 64, 32), MIXTURES, {SKLEARN: 5, FASTEST: 3}),
        Case("mixture, 50,000 x 8, 8 components", Mixture(50_000, 8, 8, long=12), WITH_MCLUST, {}),
    ),
    "diagonal": (
        Case("diagonal mixture, 200,000 x 16, 16 components", Diagonal(200_000, 16, 16), WITH_MCLUST, {SKLEARN: 10}),
    ),
    "bernoulli": (
        Case(
            "Bernoulli mixture, 100,000 x 64, 10 components",
            Bernoulli(100_000, 64, 10, long=12),
            CLASSES,
            {FASTEST: 10},
            5,
        ),
    ),
    "missing": (
        Case(
            "mixture, 50,000 x 8, 8 components, 10% of the cells missing",
            Missing(50_000, 8, 8, long=12),
            (COMPLETE,),
            {COMPLETE.label: 1 / 6},
            5,
        ),
    ),
    "kmeans": (
        Case(
            "K-means, blobs, 200,000 x 32, K=100", KMeans(overlapping_blobs, 200_000, 32, 100), CLUSTERERS, {FASTEST: 2}
        ),
        Case("K-means, noise, 200,000 x 32, K=100", KMeans(uniform_noise, 200_000, 32, 100), CLUSTERERS, {FASTEST: 2}),
    ),
    "pca": (Case("PCA, 500,000 x 64", Pca(500_000, 64), DECOMPOSERS, {EIGEN: 1}, 5),),
}

QUICK: Mapping[str, tuple[Case, ...]] = {
    "mixture": (
        Case("mixture, 20,000 x 8, 4 components", Mixture(20_000, 8, 4), WITH_MCLUST, {SKLEARN: 20, FASTEST: 8}),
    ),
    "diagonal": (
        Case("diagonal mixture, 20,000 x 16, 8 components", Diagonal(20_000, 16, 8), WITH_MCLUST, {SKLEARN: 10}),
    ),
    "bernoulli": (
        Case("Bernoulli mixture, 20,000 x 64, 10 components", Bernoulli(20_000, 64, 10), CLASSES, {FASTEST: 10}),
    ),
    "missing": (
        Case(
            "mixture, 10,000 x 8, 8 components, 10% of the cells missing",
            Missing(10_000, 8, 8),
            (COMPLETE,),
            {COMPLETE.label: 1 / 6},
        ),
    ),
    "kmeans": (
        Case(
            "K-means, blobs, 20,000 x 32, K=100", KMeans(overlapping_blobs, 20_000, 32, 100), CLUSTERERS, {FASTEST: 2}
        ),
    ),
    "pca": (Case("PCA, 50,000 x 32", Pca(50_000, 32), DECOMPOSERS, {EIGEN: 1}),),
}
