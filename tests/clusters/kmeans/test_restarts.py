"""Polished restarts: never above Lloyd's cost, told of, the same on every route, and only where they are promised."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil import KMeans, scan
from unveil.certificate import FitWarning
from unveil.clusters.kmeans import restarts
from unveil.clusters.kmeans.hartigan import cost
from unveil.clusters.kmeans.restarts import FramedTable
from unveil.core.result import Status
from unveil.engines import Threads
from unveil.sources import ArraySource

Floats = NDArray[np.float64]


def table(n_rows: int = 400, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n_rows, 2))


def lloyd(X: Floats, monkeypatch: pytest.MonkeyPatch, **given: Any) -> KMeans:
    """The same starts without moves of single rows."""
    with monkeypatch.context() as patch:
        patch.setattr(KMeans, "_hartigan_work", 0)
        return KMeans(**given).fit(X)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_restarts_come_lower_than_lloyds_and_say_so(seed: int, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, given = table(), {"n_clusters": 9, "n_init": 4, "random_state": seed, "tol": 0}
    weights = np.random.default_rng(seed).integers(0, 3, len(X)) if weighted else None
    plain, model = lloyd(X, monkeypatch, **given), KMeans(**given).fit(X, sample_weight=weights)
    assert model.converged_
    assert model.history_.largest_fall() <= 1e-9 * model.inertia_
    assert len(model.history_.restarts) == 4
    assert max(model.history_.restarts) == pytest.approx(-model.inertia_, rel=1e-9)
    assert model.n_iter_ <= model.max_iter
    means = [
        np.average(X[model.labels_ == k], axis=0, weights=None if weights is None else weights[model.labels_ == k])
        for k in range(9)
    ]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-12)
    if not weighted:
        assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
        assert "polished" not in plain.history_.events
    if "polished" in model.history_.events:
        said = f"where the passes had ended: {model.history_.events['polished']}"
        assert said in model.certificate_["polished"].message


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.booleans())
def test_shaking_never_raises_the_cost(seed: int, k: int, grid: bool) -> None:
    random = np.random.default_rng(seed)
    rows = np.round(2 * random.normal(size=(60, 2))) if grid else random.normal(size=(60, 2))
    held = FramedTable(rows, random.integers(0, 3, 60).astype(float))
    first = held.improved(rows[:k])
    after = held.shaken(rows[:k], 5, random)
    assert cost(*held, after) <= cost(*held, first)
    again = held.improved(after.centres)
    assert cost(*held, again) == pytest.approx(cost(*held, after), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        {"n_init": 1},
        {"init": table()[:6]},
        {"init": lambda X, k, random_state: X[random_state.choice(len(X), k)], "n_init": 3},
        {"n_init": 3, "schedule": "stepwise"},
        {"n_init": 3, "metric": "cosine"},
        {"n_init": 3, "missing": "partial"},
    ],
)
def test_where_it_is_not_promised_nothing_is_polished(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(restarts, "hartigan", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert "polished" not in KMeans(6, random_state=0, **given).fit(table()).history_.events


def test_every_route_is_polished_alike(tmp_path: Path) -> None:
    X = table(3000)
    np.save(tmp_path / "rows.npy", X)
    given = {"n_clusters": 7, "n_init": 3, "random_state": 0}
    one = KMeans(engine=Threads(1), **given).fit(X)
    for other in (KMeans(engine=Threads(2), **given).fit(X), KMeans(**given).fit(scan(tmp_path / "rows.npy"))):
        assert other.cluster_centers_.tobytes() == one.cluster_centers_.tobytes()
        assert other.history_.events == one.history_.events


def test_ctrl_c_while_shaking_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    original = FramedTable.shaken

    def press(self: FramedTable, centres: Floats, times: int, random: np.random.Generator) -> Any:
        if times:
            raise KeyboardInterrupt
        return original(self, centres, times, random)

    monkeypatch.setattr(FramedTable, "shaken", press)
    with pytest.warns(UserWarning, match="interrupted"):
        model = KMeans(6, n_init=3, random_state=0).fit(table())
    assert model.history_.status is Status.INTERRUPTED
    np.testing.assert_array_equal(model.predict(table()), model.labels_)


@pytest.mark.parametrize("policy", ["keep", "relocate", "drop"])
def test_fewer_different_rows_than_clusters(policy: str) -> None:
    X = np.repeat(table(4), 10, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = KMeans(6, n_init=3, random_state=0, empty_clusters=policy).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)


def test_a_table_at_hand_is_in_the_frame_with_its_weights() -> None:
    X = table(40_000)
    held = FramedTable.of(ArraySource(X.astype(np.float32)), np.ones(2))
    np.testing.assert_allclose(held.rows, X - 1, atol=1e-6)
    assert held.rows.dtype == np.float64
    assert held.weights.sum() == 40_000
