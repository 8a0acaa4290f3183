import numpy as np
import pytest

from unveil import BernoulliMixture, GaussianMixture, KMeans, select
from unveil.selection.degenerate import degeneracy


def spiked():
    """A broad cloud, a third of which shares one value in the first column."""
    X = np.random.default_rng(0).normal(size=(90, 2))
    X[:30, 0] = 0.5
    return X


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")  # the regulariser costs a little likelihood
@pytest.mark.parametrize("structure", ["full", "diag"])
def test_a_component_on_equal_values_is_degenerate(structure):
    X = spiked()
    start = {"weights_init": [1 / 3, 2 / 3], "means_init": [[0.5, 0.0], [0.0, 0.0]]}
    shapes = {"full": np.array([np.diag([1e6, 1.0]), np.eye(2)]), "diag": np.array([[1e6, 1.0], [1.0, 1.0]])}
    model = GaussianMixture(2, covariance_type=structure, precisions_init=shapes[structure], **start).fit(X)
    assert degeneracy(model).startswith("component 0 has no spread in some direction")


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical"])
def test_sound_fits_are_not(structure):
    X = np.random.default_rng(0).normal(size=(90, 2))
    assert degeneracy(GaussianMixture(2, covariance_type=structure, random_state=0).fit(X)) is None


def test_dependent_columns_have_no_spread_across():
    X = np.random.default_rng(0).normal(size=(90, 1)) * [1.0, 2.0]
    assert degeneracy(GaussianMixture(1, covariance_type="tied").fit(X)).startswith("component 0 has no spread")
    assert degeneracy(GaussianMixture(1, covariance_type="diag").fit(X)) is None


def test_models_without_covariances_are_none_of_it():
    X = (np.random.default_rng(0).random((40, 3)) > 0.5).astype(float)
    assert degeneracy(KMeans(2, random_state=0).fit(X)) is None
    assert degeneracy(BernoulliMixture(2, random_state=0).fit(X)) is None


def test_degenerate_fits_lose_although_their_likelihood_is_larger():
    X = np.random.default_rng(0).normal(size=(90, 1)) * [1.0, 2.0]
    selection = select(GaussianMixture(random_state=0), X, {"covariance_type": ["full", "diag"]})
    full, diagonal = selection.table
    assert full["bic"] < diagonal["bic"]
    assert full["degenerate"]
    assert selection.best_params_ == {"covariance_type": "diag"}
    assert "1 combination was degenerate and passed over" in selection.verdict()


def test_where_all_are_degenerate_the_verdict_says_so():
    X = np.random.default_rng(0).normal(size=(90, 1)) * [1.0, 2.0]
    selection = select(GaussianMixture(random_state=0), X, {"covariance_type": ["full", "tied"]})
    assert not selection.decisive
    assert "It is degenerate: component 0 has no spread" in selection.verdict()
