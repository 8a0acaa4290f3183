"""A small fitted model of every estimator and of every part that a model file may hold, with rows to ask it about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import unveil
from unveil.engines import Dask, Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.grammar import read_grammar
from unveil.schedules import LBFGS, Ascent, Batch, Gradient, Incremental, Squarem, Stepwise

random = np.random.default_rng(11)
GROUPS = np.arange(60) % 3
ROWS = random.normal(size=(60, 3)) + 4.0 * np.eye(3)[GROUPS]
HOLES = np.where(random.random(ROWS.shape) < 0.1, np.nan, ROWS)
BITS = (random.random((60, 4)) < np.array([0.1, 0.5, 0.9])[GROUPS, None]) * 1.0
COUNTS = random.poisson(np.array([[1, 9], [8, 2], [4, 20]])[GROUPS]).astype(np.float64)
WORDS = np.array(["red", "green", "blue"], dtype=object)[
    np.where(random.random((60, 2)) < 0.8, GROUPS[:, None], random.integers(3, size=(60, 2)))
]
FRAME = pd.DataFrame(
    {
        "height": ROWS[:, 0],
        "weight": ROWS[:, 1],
        "visits": COUNTS[:, 0].astype(int),
        "member": BITS[:, 0] > 0,
        "colour": WORDS[:, 0],
        "wait": random.exponential(1.0 + GROUPS),
    }
)
STATES = (np.arange(60) // 10) % 3
STEPS = random.normal(size=(60, 2)) + np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 6.0]])[STATES]
VISITS = random.poisson(np.array([2, 9, 25])[STATES])[:, None].astype(np.float64)
SYMBOLS = np.where(random.random((60, 1)) < 0.8, STATES[:, None], random.integers(3, size=(60, 1)))
LENGTHS = [25, 35]
DIARY = pd.DataFrame({"level": STEPS[:, 0], "visits": VISITS[:, 0].astype(int), "mood": WORDS[STATES, 0]})
STARS = """
S -> NP VP [1.0]
PP -> P NP [1.0]
VP -> V NP [0.7] | VP PP [0.3]
NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
P -> 'with' [1.0]
V -> 'saw' [1.0]
"""
SENTENCES = ["astronomers saw stars with ears", "stars saw ears", "ears saw stars with telescopes with ears"]


@dataclass(frozen=True)
class Example:
    """A fitted model, what it is asked about, and what `partial_fit` is given where there is one to go on with."""

    name: str
    model: Any
    asked: dict[str, Any]
    batch: dict[str, Any] | None = None


def examples() -> Iterator[Example]:
    """All of them. A name is that of the estimator, and a word after a hyphen where there are several."""
    for family in (_planes, _clusters, _mixtures, _parts, _chains, _grammars):
        yield from family()


def _rows(X: Any, count: int = 8) -> dict[str, Any]:
    return {"X": X[:count]}


def _example(name: str, model: Any, X: Any, batch: Any = None) -> Example:
    return Example(name, model, _rows(X), None if batch is None else {"X": batch})


def _planes() -> Iterator[Example]:
    labels = np.array(["a", "b", "c"], dtype=object)[GROUPS]
    more = ROWS[30:]
    yield _example("PCA", unveil.PCA(2).partial_fit(ROWS[:40]), ROWS, more)
    weighted = unveil.PCA(2, scale=True, whiten=True).fit(ROWS, feature_weight=[1.0, 2.0, 0.5])
    yield _example("PCA-weighted", weighted, ROWS)
    yield _example("PCA-robust", unveil.PCA(2, robust=True, random_state=0).fit(ROWS), ROWS)
    yield _example("ProbabilisticPCA", unveil.ProbabilisticPCA(1).partial_fit(ROWS[:40]), HOLES, more)
    yield _example("ProbabilisticPCA-holes", unveil.ProbabilisticPCA(1).fit(HOLES), HOLES, HOLES[30:])
    yield _example("FactorAnalysis", unveil.FactorAnalysis(1).fit(ROWS), HOLES, more)
    classes = unveil.LinearDiscriminantAnalysis().partial_fit(ROWS[:40], labels[:40], classes=["a", "b", "c"])
    yield Example("LinearDiscriminantAnalysis", classes, _rows(ROWS), {"X": more, "y": labels[30:]})
    sources = np.column_stack([random.laplace(size=60), random.uniform(-1, 1, 60)]) @ [[1.0, 0.4], [0.3, 1.0]]
    yield _example("ICA", unveil.ICA(random_state=0, gaussianity_level=1.0).fit(sources), sources)
    bend = np.column_stack([np.cos(np.arange(60) / 25), np.sin(np.arange(60) / 25)]) + 0.05 * random.normal(
        size=(60, 2)
    )
    yield _example("PrincipalCurve", unveil.PrincipalCurve().fit(bend), bend)
    sheet = unveil.GenerativeTopographicMap(lattice_shape=4, basis_shape=2, random_state=0).fit(ROWS)
    yield _example("GenerativeTopographicMap", sheet, HOLES)


def _clusters() -> Iterator[Example]:
    yield _example("KMeans", unveil.KMeans(3, random_state=0).partial_fit(ROWS[:40]), ROWS, ROWS[30:])
    yield _example("KMeans-fit", unveil.KMeans(3, random_state=0).fit(ROWS), ROWS, ROWS[30:])
    cosine = unveil.KMeans(3, metric="cosine", random_state=0).fit(ROWS)
    yield _example("KMeans-cosine", cosine, ROWS, ROWS[30:])
    yield _example("KMeans-holes", unveil.KMeans(3, missing="partial", random_state=0).fit(HOLES), HOLES)
    yield _example("KMedoids", unveil.KMedoids(3, metric="mahalanobis", random_state=0).fit(ROWS), ROWS)
    yield _example("KernelKMeans", unveil.KernelKMeans(3, random_state=0).fit(ROWS), ROWS)
    spanned = unveil.KernelKMeans(3, method="nystroem", n_landmarks=8, random_state=0).fit(ROWS)
    yield _example("KernelKMeans-nystroem", spanned, ROWS)


def _gaussian(**options: Any) -> Any:
    return unveil.GaussianMixture(3, random_state=0, means_init=ROWS[:3], **options)


def _mixtures() -> Iterator[Example]:
    yield _example("GaussianMixture", _gaussian().partial_fit(ROWS[:40]), HOLES, ROWS[30:])
    for word in ("tied", "diag", "spherical", "EEI", "VEE", "VEV"):
        yield _example(f"GaussianMixture-{word}", _gaussian(covariance_type=word).fit(ROWS), ROWS, ROWS[30:])
    yield _example("GaussianMixture-prior", _gaussian(mean_precision_prior=0.5).fit(ROWS), ROWS, ROWS[30:])
    frame = pd.DataFrame(ROWS, columns=["a", "b", "<c>"])
    yield _example("GaussianMixture-named", _gaussian().fit(frame), frame, frame[30:])
    options = {"random_state": 0, "init_params": "kmeans", "tol": 1e-3}  # few passes make a short history
    yield _example("StudentMixture", unveil.StudentMixture(2, **options).fit(ROWS), ROWS, ROWS[30:])
    bits = unveil.BernoulliMixture(2, **options).partial_fit(BITS[:40])
    yield _example("BernoulliMixture", bits, BITS, BITS[30:])
    yield _example("PoissonMixture", unveil.PoissonMixture(2, **options).fit(COUNTS), COUNTS, COUNTS[30:])
    yield _example("CategoricalMixture", unveil.CategoricalMixture(2, **options).fit(WORDS), WORDS, WORDS[30:])
    numbers = unveil.CategoricalMixture(2, **options).fit(COUNTS // 8)
    yield _example("CategoricalMixture-numbers", numbers, COUNTS // 8, (COUNTS // 8)[30:])
    mixed = unveil.MixedMixture(2, **options).partial_fit(FRAME)
    yield _example("MixedMixture", mixed, FRAME, FRAME[30:])
    worded = unveil.MixedMixture(2, families={"wait": "waiting time", 2: "number"}, **options).fit(FRAME)
    yield _example("MixedMixture-words", worded, FRAME, FRAME[30:])


def _parts() -> Iterator[Example]:
    """Every engine, schedule and expectation as a parameter."""
    schedules = (Batch(), Incremental(20), Stepwise(0.9, 20), Gradient(2), Ascent(), LBFGS(4), Squarem(Incremental(20)))
    for schedule in schedules:
        model = _gaussian(schedule=schedule).fit(ROWS)
        yield _example(f"GaussianMixture-{type(schedule).__name__}", model, ROWS, ROWS[30:])
    for expectation in (Exact(), Hard(), Sampled(4, 1.5), Sparse(2, 3), Annealed(0.7, 5)):
        model = _gaussian(expectation=expectation).fit(ROWS)
        yield _example(f"GaussianMixture-{type(expectation).__name__}", model, ROWS)
    yield _example("KMeans-Threads", unveil.KMeans(3, random_state=0, engine=Threads(2)).fit(ROWS), ROWS)
    away = unveil.KMeans(3, random_state=0).fit(ROWS).set_params(engine=Dask())
    yield Example("KMeans-Dask", away, {})  # asked nothing: that would need a cluster


def _chain(name: str, model: Any, X: Any) -> Example:
    model.set_params(random_state=0, n_init=1, init_params="kmeans", tol=1e-3).fit(X, lengths=LENGTHS)
    return Example(name, model, {"X": X[:20], "lengths": [8, 12]}, {"X": X[:35], "lengths": [25, 10]})


def _chains() -> Iterator[Example]:
    yield _chain("GaussianHMM", unveil.GaussianHMM(3), STEPS)
    yield _chain("GaussianHMM-n_mix", unveil.GaussianHMM(2, n_mix=2, covariance_type="diag"), STEPS)
    yield _chain(
        "GaussianHMM-masks", unveil.GaussianHMM(3, transitions=("banded", 1), tied={"covars": [0, 0, 1]}), STEPS
    )
    yield _chain("CategoricalHMM", unveil.CategoricalHMM(3), SYMBOLS)
    yield _chain("CategoricalHMM-words", unveil.CategoricalHMM(2), WORDS[np.argsort(STATES % 2, kind="stable")])
    yield _chain("PoissonHMM", unveil.PoissonHMM(3, transmat_prior=2.0), VISITS)
    yield _chain("MixedHMM", unveil.MixedHMM(2, families={"visits": "count"}), DIARY)


def _grammars() -> Iterator[Example]:
    batch = {"X": SENTENCES[1:]}
    yield Example("PCFG", unveil.PCFG(STARS).partial_fit(SENTENCES), {"X": SENTENCES}, batch)
    options = {"rule_prior": {"VP": 1.5}, "fixed": ["PP"], "prune": 0.01, "unknown_words": "rare"}
    held = unveil.PCFG(read_grammar(STARS), **options).fit(SENTENCES)
    yield Example("PCFG-held", held, {"X": SENTENCES[:2]}, batch)
    drawn = unveil.PCFG(n_nonterminals=2, random_state=0, tol=1e-3).fit(["a b", "b b a", "a"])
    yield Example("PCFG-random", drawn, {"X": ["a b", "b"]}, {"X": ["a b", "b a"]})
