"""Hidden Markov models with Gaussian emissions."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from sklearn.base import clone

from tests.data import hmmlearn_paths as peer
from tests.places import DATA
from unveil import GaussianHMM, GaussianMixture
from unveil.estimation.registry import STRUCTURES

PATHS = json.loads((DATA / "hmmlearn.json").read_text())
START = {"startprob_init": peer.START, "transmat_init": peer.TRANSITION, "means_init": peer.MEANS, "regularise": None}


def response_times() -> np.ndarray:
    with (DATA / "speed.csv").open() as file:
        return np.array([[float(row["rt"])] for row in csv.DictReader(file)])


def regimes(n_steps: int = 600, seed: int = 0, offset: float = 0.0) -> np.ndarray:
    """Two columns that change their mean together every 25 steps."""
    random = np.random.default_rng(seed)
    states = (np.arange(n_steps) // 25) % 3
    centres = np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 6.0]])
    return centres[states] + random.normal(size=(n_steps, 2)) + offset


ROWS = regimes()


# -- references --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lengths", "wanted"), [([168, 134, 137], -84.3417143), (None, -88.7305845)])
def test_response_times(lengths, wanted):
    model = GaussianHMM(2, regularise=None, tol=1e-10, reg_covar=0.0, random_state=0).fit(response_times(), lengths)
    assert model.history_[-1].log_likelihood == pytest.approx(wanted, abs=1e-6)
    assert model.score(response_times(), lengths) == pytest.approx(wanted, abs=1e-6)
    assert model.converged_
    assert model.certificate_.ok
    assert model.history_.events["tried"] > 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", peer.COVARS)
def test_the_likelihood_path_is_that_of_hmmlearn(kind):
    model = GaussianHMM(
        3, covariance_type=kind, covars_init=peer.COVARS[kind], reg_covar=0.0, max_iter=15, tol=1e-300, **START
    )
    model.fit(peer.NUMBERS, peer.LENGTHS)
    path = model.history_.log_likelihood
    np.testing.assert_allclose(path, PATHS[kind][: len(path)], rtol=0, atol=1e-8)
    assert len(path) >= 7
    assert model.covars_.shape == (3, 2, 2)


def test_a_single_state_is_a_gaussian():
    model = GaussianHMM(1, regularise=None, reg_covar=0.0).fit(ROWS)
    np.testing.assert_allclose(model.means_[0], ROWS.mean(axis=0))
    np.testing.assert_allclose(model.covars_[0], np.cov(ROWS.T, bias=True))
    assert model.n_iter_ == 2
    mixture = GaussianMixture(1, reg_covar=0.0).fit(ROWS)
    assert model.score(ROWS) == pytest.approx(mixture.score(ROWS) * len(ROWS))


# -- structures, mixtures, priors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(STRUCTURES))
def test_every_structure(kind):
    quick = {"random_state": 0, "n_init": 1, "init_params": "kmeans", "tol": 1e-4}
    model = GaussianHMM(3, covariance_type=kind, **quick).fit(ROWS[:300])
    assert model.certificate_.ok
    assert model.covars_.shape == (3, 2, 2)
    np.testing.assert_allclose(np.sort(model.means_[:, 0]), [0.0, 1.0, 5.0], atol=0.5)
    assert model.transmat_.diagonal().min() > 0.9


def test_more_parameters_climb_higher():
    heights = [
        GaussianHMM(3, covariance_type=kind, random_state=0, n_init=1, init_params="kmeans").fit(ROWS).score(ROWS)
        for kind in ("EII", "spherical", "diag", "full")
    ]
    assert heights == sorted(heights)


def mixed_states(n_steps: int = 900) -> np.ndarray:
    """State 0 is at -4 or 4, state 1 at 0: no single Gaussian fits state 0."""
    random = np.random.default_rng(0)
    states = (np.arange(n_steps) // 30) % 2
    sides = random.choice([-4.0, 4.0], n_steps)
    return (np.where(states == 0, sides, 0.0) + 0.5 * random.normal(size=n_steps))[:, None]


@pytest.mark.filterwarnings("ignore:GaussianHMM. component . has no spread")  # a state of one side needs one part
def test_a_mixture_in_each_state():
    X = mixed_states()
    model = GaussianHMM(2, n_mix=2, random_state=0).fit(X)
    assert (model.weights_.shape, model.means_.shape) == ((2, 2), (2, 2, 1))
    assert (model.covariances_.shape, model.covars_.shape) == ((2, 2, 1, 1), (2, 2, 1, 1))
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0)
    spreads = np.sort(np.ptp(model.means_[..., 0], axis=1))
    assert spreads[0] < 2.0
    assert spreads[1] == pytest.approx(8.0, abs=0.5)
    assert model.transmat_.diagonal().min() > 0.9
    assert model.score(X) > GaussianHMM(2, random_state=0).fit(X).score(X) + 100
    assert model.n_parameters() == 1 + 2 + 2 + 4 + 4
    again = clone(model).set_params(warm_start=True, max_iter=1, tol=1.0)
    again.startprob_, again.transmat_, again.weights_ = model.startprob_, model.transmat_, model.weights_
    again.means_, again.covars_ = model.means_, model.covars_
    assert again.score(X) == pytest.approx(model.score(X))


@pytest.mark.parametrize("kind", ["tied", "diag", "spherical", "VEE"])
def test_mixtures_of_every_kind_of_covariance(kind):
    quick = {"random_state": 0, "n_init": 1, "init_params": "kmeans", "tol": 1e-4}
    model = GaussianHMM(2, n_mix=2, covariance_type=kind, **quick).fit(ROWS)
    assert model.covars_.shape == (2, 2, 2, 2)
    assert model.history_.largest_fall() <= 1e-8
    assert np.linalg.eigvalsh(model.covars_).min() > 0
    assert np.isfinite(model.score(ROWS))


def test_a_prior_draws_states_together():
    plain = GaussianHMM(3, random_state=0).fit(ROWS)
    drawn = GaussianHMM(3, random_state=0, mean_precision_prior=200.0, mean_prior=[2.0, 2.0]).fit(ROWS)
    assert np.ptp(drawn.means_, axis=0).max() < 0.6 * np.ptp(plain.means_, axis=0).max()
    assert drawn.history_.largest_fall() <= 1e-8
    assert drawn.certificate_["stationarity"].severity == "fine"


def test_priors_on_the_chain():
    X = ROWS[:40]
    plain = GaussianHMM(2, regularise=None, random_state=0, n_init=1).fit(X)
    even = GaussianHMM(2, regularise=None, random_state=0, n_init=1, startprob_prior=1000.0, transmat_prior=1000.0).fit(
        X
    )
    assert plain.startprob_.max() > 0.99
    np.testing.assert_allclose(even.startprob_, 0.5, atol=1e-3)
    np.testing.assert_allclose(even.transmat_, 0.5, atol=0.02)
    sticky = GaussianHMM(2, regularise=None, random_state=0, n_init=1, transmat_prior=1.0 + 1000.0 * np.eye(2)).fit(X)
    assert sticky.transmat_.diagonal().min() > 0.97
    for wrong in (0.5, [[1.0, 0.0], [1.0, 1.0]], np.ones(3)):
        with pytest.raises(ValueError, match="transmat_prior"):
            GaussianHMM(2, transmat_prior=wrong).fit(X)


# -- starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startprob_init", [0.5, 0.6]),
        ("transmat_init", np.eye(3)),
        ("means_init", np.zeros((2, 3))),
        ("covars_init", np.ones((2, 3))),
        ("covars_init", -np.tile(np.eye(2), (2, 1, 1))),
    ],
)
def test_starts_that_cannot_be(name, value):
    with pytest.raises(ValueError, match=name):
        GaussianHMM(2, **{name: value}).fit(ROWS)


def test_a_part_of_the_start_is_respected():
    means = np.array([[1.0, 6.0], [0.0, 0.0], [5.0, 1.0]])
    model = GaussianHMM(3, means_init=means, random_state=0).fit(ROWS)
    np.testing.assert_allclose(model.means_, means, atol=0.4)
    order = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    model = GaussianHMM(3, transmat_init=0.95 * np.eye(3) + 0.05 * order, random_state=0).fit(ROWS)
    following = np.argmax(model.transmat_ - 2 * np.eye(3), axis=1)
    assert following.tolist() == [1, 2, 0]


# -- attributes by hand ------------------------------------------------------------------------------------------------


def test_attributes_set_by_hand():
    model = GaussianHMM(4, covariance_type="full", random_state=1)
    assert not model.__sklearn_is_fitted__()
    model.startprob_ = np.array([0.6, 0.3, 0.1, 0.0])
    model.transmat_ = np.array([[0.7, 0.2, 0.0, 0.1], [0.3, 0.5, 0.2, 0.0], [0.0, 0.3, 0.5, 0.2], [0.2, 0.0, 0.2, 0.6]])
    model.means_ = np.array([[0.0, 0.0], [0.0, 11.0], [9.0, 10.0], [11.0, -1.0]])
    model.covars_ = 0.5 * np.tile(np.identity(2), (4, 1, 1))
    X, states = model.sample(500)
    assert X.shape == (500, 2)
    assert np.mean(model.predict(X) == states) > 0.99
    assert model.n_features_in_ == 2
    fitted = GaussianHMM(4, random_state=0).fit(X)
    assert fitted.score(X) > model.score(X)
    fitted.means_ = fitted.means_ + 1.0
    assert fitted.score(X) < model.score(X)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "VEI"])
def test_covariances_written_out_or_not(kind):
    fitted = GaussianHMM(3, covariance_type=kind, init_params="kmeans", random_state=0, n_init=1, tol=1e-3).fit(ROWS)
    for covars in (fitted.covars_, fitted.covariances_):
        model = GaussianHMM(3, covariance_type=kind)
        model.covars_ = covars  # before the means are there
        model.startprob_, model.transmat_, model.means_ = fitted.startprob_, fitted.transmat_, fitted.means_
        assert model.score(ROWS) == pytest.approx(fitted.score(ROWS))
        np.testing.assert_allclose(model.covars_, fitted.covars_)
        model.covars_ = covars
        np.testing.assert_array_equal(model.covariances_, fitted.covariances_)
    with pytest.raises(ValueError, match="covars_ must"):
        model.covars_ = np.ones((5, 5))


def test_a_warm_start_goes_on_from_what_was_set_by_hand():
    model = GaussianHMM(3, regularise=None, warm_start=True, max_iter=2, tol=1.0, reg_covar=0.0)
    model.startprob_, model.transmat_ = peer.START, peer.TRANSITION
    model.means_, model.covars_ = peer.MEANS, peer.COVARS["full"]
    model.fit(peer.NUMBERS, peer.LENGTHS)
    np.testing.assert_allclose(model.history_.log_likelihood, PATHS["full"][: model.n_iter_], atol=1e-8)


def test_a_warm_start_of_another_model_starts_anew():
    model = GaussianHMM(3, warm_start=True, random_state=0, n_init=1, tol=1e-4).fit(ROWS)
    fresh = GaussianHMM(3, covariance_type="diag", random_state=0, n_init=1, tol=1e-4).fit(ROWS)
    np.testing.assert_array_equal(model.set_params(covariance_type="diag").fit(ROWS).means_, fresh.means_)
    by_hand = GaussianHMM(3, fixed={"transmat": True}, warm_start=True, tol=1e-4)
    by_hand.startprob_, by_hand.transmat_ = peer.START, peer.TRANSITION
    by_hand.means_, by_hand.covars_ = peer.MEANS, peer.COVARS["full"]
    np.testing.assert_array_equal(by_hand.fit(peer.NUMBERS, peer.LENGTHS).transmat_, peer.TRANSITION)


# -- ugly data ---------------------------------------------------------------------------------------------------------


def test_far_from_the_origin():
    near = GaussianHMM(3, random_state=0, tol=1e-8).fit(ROWS)
    far = GaussianHMM(3, random_state=0, tol=1e-8).fit(regimes(offset=1e8))
    np.testing.assert_allclose(far.means_ - 1e8, near.means_, atol=1e-5)
    np.testing.assert_allclose(far.covars_, near.covars_, rtol=1e-5)
    np.testing.assert_allclose(far.transmat_, near.transmat_, atol=1e-6)
    assert far.score(regimes(offset=1e8)) == pytest.approx(near.score(ROWS), abs=1e-3)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("rows", "lengths"),
    [
        (np.zeros((50, 2)), None),
        (np.stack([np.arange(50.0) % 7, np.ones(50)], axis=1), None),
        (np.zeros((2, 1)), [1, 1]),
        (np.random.default_rng(0).normal(size=(20, 1)), np.ones(20, dtype=int)),
        (np.repeat([[0.0], [1.0]], 25, axis=0), None),
        (np.random.default_rng(0).normal(size=(30, 2)) * [1e-9, 1e9], [10, 20]),
    ],
    ids=["one row repeated", "constant column", "two steps", "length one", "two values", "scales"],
)
def test_degenerate_rows(rows, lengths):
    model = GaussianHMM(2, random_state=0, max_iter=50).fit(rows, lengths)
    assert np.isfinite(model.score(rows, lengths))
    for name in ("startprob_", "transmat_", "means_", "covars_"):
        assert np.all(np.isfinite(getattr(model, name))), name
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:GaussianHMM. 0.5 rows per free parameter")
def test_a_single_step():
    model = GaussianHMM(1).fit([[3.0]])
    assert model.means_.tolist() == [[3.0]]
    with pytest.raises(ValueError, match="Expected n_samples >= n_components"):
        GaussianHMM(2).fit([[3.0]])


def test_a_state_never_visited():
    means = np.array([[0.0, 0.0], [5.0, 1.0], [1e6, 1e6]])
    given = {"means_init": means, "covars_init": np.tile(np.eye(2), (3, 1, 1)), "startprob_init": [0.5, 0.5, 0.0]}
    model = GaussianHMM(3, transmat_init=np.full((3, 3), 1 / 3), tol=1e-4, **given)
    with pytest.warns(UserWarning, match="a component had no rows"):
        model.fit(ROWS)
    np.testing.assert_array_equal(model.means_[2], means[2])
    assert np.isfinite(model.score(ROWS))
    assert 2 not in model.predict(ROWS)


def test_ten_thousand_sequences_of_three():
    random = np.random.default_rng(0)
    states = random.integers(0, 2, 10_000)
    X = np.repeat(4.0 * states, 3)[:, None] + random.normal(size=(30_000, 1))
    model = GaussianHMM(2, random_state=0, n_init=1, tol=1e-5).fit(X, np.full(10_000, 3))
    np.testing.assert_allclose(np.sort(model.means_.ravel()), [0.0, 4.0], atol=0.05)
    np.testing.assert_allclose(model.startprob_, 0.5, atol=0.02)
    assert model.transmat_.diagonal().min() > 0.99


# -- missing -----------------------------------------------------------------------------------------------------------


def test_missing_cells_and_steps():
    random = np.random.default_rng(1)
    X = ROWS.copy()
    X[random.random(X.shape) < 0.2] = np.nan
    X[100:104] = np.nan
    whole, model = GaussianHMM(3, random_state=0).fit(ROWS), GaussianHMM(3, random_state=0).fit(X)
    np.testing.assert_allclose(
        model.means_[np.lexsort(model.means_.T)], whole.means_[np.lexsort(whole.means_.T)], atol=0.4
    )
    assert model.history_.largest_fall() <= 1e-8
    assert np.mean(model.predict(X) == model.predict(ROWS)) > 0.97


def test_a_missing_step_is_a_step_of_weight_zero():
    weights = np.ones(len(peer.NUMBERS))
    weights[[3, 50, 51, 239]] = 0.0
    X = np.where(weights[:, None] > 0, peer.NUMBERS, np.nan)
    given = {**START, "covars_init": peer.COVARS["full"], "tol": 1e-4}
    weighted = GaussianHMM(3, **given).fit(peer.NUMBERS, lengths=peer.LENGTHS, sample_weight=weights)
    missing = GaussianHMM(3, **given).fit(X, peer.LENGTHS)
    np.testing.assert_allclose(weighted.means_, missing.means_)
    np.testing.assert_allclose(weighted.transmat_, missing.transmat_)
    np.testing.assert_allclose(weighted.history_.log_likelihood, missing.history_.log_likelihood)


def test_a_column_of_which_nothing_is_seen_is_refused():
    with pytest.raises(ValueError, match="X has no value in column 1"):
        GaussianHMM(2).fit(np.stack([np.arange(10.0), np.full(10, np.nan)], axis=1))
