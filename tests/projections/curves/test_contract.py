"""Principal curves: wrong input, the same bits by every route, files, Ctrl-C, and what once went wrong."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import unveil
from unveil import PrincipalCurve
from unveil.core.result import Status
from unveil.engines import Dask, Threads

Floats = NDArray[np.float64]


def wave(n_rows: int, seed: int = 1) -> Floats:
    random = np.random.default_rng(seed)
    t = random.uniform(-3, 3, n_rows)
    return np.column_stack([t, np.sin(t), 0.3 * t**2]) + 0.2 * random.normal(size=(n_rows, 3))


def fitted(X: Any, sample_weight: Any = None, **settings: Any) -> PrincipalCurve:
    """A fit that may run into its limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PrincipalCurve(**settings).fit(X, sample_weight=sample_weight)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smoother": "magic"}, "smoother"),
        ({"degrees_of_freedom": 1.5}, "degrees_of_freedom"),
        ({"span": 0.0}, "span"),
        ({"engine": "gpu"}, "engine"),
        ({"closed": True, "stretch": 2}, r"stretch=2 needs an open curve, got closed=True"),
        ({"init": [[1.0, 2.0]]}, r"init must be 'pca' or points in order of shape \(n, 3\).* got shape \(1, 2\)"),
        ({"init": [["a", "b", "c"]] * 2}, "init must hold numbers: could not convert string"),
        ({"init": [[1.0, 2.0, np.nan], [0.0, 0.0, 0.0]]}, "init must hold finite numbers"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrincipalCurve(**settings).fit(wave(20))


def test_wrong_coordinates_are_named() -> None:
    model = PrincipalCurve().fit(wave(50))
    with pytest.raises(ValueError, match=r"coordinates of shape \(n, 1\), got shape \(2,\)"):
        model.inverse_transform([0.0, 1.0])
    with pytest.raises(ValueError, match="X must hold numbers"):
        model.inverse_transform([["a"]])
    with pytest.raises(ValueError, match="finite coordinates"):
        model.inverse_transform([[np.nan]])


@pytest.mark.parametrize("init", ["pca", [[0.0, 0.0], [1.0, 1.0]]])
def test_cells_that_are_not_finite_are_named(init: Any, tmp_path: Path) -> None:
    X = np.zeros((17_000, 2))
    X[:, 0] = np.arange(17_000)
    model = PrincipalCurve(max_iter=2).fit(X)
    X[16_999, 1] = np.nan
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="NaN: row 16999, column 1"):
        PrincipalCurve(init=init).fit(unveil.scan(tmp_path / "rows.npy"))
    with pytest.raises(ValueError, match="NaN: row 16999, column 1"):
        model.transform(unveil.scan(tmp_path / "rows.npy"))


def test_a_limit_that_is_reached_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged"):
        model = PrincipalCurve(max_iter=1).fit(wave(50))
    assert not model.converged_
    assert model.n_iter_ == 1


# -- same bits, files --------------------------------------------------------------------------------------------------


def bits(model: PrincipalCurve) -> bytes:
    return b"".join(
        np.ascontiguousarray(part).tobytes() for part in (model.points_, model.coordinates_, model.distance_)
    )


@pytest.mark.parametrize(
    "settings", [{}, {"smoother": "local", "closed": True, "bias_correction": True, "n_points": 300}]
)
def test_same_bits_everywhere(settings: dict[str, Any], tmp_path: Path) -> None:
    X = wave(40_000)
    settings = {**settings, "max_iter": 2}
    wanted = bits(fitted(X, engine=Threads(1), **settings))
    np.save(tmp_path / "rows.npy", X)
    scan = unveil.scan(tmp_path / "rows.npy")
    assert bits(fitted(X, engine=Threads(2), **settings)) == wanted
    assert bits(fitted(X, engine=Threads(5), **settings)) == wanted
    assert bits(fitted(np.asfortranarray(X), **settings)) == wanted
    model = fitted(scan, **settings)
    assert bits(model) == wanted
    assert model.transform(scan).tobytes() == fitted(X, **settings).transform(X).tobytes()


def test_same_bits_on_a_cluster() -> None:
    X, weights = wave(20_000), np.random.default_rng(0).integers(0, 3, 20_000)
    wanted = bits(fitted(X, weights, max_iter=2))
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        assert bits(fitted(X, weights, max_iter=2, engine=Dask(client))) == wanted
        assert bits(fitted(dask.array.from_array(X, chunks=(9_999, 2)), weights, max_iter=2)) == wanted


