"""LinearDiscriminantAnalysis against scikit-learn's, R's and ugly data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError
from sklearn.covariance import OAS, ledoit_wolf
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Reference
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from unveil import LinearDiscriminantAnalysis

OLDER = parse_version(sklearn.__version__) < parse_version("1.9.1")  # its "svd" divided by rows less classes
IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
TWO = (WINE[0][WINE[1] < 2], WINE[1][WINE[1] < 2])
SHARED = ("classes_", "priors_", "means_", "coef_", "intercept_", "covariance_", "xbar_", "explained_variance_ratio_")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"store_covariance": True},
    {"n_components": 1},
    {"tol": 0.3},
    {"solver": "lsqr"},
    {"solver": "lsqr", "shrinkage": 0.4},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "lsqr", "covariance_estimator": OAS()},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": 0.1},
    {"solver": "eigen", "shrinkage": "auto", "n_components": 1},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


@pytest.mark.filterwarnings(
    "ignore:LinearDiscriminantAnalysis. .* any labels at all"
)  # some checks feed but a few rows
@parametrize_with_checks(
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(covariance_type="spherical"),
        LinearDiscriminantAnalysis("eigen", shrinkage=0.3),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def pair(options: dict[str, Any]) -> tuple[Any, Any]:
    """scikit-learn's class and ours, with the same divisor."""
    divisor = {"unbiased": True} if OLDER and options.get("solver", "svd") == "svd" else {}
    return Reference(**options), LinearDiscriminantAnalysis(**options, **divisor)


def close(one: Any, other: Any, digits: float = 1e-8) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=digits * max(float(np.max(np.abs(other), initial=0)), 1e-300))


@pytest.mark.parametrize("data", [IRIS, WINE, TWO], ids=["iris", "wine", "two classes"])
@pytest.mark.parametrize("priors", [None, "given"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_scikit_learn(data: Any, priors: Any, options: dict[str, Any]) -> None:
    X, y = data
    share = np.arange(2, 2 + len(set(y)))
    options = options | {"priors": None if priors is None else share / share.sum()}
    wanted, found = (model.fit(X, y) for model in pair(options))
    for name in SHARED:
        if hasattr(wanted, name) and not (name == "covariance_" and found.unbiased):
            close(getattr(found, name), getattr(wanted, name))
    close(found.predict_proba(X), wanted.predict_proba(X))
    close(found.decision_function(X), wanted.decision_function(X))
    assert (found.predict(X) == wanted.predict(X)).all()
    likely = wanted.predict_proba(X) > 1e-8
    close(found.predict_log_proba(X)[likely], wanted.predict_log_proba(X)[likely], 1e-7)
    if options.get("solver") == "lsqr":
        with pytest.raises(NotImplementedError, match="lsqr"):
            found.transform(X)
        return
    ours, theirs = found.transform(X), wanted.transform(X)
    assert ours.shape == theirs.shape
    signs = np.sign(np.sum(ours * theirs, axis=0))
    close(ours * signs, theirs)
    close(found.scalings_[:, : len(signs)] * signs, wanted.scalings_[:, : len(signs)])


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_the_divisor(solver: str) -> None:
    """R's MASS divides by rows less classes, scikit-learn by rows."""
    X, y = IRIS
    for unbiased, wanted in ((True, 0.746771775), (False, 0.750922666)):
        model = LinearDiscriminantAnalysis(solver, unbiased=unbiased, store_covariance=True).fit(X, y)
        assert model.predict_proba(X[70:71])[0, 2] == pytest.approx(wanted, abs=5e-10)
        close(model.covariance_, model.within_scatter_ / (147 if unbiased else 150), 1e-12)
    default = LinearDiscriminantAnalysis(solver).fit(X, y).predict_proba(X[70:71])[0, 2]
    assert default == pytest.approx(0.750922666, abs=5e-10)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_a_sphere_assigns_to_the_nearest_mean(solver: str) -> None:
    X, y = WINE
    model = LinearDiscriminantAnalysis(solver, covariance_type="spherical", priors=np.full(3, 1 / 3))
    model.fit(X, y)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    squares = np.sum((X[:, None] - means) ** 2, axis=2)
    assert (model.predict(X) == squares.argmin(axis=1)).all()
    if solver == "svd":
        variance = np.mean((X - means[y]) ** 2)
        logits = -squares / (2 * variance)
        wanted = np.exp(logits - logits.max(axis=1, keepdims=True))
        close(model.predict_proba(X), wanted / wanted.sum(axis=1, keepdims=True), 1e-10)
        assert np.allclose(model.scalings_.T @ model.scalings_, np.eye(2) / variance)  # orthogonal directions


# -- ugly data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_far_from_zero(solver: str) -> None:
    X, y = IRIS
    rows = np.round(X * 64) / 64  # so that shifting loses nothing
    near, far = (LinearDiscriminantAnalysis(solver).fit(table, y) for table in (rows, rows + 1e8))
    close(far.predict_proba(rows + 1e8), near.predict_proba(rows), 1e-11)
    for name in ("within_scatter_", "between_scatter_", "total_scatter_", "signal_to_noise_"):
        close(getattr(far, name), getattr(near, name), 1e-11)
    if solver == "svd":
        close(far.transform(rows + 1e8), near.transform(rows), 1e-7)  # about xbar_, which is itself rounded there


def test_classes_a_hundred_million_apart() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 2000)
    rows = np.round(random.normal(size=(2000, 3)) * 64) / 64
    X = rows + 1e8 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])[y]
    model = LinearDiscriminantAnalysis().fit(X, y)
    centred = rows - np.stack([rows[y == k].mean(axis=0) for k in range(4)])[y]
    close(model.within_scatter_, centred.T @ centred, 1e-12)
    assert (model.predict(X) == y).all()


