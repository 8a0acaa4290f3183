"""GenerativeTopographicMap against the slow oracle, curves and sheets that are known, and ugly data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from tests.oracles import topographic_map as oracle
from unveil import GenerativeTopographicMap

SMALL = {"lattice_shape": 8, "basis_shape": 3}


def curve(n=600, noise=0.08, seed=0):
    """A wave in three columns."""
    random = np.random.default_rng(seed)
    t = random.uniform(-1, 1, n)
    return np.stack([2 * t, np.sin(4 * t), t**2], axis=1) + noise * random.normal(size=(n, 3)), t


def sheet(n=900, noise=0.05, seed=0, turn=1.3):
    """A sheet bent to an S; from a `turn` of 2 on it hangs over."""
    random = np.random.default_rng(seed)
    t, height = turn * np.pi * (random.random(n) - 0.5), 2 * random.random(n)
    X = np.stack([2 * np.sin(t), height, np.sign(t) * (np.cos(t) - 1)], axis=1)
    return X + noise * random.normal(size=(n, 3)), np.stack([t, height], axis=1)


def holed(X, share, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def wave():
    X, t = curve()
    return GenerativeTopographicMap(1).fit(X), X, t


@pytest.fixture(scope="module")
def bent():
    X, places = sheet()
    return GenerativeTopographicMap(basis_shape=8, max_iter=400).fit(X), X, places


@pytest.mark.filterwarnings("ignore:GenerativeTopographicMap. .*more parameters than the rows support")
@parametrize_with_checks([GenerativeTopographicMap(**SMALL), GenerativeTopographicMap(1, lattice_shape=9)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- what is right -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("n_components", [1, 2])
def test_a_fit_is_that_of_the_oracle(n_components, share):
    X, _ = curve(150)
    X, weights = holed(X + 3.0, share), np.random.default_rng(0).integers(1, 4, 150).astype(float)
    given = {"lattice_shape": 7, "basis_shape": 4, "tol": 0.0, "regularization": 0.3}
    with pytest.warns(ConvergenceWarning, match="not converged"):
        start = GenerativeTopographicMap(n_components, max_iter=0, **given).fit(X, sample_weight=weights)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        model = GenerativeTopographicMap(n_components, max_iter=12, **given).fit(X, sample_weight=weights)
    precision = np.r_[np.full(4**n_components, start.prior_precision_), np.zeros(n_components + 1)]
    coefficients, variance, bounds = start.coefficients_, start.noise_variance_, []
    for _ in range(12):
        prior = oracle.log_prior(precision, coefficients)
        likelihood, coefficients, variance = oracle.em_step(
            X - start.mean_, start.basis_, precision, coefficients, variance, weights
        )
        bounds.append((likelihood + prior) / weights.sum())
    np.testing.assert_allclose(model.means_, start.mean_ + start.basis_ @ coefficients, atol=1e-9)
    np.testing.assert_allclose(model.lower_bounds_, bounds, rtol=1e-9)
    assert model.noise_variance_ == pytest.approx(variance, rel=1e-9)
    joint = oracle.log_joint(X - model.mean_, model.means_ - model.mean_, model.noise_variance_)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), shares @ model.lattice_, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(joint, axis=1), atol=1e-9)
    np.testing.assert_allclose(model.impute(X), np.where(np.isnan(X), shares @ model.means_, X), rtol=1e-9)


def test_a_curve_is_found_and_held_out_rows_are_likelier_than_under_a_line(wave):
    model, _, _ = wave
    fresh, t = curve(seed=5)
    assert model.converged_
    assert model.certificate_.ok
    assert np.all(np.diff(model.lower_bounds_) >= -1e-12)
    assert abs(np.corrcoef(model.transform(fresh).ravel(), t)[0, 1]) > 0.99
    line = decomposition.PCA(1).fit(curve()[0])
    assert model.score(fresh) > line.score(fresh) + 0.5
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.08, rel=0.15)
    error = np.mean((model.inverse_transform(model.transform(fresh)) - fresh) ** 2)
    assert error < 0.2 * np.mean((line.inverse_transform(line.transform(fresh)) - fresh) ** 2)


def test_a_bent_sheet_is_found_and_held_out_rows_are_likelier_than_under_a_plane(bent):
    model, X, _ = bent
    fresh, places = sheet(seed=7)
    plane = decomposition.PCA(2).fit(X)
    assert model.score(fresh) > plane.score(fresh) + 1.0
    assert np.sqrt(model.noise_variance_) < 0.1
    found = model.transform(fresh)
    along = np.abs(np.corrcoef(found.T, places.T)[:2, 2:])
    assert along.max(axis=0).min() > 0.95  # each way of the sheet is a way of the map


def test_a_sheet_that_hangs_over_is_still_better_than_a_plane():
    X, fresh = sheet(turn=3.0)[0], sheet(turn=3.0, seed=7)[0]
    model, plane = GenerativeTopographicMap(basis_shape=8, max_iter=400).fit(X), decomposition.PCA(2).fit(X)
    assert model.score(fresh) > plane.score(fresh) + 1.0


def test_magnification_is_that_of_differences(bent):
    model, _, _ = bent
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    steps = 1e-5 * np.eye(2)
    ways = [(model.inverse_transform(points + step) - model.inverse_transform(points - step)) / 2e-5 for step in steps]
    areas = np.linalg.norm(np.cross(*ways), axis=1)
    np.testing.assert_allclose(model.magnification_factors(points), areas, rtol=1e-6)
    assert model.magnification_factors().shape == (400,)
    total = model.magnification_factors().mean() * 4.0
    t = np.linspace(-0.65, 0.65, 2001) * np.pi
    area = 2 * np.trapezoid(np.hypot(2 * np.cos(t), np.sin(t)), t)
    assert total == pytest.approx(area, rel=0.2)


def test_magnification_of_a_curve_is_its_length(wave):
    model, _, _ = wave
    fine = model.inverse_transform(np.linspace(-1, 1, 20001)[:, None])
    length = np.linalg.norm(np.diff(fine, axis=0), axis=1).sum()
    factors = model.magnification_factors(np.linspace(-1, 1, 2001)[:, None])
    assert np.trapezoid(factors, dx=1e-3) == pytest.approx(length, rel=1e-5)


def test_missing_cells_are_better_filled_in_than_by_means():
    X, _ = sheet()
    holes = holed(X, 0.2)
    model = GenerativeTopographicMap(basis_shape=8, max_iter=400).fit(holes)
    gone = np.isnan(holes)
    filled = model.impute(holes)
    assert np.array_equal(filled[~gone], X[~gone])
    means = np.broadcast_to(np.nanmean(holes, axis=0), X.shape)
    assert np.mean((filled - X)[gone] ** 2) < 0.5 * np.mean((means - X)[gone] ** 2)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-12)
    whole = GenerativeTopographicMap(basis_shape=8, max_iter=400).fit(X)
    assert model.score(X) > whole.score(X) - 0.5


def test_rows_of_nothing_but_holes_say_nothing():
    X, _ = curve(200)
    some = np.vstack([X, np.full((5, 3), np.nan)])
    model = GenerativeTopographicMap(**SMALL).fit(some)
    np.testing.assert_allclose(model.transform(some)[-1], 0.0, atol=1e-12)
    assert model.score_samples(some)[-1] == pytest.approx(0.0, abs=1e-12)
    without = GenerativeTopographicMap(**SMALL).fit(X)
    np.testing.assert_allclose(model.score_samples(X), without.score_samples(X), atol=0.02)


def test_modes_are_the_points_that_predict_names(bent):
    model, X, _ = bent
    numbers = model.predict(X)
    assert np.array_equal(model.modes(X), model.lattice_[numbers])
    assert np.array_equal(numbers, model.predict_proba(X).argmax(axis=1))


def test_draws_are_like_the_rows(bent):
    model, X, _ = bent
    drawn, numbers = model.sample(4000)
    assert numbers.max() < 400
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.3)
    assert model.score(drawn) == pytest.approx(model.score(X), abs=0.4)


def test_weights_equal_rows():
    X, _ = curve(300)
    times = np.random.default_rng(0).integers(0, 4, 300)
    weighted = GenerativeTopographicMap(**SMALL).fit(holed(X, 0.1), sample_weight=times)
    repeated = GenerativeTopographicMap(**SMALL).fit(np.repeat(holed(X, 0.1), times, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, atol=1e-8)
    assert weighted.score(X, sample_weight=times) == pytest.approx(repeated.score(np.repeat(X, times, axis=0)))


def test_more_starts_are_never_worse():
    X, _ = sheet(300)
    one, three = (GenerativeTopographicMap(**SMALL, n_init=n, random_state=0).fit(X) for n in (1, 3))
    assert three.lower_bound_ >= one.lower_bound_
    assert len(three.history_.restarts) == 3
    random = GenerativeTopographicMap(**SMALL, init="random", random_state=0).fit(X)
    assert random.score(X) > decomposition.PCA(1).fit(X).score(X)


# -- ugly data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_an_offset_changes_nothing(share):
    X = holed(np.round(curve(300)[0] * 2**20) / 2**20, share)
    near, far = (GenerativeTopographicMap(**SMALL).fit(X + offset) for offset in (0.0, 1e8))
    np.testing.assert_allclose(far.means_ - 1e8, near.means_, atol=1e-5)
    assert far.noise_variance_ == pytest.approx(near.noise_variance_, rel=1e-4)
    np.testing.assert_allclose(far.transform(X + 1e8), near.transform(X), atol=1e-4)


def test_units_change_nothing():
    X, _ = curve(300)
    one, other = (GenerativeTopographicMap(**SMALL).fit(X * unit) for unit in (1.0, 1e-6))
    np.testing.assert_allclose(other.means_, one.means_ * 1e-6, atol=1e-12)
    np.testing.assert_allclose(other.transform(X * 1e-6), one.transform(X), atol=1e-6)


UGLY = {
    "rank deficient": lambda X: np.column_stack([X, X[:, 0] - X[:, 1]]),
    "constant column": lambda X: np.column_stack([X, np.full(len(X), 5.0)]),
    "duplicated column": lambda X: np.column_stack([X, X[:, 0]]),
    "a line": lambda X: np.outer(X[:, 0], [1.0, 2.0, -1.0]),
    "fewer rows than columns": lambda X: X[:8] @ np.random.default_rng(0).normal(size=(3, 30)),
    "two rows": lambda X: X[:2],
    "the same row": lambda X: np.tile(X[:1], (20, 1)),
    "no noise": lambda X: curve(200, noise=0.0)[0],
    "float32": lambda X: X.astype(np.float32),
    "wide": lambda X: X[:60] @ np.random.default_rng(0).normal(size=(3, 700)),
}


@pytest.mark.filterwarnings("ignore:GenerativeTopographicMap. .*more parameters than the rows support")
@pytest.mark.filterwarnings("ignore:GenerativeTopographicMap. not converged")
@pytest.mark.parametrize("name", UGLY)
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_ugly_data(name, share):
    X = UGLY[name](curve(120)[0])
    X = X if share == 0.0 else holed(X, share, seed=3)
    if np.isnan(X).all(axis=0).any():
        with pytest.raises(ValueError, match="no value in column"):
            GenerativeTopographicMap(**SMALL).fit(X)
        return
    model = GenerativeTopographicMap(**SMALL).fit(X)
    objective = np.array(model.lower_bounds_)
    assert np.all(np.diff(objective) >= -1e-9 * np.abs(objective).max())
    assert np.all(np.isfinite(model.means_))
    assert model.noise_variance_ > 0
    assert np.all(np.abs(model.transform(X)) <= 1 + 1e-12)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert np.all(np.isfinite(model.magnification_factors()))
    seen = ~np.isnan(X)
    error = np.where(seen, model.inverse_transform(model.modes(X)) - X, 0.0)
    assert np.sum(error**2) <= np.sum(np.where(seen, np.nanmean(X, axis=0) - X, 0.0) ** 2) + 1e-9


def test_float32_is_kept(tmp_path):
    X = curve(100)[0].astype(np.float32)
    model = GenerativeTopographicMap(**SMALL).fit(X)
    np.save(tmp_path / "X.npy", X)
    for table in (X, unveil.scan(tmp_path / "X.npy")):
        assert model.transform(table).dtype == np.float32
    frame = pd.DataFrame(X)
    assert model.transform(frame).dtype == np.float32
    assert model.transform(X.astype(float)).dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "X", "message"),
    [
        ({}, [[1.0, 2.0]], "1 sample"),
        ({}, [[1.0], [2.0]], "no more dimensions than the data, got n_components=2 with n_features = 1"),
        ({"lattice_shape": (4, 4, 4)}, [[1.0, 2.0]] * 3, r"lattice_shape must be .* got \(4, 4, 4\)"),
        ({"basis_shape": (2, 0)}, [[1.0, 2.0]] * 3, r"basis_shape must be .* each at least 1"),
        ({"n_components": 3}, [[1.0, 2.0]] * 3, "n_components"),
        ({"schedule": "squarem", "expectation": "sampled"}, [[1.0, 2.0]] * 3, "is not possible"),
        ({}, [[1.0, np.inf], [2.0, 3.0]], "infinity"),
        ({}, [[1.0, np.nan], [2.0, np.nan]], "no value in column 1"),
    ],
)
def test_what_is_not_taken_is_named(arguments, X, message):
    with pytest.raises(ValueError, match=message):
        GenerativeTopographicMap(**arguments).fit(np.array(X))


@pytest.mark.parametrize(("n", "row"), [(100, 70), (20_000, 19_000)], ids=["first partition", "second partition"])
def test_infinity_is_named(tmp_path, n, row):
    X = curve(n)[0]
    X[row, 1] = np.inf
    np.save(tmp_path / "X.npy", X)
    model = GenerativeTopographicMap(**SMALL, tol=1.0).fit(X[:50])
    for table in (X, X.astype(np.float32), unveil.scan(tmp_path / "X.npy")):
        for take in (GenerativeTopographicMap(**SMALL).fit, model.transform, model.score, model.impute):
            with pytest.raises(ValueError, match=f"infinity: row {row}, column 1"):
                take(table)


@pytest.mark.parametrize("unit", [1e-160, 1e120, 1e160])
def test_units_past_all_squares_are_refused(unit):
    with pytest.raises(ValueError, match=r"X has .*, whose (powers float64 does not hold: scale|squares add up to)"):
        GenerativeTopographicMap(**SMALL).fit(curve(100)[0] * unit)


def test_what_needs_a_fit_says_so():
    model, X = GenerativeTopographicMap(**SMALL), curve(20)[0]
    for name in ("transform", "predict", "predict_proba", "modes", "score", "score_samples", "impute"):
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
    for name in ("inverse_transform", "magnification_factors"):
        with pytest.raises(NotFittedError):
            getattr(model, name)(np.zeros((1, 2)))
    with pytest.raises(NotFittedError):
        model.sample()


@pytest.mark.parametrize("noise", [0.1, 1e-5], ids=["products", "differences"])
@pytest.mark.parametrize("hole", [False, True])
def test_rows_however_far_lie_at_the_end_of_the_map_that_is_next_to_them(noise, hole):
    X = np.linspace(-1, 1, 300)[:, None] * [1.0, 0.5] + noise * np.random.default_rng(0).normal(size=(300, 2))
    model = GenerativeTopographicMap(1, lattice_shape=20, basis_shape=4, max_iter=500).fit(X)
    ends = np.argsort(model.means_[:, 0])[[0, -1]]
    for far in (1e3, 1e12, 1e17, 1e100, 1e155, 1e200, 1e308):
        rows = np.array([[-far, np.nan if hole else -far], [far, np.nan if hole else far], X[7]])
        assert model.predict(rows)[:2].tolist() == ends.tolist()
        np.testing.assert_allclose(model.transform(rows)[:2], model.lattice_[ends])
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)
        np.testing.assert_allclose(model.impute(rows)[:2, 1], model.means_[ends, 1] if hole else rows[:2, 1])
        scores = model.score_samples(rows)
        assert np.all(scores[:2] < -1e4)
        assert scores[2] == pytest.approx(model.score_samples(X[7:8])[0], rel=1e-9)
        assert not np.isnan(scores).any()


def test_points_of_the_wrong_width_are_named(wave):
    model, _, _ = wave
    with pytest.raises(ValueError, match=r"X must be of shape \(n_points, 1\), got \(3, 2\)"):
        model.inverse_transform(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"points must be of shape \(n_points, 1\)"):
        model.magnification_factors(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        model.sample(0)
