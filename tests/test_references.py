"""Numbers that others found: R's mclust and kmeans, and the literature, on data that everyone has."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.oracles import mixtures as oracle
from tests.places import EXAMPLES, TESTS
from unveil import PCA, BernoulliMixture, GaussianMixture, KMeans
from unveil.certificate import FitWarning

Floats = NDArray[np.float64]


def read(path: Path, *columns: int) -> Floats:
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=columns or None, ndmin=2)


FAITHFUL, IRIS = read(EXAMPLES / "faithful.csv"), read(EXAMPLES / "iris.csv")
NCLUS, RUSPINI = read(TESTS / "data" / "Nclus.csv"), read(TESTS / "data" / "ruspini.csv")
BALANCE = read(TESTS / "data" / "balance.csv", 7, 8, 9, 10)


def converged(X: Floats, k: int, covariance_type: str, **settings: Any) -> GaussianMixture:
    """The best of the starts, climbed to the end."""
    plain = {"reg_covar": 0.0, "tol": 1e-12, "max_iter": 20_000, "random_state": 0, "n_init": 3}
    return GaussianMixture(k, covariance_type=covariance_type, **plain | settings).fit(X)


@pytest.mark.parametrize(
    ("X", "k", "covariance_type", "log_likelihood"),
    [
        (FAITHFUL, 3, "tied", -1126.3159278),
        (FAITHFUL, 2, "full", -1130.2639602),
        (FAITHFUL, 2, "tied", -1140.1867594),
        (FAITHFUL, 2, "diag", -1147.8063525),
        (FAITHFUL, 2, "spherical", -1709.5292822),
        (IRIS, 2, "full", -214.3547044),
        (IRIS, 3, "full", -180.1854771),
        (IRIS, 3, "tied", -256.3540431),
        (IRIS, 3, "spherical", -384.3140951),
    ],
    ids=lambda value: str(value) if not isinstance(value, np.ndarray) else f"{value.shape[0]} rows",
)
def test_gaussian_mixtures_reach_mclusts_likelihood(
    X: Floats, k: int, covariance_type: str, log_likelihood: float
) -> None:
    model = converged(X, k, covariance_type)
    assert model.converged_
    assert model.score(X) * len(X) == pytest.approx(log_likelihood, abs=1e-6)


def test_the_four_groups_of_nclus() -> None:
    """flexmix says -2223.6773780, but divides scatters as for an unbiased covariance; so does the oracle here."""
    model = converged(NCLUS, 4, "full")
    start = oracle.Gaussians(model.weights_, model.means_, model.covariances_)

    def unbiased(q: Floats, x: Floats) -> oracle.Gaussians:
        plain = oracle.gaussian_step(q, x, "full", 0.0)
        lost = np.sum((q / q.sum(axis=0)) ** 2, axis=0)
        return oracle.Gaussians(plain.weights, plain.means, plain.covariances / (1 - lost)[:, None, None])

    _, path = oracle.climb(start, NCLUS, oracle.gaussian_joint, unbiased, 60)
    assert path[-1][0] == pytest.approx(-2223.6773780, abs=1e-6)
    assert path[0][0] == pytest.approx(model.score(NCLUS) * len(NCLUS), abs=1e-8)
    assert path[0][0] == pytest.approx(-2223.6611760, abs=1e-6)  # what greatest likelihood is; scikit-learn agrees


def test_the_waiting_times_of_old_faithful() -> None:
    model = converged(FAITHFUL[:, 1:], 2, "full", means_init=[[55.0], [80.0]])
    assert model.score(FAITHFUL[:, 1:]) * 272 == pytest.approx(-1034.0017498, abs=1e-6)
    np.testing.assert_allclose(model.weights_, [0.36088606, 1 - 0.36088606], atol=1e-6)
    np.testing.assert_allclose(model.means_.ravel(), [54.6148558, 80.0910692], atol=1e-5)
    np.testing.assert_allclose(np.sqrt(model.covariances_.ravel()), [5.8712192, 5.8677346], atol=1e-5)


@pytest.mark.parametrize(("k", "log_likelihood"), [(2, -1083.0362680), (3, -1062.3733733)])
def test_bernoulli_mixtures_of_the_balance_task(k: int, log_likelihood: float) -> None:
    settings: dict[str, Any] = {"tol": 1e-13, "max_iter": 50_000, "random_state": 0}
    model = BernoulliMixture(k, init_params="random", n_init=6, **settings).fit(BALANCE)
    assert model.score(BALANCE) * len(BALANCE) == pytest.approx(log_likelihood, abs=1e-5)


@pytest.mark.parametrize(
    ("X", "k", "cost"),
    [
        (IRIS, 2, 152.3479518),
        (IRIS, 3, 78.8514414),
        (IRIS, 4, 57.2284732),
        (IRIS, 5, 46.4461821),
        (IRIS, 6, 39.0399872),
        (RUSPINI, 2, 89337.8321),
        (RUSPINI, 3, 51063.4750),
        (RUSPINI, 4, 12881.0512),
        (RUSPINI, 5, 10126.7198),
    ],
    ids=lambda value: str(value) if not isinstance(value, np.ndarray) else f"{value.shape[0]} rows",
)
def test_k_means_reaches_the_known_sums_of_squares(X: Floats, k: int, cost: float) -> None:
    assert KMeans(k, n_init=20, random_state=0, tol=0).fit(X).inertia_ == pytest.approx(cost, rel=1e-8)


@pytest.mark.parametrize("svd_solver", ["full", "covariance_eigh"])
def test_the_principal_components_of_iris(svd_solver: str) -> None:
    values = PCA(svd_solver=svd_solver).fit(IRIS).explained_variance_
    np.testing.assert_allclose(values, [4.228241706035, 0.242670747929, 0.078209500043, 0.023835092973], rtol=1e-10)


def test_a_degenerate_spike_beats_the_reference_and_is_told_of() -> None:
    """Equal flowers make a component without volume: more likelihood is not always better."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = GaussianMixture(15, reg_covar=0.0, random_state=0, n_init=5, tol=1e-4).fit(IRIS)
    assert model.lower_bound_ * 150 > -180.1854771
    assert not model.certificate_.ok
    assert {reason.kind for reason in model.certificate_.reasons("sound")} & {"point", "line", "few_rows"}
