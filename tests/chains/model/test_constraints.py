"""Left-right and banded chains, and parameters that are fixed or tied by mask."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import unveil
from tests.chains.test_gaussian import ROWS, START
from tests.data import hmmlearn_paths as peer
from unveil import CategoricalHMM, GaussianHMM, PoissonHMM

QUICK = {"random_state": 0, "n_init": 1, "init_params": "kmeans"}

# -- which steps are possible ------------------------------------------------------------------------------------------


def test_left_right():
    rows = np.repeat([0.0, 5.0, 1.0, 7.0], 15)[:, None] + 0.3 * np.random.default_rng(0).normal(size=(60, 1))
    model = GaussianHMM(4, transitions="left-right", random_state=0).fit([rows, rows[8:], rows[:50]])
    np.testing.assert_allclose(model.means_.ravel(), [0.0, 5.0, 1.0, 7.0], atol=0.3)
    np.testing.assert_array_equal(model.startprob_, [1.0, 0.0, 0.0, 0.0])
    assert np.all(model.transmat_[~np.eye(4, dtype=bool) & ~np.eye(4, k=1, dtype=bool)] == 0)
    assert model.n_parameters() == 3 + 4 + 4
    np.testing.assert_array_equal(np.diff(model.predict(rows)) >= 0, True)


@pytest.mark.parametrize(
    "transitions", [("banded", 1), np.abs(np.subtract.outer(range(3), range(3))) <= 1], ids=["words", "mask"]
)
def test_banded(transitions):
    model = GaussianHMM(3, transitions=transitions, tol=1e-5, **QUICK).fit(ROWS)
    assert model.transmat_[0, 2] == model.transmat_[2, 0] == 0
    assert model.certificate_.ok
    assert model.n_parameters() == GaussianHMM(3, **QUICK).fit(ROWS).n_parameters() - 2


@pytest.mark.parametrize(
    "transitions", ["sideways", ("banded", -1), ("banded", 1, 2), np.ones((2, 2)), np.full((3, 3), 0.5), np.eye(3) == 2]
)
def test_masks_that_cannot_be(transitions):
    with pytest.raises(ValueError, match="transitions must"):
        GaussianHMM(3, transitions=transitions).fit(ROWS)


# -- fixed and tied --------------------------------------------------------------------------------------------------


def test_fixed_parameters_stay_to_the_last_bit():
    given = {**START, "covars_init": peer.COVARS["full"]}
    for name, attribute in {"startprob": "startprob_", "transmat": "transmat_", "means": "means_"}.items():
        model = GaussianHMM(3, fixed={name: True}, tol=1e-4, **given).fit(peer.NUMBERS, peer.LENGTHS)
        np.testing.assert_array_equal(getattr(model, attribute), given[f"{name}_init"])
        assert model.history_.largest_fall() <= 1e-9 * 500
        assert model.lower_bounds_[-1] > model.lower_bounds_[0]
    model = GaussianHMM(3, fixed={"covars": True}, tol=1e-4, **given).fit(peer.NUMBERS, peer.LENGTHS)
    np.testing.assert_array_equal(model.covars_, given["covars_init"])
    assert model.n_parameters() == 2 + 6 + 6


@pytest.mark.parametrize(
    ("hmm", "X"),
    [
        (CategoricalHMM, np.arange(40).reshape(-1, 1) % 3),
        (CategoricalHMM, np.c_[np.arange(40) % 3, np.arange(40) % 2]),
        (PoissonHMM, np.arange(40).reshape(-1, 1) % 5),
    ],
)
def test_a_fixed_chain_stays_whatever_it_emits(hmm, X):
    chain = {"startprob_init": START["startprob_init"], "transmat_init": START["transmat_init"]}
    model = hmm(3, fixed={"startprob": True, "transmat": True}, max_iter=5, tol=1e9, **chain).fit(X)
    for name, given in chain.items():
        np.testing.assert_array_equal(getattr(model, name.replace("init", "")), given)


def test_entries_that_are_fixed():
    given = {**START, "covars_init": peer.COVARS["full"]}
    mask = np.zeros((3, 2), dtype=bool)
    mask[1, 0] = True
    fixed = {"means": mask, "covars": [False, True, False]}
    model = GaussianHMM(3, fixed=fixed, tol=1e-5, **given).fit(peer.NUMBERS, peer.LENGTHS)
    assert model.means_[1, 0] == 2.5
    assert model.means_[1, 1] != -1.0
    np.testing.assert_array_equal(model.covars_[1], np.eye(2))
    assert np.abs(model.covars_[0] - np.eye(2)).max() > 0.01
    assert model.n_parameters() == 2 + 6 + 5 + 6
    steps = np.zeros((3, 3), dtype=bool)
    steps[0, 1] = True
    model = GaussianHMM(3, fixed={"transmat": steps}, tol=1e-5, **given).fit(peer.NUMBERS, peer.LENGTHS)
    assert model.transmat_[0, 1] == 0.1


def test_tied_parameters_are_equal():
    labels = np.array([[0, -1], [-1, -1], [0, -1]])
    model = GaussianHMM(3, tied={"means": labels}, **QUICK).fit(ROWS)
    assert model.means_[0, 0] == model.means_[2, 0]
    assert model.n_parameters() == 2 + 6 + 5 + 9
    assert model.history_.largest_fall() <= 1e-8
    leaving = np.where(np.eye(3, dtype=bool), 0, 1)
    model = GaussianHMM(3, tied={"transmat": leaving}, **QUICK).fit(ROWS)
    assert np.ptp(model.transmat_.diagonal()) < 1e-12
    assert model.n_parameters() == 2 + 1 + 6 + 9


def test_rules_that_cannot_be():
    with pytest.raises(ValueError, match="fixed names 'means', which needs means_init"):
        GaussianHMM(2, fixed={"means": True}).fit(ROWS)
    with pytest.raises(ValueError, match="fixed must name parameters among 'startprob', 'transmat', 'means', 'covars'"):
        GaussianHMM(2, fixed={"mean": True}).fit(ROWS)
    with pytest.raises(ValueError, match=r"fixed\['transmat'\] must"):
        GaussianHMM(2, fixed={"transmat": [[1, 0], [0, 1]]}, transmat_init=np.eye(2)).fit(ROWS)
    given = {"means_init": np.zeros((2, 2)), "fixed": {"means": True}}
    with pytest.raises(ValueError, match=r"tied\['means'\] must be -1 where fixed\['means'\] is True"):
        GaussianHMM(2, tied={"means": [0, 0]}, **given).fit(ROWS)
    with pytest.raises(ValueError, match="transmat_init must be 0 where transitions rules a step out"):
        GaussianHMM(2, transitions="left-right", transmat_init=np.full((2, 2), 0.5)).fit(ROWS)
    with pytest.raises(ValueError, match="transmat_init must have equal entries where tied is 0"):
        GaussianHMM(2, tied={"transmat": [[0, -1], [-1, 0]]}, transmat_init=[[0.9, 0.1], [0.2, 0.8]]).fit(ROWS)
    with pytest.raises(ValueError, match="weights_init is for states of several Gaussians"):
        GaussianHMM(2, weights_init=[[1.0], [1.0]]).fit(ROWS)


def test_nothing_fixed_is_said_in_any_way():
    free = GaussianHMM(2, **QUICK).fit(ROWS)
    for nothing in (None, False, np.False_, [False, False]):
        model = GaussianHMM(2, fixed={"means": nothing}, **QUICK).fit(ROWS)
        assert model.score(ROWS) == pytest.approx(free.score(ROWS), rel=1e-9)
    means = np.array([[0.0, 0.0], [4.0, 3.0]])
    model = GaussianHMM(2, random_state=0, means_init=means, fixed={"means": np.True_}).fit(ROWS)
    np.testing.assert_array_equal(model.means_, means)


# -- tied covariances --------------------------------------------------------------------------------------------------

SHARED = {"covars": np.array([0, -1, 0])}


@pytest.mark.parametrize(("kind", "each"), [("full", 3), ("diag", 2), ("spherical", 1)])
def test_states_share_a_covariance(kind, each):
    model = GaussianHMM(3, covariance_type=kind, tied=SHARED, **QUICK).fit(ROWS)
    np.testing.assert_array_equal(model.covars_[0], model.covars_[2])
    assert not np.array_equal(model.covars_[0], model.covars_[1])
    assert model.n_parameters() == 2 + 6 + 6 + 2 * each
    assert model.history_.largest_fall() <= 1e-8
    assert model.converged_
    posterior = model.predict_proba(ROWS)[:, [0, 2]]
    scatter = (
        sum(
            (share[:, None] * (ROWS - mean)).T @ (ROWS - mean)
            for share, mean in zip(posterior.T, model.means_[[0, 2]], strict=True)
        )
        / posterior.sum()
    )
    wanted = {"full": scatter, "diag": np.diag(np.diag(scatter)), "spherical": np.trace(scatter) / 2 * np.eye(2)}[kind]
    np.testing.assert_allclose(model.covars_[0], wanted, atol=2e-3)


def test_one_label_for_all_is_tied():
    settings = {**QUICK, "tol": 1e-9}
    ours = GaussianHMM(3, tied={"covars": [1, 1, 1]}, **settings).fit(ROWS)
    tied = GaussianHMM(3, covariance_type="tied", **settings).fit(ROWS)
    assert ours.score(ROWS) == pytest.approx(tied.score(ROWS), rel=1e-9)
    assert ours.bic(ROWS) == pytest.approx(tied.bic(ROWS), rel=1e-9)


@pytest.mark.parametrize("schedule", ["incremental", "stepwise", "squarem", "gradient", "lbfgs"])
def test_every_schedule_keeps_covariances_tied(schedule):
    settings = {"tied": SHARED, **QUICK}
    model = GaussianHMM(3, schedule=schedule, **settings).fit(ROWS)
    np.testing.assert_array_equal(model.covars_[0], model.covars_[2])
    assert model.score(ROWS) == pytest.approx(GaussianHMM(3, **settings).fit(ROWS).score(ROWS), abs=0.05)


def test_a_start_obeys_the_ties():
    given = {"covars_init": np.stack([width * np.eye(2) for width in (1.0, 2.0, 3.0)]), "tied": SHARED}
    with pytest.warns(ConvergenceWarning):
        model = GaussianHMM(3, max_iter=0, **START, **given).fit(ROWS)
    np.testing.assert_array_equal(model.covars_[:, 0, 0], [2.0, 2.0, 2.0])
    streamed = GaussianHMM(3, random_state=0, tied=SHARED).partial_fit(ROWS[:300]).partial_fit(ROWS[300:])
    np.testing.assert_array_equal(streamed.covars_[0], streamed.covars_[2])


def test_covariances_of_mixtures_are_tied_part_by_part():
    model = GaussianHMM(2, n_mix=2, tied={"covars": [0, 0]}, tol=1e-4, **QUICK).fit(ROWS)
    np.testing.assert_array_equal(model.covars_[0], model.covars_[1])
    assert not np.array_equal(model.covars_[0, 0], model.covars_[0, 1])
    labels = np.array([[0, 0], [1, -1]])
    model = GaussianHMM(2, n_mix=2, tied={"covars": labels}, tol=1e-4, **QUICK).fit(ROWS)
    np.testing.assert_array_equal(model.covars_[0, 0], model.covars_[0, 1])
    assert not np.array_equal(model.covars_[1, 0], model.covars_[1, 1])


def test_tied_covariances_are_stored(tmp_path):
    model = GaussianHMM(3, tied=SHARED, tol=1e-4, **QUICK).fit(ROWS)
    model.save(tmp_path / "model")
    for other in (unveil.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(ROWS), model.predict_proba(ROWS))
        assert other.bic(ROWS) == model.bic(ROWS)
        np.testing.assert_array_equal(other.partial_fit(ROWS[:200]).covars_[0], other.covars_[2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"covariance_type": "tied"},
            "needs a covariance_type of 'full', 'diag' or 'spherical'.*'tied' says by",
        ),
        ({"covariance_type": "VEE"}, "needs a covariance_type of 'full', 'diag' or 'spherical'"),
        ({"tied": {"covars": [0, 0]}}, r"tied\['covars'\] must have shape \(3,\), got \(2,\)"),
        ({"tied": {"covars": [0.0, 1.0, 0.0]}}, r"tied\['covars'\] must be an integer array of shape \(3,\)"),
        (
            {"covars_init": np.tile(np.eye(2), (3, 1, 1)), "fixed": {"covars": [True, False, False]}},
            r"tied\['covars'\] must be -1 where fixed\['covars'\] is True",
        ),
    ],
    ids=["tied", "VEE", "shape", "float", "fixed too"],
)
def test_ties_of_covariances_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        GaussianHMM(3, random_state=0, **{"tied": SHARED, **settings}).fit(ROWS)


# -- probabilities of zero that are given ------------------------------------------------------------------------------

NEVER = np.array([[0.8, 0.2, 0.0, 0.0], [0.0, 0.8, 0.2, 0.0], [0.0, 0.0, 0.7, 0.3]])
ROUND = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])
GIVEN = {"startprob_init": [1.0, 0.0, 0.0], "transmat_init": ROUND, "emissionprob_init": NEVER}


def symbols():
    model = CategoricalHMM(3)
    model.startprob_, model.transmat_, model.emissionprob_ = np.array([1.0, 0.0, 0.0]), ROUND, NEVER
    return model, model.sample(400, random_state=0)[0]


@pytest.mark.parametrize("schedule", ["batch", "incremental", "squarem", "gradient", "lbfgs"])
def test_a_zero_stays_zero(schedule):
    X = symbols()[1]
    model = CategoricalHMM(3, schedule=schedule, **GIVEN).fit(X)
    np.testing.assert_array_equal(model.emissionprob_ == 0, NEVER == 0)
    np.testing.assert_array_equal(model.transmat_ == 0, ROUND == 0)
    np.testing.assert_array_equal(model.startprob_, [1.0, 0.0, 0.0])
    assert model.converged_
    assert model.score(X) > symbols()[0].score(X)
    assert model.score(X) == pytest.approx(CategoricalHMM(3, tol=1e-9, **GIVEN).fit(X).score(X), abs=1e-2)


def test_zeros_are_no_free_parameters_and_outlast_a_warm_start():
    model, X = symbols()
    model.set_params(warm_start=True).fit(X).fit(X[:200])
    np.testing.assert_array_equal(model.emissionprob_ == 0, NEVER == 0)
    assert CategoricalHMM(3, **GIVEN).fit(X).n_parameters() == 2 + 6 + 3
    pulled = CategoricalHMM(3, emissionprob_prior=1.5, **GIVEN).fit(X)
    assert pulled.emissionprob_.min() > 1e-4


def test_what_is_impossible_is_so():
    model, _ = symbols()
    assert model.score([[0], [3]]) == -np.inf
    assert model.score([[0], [2]]) == pytest.approx(np.log(0.8 * 0.1 * 0.2))
    with pytest.raises(ValueError, match="X holds a sequence that has no chance, since probabilities of 0 rule it out"):
        CategoricalHMM(3, **GIVEN).fit([[0], [3], [1]] * 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # steps that are few
        part = {name: value for name, value in GIVEN.items() if name == "emissionprob_init"}
        found = CategoricalHMM(3, random_state=0, **part).fit([[0], [3], [1]] * 30)  # other steps can be found
    assert np.isfinite(found.score([[0], [3], [1]] * 30))