def test_saved_pickled_and_cloned(tmp_path: Path) -> None:
    X = wave(100)
    model = PrincipalCurve(degrees_of_freedom=4, init=X[:5]).fit(X)
    model.save(tmp_path / "curve.unveil")
    for again in (unveil.load(tmp_path / "curve.unveil"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        assert again.history_ == model.history_
        assert str(again.certificate_) == str(model.certificate_)
    assert clone(model).fit(X).distance_ == model.distance_
    assert model.set_output(transform="pandas").transform(X).columns.tolist() == ["principalcurve0"]


# -- interruption and the log ------------------------------------------------------------------------------------------


class Interrupting(Threads):
    """Threads that Ctrl-C stops in the pass of a number, counted over all kinds of passes."""

    def __init__(self, number: int) -> None:
        super().__init__(1)
        object.__setattr__(self, "left", [number])

    def _count(self) -> None:
        self.left[0] -= 1
        if self.left[0] == 0:
            raise KeyboardInterrupt

    def map_reduce(self, *arguments: Any) -> Any:
        self._count()
        return super().map_reduce(*arguments)

    def map(self, *arguments: Any) -> Any:
        self._count()
        return super().map(*arguments)


@pytest.mark.parametrize("settings", [{}, {"closed": True}, {"init": wave(8)}, {"bias_correction": True}])
def test_what_was_reached_is_kept_when_a_fit_is_interrupted(settings: dict[str, Any]) -> None:
    X, first = wave(200), 2 if "init" in settings else 3  # passes until the first turn: moments if any, the start
    each = 4 if "bias_correction" in settings else 2
    for turns in range(3):
        with pytest.warns(ConvergenceWarning, match=rf"interrupted after {turns} pass(es)?;"):
            model = PrincipalCurve(tol=0, engine=Interrupting(first + each * turns + 1), **settings).fit(X)
        assert (model.n_iter_, model.converged_, model.history_.status) == (turns, False, Status.INTERRUPTED)
        np.testing.assert_allclose(model.distance_, model.distance_path_[-1], rtol=1e-9)
        assert model.transform(X).shape == (200, 1)
        if turns:
            assert bits(model) == bits(fitted(X, tol=0, max_iter=turns, **settings))


def test_a_fit_that_has_nothing_yet_is_given_up() -> None:
    with pytest.raises(KeyboardInterrupt):
        PrincipalCurve(engine=Interrupting(2)).fit(wave(50))


def test_turns_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="unveil"):
        model = PrincipalCurve(verbose=1).fit(wave(50))
    assert len(caplog.messages) == model.n_iter_
    assert "PrincipalCurve: pass 1" in caplog.messages[0]


def test_what_a_certificate_counts_are_turns() -> None:
    model = PrincipalCurve().fit(wave(50))
    assert f"converged after {model.n_iter_} passes" in str(model.certificate_)


# -- what once went wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_points", [2, 3, 8])
@pytest.mark.parametrize("closed", [False, True])
def test_a_coarse_local_curve_is_finite(n_points: int, closed: bool) -> None:
    model = fitted(wave(60), smoother="local", span=0.05, n_points=n_points, closed=closed, max_iter=3)
    assert np.isfinite(model.points_).all()
    assert np.isfinite(model.distance_path_).all()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(50), "sample_weight must have a positive entry"),
        (-np.ones(50), "sample_weight must be finite and not negative, got -1.0 in row 0"),
        (np.ones(49), r"sample_weight must have shape \(50,\)"),
    ],
)
def test_weights_of_a_score_are_checked(weights: Floats, message: str) -> None:
    X = wave(50)
    with pytest.raises(ValueError, match=message):
        PrincipalCurve().fit(X).score(X, sample_weight=weights)


@pytest.mark.parametrize("method", ["transform", "project", "distance", "score", "inverse_transform"])
def test_an_unfitted_curve_says_so(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(PrincipalCurve(), method)(np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (wave(20), {"init": np.ones((4, 3))}, "init must hold points that differ, got the same one 4 times"),
        (1e200 * wave(20), {}, "add up to more than float64 can hold"),
        (1e200 * wave(20), {"init": wave(5)}, "add up to more than float64 can hold"),
    ],
)
def test_starts_that_lead_nowhere_are_refused(X: Floats, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrincipalCurve(**settings).fit(X)