def test_nearly_dependent_columns_keep_their_digits() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 3000)
    Z = random.normal(size=(3000, 8)) + random.normal(size=(4, 8))[y]
    X = np.column_stack([Z, Z[:, 0] + 5e-4 * random.normal(size=3000)])
    wanted, found = (model.fit(X, y) for model in pair({}))
    close(found.coef_, wanted.coef_, 1e-9)
    close(found.predict_proba(X), wanted.predict_proba(X), 1e-9)


def spoilt(kind: str) -> tuple[Any, Any, Any]:
    """Iris with something wrong, and the columns that hold all there is to know."""
    X, y = IRIS
    if kind == "constant":
        return np.column_stack([X, np.full(150, 0.1)]), y, slice(0, 4)
    if kind == "duplicated":
        return np.column_stack([X, X[:, 1]]), y, slice(0, 4)
    if kind == "dependent":
        return np.column_stack([X, X @ [1.0, -2.0, 0.5, 0.0]]), y, slice(0, 4)
    return np.column_stack([X, 1e5 + np.zeros(150)]), y, slice(0, 4)


@pytest.mark.parametrize("kind", ["constant", "duplicated", "dependent", "far constant"])
def test_rank_deficiency(kind: str) -> None:
    X, y, enough = spoilt(kind)
    for solver in ("svd", "lsqr"):
        plain = LinearDiscriminantAnalysis(solver).fit(X[:, enough], y)
        found = LinearDiscriminantAnalysis(solver).fit(X, y)
        close(found.predict_proba(X), plain.predict_proba(X[:, enough]))
        assert np.max(np.abs(found.coef_)) <= 2 * np.max(np.abs(plain.coef_))
    with pytest.raises(LinAlgError, match="column 4 of X does not vary, or follows from the columns before it"):
        LinearDiscriminantAnalysis("eigen").fit(X, y)
    assert LinearDiscriminantAnalysis("eigen", shrinkage=0.1).fit(X, y).score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore:LinearDiscriminantAnalysis. .* any labels at all")
def test_fewer_rows_than_columns() -> None:
    random = np.random.default_rng(0)
    y = np.arange(20) % 3
    X = random.normal(size=(20, 50)) + 4 * random.normal(size=(3, 50))[y]
    wanted, found = (model.fit(X, y) for model in pair({}))
    close(found.coef_, wanted.coef_)
    close(found.transform(X), wanted.transform(X) * np.sign(np.sum(found.transform(X) * wanted.transform(X), axis=0)))
    least = LinearDiscriminantAnalysis("lsqr").fit(X, y)
    close(least.coef_, least.means_ @ np.linalg.pinv(least.covariance_, rcond=1e-12), 1e-6)
    assert np.all(np.isfinite(least.predict_log_proba(X)))


