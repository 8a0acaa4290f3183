"""Cases of corners: long chains, many states, numbers that get lost, wide and far tables. Code has routes for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

import unveil
from tools.bits import data
from tools.bits.case import EXPECTATIONS, Case, Parts, fit
from tools.bits.chains import brief
from tools.bits.use import briefly, of_chains, of_sentences
from unveil.families import Bernoulli, Categorical, Exponential, Gaussian, Held, Poisson, Product, Student, hold

_random = np.random.default_rng(1)
LONG_STATES = (np.arange(70_000) // 50) % 3
LONG_SYMBOLS = np.where(_random.random(70_000) < 0.7, LONG_STATES, _random.integers(0, 4, 70_000))[:, None]
LONG_NUMBERS = 3.0 * LONG_STATES[:, None] + _random.normal(size=(70_000, 1))
_PLACES = np.repeat(_random.integers(20, size=300), 3)
MANY_STATES = _random.normal(0, 4, (20, 3))[_PLACES] + _random.normal(size=(900, 3))
LARGE_SPARSE = sparse.csr_matrix(
    np.where(_random.random((18_000, 12)) < 0.2, _random.normal(2.0, 1.0, (18_000, 12)), 0.0) + (np.arange(12) == 3)
)
WIDE_BITS = (_random.random((300, 150)) < _random.random((3, 150))[_random.integers(3, size=300)]) * 1.0
FAR = data.ROWS + np.array([1e8, -1e6, 0.0, 1e3])
QUICK: dict[str, Any] = {"random_state": 0, "init_params": "kmeans", "max_iter": 4}


def cases() -> Iterator[Case]:
    """All of them."""
    for family in (_chains, _lost, _tables, _families, _sentences, _at_once):
        yield from family()


def _chains() -> Iterator[Case]:
    """One chain that is cut into pieces, and many states."""
    for word in EXPECTATIONS:
        chain = unveil.CategoricalHMM(3, n_init=1, expectation=word, **{**QUICK, "max_iter": 2})
        yield fit(f"long/expectation={word}", chain, LONG_SYMBOLS, use=brief)
        several = unveil.GaussianHMM(20, n_init=1, covariance_type="diag", expectation=word, **QUICK)
        yield fit(f"many/expectation={word}", several, MANY_STATES, use=brief)
    chain = unveil.GaussianHMM(3, n_init=1, **{**QUICK, "max_iter": 2})
    yield fit("long", chain, LONG_NUMBERS, use=_of_long)
    yield fit("many", unveil.GaussianHMM(20, n_init=1, covariance_type="diag", **QUICK), MANY_STATES, use=of_chains)
    short = [1, 2, 3] * 150
    model = unveil.GaussianHMM(4, n_init=1, covariance_type="diag", **QUICK)
    yield fit("short", model, MANY_STATES, use=of_chains, lengths=short)


def _of_long(model: Any, X: Any) -> Parts:
    for name in ("predict", "predict_proba", "filter", "score", "path_entropy"):
        yield name, partial(getattr(model, name), X)
    yield "sample_paths", lambda: model.sample_paths(X, random_state=0)


def _lost() -> Iterator[Case]:
    """Probabilities and densities too small for a number."""
    yield Case("GaussianHMM/lost", _lost_chain)
    yield fit("far", unveil.GaussianHMM(3, n_init=1, **QUICK), data.NUMBERS + 1e8, use=of_chains, lengths=data.LENGTHS)
    spread = data.NUMBERS * 1e3
    yield fit("spread", unveil.GaussianHMM(3, n_init=1, reg_covar=1e-9, **QUICK), spread, use=of_chains)


def _lost_chain() -> Parts:
    model = unveil.GaussianHMM(3, random_state=0)
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.transmat_ = np.array([[1.0 - 1e-200, 1e-200, 0.0], [1e-120, 1.0 - 1e-120, 0.0], [0.5, 0.0, 0.5]])
    model.means_, model.covars_ = np.array([[0.0, 0.0], [40.0, 10.0], [10.0, 50.0]]), np.tile(np.eye(2), (3, 1, 1))
    yield from of_chains(model, data.NUMBERS * 10.0, lengths=data.LENGTHS)


def _tables() -> Iterator[Case]:
    """Far from the origin, huge, tiny, wide, and sparse in several partitions."""
    tables: dict[str, Any] = {"far": FAR, "huge": data.ROWS * 1e150, "tiny": data.ROWS * 1e-150}
    for name, X in tables.items():
        for model in (
            unveil.PCA(2),
            unveil.KMeans(3, random_state=0),
            unveil.KMeans(3, random_state=0, n_init=3),
            unveil.GaussianMixture(3, **QUICK),
            unveil.StudentMixture(3, **QUICK),
            unveil.FactorAnalysis(1),
            unveil.ProbabilisticPCA(1),
            unveil.ICA(2, random_state=0, max_iter=20),
            unveil.PrincipalCurve(max_iter=3),
            unveil.KMedoids(3, n_init=2, random_state=0),
            unveil.KernelKMeans(3, gamma="scale", random_state=0),
            unveil.GenerativeTopographicMap(lattice_shape=5, basis_shape=3, max_iter=3),
        ):
            label = "/polished" if getattr(model, "n_init", 1) == 3 else ""
            yield fit(f"{name}{label}", model, X, use=briefly)
    for word in ("covariance_eigh", "arpack", "randomized"):
        yield fit(f"large sparse/{word}", unveil.PCA(2, svd_solver=word, random_state=0), LARGE_SPARSE, use=briefly)
    for metric in ("euclidean", "cosine"):
        model = unveil.KMeans(4, metric=metric, random_state=0, tol=1e-2)
        yield fit(f"large sparse/{metric}", model, LARGE_SPARSE, use=briefly)
        model = unveil.KMeans(4, metric=metric, random_state=0, schedule="stepwise", max_iter=2)
        yield fit(f"large sparse/{metric}/stepwise", model, LARGE_SPARSE, use=briefly)
    for word in EXPECTATIONS:
        yield fit(f"wide/{word}", unveil.BernoulliMixture(3, expectation=word, **QUICK), WIDE_BITS, use=briefly)
        yield fit(f"many/{word}", unveil.GaussianMixture(30, expectation=word, **QUICK), data.MIDDLE, use=briefly)
        yield fit(f"wide/{word}", unveil.GaussianMixture(3, expectation=word, **QUICK), data.WIDE, use=briefly)


def _families() -> Iterator[Case]:
    """Families of one's own for all columns, or for some."""
    kept = hold(Poisson(), rates=np.array([[True, False, False], [False, False, True]]))
    fixed = hold(Gaussian(), means=np.array([[True, False, False], [False] * 3]))
    several: dict[str, Any] = {
        "bernoulli": (Bernoulli(), data.BITS),
        "categorical": (Categorical((4, 4)), data.SYMBOLS[:150, [0, 0]].astype(float)),
        "exponential": (Exponential(), np.abs(data.ROWS)),
        "gaussian": (Gaussian(), data.ROWS),
        "student": (Student(shared_dof=True), data.ROWS),
        "student, fixed": (Student(dof=3.0), data.ROWS),
        "product": (Product(((Poisson(), (0, 2)), (Gaussian(), (1,)))), data.COUNTS),
        "held": (kept, data.COUNTS),
        "held gaussian": (fixed, data.ROWS[:, :3]),
    }
    assert isinstance(kept, Held)
    for word, (family, X) in several.items():
        for schedule in ("batch", "lbfgs", "gradient", "squarem"):
            model = unveil.MixedMixture(2, families=family, schedule=schedule, **QUICK)
            yield fit(f"all={word}/schedule={schedule}", model, X, use=briefly)
        yield fit(f"all={word}", unveil.MixedMixture(2, families=family, **QUICK), X)
        yield fit(f"all={word}", unveil.MixedHMM(2, families=family, n_init=1, **QUICK), X, use=of_chains)


