"""Principal curves: scikit-learn's checks, R's princurve, ugly data, one answer from every engine and storage."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.places import EXAMPLES, TESTS
from unveil import PrincipalCurve

Floats = NDArray[np.float64]
PARABOLA = np.loadtxt(TESTS / "data" / "parab.csv", delimiter=",", skiprows=1)
IRIS = np.loadtxt(EXAMPLES / "iris.csv", delimiter=",", skiprows=1)
AS_R: dict[str, Any] = {"stretch": 2, "tol": 1e-3, "max_iter": 10}


def wave(n_rows: int, seed: int = 1) -> Floats:
    random = np.random.default_rng(seed)
    t = random.uniform(-3, 3, n_rows)
    return np.column_stack([t, np.sin(t), 0.3 * t**2]) + 0.2 * random.normal(size=(n_rows, 3))


def spiral(n_rows: int) -> Floats:
    random, share = np.random.default_rng(0), np.linspace(0, 1, n_rows)
    t = 0.5 * np.pi * (1 + 2 * share)
    return np.column_stack([t * np.cos(t), t * np.sin(t), share]) * 0.5 + 0.03 * random.normal(size=(n_rows, 3))


def ring(n_rows: int) -> Floats:
    random = np.random.default_rng(2)
    t = random.uniform(0, 2 * np.pi, n_rows)
    return np.column_stack([3 * np.cos(t), 2 * np.sin(t)]) + 0.15 * random.normal(size=(n_rows, 2))


def fitted(X: Any, sample_weight: Any = None, **settings: Any) -> PrincipalCurve:
    """A fit that may run into its limit, as R's do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PrincipalCurve(**settings).fit(X, sample_weight=sample_weight)


def named(value: Any) -> str:
    return str(getattr(getattr(value, "func", None), "__name__", value))


CHECKED = [PrincipalCurve(), PrincipalCurve(smoother="local", bias_correction=True)]


