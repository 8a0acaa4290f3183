import numpy as np
import pytest

from unveil import BernoulliMixture, GaussianMixture, KMeans, MixedMixture, StudentMixture, select
from unveil.estimation.degenerate import degeneracy, steps_of
from unveil.estimation.registry import STRUCTURES

VARIES = sorted(word for word in STRUCTURES if word[0] == "V" or word in ("full", "diag", "spherical"))
SHARES = sorted(set(STRUCTURES) - set(VARIES))  # volume is equal, so no component can shrink


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


def lonely(d=2, rows=1):
    """Two clouds and, between them, a few rows of their own; and the groups as responsibilities."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, d)) + np.repeat([[0.0], [40.0]], 30, axis=0)
    X = np.concatenate([X, 20.0 + generator.normal(scale=0.01, size=(rows, d))])
    return X, np.eye(3)[np.repeat([0, 1, 2], [30, 30, rows])]


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("floor", [1e-6, 0.0])
@pytest.mark.parametrize("structure", VARIES)
def test_a_component_on_one_row_is_degenerate(structure, floor):
    X, groups = lonely()
    model = GaussianMixture(3, covariance_type=structure, reg_covar=floor, responsibilities_init=groups).fit(X)
    assert degeneracy(model).startswith("component 2 has no spread")


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("structure", SHARES)
def test_a_component_on_one_row_of_a_shared_covariance_is_not(structure):
    X, groups = lonely()
    model = GaussianMixture(3, covariance_type=structure, responsibilities_init=groups, max_iter=3, tol=1e9).fit(X)
    own = structure in ("EVI", "EVE", "EEV", "EVV")  # a shape or axes, which one row cannot tell
    assert (degeneracy(model) is not None) is own


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize(("structure", "rows", "few"), [("VII", 2, True), ("VII", 3, False), ("VVV", 4, True)])
def test_rows_that_only_span_a_component_are_too_few(structure, rows, few):
    X, groups = lonely(d=4, rows=rows)
    model = GaussianMixture(3, covariance_type=structure, reg_covar=1e-12, responsibilities_init=groups).fit(X)
    reason = degeneracy(model)
    assert (reason is not None) is few
    assert not few or f"stands for only {rows} rows" in reason or "no spread" in reason


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_a_prior_stands_in_for_rows():
    X, groups = lonely()
    model = GaussianMixture(3, responsibilities_init=groups, mean_precision_prior=0.01).fit(X)
    assert model.weights_.min() * len(X) < 1.5
    assert degeneracy(model) is None


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_wide_tables_may_have_more_columns_than_rows():
    X = np.random.default_rng(0).normal(size=(40, 60)) + np.repeat([[0.0], [9.0]], 20, axis=0)
    assert degeneracy(GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)) is None
    assert degeneracy(GaussianMixture(2, covariance_type="full", random_state=0).fit(X)) is not None


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_students_and_numbers_among_other_columns_degenerate_too():
    X, groups = lonely(rows=2)
    X[-1] = X[-2]
    settings = {"responsibilities_init": groups, "max_iter": 3, "tol": 1e9}
    assert degeneracy(StudentMixture(3, degrees_of_freedom=9.0, **settings).fit(X)).startswith("component 2 ")
    rows = [[*row, "ab"[number % 2]] for number, row in enumerate(X.tolist())]
    assert degeneracy(MixedMixture(3, **settings).fit(rows)).startswith("component 2 ")
    assert degeneracy(MixedMixture(2, random_state=0).fit(rows[:60])) is None


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_a_component_on_one_value_of_a_rounded_column_is_degenerate():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.normal(size=200), generator.normal(50.0, 9.0, 200).round()])
    X[:20, 1] = 52.0
    groups = np.eye(2)[np.repeat([1, 0], [20, 180])]
    settings = {"responsibilities_init": groups, "max_iter": 3, "tol": 1e9}
    model = GaussianMixture(2, covariance_type="VEV", **settings).fit(X)  # its shape is shared, so not flat by itself
    assert degeneracy(model) is None
    assert degeneracy(model, steps_of(X)) == "component 1 is narrower than the steps of 1 in which a column is rounded"
    assert degeneracy(model, steps_of(X + 0.3 * generator.random(X.shape))) is None
    assert degeneracy(GaussianMixture(1).fit(X), steps_of(X)) is None


def test_a_column_of_few_ones_is_as_wide_as_it_is():
    X = np.column_stack([np.random.default_rng(0).normal(size=100), np.arange(100) < 4]).astype(float)
    assert degeneracy(GaussianMixture(1).fit(X), steps_of(X)) is None


def test_steps_of_what_is_not_a_table_of_numbers():
    assert steps_of([["a", 1.0]]) is None
    assert steps_of(object()) is None
    assert steps_of(np.array([[1.0, 2.0], [1.0, np.nan], [1.0, 2.5]])).tolist() == [0.0, 0.5]


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_a_spike_does_not_win():
    X, groups = lonely()
    X[:30] += [12.0, 0.0]
    start = GaussianMixture(3, responsibilities_init=groups, random_state=0)
    selection = select(start, X, {"covariance_type": ["VII", "EII"]})
    spike, sound = selection.table
    assert spike["degenerate"]
    assert selection.best_params_ == {"covariance_type": "EII"}
    assert sound["degenerate"] is None


@pytest.mark.parametrize("structure", list(STRUCTURES))
def test_sound_fits_are_not(structure):
    X = np.random.default_rng(0).normal(size=(90, 2))
    assert degeneracy(GaussianMixture(2, covariance_type=structure, random_state=0).fit(X)) is None


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_dependent_columns_have_no_spread_across():
    X = np.random.default_rng(0).normal(size=(90, 1)) * [1.0, 2.0]
    assert degeneracy(GaussianMixture(1, covariance_type="tied").fit(X)).startswith("component 0 has no spread")
    assert degeneracy(GaussianMixture(1, covariance_type="diag").fit(X)) is None


def test_models_without_covariances_are_none_of_it():
    X = (np.random.default_rng(0).random((40, 3)) > 0.5).astype(float)
    assert degeneracy(KMeans(2, random_state=0).fit(X)) is None
    assert degeneracy(BernoulliMixture(2, random_state=0).fit(X)) is None


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_degenerate_fits_lose_although_their_likelihood_is_larger():
    X = np.random.default_rng(0).normal(size=(90, 1)) * [1.0, 2.0]
    selection = select(GaussianMixture(random_state=0), X, {"covariance_type": ["full", "diag"]})
    full, diagonal = selection.table
    assert full["bic"] < diagonal["bic"]
    assert full["degenerate"]
    assert selection.best_params_ == {"covariance_type": "diag"}
    assert "1 combination was degenerate and passed over" in selection.verdict()


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_where_all_are_degenerate_the_verdict_says_so():
    X = np.random.default_rng(0).normal(size=(90, 1)) * [1.0, 2.0]
    selection = select(GaussianMixture(random_state=0), X, {"covariance_type": ["full", "tied"]})
    assert not selection.decisive
    assert "It is degenerate: component 0 has no spread" in selection.verdict()