def _sentences() -> Iterator[Case]:
    """Long ones, whose probabilities are too small for a number, and more symbols than a tile takes."""
    long = ["".join("ab"[int(letter)] for letter in _random.integers(0, 2, 120)) for _ in range(2)]
    text = [" ".join(one) for one in long]
    rare = "S -> S S [0.3] | A B [0.2] | 'a' [0.3] | 'b' [0.2]\nA -> 'a' [1e-12] | 'b' [0.999999999999]\nB -> 'b' [1.0]"
    for word in EXPECTATIONS:
        model = unveil.PCFG(rare, expectation=word, random_state=0, max_iter=3)
        yield fit(f"long/expectation={word}", model, text, use=_scored)
        model = unveil.PCFG(n_nonterminals=12, expectation=word, random_state=0, max_iter=2)
        yield fit(f"many/expectation={word}", model, [" ".join(one[:15]) for one in long], use=_scored)
    model = unveil.PCFG(n_nonterminals=6, n_preterminals=9, random_state=0, max_iter=2)
    yield fit("layers", model, [" ".join(one[:12]) for one in long], use=of_sentences)


def _scored(model: Any, X: Any) -> Parts:
    yield "score_samples", lambda: model.score_samples(X)
    yield "parse", lambda: model.parse(X)
    yield "kbest", lambda: model.kbest(X[0], 2)


def _at_once() -> Iterator[Case]:
    """Fitted and used in one call."""
    makers: tuple[Callable[[], Any], ...] = (
        partial(unveil.PCA, 2),
        partial(unveil.PCA, 2, svd_solver="full", whiten=True),
        partial(unveil.ProbabilisticPCA, 2),
        partial(unveil.FactorAnalysis, 1),
        partial(unveil.ICA, random_state=0),
        unveil.PrincipalCurve,
        partial(unveil.GenerativeTopographicMap, lattice_shape=5, basis_shape=3, max_iter=3),
        partial(unveil.KMeans, 3, random_state=0),
        partial(unveil.KernelKMeans, 3, random_state=0),
        partial(unveil.KMedoids, 3, random_state=0),
        partial(unveil.GaussianMixture, 3, random_state=0),
    )
    for number, make in enumerate(makers):
        yield Case(f"{type(make()).__name__}/at once {number}", partial(_once, make))


def _once(make: Callable[[], Any]) -> Parts:
    for verb in ("fit_transform", "fit_predict"):
        if hasattr(make(), verb):
            yield verb, partial(getattr(make(), verb), data.ROWS)
            yield f"{verb} with weights", partial(getattr(make(), verb), data.ROWS, sample_weight=data.WEIGHTS)
