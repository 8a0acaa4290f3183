"""Attributes set by hand: what does not fit is refused by name, and what changes is noticed."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from unveil import CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM
from unveil.engines import Threads

X = np.random.default_rng(0).normal(size=(6, 2))
COUNTS = np.array([[0], [1], [2], [0]])


def with_chain(model, **changes):
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]])
    for name, value in changes.items():
        setattr(model, name, value)
    return model


def gaussian(changes, **settings):
    means = {"means_": np.array([[0.0, 0.0], [5.0, 5.0]])}
    return with_chain(GaussianHMM(2, **settings), **(means | {"covariances_": np.array([np.eye(2)] * 2)} | changes))


def by_parts(changes):
    parts = {"means_": np.zeros((2, 3, 2)), "covariances_": np.tile(np.eye(2), (2, 3, 1, 1))}
    return with_chain(GaussianHMM(2, n_mix=3), **(parts | changes))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("transmat_", [[0.9, 0.2], [0.2, 0.8]], "non-negative and each row sum to 1"),
        ("transmat_", [[1.1, -0.1], [0.2, 0.8]], "non-negative and each row sum to 1"),
        ("transmat_", np.eye(3), r"must have shape \(2, 2\), as startprob_ has 2 states, got \(3, 3\)"),
        ("transmat_", [[np.nan, 0.1], [0.2, 0.8]], "finite"),
        ("transmat_", None, "must have shape"),
        ("transmat_", "words", "must be numbers .* got 'words'"),
        ("startprob_", [0.2, 0.3], "non-negative and each row sum to 1"),
        ("startprob_", 1.0, r"must have shape \(n_components,\), got \(\)"),
        ("startprob_", [[1], [1, 2]], "must be numbers"),
        ("means_", np.zeros((3, 2)), r"must have shape \(2, n_features\), got \(3, 2\)"),
        ("means_", np.zeros(2), r"must have shape \(2, n_features\), got \(2,\)"),
        ("means_", [[np.nan, 0.0], [1.0, 1.0]], "finite"),
        ("covariances_", 1.0, "an array of covariances"),
        ("covariances_", [[[1.0, 2.0], [2.0, 1.0]], np.eye(2).tolist()], "positive definite"),
        ("covariances_", [[[1.0, 0.5], [0.0, 1.0]], np.eye(2).tolist()], "symmetric"),
    ],
)
def test_gaussian_attributes_that_do_not_fit(name, value, words):
    model = gaussian({name: value})
    shown = "covars_" if name == "covariances_" else name
    with pytest.raises(ValueError, match=f"{shown}.*{words}"):
        model.score(X)
    with pytest.raises(ValueError, match=f"{shown}.*{words}"):
        model.step(X[0])


def test_parts_need_their_shares():
    with pytest.raises(NotFittedError, match=r"weights_, of shape \(2, 3\), is not there"):
        by_parts({}).score(X)
    with pytest.raises(ValueError, match="weights_ must be non-negative and each row sum to 1"):
        by_parts({"weights_": np.ones((2, 3))}).score(X)
    with pytest.raises(ValueError, match=r"weights_ must have shape \(2, 3\), got \(3, 2\)"):
        by_parts({"weights_": np.full((3, 2), 0.5)}).score(X)
    with pytest.raises(ValueError, match=r"means_ must have shape \(2, 3, n_features\), got \(2, 2\)"):
        by_parts({"means_": np.zeros((2, 2))}).score(X)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.full((3, 2), 0.5), r"must have shape \(2, n_symbols\), got \(3, 2\)"),
        (np.full(3, 1 / 3), r"must have shape \(2, n_symbols\), got \(3,\)"),
        (np.ones((2, 3)), "non-negative and each row sum to 1"),
        ([np.full((2, 3), 1 / 3), np.full((3, 3), 1 / 3)], r"must have shape \(2, n_symbols\), got \(3, 3\)"),
        ("words", "must be numbers"),
    ],
    ids=["states", "one row", "sums", "second column", "words"],
)
def test_emissionprob_that_does_not_fit(table, words):
    with pytest.raises(ValueError, match=f"emissionprob_ .*{words}"):
        with_chain(CategoricalHMM(2), emissionprob_=table).predict(COUNTS)


def test_emissionprob_of_other_symbols_than_before():
    model = with_chain(CategoricalHMM(2), emissionprob_=np.full((2, 3), 1 / 3))
    model.predict(COUNTS)
    model.emissionprob_ = np.full((2, 4), 1 / 4)
    with pytest.raises(ValueError, match=r"emissionprob_ must have shape \(2, 3\), got \(2, 4\)"):
        model.predict(COUNTS)


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([[-1.0], [2.0]], "expected counts from 0 on"),
        ([[np.nan], [2.0]], "finite"),
        ([1.0, 2.0], "must have shape"),
        ([[1.0], [2.0], [3.0]], r"\(2, n_features\), got \(3, 1\)"),
    ],
    ids=["negative", "nan", "one row", "states"],
)
def test_lambdas_that_do_not_fit(rates, words):
    with pytest.raises(ValueError, match=f"lambdas_ .*{words}"):
        with_chain(PoissonHMM(2), lambdas_=rates).sample(3)


def test_more_states_than_emissions():
    model = MixedHMM(2, random_state=0, n_init=1).fit(np.concatenate([X, X + 9, X]))
    model.startprob_, model.transmat_ = np.full(3, 1 / 3), np.full((3, 3), 1 / 3)
    with pytest.raises(ValueError, match="startprob_ has 3 states, but the emissions have 2"):
        model.predict(X)


def test_bad_settings_are_told_without_a_fit():
    with pytest.raises(ValueError, match="covariance_type"):
        gaussian({}, covariance_type="round").score(X)


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_changes_are_noticed():
    """Of an attribute as a whole, of a number in it, and of a setting."""
    model = gaussian({})
    before = model.score(X)
    model.means_[0, 0] += 1.0
    moved = model.score(X)
    assert moved != before
    model.means_ = np.array([[0.0, 0.0], [5.0, 5.0]])
    assert model.score(X) == before
    belief = model.step(X[0])
    model.transmat_[0] = [0.8, 0.2]
    with pytest.raises(ValueError, match="of another model"):
        model.step(X[1], belief)
    model.set_params(covariance_type="diag").covariances_ = np.full((2, 2), 4.0)
    assert model.score(X) < before


def test_the_chain_is_made_once():
    model = gaussian({})
    chain = model._chain()
    for row in X:
        model.step(row)
    model.predict(X)
    model.set_params(tol=0.1, random_state=3, algorithm="map").predict(X)
    assert model._chain() is chain
    assert deepcopy(model)._chain() is not chain
    assert deepcopy(model)._chain().name == chain.name
    assert model.set_params(engine=Threads(2))._chain() is not chain


def test_a_mixture_of_a_forecast_has_the_record_of_the_last_fit():
    """Also where a fit moves nothing, so that the chain is the same."""
    model = gaussian({}, max_iter=1, warm_start=True)
    assert not hasattr(model.forecast(X).mixture(), "n_iter_")
    with pytest.warns(ConvergenceWarning):
        model.set_params(fixed=dict.fromkeys(("startprob", "transmat", "means", "covars"), True)).fit(X)
    assert model.forecast(X).mixture().history_ is model.history_


def test_what_is_kept_does_not_travel():
    model = gaussian({})
    names, size = set(vars(model)), len(pickle.dumps(model))
    model.step(X[0])
    assert set(vars(model)) - names <= {"n_features_in_"}
    assert len(pickle.dumps(model)) < size + 100


def test_attributes_that_cannot_be_told_are_read_every_time():
    model = gaussian({"remark_": lambda: None})
    before = model.score(X)
    model.means_[0, 0] += 1.0
    assert model.score(X) != before
