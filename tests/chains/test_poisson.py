"""Hidden Markov models of counts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.data import hmmlearn_paths as peer
from tests.places import DATA
from unveil import PoissonHMM

PATHS = json.loads((DATA / "hmmlearn.json").read_text())
QUAKES = np.loadtxt(DATA / "earthquakes.csv")[:, None]


@pytest.mark.parametrize(("k", "wanted"), [(1, -391.918928), (2, -341.878701)])
def test_earthquakes(k, wanted):
    model = PoissonHMM(k, regularise=None, random_state=0, tol=1e-10).fit(QUAKES)
    assert model.history_[-1].log_likelihood == pytest.approx(wanted, abs=1e-6)
    assert model.score(QUAKES) == pytest.approx(wanted, abs=1e-6)
    assert model.certificate_.ok
    assert model.means_ is model.lambdas_


def test_more_states_for_the_earthquakes():
    criteria = {k: PoissonHMM(k, random_state=0).fit(QUAKES).bic(QUAKES) for k in (1, 2, 3, 4)}
    assert min(criteria, key=criteria.__getitem__) in (2, 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_likelihood_path_is_that_of_hmmlearn():
    given = {"startprob_init": peer.START, "transmat_init": peer.TRANSITION, "lambdas_init": peer.RATES}
    model = PoissonHMM(3, regularise=None, max_iter=15, tol=0.0, **given).fit(peer.COUNTS, peer.LENGTHS)
    np.testing.assert_allclose(model.history_.log_likelihood, PATHS["poisson"], rtol=0, atol=1e-8)


def test_several_columns_with_missing_cells():
    random = np.random.default_rng(0)
    states = (np.arange(800) // 20) % 2
    X = random.poisson(np.array([[2.0, 9.0], [8.0, 1.0]])[states]).astype(float)
    whole = PoissonHMM(2, random_state=0).fit(X)
    X[random.random(X.shape) < 0.2] = np.nan
    holed = PoissonHMM(2, random_state=0).fit(X)
    for model in (whole, holed):
        rates = model.lambdas_[np.argsort(model.lambdas_[:, 0])]
        np.testing.assert_allclose(rates, [[2.0, 9.0], [8.0, 1.0]], atol=0.4)
    assert holed.history_.largest_fall() <= 1e-8


def test_rates_that_stay():
    fixed = {"lambdas": [True, False]}
    model = PoissonHMM(2, lambdas_init=[[15.0], [30.0]], fixed=fixed, random_state=0).fit(QUAKES)
    assert model.lambdas_[0, 0] == 15.0
    assert model.n_parameters() == 1 + 2 + 1
    model = PoissonHMM(3, tied={"lambdas": [0, 1, 1]}, random_state=0).fit(QUAKES)
    assert model.lambdas_[1, 0] == model.lambdas_[2, 0]
    assert model.n_parameters() == 2 + 6 + 2


def test_a_prior_on_the_rates():
    model = PoissonHMM(2, rate_prior=(1e5, 1e4), random_state=0).fit(QUAKES)
    np.testing.assert_allclose(model.lambdas_, 10.0, atol=0.2)
    with pytest.raises(ValueError, match="rate_prior must be a pair of numbers"):
        PoissonHMM(2, rate_prior=(1.0,)).fit(QUAKES)


def test_what_is_no_count_is_refused():
    with pytest.raises(ValueError, match=r"column 0 must hold counts 0, 1, 2, ..., got 0.5 in row 1"):
        PoissonHMM(1).fit([[1.0], [0.5]])
    with pytest.raises(ValueError, match="lambdas_init must hold"):
        PoissonHMM(2, lambdas_init=[[1.0], [-1.0]]).fit(QUAKES)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_nothing_but_zeros():
    model = PoissonHMM(2, random_state=0).fit(np.zeros((30, 1)), [10, 20])
    assert np.isfinite(model.score(np.zeros((30, 1))))
    np.testing.assert_allclose(model.lambdas_, 0.0, atol=1e-9)


def test_rates_set_by_hand():
    model = PoissonHMM(2)
    model.startprob_, model.transmat_, model.lambdas_ = [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[1.0], [20.0]]
    X, states = model.sample(200, random_state=0)
    assert np.mean(model.predict(X) == states) > 0.98