@pytest.mark.filterwarnings("ignore:Only one sample available")  # scikit-learn's own class says so
def test_one_row_of_a_class() -> None:
    X, y = IRIS[0][:101], IRIS[1][:101]
    for solver in ("svd", "lsqr", "eigen"):
        wanted, found = (model.fit(X, y) for model in pair({"solver": solver}))
        close(found.predict_proba(X), wanted.predict_proba(X))
    with pytest.raises(ValueError, match=r"The number of samples must be more .* got 3 rows of 3 classes"):
        LinearDiscriminantAnalysis().fit(IRIS[0][[0, 60, 120]], [0, 1, 2])


def test_one_class_is_always_predicted() -> None:
    model = LinearDiscriminantAnalysis().fit(IRIS[0], np.full(150, "only"))
    assert set(model.predict(IRIS[0])) == {"only"}
    assert model.predict_proba(IRIS[0]).tolist() == [[1.0]] * 150
    assert model.transform(IRIS[0]).shape == (150, 0)
    assert model.evidence_ == pytest.approx(0, abs=1e-9)


def test_classes_without_difference() -> None:
    X = np.array([[-1.0, 2.0], [1.0, 2.5], [-1.0, 2.0], [1.0, 2.5]])
    model = LinearDiscriminantAnalysis().fit(X, [0, 0, 1, 1])
    assert np.allclose(model.predict_proba(X), 0.5)
    assert model.evidence_ < 0


def test_single_precision() -> None:
    X, y = WINE
    model = LinearDiscriminantAnalysis().fit(X.astype(np.float32), y)
    close(
        model.within_scatter_,
        LinearDiscriminantAnalysis().fit(X.astype(np.float32).astype(float), y).within_scatter_,
        1e-12,
    )
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.within_scatter_.dtype == np.float64


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["svd", "lsqr", "eigen"]))
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(seed: int, solver: str) -> None:
    X, y = IRIS
    times = np.random.default_rng(seed).integers(0, 3, 150)
    one = LinearDiscriminantAnalysis(solver).fit(X, y, sample_weight=times)
    other = LinearDiscriminantAnalysis(solver).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    close(one.predict_proba(X), other.predict_proba(X), 1e-10)
    close(one.total_scatter_, other.total_scatter_, 1e-12)
    assert one.evidence_ == pytest.approx(other.evidence_, rel=1e-10)


def test_a_class_of_no_weight_is_no_class() -> None:
    X, y = IRIS
    weights = (y != 1).astype(float)
    for options in ({}, {"solver": "lsqr", "shrinkage": "auto"}):
        one = LinearDiscriminantAnalysis(**options).fit(X, y, sample_weight=weights)
        other = LinearDiscriminantAnalysis(**options).fit(X[y != 1], y[y != 1])
        assert one.classes_.tolist() == [0, 2]
        close(one.coef_, other.coef_, 1e-10)


