"""Kinds of data are what their names say, cells are what was asked for, and the judges agree with known figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.mixture import GaussianMixture

from benchmarks.ordinary import judges
from benchmarks.ordinary.grid import HELD_OUT_SHAPES, SHAPES, Cell, Grid, Shape
from benchmarks.ordinary.kinds import BLOBS, HELD_OUT, KINDS, UNEQUAL, VOICES, chained
from benchmarks.ordinary.reference import LEARNT, best_sound, spurious
from benchmarks.ordinary.subjects import CHAINS, CLOUDS, FEW_ROWS, SUBJECTS
from benchmarks.ordinary.tables import count_chains, mixed_voices, numbers, symbol_chains

SHAPE = Shape(20_000, 3, 4)


@pytest.mark.parametrize("kind", [*KINDS, *HELD_OUT], ids=lambda kind: kind.name)
def test_groups_have_the_size_and_the_spread_of_their_kind(kind) -> None:
    arrays = numbers(Cell(kind, SHAPE, 0))
    same = numbers(Cell(kind, SHAPE, 0))
    np.testing.assert_array_equal(arrays["rows"], same["rows"])
    assert not np.array_equal(arrays["rows"], numbers(Cell(kind, SHAPE, 1))["rows"])
    np.testing.assert_allclose(np.bincount(arrays["labels"]) / SHAPE.rows, kind.shares(4), atol=0.02)
    rows = np.log(arrays["rows"]) * 5.0 if kind.name == "log-normal" else arrays["rows"]
    within = np.sqrt([rows[arrays["labels"] == group].var(axis=0).mean() for group in range(4)])
    wide, narrow = within.max(), within.min()
    if kind is UNEQUAL:
        assert wide / narrow == pytest.approx(4.0, rel=0.1)
    elif kind.name in ("blobs", "overlapping", "cubes", "log-normal"):
        np.testing.assert_allclose(within, kind.spread, rtol=0.05)


def test_ellipses_are_ten_times_as_long_as_they_are_thin() -> None:
    arrays = numbers(Cell(HELD_OUT[0], SHAPE, 0))
    spread = np.linalg.eigvalsh(np.cov(arrays["rows"][arrays["labels"] == 0].T))
    assert np.sqrt(spread[-1] / spread[0]) == pytest.approx(10.0, rel=0.05)


def test_chains_stay_where_they_are_nine_times_of_ten() -> None:
    labels = chained(np.random.default_rng(0), BLOBS, 40_000, 5, 10)
    assert np.mean(labels[1:] == labels[:-1]) == pytest.approx(0.9, abs=0.01)
    arrays = numbers(Cell(BLOBS, SHAPE, 0, sequences=10))
    assert arrays["lengths"].tolist() == [2000] * 10


def test_symbols_all_occur_and_counts_differ_by_state() -> None:
    codes = symbol_chains(Cell(BLOBS, Shape(200, 4, 3), 0, sequences=1))["rows"]
    assert np.unique(codes).tolist() == list(range(codes.max() + 1))
    arrays = count_chains(Cell(BLOBS, Shape(5000, 2, 3), 0, sequences=1))
    means = [arrays["rows"][arrays["labels"] == state].mean() for state in range(3)]
    assert max(means) > 1.5 * min(means)


def test_voices_are_mixed_as_told() -> None:
    arrays = mixed_voices(Cell(VOICES[1], Shape(20_000, 5, 3), 0))
    voices = np.linalg.solve(arrays["mixing"], arrays["rows"].T)
    assert np.abs(np.corrcoef(voices) - np.eye(5)).max() < 0.03
    assert judges.UNMIXING.worth(arrays, {"unmixing": np.linalg.inv(arrays["mixing"])}) == pytest.approx(0.0, abs=1e-12)


def test_cells_are_those_that_were_asked_for() -> None:
    everything = list(Grid().cells(CLOUDS))
    assert len(everything) == 3 * (6 * len(KINDS) + 3)
    assert {cell.shape for cell in everything} == set(SHAPES)
    assert {cell.kind.name for cell in everything if cell.shape.rows > 40_000} == {"blobs"}
    assert {cell.sequences for cell in Grid().cells(CHAINS)} == {1, 10}
    assert max(cell.shape.rows for cell in Grid().cells(CHAINS)) == 100_000
    assert max(cell.shape.rows for cell in Grid().cells(FEW_ROWS)) == 4_000
    named = list(Grid(seeds=1, most_rows=150, kinds=("unequal", "laplace")).cells(CLOUDS))
    assert [str(cell) for cell in named] == ["unequal, 150 x 4, K=3, seed 0"]


def test_what_is_held_out_is_nowhere_else() -> None:
    usual, held = (list(replace(Grid(), held_out=one).cells(CLOUDS)) for one in (False, True))
    assert {cell.shape for cell in held} == set(HELD_OUT_SHAPES)
    assert not {cell.seed for cell in usual} & {cell.seed for cell in held}
    assert {kind.name for kind in HELD_OUT} <= {cell.kind.name for cell in held}


def test_likelihoods_are_those_of_scikit_learn() -> None:
    arrays = numbers(Cell(BLOBS, Shape(300, 4, 3), 0))
    rows = arrays["rows"]
    model = GaussianMixture(3, random_state=0).fit(rows)
    found = judges.MIXTURE.worth(arrays, {name: getattr(model, attribute) for name, attribute in LEARNT.items()})
    assert found == pytest.approx(model.score(rows), rel=1e-10)
    factors = FactorAnalysis(2, random_state=0).fit(rows)
    learnt = {"components": factors.components_, "mean": factors.mean_, "noise": factors.noise_variance_}
    assert judges.FACTORS.worth(arrays, learnt) == pytest.approx(factors.score(rows), rel=1e-10)
    plane = PCA(2).fit(rows)
    captured = judges.PLANE.worth(arrays, {"components": plane.components_})
    assert captured == pytest.approx(plane.explained_variance_ratio_.sum(), rel=1e-10)


def test_poisson_chains_of_one_state_are_plain_poissons() -> None:
    arrays = {"rows": np.array([[0], [2]]), "lengths": np.array([2])}
    learnt = {"start": np.ones(1), "transition": np.ones((1, 1)), "rates": np.array([[2.0]])}
    assert judges.POISSON_CHAIN.worth(arrays, learnt) == pytest.approx((-2.0 + np.log(2.0) - 2.0) / 2)


def test_gains_have_a_sign_and_no_model_has_no_value() -> None:
    assert judges.CENTRES.gain(90.0, 100.0) == pytest.approx(0.1)
    assert judges.MIXTURE.no_worse(-5.000005, -5.0)
    assert not judges.MIXTURE.no_worse(-5.00002, -5.0)
    assert judges.MIXTURE.no_worse(-5.0, np.nan)
    assert not judges.MIXTURE.no_worse(np.nan, -5.0)
    flat = {"weights": np.ones(1), "means": np.zeros((1, 2)), "covariances": np.zeros((1, 2, 2))}
    assert np.isnan(judges.MIXTURE.worth({"rows": np.zeros((3, 2))}, flat))


def test_the_mark_is_the_best_sound_fit() -> None:
    arrays = numbers(Cell(BLOBS, Shape(120, 2, 3), 0))
    mark = best_sound(arrays)
    assert mark.sound == 10
    scores = [GaussianMixture(3, random_state=seed).fit(arrays["rows"]).score(arrays["rows"]) for seed in range(10)]
    assert mark.value == pytest.approx(max(scores), rel=1e-9)
    fit = {"weights": np.array([0.5, 0.5]), "means": np.zeros((2, 2)), "covariances": np.array([np.eye(2)] * 2)}
    assert spurious(arrays, fit) is None
    assert "few" in str(spurious(arrays, {**fit, "weights": np.array([1.0 - 1.0 / 120, 1.0 / 120])}))
    assert "no spread" in str(spurious(arrays, {**fit, "covariances": np.array([np.eye(2), 1e-6 * np.eye(2)])}))


def test_every_subject_is_an_estimator_of_unveil() -> None:
    import unveil

    assert all(hasattr(unveil, subject.name) for subject in SUBJECTS)