@pytest.mark.filterwarnings("ignore:PrincipalCurve. not converged")  # some checks feed noise, which has no curve
@pytest.mark.parametrize(
    ("estimator", "check"), [pair for model in CHECKED for pair in estimator_checks_generator(model)], ids=named
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# R 4.2.2, princurve 2.1.6: principal_curve(x), that is stretch = 2, thresh = .001, maxit = 10
@pytest.mark.parametrize(
    ("X", "distance", "turns"),
    [
        (PARABOLA, 0.30047565523, 4),
        (IRIS, 31.9333836458, 5),
        (wave(400), 37.9363122519, 4),
        (wave(30, seed=3), 2.46817383561, 4),
        (wave(5000), 429.531596993, 3),
    ],
)
def test_the_curves_of_r(X: Floats, distance: float, turns: int) -> None:
    model = fitted(X, **AS_R)
    assert model.distance_ == pytest.approx(distance, rel=5e-4)
    assert model.n_iter_ == turns
    assert model.converged_


# R: principal_curve(x, stretch = 0, thresh = 1e-4, maxit = 100, ...), and smoother = "lowess", iter = 0, delta = 0
@pytest.mark.parametrize(
    ("X", "settings", "distance"),
    [
        (PARABOLA, {}, 0.300387718525),
        (PARABOLA, {"tol": 1e-8}, 0.300497744215),
        (IRIS, {}, 32.0876298975),
        (IRIS, {"tol": 1e-8}, 32.4962),  # R wanders about this figure: 32.49638 after 22 turns, 32.49622 after 30
        (IRIS, {"tol": 1e-8, "stretch": 2}, 32.5763922875),
        (wave(400), {}, 37.9346756287),
        (wave(400), {"degrees_of_freedom": 4}, 51.228005717),
        (wave(400), {"degrees_of_freedom": 8}, 33.737049808),
        (wave(400), {"degrees_of_freedom": 14}, 32.1039911449),
        (wave(400), {"degrees_of_freedom": 20}, 29.4880733148),
        (wave(400), {"smoother": "local", "span": 0.5}, 42.1339646719),
        (wave(400), {"smoother": "local", "span": 0.3, "stretch": 2}, 34.5999915898),
        (wave(30, seed=3), {}, 2.47235818542),
        (spiral(600), {}, 2.15294291403),
        (spiral(600), {"degrees_of_freedom": 8}, 1.10323742679),
        (spiral(600), {"degrees_of_freedom": 20}, 1.00097168313),
        (spiral(600), {"smoother": "local", "span": 0.25}, 1.30172355735),
        (spiral(600), {"smoother": "local", "span": 0.5}, 5.11044360018),
        (wave(45, seed=5), {"degrees_of_freedom": 10}, 1.85764413384),
        (IRIS, {"degrees_of_freedom": 3}, 38.8364292923),
        (IRIS, {"smoother": "local", "span": 0.25}, 19.2267678784),
        (wave(5000), {}, 429.326716953),
    ],
)
def test_the_curves_of_r_with_other_settings(X: Floats, settings: dict[str, Any], distance: float) -> None:
    model = PrincipalCurve(**settings).fit(X)
    assert model.distance_ == pytest.approx(distance, rel=5e-4)
    assert model.converged_


def test_the_published_references() -> None:
    assert PrincipalCurve().fit(PARABOLA).distance_ == pytest.approx(0.30050, rel=1e-3)
    model = PrincipalCurve().fit(IRIS)
    assert model.distance_ == pytest.approx(32.088, rel=1e-4)
    assert model.distance_path_[0] == pytest.approx(51.36259, rel=1e-6)  # the first principal component


def test_what_is_known_of_a_fit() -> None:
    X = wave(300)
    model = PrincipalCurve().fit(X)
    coordinates = model.transform(X)
    assert coordinates.shape == (300, 1)
    np.testing.assert_array_equal(coordinates[:, 0], model.coordinates_)
    assert coordinates.min() == 0.0
    assert coordinates.max() == pytest.approx(model.length_, rel=1e-12)
    np.testing.assert_array_equal(model.project(X), model.inverse_transform(coordinates))
    np.testing.assert_allclose(model.distance(X), np.linalg.norm(X - model.project(X), axis=1), rtol=1e-9)
    assert model.distance_ == pytest.approx(np.sum(model.distance(X) ** 2), rel=1e-12)
    assert model.score(X) == pytest.approx(-model.distance_ / 300, rel=1e-12)
    assert model.distance_path_.shape == (model.n_iter_ + 1,)
    assert model.distance_path_[-1] == pytest.approx(model.distance_, rel=1e-9)
    np.testing.assert_array_equal(model.history_.free_energy, -model.distance_path_)
    steps = np.linalg.norm(np.diff(model.points_, axis=0), axis=1)
    np.testing.assert_allclose(np.diff(model.positions_), steps, atol=1e-12)  # unit speed
    np.testing.assert_allclose(model.inverse_transform([[-1.0], [1e9]]), model.points_[[0, -1]], atol=1e-12)
    assert model.get_feature_names_out().tolist() == ["principalcurve0"]


def test_a_spiral_is_unrolled() -> None:
    X = spiral(600)
    order = np.argsort(fitted(X, degrees_of_freedom=10).coordinates_)
    assert abs(np.corrcoef(order, np.arange(600))[0, 1]) > 0.999


@pytest.mark.parametrize("smoother", ["spline", "local"])
def test_closed_curves(smoother: str) -> None:
    X = ring(300)
    model = PrincipalCurve(smoother=smoother, span=0.3, closed=True, bias_correction=True).fit(X)
    np.testing.assert_array_equal(model.points_[0], model.points_[-1])
    assert model.length_ == pytest.approx(15.8654, rel=0.01)  # circumference of the ellipse with axes 3 and 2
    # R: principal_curve(x, smoother = "periodic_lowess", f = .3, iter = 0, delta = 0), which corrects for bias too
    assert model.distance_ == pytest.approx(6.28342, rel=0.1)
    around = np.array([[-0.5], [model.length_ - 0.5], [2 * model.length_ - 0.5]])
    np.testing.assert_allclose(np.ptp(model.inverse_transform(around), axis=0), 0.0, atol=1e-9)
    assert model.coordinates_.max() < model.length_
    plain = PrincipalCurve(smoother=smoother, span=0.3, closed=True).fit(X)
    assert plain.length_ < model.length_  # smoothing shrinks what bends; the correction mends it


def around(along: Floats, rows: Floats, weights: Floats, freedom: float, period: float) -> Floats:
    """The oracle: the periodic cubic smoothing spline at its places, by dense matrices (Green & Silverman 1994)."""
    x, place = np.unique(np.round(along, 9), return_inverse=True)
    same = np.eye(len(x))[place].T * weights
    weights, values = same.sum(axis=1), same @ rows / same.sum(axis=1, keepdims=True)
    count, gaps = len(x), np.diff(np.append(x, x[0] + period))
    bends, second = np.zeros((count, count)), np.zeros((count, count))
    for i in range(count):
        before, after = (i - 1) % count, (i + 1) % count
        bends[i, [before, i, after]] += gaps[before] / 6, (gaps[before] + gaps[i]) / 3, gaps[i] / 6
        second[[before, i, after], i] += 1 / gaps[before], -1 / gaps[before] - 1 / gaps[i], 1 / gaps[i]
    rough, weight = second @ np.linalg.solve(bends, second.T), np.diag(weights)

    def hat(penalty: float) -> Floats:
        return np.linalg.solve(weight + np.exp(penalty) * rough, weight)

    return hat(brentq(lambda penalty: np.trace(hat(penalty)) - freedom, -40, 40, xtol=1e-13)) @ values


def projected(rows: Floats, points: Floats) -> tuple[Floats, Floats, float]:
    """The oracle: coordinates, squared distances and length, segment by segment."""
    sides = np.diff(points, axis=0)
    squares = np.sum(sides**2, axis=1)
    positions = np.concatenate([[0.0], np.cumsum(np.sqrt(squares))])
    shares = np.clip(np.einsum("isc,sc->is", rows[:, None] - points[:-1], sides) / squares, 0, 1)
    gaps = np.sum((points[:-1] + shares[..., None] * sides - rows[:, None]) ** 2, axis=2)
    nearest, every = np.argmin(gaps, axis=1), np.arange(len(rows))
    along = positions[nearest] + shares[every, nearest] * np.sqrt(squares[nearest])
    return along, gaps[every, nearest], float(positions[-1])


@pytest.mark.parametrize(("freedom", "seed"), [(3.0, 0), (4.0, 1), (6.0, 3), (8.0, 4), (9.0, 6)])
def test_closed_curves_are_those_of_the_oracle(freedom: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    t, weights = random.uniform(0, 2 * np.pi, 40), random.integers(1, 4, 40).astype(np.float64)
    X = np.column_stack([3 * np.cos(t), 2 * np.sin(t)]) @ random.normal(size=(2, 3)) + 0.2 * random.normal(size=(40, 3))
    turn = np.linspace(0, 2 * np.pi, 100)
    start = (
        np.column_stack([3 * np.cos(turn), 2 * np.sin(turn)])
        @ np.linalg.lstsq(np.column_stack([3 * np.cos(t), 2 * np.sin(t)]), X, rcond=None)[0]
    )
    along, squares, length = projected(X, np.concatenate([start[:-1], start[:1]]))
    wanted = [weights @ squares]
    passes = 1 if freedom == 3.0 else 2  # then the dense oracle runs out of digits, on some processors
    for _ in range(passes):
        curve = around(along, X, weights, freedom, length)
        along, squares, length = projected(X, np.concatenate([curve, curve[:1]]))
        wanted.append(weights @ squares)
    settings: dict[str, Any] = {"closed": True, "init": start[:-1], "degrees_of_freedom": freedom}
    model = fitted(X, weights, max_iter=passes, tol=0, **settings)
    np.testing.assert_allclose(model.distance_path_, wanted, rtol=1e-5)


def test_a_given_start() -> None:
    X = ring(300)
    turn = np.linspace(0, 2 * np.pi, 50)[:-1]
    circle = 2.5 * np.column_stack([np.cos(turn), np.sin(turn)])
    one = PrincipalCurve(closed=True, init=circle, tol=1e-9, max_iter=500).fit(X)
    other = PrincipalCurve(closed=True, tol=1e-9, max_iter=500).fit(X)
    assert one.distance_ == pytest.approx(other.distance_, rel=1e-4)
    bent = PrincipalCurve(init=np.column_stack([np.linspace(-1, 1, 20), np.linspace(-1, 1, 20) ** 2])).fit(PARABOLA)
    assert bent.distance_ == pytest.approx(0.3005, rel=1e-3)
    backwards = PrincipalCurve(init=bent.points_[::-1]).fit(PARABOLA)
    assert np.corrcoef(backwards.coordinates_, bent.coordinates_)[0, 1] < -0.999


def test_cross_validation_follows_the_data_more_closely() -> None:
    X = wave(400)
    assert fitted(X, degrees_of_freedom="gcv", max_iter=10).distance_ < PrincipalCurve().fit(X).distance_


def test_straight_data_stay_straight() -> None:
    X = np.outer(np.linspace(0, 1, 30), [1.0, 2.0, -2.0]) + 5.0
    model = PrincipalCurve().fit(X)
    assert model.distance_ < 1e-20
    assert model.length_ == pytest.approx(3.0, rel=1e-9)
    np.testing.assert_allclose(np.abs(np.diff(model.coordinates_)), 3.0 / 29, rtol=1e-6)


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"smoother": "local"}, {"closed": True}, {"bias_correction": True}])
def test_weights_equal_repetition(settings: dict[str, Any]) -> None:
    X, times = wave(150), np.random.default_rng(0).integers(0, 4, 150)
    weighted = fitted(X, times, max_iter=4, tol=0, **settings)
    repeated = fitted(np.repeat(X, times, axis=0), max_iter=4, tol=0, **settings)
    np.testing.assert_allclose(weighted.distance_path_, repeated.distance_path_, rtol=1e-6)
    np.testing.assert_allclose(weighted.points_, repeated.points_, atol=1e-4)
    assert weighted.score(X, sample_weight=times) == pytest.approx(-weighted.distance_ / times.sum(), rel=1e-9)


