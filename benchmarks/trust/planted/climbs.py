"""Climbs that were cut off, and climbs that end elsewhere each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import unveil
from benchmarks.trust.planted.case import CUT_OFF, NO, SUSPECT, Fitted, Planted, fitted, random

PASSES = 2  # after which a climb that takes dozens is cut off
DISAGREE = frozenset({"restarts", "unstable"})


def _overlapping(n: int, d: int) -> np.ndarray:
    """Groups that overlap, so that EM is slow."""
    source = random(d)
    return np.asarray(source.normal(size=(n, d)) + 1.5 * source.integers(0, 3, (n, 1)))


def _cut(model: Any, rows: Callable[[], Any], **keywords: Any) -> Callable[[], Fitted]:
    return lambda: fitted(model, rows(), **keywords)


def _binary() -> np.ndarray:
    source = random(31)
    odds = np.array([0.35, 0.5, 0.65])[source.integers(0, 3, 400)]
    return np.asarray((source.random((400, 8)) < odds[:, None]).astype(int))


def _words() -> np.ndarray:
    return np.array([*"ab"])[_binary()]


def _counts() -> np.ndarray:
    source = random(32)
    return np.asarray(source.poisson(np.array([3.0, 5.0, 7.0])[source.integers(0, 3, 400)][:, None], (400, 2)))


def _mixed() -> np.ndarray:
    rows = np.empty((400, 3), dtype=object)
    rows[:, :2], rows[:, 2] = _overlapping(400, 2), _words()[:, 0]
    return rows


def _states(n: int = 400) -> np.ndarray:
    source = random(33)
    moves = source.random(n) < 0.1
    return np.asarray(np.cumsum(moves) % 3)


def _symbols() -> np.ndarray:
    source = random(34)
    return np.asarray(np.where(source.random(400) < 0.5, _states(), source.integers(0, 3, 400))[:, None])


def _sentences() -> list[str]:
    source = random(35)
    return [" ".join(np.array([*"abcd"])[source.integers(0, 4, length)]) for length in source.integers(3, 9, 60)]


def _bent() -> np.ndarray:
    source = random(36)
    along = source.uniform(-2, 2, 300)
    return np.asarray(np.column_stack([along, along**2]) + 0.3 * source.normal(size=(300, 2)))


def _factors() -> np.ndarray:
    source = random(37)
    noise = source.uniform(0.2, 2.0, 8)
    return np.asarray(source.normal(size=(300, 3)) @ source.normal(size=(3, 8)) + noise * source.normal(size=(300, 8)))


def _holes() -> np.ndarray:
    rows = _factors()
    rows[random(38).random(rows.shape) < 0.3] = np.nan
    return rows


def _voices() -> np.ndarray:
    source = random(39)
    return np.asarray(source.laplace(size=(500, 6)) @ source.normal(size=(6, 6)))


def _many_optima() -> np.ndarray:
    """A cube without groups: every start finds its own."""
    return random(40).random((600, 8))


CASES = (
    Planted(
        "GaussianMixture cut off",
        _cut(unveil.GaussianMixture(3, max_iter=PASSES, random_state=0), lambda: _overlapping(600, 3)),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "StudentMixture cut off",
        _cut(unveil.StudentMixture(3, max_iter=PASSES, random_state=0), lambda: _overlapping(600, 2)),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "BernoulliMixture cut off",
        _cut(unveil.BernoulliMixture(3, max_iter=PASSES, random_state=0), _binary),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "CategoricalMixture cut off",
        _cut(unveil.CategoricalMixture(3, max_iter=PASSES, random_state=0), _words),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "PoissonMixture cut off",
        _cut(unveil.PoissonMixture(3, max_iter=PASSES, random_state=0), _counts),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "MixedMixture cut off",
        _cut(unveil.MixedMixture(3, max_iter=PASSES, random_state=0), _mixed),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "GaussianHMM cut off",
        _cut(unveil.GaussianHMM(3, max_iter=PASSES, random_state=0), lambda: _overlapping(400, 2)),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "CategoricalHMM cut off",
        _cut(unveil.CategoricalHMM(3, max_iter=PASSES, random_state=0), _symbols),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "PoissonHMM cut off", _cut(unveil.PoissonHMM(3, max_iter=PASSES, random_state=0), _counts), "sound", NO, CUT_OFF
    ),
    Planted(
        "MixedHMM cut off", _cut(unveil.MixedHMM(3, max_iter=PASSES, random_state=0), _mixed), "sound", NO, CUT_OFF
    ),
    Planted(
        "PCFG cut off",
        _cut(unveil.PCFG(n_nonterminals=3, max_iter=PASSES, random_state=0), _sentences),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "FactorAnalysis cut off",
        _cut(unveil.FactorAnalysis(3, max_iter=PASSES, random_state=0), _factors),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "ProbabilisticPCA with missing cells cut off",
        _cut(unveil.ProbabilisticPCA(3, max_iter=PASSES, random_state=0), _holes),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted("ICA cut off", _cut(unveil.ICA(random_state=0, max_iter=1), _voices), "sound", NO, CUT_OFF),
    Planted("PrincipalCurve cut off", _cut(unveil.PrincipalCurve(max_iter=1), _bent), "sound", NO, CUT_OFF),
    Planted(
        "GenerativeTopographicMap cut off",
        _cut(unveil.GenerativeTopographicMap(max_iter=PASSES, random_state=0), _bent),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "KMeans cut off",
        _cut(unveil.KMeans(8, max_iter=1, n_init=1, random_state=0), _many_optima),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "KernelKMeans cut off",
        _cut(unveil.KernelKMeans(8, max_iter=1, n_init=1, random_state=0), _many_optima),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "KMedoids cut off",
        _cut(unveil.KMedoids(12, max_iter=1, n_init=1, init="random", random_state=0), _many_optima),
        "sound",
        NO,
        CUT_OFF,
    ),
    Planted(
        "GaussianMixture with starts that disagree",
        _cut(unveil.GaussianMixture(8, n_init=5, random_state=0), _many_optima),
        "sound",
        SUSPECT,
        DISAGREE | {"few_rows", "rows_per_parameter"},
    ),
    Planted(
        "KMeans with starts that disagree",
        _cut(unveil.KMeans(12, n_init=10, random_state=0), _many_optima),
        "sound/real",
        SUSPECT,
        DISAGREE,
    ),
)
