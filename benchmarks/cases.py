"""What is measured, against whom, and what was asked: declarations only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from benchmarks.tasks.base import Task
from benchmarks.tasks.bernoulli import Bernoulli
from benchmarks.tasks.chain import CategoricalChain, Decoding, GaussianChain
from benchmarks.tasks.components import Sparse, Wide
from benchmarks.tasks.curve import Curve
from benchmarks.tasks.diagonal import Diagonal
from benchmarks.tasks.discriminant import Discriminant
from benchmarks.tasks.factors import Factors
from benchmarks.tasks.kernel import Kernel
from benchmarks.tasks.kmeans import Cloud, KMeans, overlapping_blobs, uniform_noise
from benchmarks.tasks.medoids import Medoids
from benchmarks.tasks.missing import Missing
from benchmarks.tasks.mixture import Mixture
from benchmarks.tasks.pca import Pca
from benchmarks.tasks.seeding import Seeding
from benchmarks.tasks.sources import Sources
from benchmarks.tasks.trees import InsideOutside, Parsing

FASTEST = "the fastest peer"


@dataclass(frozen=True)
class Entry:
    """A library in a race: its file in `contenders/`, and the options of its function there."""

    label: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    agrees: float = 1e-9  # relative difference up to which two results count as the same, or unveil's as no worse
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
    drop: float = inf  # a peer so many times slower than the fastest peer sits out the rounds that follow


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
SEEDERS = (Entry(SKLEARN, "scikit_learn", agrees=2e-2),)
SWAPPERS = (
    Entry("kmedoids (Rust), 1 core", "kmedoids", {"threads": False}),
    Entry("kmedoids (Rust), all cores", "kmedoids", {"threads": True}, agrees=1e-3),
)
TSLEARN = Entry("tslearn", "tslearn")
DECOMPOSERS = (
    Entry(EIGEN, "scikit_learn", {"svd_solver": "covariance_eigh"}),
    Entry("scikit-learn, full", "scikit_learn", {"svd_solver": "full"}),
    Entry("scikit-learn-intelex", "intelex"),
)
ROUTES = tuple(
    Entry(f"scikit-learn, {solver}", "scikit_learn", {"svd_solver": solver}, agrees=1e-9)
    for solver in ("auto", "randomized", "arpack", "covariance_eigh")
)
WIDE_ROUTES = (*ROUTES, Entry("scikit-learn-intelex", "intelex"))
SPARSE_ROUTES = tuple(entry for entry in ROUTES if entry.options["svd_solver"] in ("auto", "arpack"))
CLASSIFIERS = tuple(
    Entry(f"scikit-learn, {solver}", "scikit_learn", {"solver": solver}) for solver in ("svd", "lsqr", "eigen")
)
FAST_ICA = tuple(
    Entry(f"FastICA, {solver}", "scikit_learn", {"whiten_solver": solver}, agrees=1e-5) for solver in ("svd", "eigh")
)
SEPARATORS = (*FAST_ICA, Entry("python-picard", "picard", agrees=1e-5))
FILLERS = (
    Entry("pyppca", "pyppca"),
    Entry("ppca", "ppca"),
    Entry("statsmodels, fill-em", "statsmodels"),
)
PRINCURVE = Entry("princurve (R)", "princurve", agrees=1e-3)

HMMLEARN = tuple(
    Entry(f"hmmlearn, {word}", "hmmlearn", {"implementation": word}, agrees=1e-8) for word in ("scaling", "log")
)
CHAINS = (
    *HMMLEARN,
    Entry("pomegranate", "pomegranate", {"precision": "float64"}, agrees=1e-2),
    Entry("dynamax", "dynamax", agrees=1e-3),
)
DECODERS = (Entry("hmmlearn", "hmmlearn"), Entry("dynamax", "dynamax"))
PLAIN_CHART = Entry("a plain NumPy chart", "chart", agrees=1e-8)
PARSERS = tuple(Entry(f"nltk, {word}", "nltk", {"parser": word}) for word in ("InsideChartParser", "ViterbiParser"))

LIMIT = 300  # iterations of K-means
CLOUDS: Mapping[str, Cloud] = {"blobs": overlapping_blobs, "noise": uniform_noise}


def clustered(n: int, d: int, k: int, cloud: str, limit: int = LIMIT, asked: float = 1.2, rounds: int = 3) -> Case:
    """A point of the grid of K-means. A limit below the usual one is part of its name."""
    name = f"K-means, {cloud}, {n:,} x {d}, K={k}" + (f", at most {limit} it." if limit < LIMIT else "")
    return Case(name, KMeans(CLOUDS[cloud], n, d, k, limit), CLUSTERERS, {FASTEST: asked}, rounds, drop=3.0)


def seeded(n: int, d: int, k: int) -> Case:
    """A start by k-means++."""
    return Case(f"k-means++ start, {n:,} x {d}, K={k}", Seeding(n, d, k), SEEDERS, {SKLEARN: 2}, warm_up=1)


def swapped(n: int, d: int, k: int, precision: str) -> Case:
    """K-medoids from a matrix of distances."""
    name = f"K-medoids, {n:,} x {d}, {k} medoids, distances in {precision}"
    return Case(name, Medoids(n, d, k, precision), SWAPPERS, {FASTEST: 1}, 5)


def kernelled(n: int, d: int, k: int) -> Case:
    """Kernel K-means, rbf."""
    return Case(f"kernel K-means, {n:,} x {d}, K={k}, rbf", Kernel(n, d, k), (TSLEARN,), {TSLEARN.label: 5})


def projected(scale: int) -> Mapping[str, tuple[Case, ...]]:
    """Projections, at the sizes asked for over a scale."""
    n, m, d = 500_000 // scale, 20_000 // scale, 2_000 // scale
    pca = Case(f"PCA, {n:,} x 64", Pca(n, 64), DECOMPOSERS, {FASTEST: 1.5}, 5)
    wide = Case(f"PCA, {m:,} x {d:,}, 10 components", Wide(m, d, 10), WIDE_ROUTES, {FASTEST: 1.5}, drop=3.0)
    many, columns = 100_000 // scale, 10_000 // scale
    thin, plain = (
        Case(
            f"PCA, sparse {many:,} x {columns:,}{name}, 20 components",
            Sparse(many, columns, 20, subjects=not name),
            SPARSE_ROUTES,
            {FASTEST: 1.5},
        )
        for name in ("", ", cells anywhere")
    )
    lda = Case(f"LDA, {n:,} x 64, 10 classes", Discriminant(n, 64, 10), CLASSIFIERS, {FASTEST: 3}, 5, drop=3.0)
    ica = Case(f"ICA, {100_000 // scale:,} x 16", Sources(100_000 // scale, 16), SEPARATORS, {FASTEST: 2}, 5)
    ppca = Case(
        f"probabilistic PCA, {m:,} x 50, 5 components, 10% missing", Factors(m, 50, 5), FILLERS, {FASTEST: 10}, drop=3.0
    )
    curve = Case(f"principal curve, {5_000 // scale:,} x 3", Curve(5_000 // scale, 3), (PRINCURVE,), {FASTEST: 3}, 5)
    return {"pca": (pca, wide, thin, plain), "lda": (lda,), "ica": (ica,), "ppca": (ppca,), "curve": (curve,)}


def chained(scale: int) -> Mapping[str, tuple[Case, ...]]:
    """Hidden Markov models, at the sizes asked for over a scale."""
    n, steps = 100 // scale, 2_000

    def each(asked: float) -> Mapping[str, float]:
        return {entry.label: asked for entry in HMMLEARN}

    four, sixteen = (GaussianChain(n, steps, k) for k in (4, 16))
    many, one = CategoricalChain(n, steps, 16), CategoricalChain(1, n * steps, 16)
    size = f"{n} x {steps:,} steps"
    chains = (
        Case(f"Gaussian HMM, {size} x 4, 4 states", four, CHAINS, each(20), 5, drop=5.0),
        Case(f"Gaussian HMM, {size} x 4, 16 states", sixteen, CHAINS, each(20), 3, drop=5.0),
        Case(f"categorical HMM, {size}, 16 states", many, CHAINS, each(10), 3, drop=5.0),
        Case(f"categorical HMM, one chain of {n * steps:,} steps, 16 states", one, CHAINS, each(10), 3, drop=5.0),
    )
    decoders = tuple(
        Case(f"Viterbi, {name}, {size}, 16 states", Decoding(chain), DECODERS, {"hmmlearn": 5}, 5)
        for name, chain in (("Gaussian", sixteen), ("categorical", many))
    )
    return {"chains": (*chains, *decoders)}


def parsed(scale: int) -> Mapping[str, tuple[Case, ...]]:
    """Grammars, at the sizes asked for over a scale."""
    n = 1_000 // scale
    learnt = Case(
        f"inside-outside, {n:,} sentences of 20 words, 30 symbols, 2,000 binary rules",
        InsideOutside(n),
        (PLAIN_CHART,),
        {FASTEST: 100},
        1,
        warm_up=1,
    )
    best = Case(
        f"best trees, {100 // scale} English sentences of 14 words",
        Parsing(100 // scale),
        PARSERS,
        {PARSERS[0].label: 50},
    )
    return {"grammars": (learnt, best)}


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
        clustered(200_000, 2, 8, "blobs", rounds=5),
        clustered(200_000, 2, 8, "noise", rounds=5),
        clustered(200_000, 2, 100, "blobs", asked=5),
        clustered(200_000, 2, 100, "noise", asked=5),
        clustered(200_000, 3, 1000, "blobs", limit=100, asked=5),
        clustered(200_000, 3, 1000, "noise", limit=100, asked=5),
        clustered(200_000, 8, 50, "blobs"),
        clustered(200_000, 8, 50, "noise"),
        clustered(200_000, 16, 16, "blobs", rounds=5),
        clustered(200_000, 16, 16, "noise"),
        clustered(200_000, 32, 100, "blobs", asked=2),
        clustered(200_000, 32, 100, "noise", asked=2),
        clustered(200_000, 64, 500, "blobs"),
        clustered(200_000, 64, 500, "noise", limit=60),
        clustered(200_000, 256, 64, "blobs"),
        clustered(200_000, 256, 64, "noise", limit=60),
        *(
            clustered(60_000, d, k, cloud, asked=1.5, rounds=5)
            for d, k in ((2, 8), (8, 50), (16, 16), (128, 64))
            for cloud in CLOUDS
        ),
    ),
    "seeding": (seeded(200_000, 32, 100), seeded(200_000, 2, 100), seeded(200_000, 8, 50)),
    "medoids": (swapped(5_000, 16, 50, "float64"), swapped(5_000, 16, 50, "float32")),
    "kernel": (kernelled(5_000, 10, 10),),
    **projected(1),
    **chained(1),
    **parsed(1),
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
        clustered(20_000, 2, 100, "blobs", asked=5),
        clustered(20_000, 32, 100, "blobs", asked=2),
        clustered(20_000, 32, 100, "noise", asked=2, limit=60),
    ),
    "seeding": (seeded(20_000, 8, 50),),
    "medoids": (swapped(1_000, 16, 20, "float64"), swapped(1_000, 16, 20, "float32")),
    "kernel": (kernelled(1_000, 10, 10),),
    **projected(10),
    **chained(10),
    **parsed(20),
}

MEANS: Mapping[str, float] = {"kmeans": 2}  # asked of the geometric mean over the cases of a part
