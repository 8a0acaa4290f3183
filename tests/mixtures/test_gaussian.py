"""GaussianMixture beside scikit-learn's, from the same start; hard data; what is refused; how a fit is told of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture as Peer

from tests.oracles import mixtures as oracle
from unveil import GaussianMixture, watch
from unveil.certificate import FitWarning
from unveil.core.result import State, Status

Floats = NDArray[np.float64]
TYPES = ["full", "tied", "diag", "spherical"]
by_type = pytest.mark.parametrize("covariance_type", TYPES)
MEANS = np.array([[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 4.0, 2.0]])
ROOT = np.array([[1.0, 0.5, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 0.6]])


def table(n_rows: int = 600) -> Floats:
    random = np.random.default_rng(11)
    return MEANS[random.choice(3, n_rows, p=[0.5, 0.3, 0.2])] + random.normal(size=(n_rows, 3)) @ ROOT


def start(covariance_type: str, k: int = 3, d: int = 3) -> dict[str, Any]:
    """The same beginning for both libraries."""
    precisions = {
        "full": np.repeat(np.eye(d)[None], k, axis=0),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }
    begin = {"weights_init": np.full(k, 1 / k), "means_init": MEANS + 0.5}
    return begin | {"precisions_init": precisions[covariance_type], "covariance_type": covariance_type}


def both(X: Floats, covariance_type: str, **changes: Any) -> tuple[GaussianMixture, Peer]:
    settings = {"n_components": 3, "tol": 1e-3, "max_iter": 100, **start(covariance_type), **changes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GaussianMixture(**settings).fit(X), Peer(**settings).fit(X)


@by_type
@pytest.mark.parametrize(
    "settings", [{}, {"tol": 1e-9, "max_iter": 500}, {"max_iter": 7}, {"reg_covar": 0.1, "tol": 1e-5}]
)
@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_from_the_same_start_it_ends_where_scikit_learn_ends(covariance_type: str, settings: dict[str, Any]) -> None:
    X = table()
    ours, peer = both(X, covariance_type, **settings)
    assert ours.n_iter_ == peer.n_iter_
    assert ours.converged_ == peer.converged_
    assert ours.lower_bound_ == pytest.approx(peer.lower_bound_, rel=1e-9)
    np.testing.assert_allclose(ours.lower_bounds_, peer.lower_bounds_, rtol=1e-9)
    np.testing.assert_allclose(ours.weights_, peer.weights_, rtol=1e-7)
    np.testing.assert_allclose(ours.means_, peer.means_, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours.covariances_, peer.covariances_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.precisions_, peer.precisions_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.precisions_cholesky_, peer.precisions_cholesky_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(X), peer.score_samples(X), rtol=1e-8)
    assert ours.score(X) == pytest.approx(peer.score(X), rel=1e-9)
    assert ours.bic(X) == pytest.approx(peer.bic(X), rel=1e-9)
    assert ours.aic(X) == pytest.approx(peer.aic(X), rel=1e-9)


@by_type
def test_a_large_offset_changes_neither_labels_nor_likelihood(covariance_type: str) -> None:
    X, offset = np.round(table(), 6), 1e8
    X = (X + offset) - offset  # rows that can be shifted without rounding, so that both tables are the same one
    near = GaussianMixture(3, **start(covariance_type), tol=1e-6, max_iter=300).fit(X)
    moved = start(covariance_type)
    moved["means_init"] = moved["means_init"] + offset
    far = GaussianMixture(3, **moved, tol=1e-6, max_iter=300).fit(X + offset)
    assert far.lower_bound_ == pytest.approx(near.lower_bound_, rel=1e-6)
    assert far.score(X + offset) == pytest.approx(near.score(X), rel=1e-6)
    np.testing.assert_array_equal(far.predict(X + offset), near.predict(X))
    drawn = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X + offset)
    assert drawn.lower_bound_ == pytest.approx(
        GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X).lower_bound_, rel=1e-6
    )


@by_type
def test_float32_is_the_fit_of_the_same_numbers_as_float64(covariance_type: str) -> None:
    X = table().astype(np.float32)
    light = GaussianMixture(3, **start(covariance_type)).fit(X)
    exact = GaussianMixture(3, **start(covariance_type)).fit(X.astype(np.float64))
    assert light.lower_bound_ == exact.lower_bound_
    np.testing.assert_array_equal(light.means_, exact.means_)
    np.testing.assert_array_equal(light.predict(X), exact.predict(X))


@by_type
@pytest.mark.parametrize("expectation", ["exact", "hard"])
def test_weights_equal_repetition_from_the_same_start(covariance_type: str, expectation: str) -> None:
    X = table(200)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    settings = start(covariance_type) | {"expectation": expectation, "tol": 1e-7, "max_iter": 500}
    weighted = GaussianMixture(3, **settings).fit(X, sample_weight=times)
    repeated = GaussianMixture(3, **settings).fit(np.repeat(X, times, axis=0))
    assert weighted.n_iter_ == repeated.n_iter_
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-10)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-8, atol=1e-9)
    assert weighted.bic(X, sample_weight=times) == pytest.approx(repeated.bic(np.repeat(X, times, axis=0)), rel=1e-10)


@by_type
def test_components_come_by_falling_weight_unless_a_start_is_given(covariance_type: str) -> None:
    drawn = GaussianMixture(3, covariance_type=covariance_type, random_state=3).fit(table())
    assert np.all(np.diff(drawn.weights_) <= 0)
    reversed_ = start(covariance_type)
    reversed_["means_init"] = reversed_["means_init"][::-1]
    assert np.all(np.diff(GaussianMixture(3, **reversed_).fit(table()).weights_) > 0)


# -- hard data ---------------------------------------------------------------------------------------------------------


@by_type
@pytest.mark.parametrize("ratio", [1e4, 1e6])
def test_narrow_groups_far_apart(covariance_type: str, ratio: float) -> None:
    random = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], [60, 50, 40])
    X = MEANS[labels] + random.normal(size=(150, 3)) / ratio
    model = GaussianMixture(3, covariance_type=covariance_type, reg_covar=0.0, random_state=0, n_init=3).fit(X)
    np.testing.assert_array_equal(model.predict(X), labels)
    fitted = oracle.gaussian_step(np.eye(3)[labels], (X - MEANS[labels]), covariance_type, 0.0)
    own = oracle.Gaussians(fitted.weights, fitted.means, fitted.covariances)
    # groups do not overlap, so each row is scored by its own component alone, in coordinates about its centre
    want = oracle.gaussian_joint(own, X - MEANS[labels])[np.arange(150), labels]
    np.testing.assert_allclose(model.score_samples(X), want, rtol=1e-7)
    assert model.lower_bound_ == pytest.approx(want.mean(), rel=1e-7)
    assert model.certificate_.ok


@by_type
def test_columns_in_very_different_units(covariance_type: str) -> None:
    """A share of some per mille beside a sum of money: no column may set the floor of another."""
    X, units = table(), np.array([1e9, 1.0, 1e-3]) if covariance_type != "spherical" else np.full(3, 1e6)
    begin = start(covariance_type)
    scaled = begin | {"means_init": begin["means_init"] * units}
    divisor = {
        "full": units[:, None] * units,
        "tied": units[:, None] * units,
        "diag": units**2,
        "spherical": units[0] ** 2,
    }
    scaled["precisions_init"] = begin["precisions_init"] / divisor[covariance_type]
    plain = GaussianMixture(3, **begin, reg_covar=0.0, tol=1e-6, max_iter=2000).fit(X)
    other = GaussianMixture(3, **scaled, reg_covar=0.0, tol=1e-6, max_iter=2000).fit(X * units)
    assert other.lower_bound_ + np.log(units).sum() == pytest.approx(plain.lower_bound_, rel=1e-8)
    np.testing.assert_array_equal(other.predict(X * units), plain.predict(X))


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@by_type
def test_a_degenerate_component_is_floored_and_told_of(covariance_type: str) -> None:
    X = np.concatenate([np.full((30, 3), 9.0), table(100)])
    model = GaussianMixture(2, covariance_type=covariance_type, reg_covar=0.0, random_state=0, n_init=2).fit(X)
    assert np.all(np.isfinite(model.score_samples(X)))
    if covariance_type != "tied":
        (finding,) = [one for one in model.certificate_.findings if one.name == "floored"]
        assert "kept from degenerating" in finding.message


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@by_type
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
def test_a_constant_column(covariance_type: str, reg_covar: float) -> None:
    X = np.column_stack([table(), np.full(600, 5.0)])
    model = GaussianMixture(3, covariance_type=covariance_type, reg_covar=reg_covar, random_state=0).fit(X)
    assert np.all(np.isfinite(model.score_samples(X)))
    np.testing.assert_allclose(model.means_[:, 3], 5.0)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@by_type
def test_rows_that_are_all_the_same(covariance_type: str) -> None:
    X = np.full((20, 2), 3.0)
    model = GaussianMixture(1, covariance_type=covariance_type, random_state=0).fit(X)
    np.testing.assert_allclose(model.means_, [[3.0, 3.0]])
    bare = GaussianMixture(1, covariance_type=covariance_type, random_state=0, reg_covar=0.0).fit(X)
    assert np.all(np.isfinite(bare.score_samples(X)))


@by_type
def test_as_many_components_as_rows(covariance_type: str) -> None:
    X = np.array([[0.0, 0.0], [5.0, 1.0], [-3.0, 8.0]])
    with pytest.warns(FitWarning, match="more parameters"):
        model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    assert sorted(model.predict(X).tolist()) == [0, 1, 2]
    np.testing.assert_allclose(model.weights_, 1 / 3)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@by_type
def test_more_components_than_different_rows(covariance_type: str) -> None:
    X = np.repeat([[0.0, 0.0], [5.0, 1.0]], 10, axis=0)
    settings = {"covariance_type": covariance_type, "random_state": 0, "init_params": "kmeans"}
    with pytest.warns(FitWarning, match="had no rows"):
        kept = GaussianMixture(3, empty_components="keep", **settings).fit(X)
    assert kept.weights_.min() == 0
    model = GaussianMixture(3, **settings).fit(X)
    assert model.history_.events["reseeded"] >= 1
    assert model.certificate_["reseeded"].severity == "note"
    for one in (kept, model):
        assert np.all(np.isfinite(one.score_samples(X)))


def test_small_numbers_raise_no_false_alarm() -> None:
    """With `reg_covar` as large as the variances the plain likelihood may fall; that is no fault of the fit."""
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(200, 2)), random.normal(size=(200, 2)) + 2]) * 1e-3
    model = GaussianMixture(2, random_state=0, tol=1e-9, max_iter=500).fit(X)
    assert model.certificate_.ok


# -- starts, restarts, going on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("init_params", ["kmeans", "k-means++", "random_from_data", "random"])
def test_every_way_to_start(init_params: str) -> None:
    model = GaussianMixture(3, init_params=init_params, random_state=0, n_init=4, tol=1e-6, max_iter=2000).fit(table())
    best = GaussianMixture(3, **start("full"), tol=1e-6, max_iter=2000).fit(table())
    assert model.lower_bound_ == pytest.approx(best.lower_bound_, abs=0.02)
    assert len(model.history_.restarts) == 4
    assert model.lower_bound_ * 600 == pytest.approx(max(model.history_.restarts))


def test_a_part_of_a_start_may_be_given() -> None:
    model = GaussianMixture(3, means_init=MEANS, random_state=0).fit(table())
    np.testing.assert_allclose(model.means_, MEANS, atol=0.5)


def test_the_same_seed_gives_the_same_bits_and_another_may_not() -> None:
    one, two, three = (GaussianMixture(3, random_state=seed, init_params="random").fit(table()) for seed in (0, 0, 1))
    assert one.means_.tobytes() == two.means_.tobytes()
    assert one.means_.tobytes() != three.means_.tobytes()


def test_warm_start_goes_on() -> None:
    X = table()
    whole = GaussianMixture(3, **start("full"), max_iter=10, tol=0.0)
    parts = GaussianMixture(3, **start("full"), max_iter=5, tol=0.0, warm_start=True)
    for model, times in ((whole, 1), (parts, 2)):
        for _ in range(times):
            with pytest.warns(ConvergenceWarning):
                model.fit(X)
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-10)


def test_samples_come_from_the_mixture() -> None:
    model = GaussianMixture(3, **start("full"), random_state=0).fit(table())
    rows, components = model.sample(20_000)
    assert rows.shape == (20_000, 3)
    np.testing.assert_allclose(np.bincount(components) / 20_000, model.weights_, atol=0.02)
    for k in range(3):
        np.testing.assert_allclose(rows[components == k].mean(axis=0), model.means_[k], atol=0.1)
        np.testing.assert_allclose(np.cov(rows[components == k].T), model.covariances_[k], atol=0.15)
    with pytest.raises(ValueError, match="n_samples must be a positive integer, got 0"):
        model.sample(0)


# -- hard expectation and stepwise -------------------------------------------------------------------------------------


@by_type
def test_the_hard_expectation_is_classification_em(covariance_type: str) -> None:
    X, begin = table(), start(covariance_type)
    model = GaussianMixture(3, **begin, expectation="hard", reg_covar=0.0, tol=1e-12, max_iter=200).fit(X)
    first = oracle.Gaussians(begin["weights_init"], begin["means_init"], np.repeat(np.eye(3)[None], 3, axis=0))
    last, path = oracle.climb(
        first,
        X,
        oracle.gaussian_joint,
        lambda q, x: oracle.gaussian_step(q, x, covariance_type, 0.0),
        model.n_iter_,
        choose=oracle.hard,
    )
    np.testing.assert_allclose([record[:2] for record in model.history_], path, rtol=1e-10)
    np.testing.assert_allclose(model.means_, last.means, rtol=1e-9, atol=1e-9)
    assert np.all(model.history_.gap > 0)
    assert model.lower_bound_ == pytest.approx(model.history_.free_energy[-1] / 600)


def test_stepwise_comes_near_the_batch_optimum() -> None:
    random = np.random.default_rng(2)
    X = 3 * MEANS[random.choice(3, 40_000, p=[0.5, 0.3, 0.2])] + random.normal(size=(40_000, 3)) @ ROOT
    batch = GaussianMixture(3, random_state=0, tol=1e-9, max_iter=500).fit(X)
    stepwise = GaussianMixture(3, random_state=0, schedule="stepwise", tol=1e-5).fit(X)
    assert stepwise.score(X) == pytest.approx(batch.score(X), abs=2e-3)
    np.testing.assert_allclose(stepwise.means_, batch.means_, atol=0.05)
    assert stepwise.converged_


# -- how a fit is told of ----------------------------------------------------------------------------------------------


def test_a_fit_that_did_not_converge_says_so_at_the_callers_line() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged: stopped at the limit of 2 passes") as caught:
        model = GaussianMixture(3, random_state=0, max_iter=2, tol=1e-9).fit(table())
    assert caught[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 2
    assert not model.certificate_.ok
    assert model.predict(table()).shape == (600,)


def test_a_converged_fit_is_at_a_fixed_point() -> None:
    model = GaussianMixture(3, random_state=0, tol=1e-10, max_iter=5000).fit(table())
    assert model.converged_
    assert model.certificate_.ok
    settings = {"weights_init": model.weights_, "means_init": model.means_, "precisions_init": model.precisions_}
    again = GaussianMixture(3, **settings, tol=1e-9).fit(table())
    assert again.n_iter_ == 2
    np.testing.assert_allclose(again.means_, model.means_, atol=1e-3)


def interrupt_at(iteration: int) -> Any:
    def press(state: State) -> None:
        if state.iteration == iteration:
            raise KeyboardInterrupt

    return press


def test_ctrl_c_keeps_a_usable_model() -> None:
    model = GaussianMixture(3, random_state=0, tol=0.0)
    with watch(interrupt_at(4)), pytest.warns(ConvergenceWarning, match="interrupted after 4 passes"):
        model.fit(table())
    assert model.history_.status is Status.INTERRUPTED
    assert not model.converged_
    assert model.n_iter_ == 4
    assert model.predict_proba(table()).shape == (600, 3)


def test_ctrl_c_in_a_later_start_keeps_the_best_so_far() -> None:
    passes: list[int] = []

    def press(state: State) -> None:
        passes.append(state.iteration)
        if len(passes) > 1 and state.iteration == 1:
            raise KeyboardInterrupt

    model = GaussianMixture(3, random_state=0, n_init=5)
    with watch(press), pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(table())
    assert len(model.history_.restarts) == 2
    assert model.history_[-1].objective == max(model.history_.restarts)
    assert model.certificate_.warnings[0].startswith("interrupted")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"means_init": np.zeros((3, 2))}, r"means_init must have shape \(3, 3\), got \(3, 2\)"),
        ({"weights_init": [0.5, 0.5]}, r"weights_init must have shape \(3,\), got \(2,\)"),
        ({"weights_init": [0.5, 0.5, 0.5]}, "weights_init must be non-negative and sum to 1"),
        ({"weights_init": [1.5, -0.5, 0.0]}, "weights_init must be non-negative and sum to 1"),
        ({"precisions_init": np.eye(3)}, r"precisions_init must have shape \(3, 3, 3\), got \(3, 3\)"),
        ({"precisions_init": -np.ones((3, 3)), "covariance_type": "diag"}, "precisions_init must be positive"),
        (
            {"precisions_init": np.stack([np.eye(3), np.eye(3), -np.eye(3)])},
            "precisions_init must be positive definite",
        ),
        ({"n_components": 601}, "Expected n_samples >= n_components but got n_components = 601, n_samples = 600"),
        ({"n_components": 0}, "n_components"),
        ({"engine": "gpu"}, "'engine' parameter of GaussianMixture must be"),
        ({"schedule": "sometimes"}, "'schedule' parameter of GaussianMixture must be"),
        ({"expectation": "fuzzy"}, "'expectation' parameter of GaussianMixture must be"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"init_params": "luck"}, "init_params"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianMixture(**{"n_components": 3, "random_state": 0} | settings).fit(table())


def test_before_and_after_fit() -> None:
    with pytest.raises(NotFittedError):
        GaussianMixture().predict(table())
    with pytest.raises(ValueError, match="X has 2 features, but GaussianMixture is expecting 3 features as input"):
        GaussianMixture(random_state=0).fit(table()).predict(table()[:, :2])