@pytest.mark.parametrize(
    ("options", "labels", "error", "words"),
    [
        ({}, None, ValueError, "requires y to be passed, but the target y is None"),
        ({}, "species", ValueError, "y='species' names a column, which needs X to be a scan, got ndarray"),
        ({}, [0, 1], ValueError, "X has 150 rows, y has shape"),
        ({"shrinkage": 0.5}, "iris", NotImplementedError, "shrinkage not supported with 'svd'"),
        ({"covariance_estimator": OAS()}, "iris", ValueError, "not supported with solver='svd'"),
        ({"solver": "lsqr", "covariance_estimator": OAS(), "shrinkage": 0.5}, "iris", ValueError, "both set"),
        ({"solver": "lsqr", "covariance_type": "spherical", "shrinkage": 0.5}, "iris", ValueError, "leaves nothing"),
        ({"n_components": 3}, "iris", ValueError, "n_components cannot be larger than .* = 2, got 3"),
        ({"priors": [0.5, 0.5]}, "iris", ValueError, r"priors must have shape \(3,\)"),
        ({"priors": [0.5, -0.5, 1.0]}, "iris", ValueError, r"priors must be non-negative and finite, got \[0.5, -0.5"),
        ({"priors": [0.5, np.inf, 1.0]}, "iris", ValueError, r"priors must be non-negative and finite, got \[0.5, inf"),
        ({"priors": [0, 0, 0]}, "iris", ValueError, "priors must have a positive entry, got zeros only"),
        ({"priors": ["a", "b", "c"]}, "iris", ValueError, "priors must be numbers, one a class, got .'a', 'b', 'c'."),
        ({"priors": {0: 1.0}}, "iris", TypeError, "priors must be numbers, one a class, got {0: 1.0}"),
        ({"solver": "qr"}, "iris", ValueError, "'solver' parameter"),
    ],
)
def test_errors_name_the_argument(options: Any, labels: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        LinearDiscriminantAnalysis(**options).fit(IRIS[0], IRIS[1] if labels == "iris" else labels)


def test_more_errors() -> None:
    X, y = IRIS
    with pytest.warns(UserWarning, match="priors do not sum to 1"):
        LinearDiscriminantAnalysis(priors=[1, 1, 1]).fit(X, y)
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN: row 7, column 2"):
        LinearDiscriminantAnalysis().fit(bad, y)
    with pytest.raises(ValueError, match="Input X contains NaN: row 7, column 2"):
        LinearDiscriminantAnalysis().fit(X, y).predict(bad)
    with pytest.raises(ValueError, match=r"squares add up to more than float64 can hold: divide by 1e200"):
        LinearDiscriminantAnalysis().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="does not vary within the classes"):
        LinearDiscriminantAnalysis().fit(np.eye(3)[y], y)
    with pytest.raises(ValueError, match=r"the sum of sample_weight must be more than .* got 1.5 for 3"):
        LinearDiscriminantAnalysis(unbiased=True).fit(X, y, sample_weight=np.full(150, 0.01))
    with pytest.raises(ValueError, match="covariance_estimator needs rows in memory, without weights"):
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS()).fit(X, y, sample_weight=np.ones(150))
    with pytest.raises(NotFittedError):
        LinearDiscriminantAnalysis().transform(X)


class Bare:
    """The least that scikit-learn asks of a covariance estimator: a `fit`, whatever it returns."""

    def __init__(self, width: int = 4) -> None:
        self.width = width

    def fit(self, X: Any) -> None:
        self.covariance_ = np.cov(X.T, bias=True)[: self.width, : self.width]


def test_a_covariance_estimator_need_not_return_itself() -> None:
    X, y = IRIS
    wanted, found = (
        make("lsqr", covariance_estimator=Bare()).fit(X, y) for make in (Reference, LinearDiscriminantAnalysis)
    )
    close(found.coef_, wanted.coef_)
    with pytest.raises(ValueError, match=r"Bare must set covariance_ of shape \(4, 4\), got \(2, 2\)"):
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=Bare(2)).fit(X, y)


def test_lsqr_has_no_transform_whatever_was_fitted_before() -> None:
    X, y = IRIS
    for model in (LinearDiscriminantAnalysis("lsqr"), LinearDiscriminantAnalysis().fit(X, y).set_params(solver="lsqr")):
        with pytest.raises(NotImplementedError, match="lsqr"):
            model.transform(X)
    with pytest.raises(NotImplementedError, match="lsqr"):
        LinearDiscriminantAnalysis("lsqr").fit(X, y).set_params(solver="svd").transform(X)


@pytest.mark.parametrize("seed", range(4))
def test_ratios_are_scikit_learns_where_shrinkage_outweighs_the_separation(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(200, 5)) @ random.normal(size=(5, 5)), random.integers(0, 3, 200)
    wanted, found = (model.fit(X, y) for model in pair({"solver": "eigen", "shrinkage": "auto"}))
    total = ledoit_wolf((X - X.mean(axis=0)) / X.std(axis=0))[0] * np.outer(X.std(axis=0), X.std(axis=0))
    assert np.trace(np.linalg.solve(found.covariance_, total - found.covariance_)) < 0  # less than nothing to share
    close(found.explained_variance_ratio_, wanted.explained_variance_ratio_)