def test_absent_rows_change_nothing() -> None:
    X = np.concatenate([wave(100), np.full((3, 3), 1e6)])
    weights = np.repeat([1.0, 0.0], [100, 3])
    # to rounding, and what it does to rows that all but share a coordinate: one knot more or less
    np.testing.assert_allclose(fitted(X, weights).distance_path_, fitted(X[:100]).distance_path_, rtol=1e-5)


# -- ugly data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"smoother": "local"}, {"closed": True}, {"stretch": 2}])
def test_a_large_offset_changes_nothing(settings: dict[str, Any]) -> None:
    X = np.round(wave(200) * 2**20) / 2**20  # so that adding the offset rounds nothing that matters
    near, far = (fitted(rows, max_iter=5, tol=0, **settings) for rows in (X, X + 1e8))
    np.testing.assert_allclose(far.distance_path_, near.distance_path_, rtol=1e-5)
    np.testing.assert_allclose(far.points_ - 1e8, near.points_, atol=1e-4)
    np.testing.assert_allclose(far.transform(X + 1e8), near.transform(X), atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"smoother": "local"}, {"bias_correction": True}])
def test_columns_that_add_nothing(settings: dict[str, Any]) -> None:
    X = wave(120)
    plain = fitted(X, max_iter=5, tol=0, **settings)
    constant = fitted(np.column_stack([X, np.full(120, 7.0)]), max_iter=5, tol=0, **settings)
    np.testing.assert_allclose(constant.distance_path_, plain.distance_path_, rtol=1e-7)
    np.testing.assert_allclose(constant.points_[:, 3], 7.0, atol=1e-9)
    doubled = fitted(np.column_stack([X, X]), max_iter=5, tol=0, **settings)
    np.testing.assert_allclose(doubled.distance_path_, 2 * plain.distance_path_, rtol=1e-7)


def test_more_columns_than_rows() -> None:
    X = np.random.default_rng(5).normal(size=(6, 20))
    model = fitted(X)
    assert np.isfinite(model.points_).all()
    assert model.distance_ < model.distance_path_[0]


@pytest.mark.parametrize("settings", [{}, {"smoother": "local"}, {"stretch": 2}, {"bias_correction": True}])
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_few_rows(rows: int, settings: dict[str, Any]) -> None:
    X = wave(rows)
    model = fitted(X, **settings)
    assert np.isfinite(model.points_).all()
    assert model.distance_ <= model.distance_path_[0] + 1e-9
    if rows <= 2:
        assert model.distance_ < 1e-9
    assert model.transform(X).shape == (rows, 1)


@pytest.mark.filterwarnings("ignore:.*the curve is a point")
@pytest.mark.parametrize("settings", [{}, {"smoother": "local"}, {"closed": True}, {"stretch": 2}])
def test_equal_rows_are_a_curve_of_one_point(settings: dict[str, Any]) -> None:
    model = PrincipalCurve(**settings).fit(np.full((10, 2), 3.0))
    assert model.converged_
    assert (model.length_, model.distance_) == (0.0, 0.0)
    np.testing.assert_array_equal(model.transform([[3.0, 4.0]]), [[0.0]])
    np.testing.assert_array_equal(model.inverse_transform([[2.0]]), [[3.0, 3.0]])
    assert model.distance([[3.0, 4.0]])[0] == 1.0


def test_repeated_rows_and_ties() -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]], 40, axis=0)
    model = fitted(X)
    assert np.unique(model.coordinates_.round(9)).size == 3
    assert model.distance_ < 1e-3


def test_one_column() -> None:
    X = np.array([[3.0], [1.0], [2.0], [7.0]])
    model = PrincipalCurve().fit(X)
    np.testing.assert_allclose(model.coordinates_, [2.0, 0.0, 1.0, 6.0], atol=1e-3)
    with pytest.raises(ValueError, match="closed=True needs at least 2 rows and 2 columns, got 4 and 1"):
        PrincipalCurve(closed=True).fit(X)


def test_float32() -> None:
    X = wave(200)
    light = X.astype(np.float32)
    model = PrincipalCurve().fit(light)
    assert model.transform(light).dtype == np.float32
    np.testing.assert_allclose(model.distance_, PrincipalCurve().fit(X).distance_, rtol=1e-4)
