import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, poisson
from sklearn.base import clone

import unveil
from unveil import CategoricalMixture, GaussianMixture, MixedMixture, PoissonMixture
from unveil.certificate import FitWarning
from unveil.families.exponential import Exponential
from unveil.families.gaussian import Gaussian
from unveil.families.poisson import Poisson
from unveil.families.product import Product
from unveil.families.student import Student

random = np.random.default_rng(4)
GROUP = random.integers(0, 2, 100)
FRAME = pd.DataFrame(
    {
        "height": random.normal(4.0 * GROUP, 1.0),
        "weight": random.normal(2.0 * GROUP, 1.5),
        "visits": random.poisson(2.0 + 6.0 * GROUP),
        "member": random.random(100) < 0.2 + 0.6 * GROUP,
        "colour": np.where(GROUP, random.choice(["red", "green"], 100), random.choice(["blue", "green"], 100)),
    }
)
HOLED = FRAME.convert_dtypes().mask(random.random(FRAME.shape) < 0.15, pd.NA)
START = np.where(GROUP[:, None] == 1, [0.9, 0.1], [0.2, 0.8])


@pytest.fixture(scope="module")
def model():
    return MixedMixture(2, random_state=0).fit(HOLED)


def mixed(**settings):
    return MixedMixture(2, random_state=0, **settings)


def brute_force(model, frame):
    """log p(x, s), cell by cell, of whatever is there."""
    parts = {word: params for word, _, params in model.components_}
    joint = np.tile(np.log(model.weights_), (len(frame), 1))
    for row, cells in enumerate(frame.itertuples(index=False)):
        for k in range(2):
            there = np.array([not pd.isna(cell) for cell in cells[:2]])
            if there.any():
                values = np.array([cell for cell in cells[:2] if not pd.isna(cell)], dtype=float)
                normal = parts["number"]
                covariance = normal.covariances[k][np.ix_(there, there)]
                joint[row, k] += multivariate_normal(normal.means[k][there], covariance).logpdf(values)
            if not pd.isna(cells.visits):
                joint[row, k] += poisson.logpmf(cells.visits, parts["count"].rates[k, 0])
            if not pd.isna(cells.member):
                chance = parts["yes/no"].probabilities[k, 0]
                joint[row, k] += np.log(chance if cells.member else 1.0 - chance)
            if not pd.isna(cells.colour):
                code = model.categories_[4].tolist().index(cells.colour)
                joint[row, k] += np.log(parts["category"].probabilities[k, code])
    return joint


def test_log_likelihood_of_cells_that_are_there(model):
    joint = brute_force(model, HOLED)
    np.testing.assert_allclose(model.score_samples(HOLED), logsumexp(joint, axis=1), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(HOLED), joint.argmax(axis=1))


def test_what_is_known_of_the_components(model):
    assert model.kinds_ == ["number", "number", "count", "yes/no", "category"]
    assert [columns for _, columns, _ in model.components_] == [(0, 1), (2,), (3,), (4,)]
    assert model.means_.shape == (2, 5)
    assert np.isnan(model.means_[:, 4]).all()
    assert model.n_parameters() == 1 + 2 * (2 + 3 + 1 + 1 + 2)


@pytest.mark.parametrize(
    ("columns", "other"),
    [
        (["height", "weight"], GaussianMixture(2, tol=1e-6, responsibilities_init=START)),
        (["visits"], PoissonMixture(2, tol=1e-6, responsibilities_init=START)),
        (["colour"], CategoricalMixture(2, tol=1e-6, responsibilities_init=START)),
    ],
    ids=["gaussian", "poisson", "categorical"],
)
def test_columns_of_one_kind_are_the_mixture_of_that_kind(columns, other):
    ours = MixedMixture(2, tol=1e-6, responsibilities_init=START).fit(FRAME[columns])
    theirs = clone(other).fit(FRAME[columns])
    np.testing.assert_allclose(ours.score_samples(FRAME[columns]), theirs.score_samples(FRAME[columns]), rtol=1e-9)
    assert ours.bic(FRAME[columns]) == pytest.approx(theirs.bic(FRAME[columns]))


def test_weight_is_repetition():
    weights = random.integers(0, 3, len(FRAME))
    ours = MixedMixture(2, responsibilities_init=START).fit(FRAME, sample_weight=weights)
    repeated, start = FRAME.loc[FRAME.index.repeat(weights)], np.repeat(START, weights, axis=0)
    theirs = MixedMixture(2, responsibilities_init=start).fit(repeated)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-8)


# -- which family for which columns ------------------------------------------------------------------------------------


def test_a_mapping_overrules_types_by_name_and_number():
    fitted = mixed(families={"visits": "number", 3: "category", -1: "category"}).fit(FRAME)
    assert fitted.kinds_ == ["number", "number", "number", "category", "category"]
    assert [columns for _, columns, _ in fitted.components_] == [(0, 1, 2), (3, 4)]
    assert fitted.categories_[3].tolist() == [False, True]


def test_a_list_says_which_columns_form_a_group():
    fitted = mixed(families=[("number", ["height"]), ("number", "weight")]).fit(FRAME)
    groups = [columns for _, columns, _ in fitted.components_]
    assert groups == [(0,), (1,), (2,), (3,), (4,)]
    together = mixed().fit(FRAME)
    assert fitted.n_parameters() == together.n_parameters() - 2


def test_waiting_times_are_exponential():
    times = FRAME.assign(height=random.exponential(np.where(GROUP, 5.0, 1.0)))
    fitted = mixed(families={"height": "waiting time"}).fit(times)
    assert fitted.kinds_[0] == "waiting time"
    one = MixedMixture(1, families={"height": "waiting time"}).fit(times)
    assert one.means_[0, 0] == pytest.approx(times["height"].mean())
    with pytest.raises(ValueError, match="column 'height' must hold times from 0 on"):
        mixed(families={"height": "waiting time"}).fit(times.assign(height=-1.0))


def test_two_words_may_be_yes_and_no():
    answers = FRAME.assign(colour=np.where(GROUP, "yes", "no"))
    fitted = mixed(families={"colour": "yes/no"}).fit(answers)
    assert fitted.kinds_[4] == "yes/no"
    assert fitted.categories_[4].tolist() == ["no", "yes"]
    assert set(fitted.sample(20)[0][:, 4]) <= {"no", "yes"}
    row = pd.DataFrame([[4.0, 2.0, 8, True, None]], columns=FRAME.columns)
    assert fitted.impute(row)[0, 4] == "yes"
    with pytest.raises(ValueError, match=r"column 'colour' must hold yes or no: .* got 3 values"):
        mixed(families={"colour": "yes/no"}).fit(FRAME)


def test_a_family_of_ones_own_for_all_columns():
    counts = FRAME[["visits", "member"]].astype(float)
    ours = MixedMixture(2, families=Poisson(), responsibilities_init=START).fit(counts)
    theirs = PoissonMixture(2, responsibilities_init=START).fit(counts)
    np.testing.assert_allclose(ours.score_samples(counts), theirs.score_samples(counts))
    assert ours.kinds_ == ["own", "own"]
    assert isinstance(ours.components_[0][0], Poisson)


@pytest.mark.parametrize("families", [{"visits": Exponential()}, [(Exponential(), ["visits"])]], ids=["dict", "list"])
def test_a_family_of_ones_own_among_words(families):
    fitted = mixed(families=families).fit(HOLED)
    assert fitted.kinds_ == ["number", "number", "own", "yes/no", "category"]
    assert fitted.components_[0][:2] == (Exponential(), (2,))
    part = fitted.marginal(["colour", "visits"])
    assert part.kinds_ == ["category", "own"]
    whole = HOLED.assign(height=np.nan, weight=np.nan, member=None)
    np.testing.assert_allclose(part.score_samples(HOLED[["colour", "visits"]]), fitted.score_samples(whole))


def test_a_family_that_takes_no_missing_cells_says_so():
    families = [(Student(), ["height", "weight"])]
    fitted = mixed(families=families).fit(FRAME)
    assert np.isfinite(fitted.score(FRAME))
    for call in (fitted.predict, mixed(families=families).fit):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            call(HOLED)


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ({"height": "numbers"}, "families must name 'number', 'count', 'yes/no', .*got 'numbers'"),
        ({"height": 3}, "families must name .*got 3"),
        ({"length": "number"}, "no column 'length': a name of"),
        ({9: "number"}, "no column 9"),
        ([("number", ["height"]), ("count", ["height"])], "name each column once, got column 0 twice"),
        ({"height": "number", 0: "number"}, "name each column once"),
        (["number", "count"], r"list of pairs \(family or word, columns\), got 'number' in it"),
        ([("number",)], "list of pairs"),
        ("auto ", "'families' parameter of MixedMixture"),
        ({"height": "count"}, "column 'height' must hold counts"),
        ({"colour": "number"}, "column 'colour' is taken for a number"),
    ],
)
def test_families_that_make_no_sense_are_refused(families, message):
    with pytest.raises(ValueError, match=message):
        mixed(families=families).fit(FRAME)


# -- use ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "VEV"])
def test_marginals_and_conditionals_are_mixtures_of_their_own(tmp_path, structure):
    fitted = mixed(covariance_type=structure).fit(HOLED)
    part = fitted.marginal(["colour", "weight", "height"])
    narrow = HOLED[["colour", "weight", "height"]]
    whole = HOLED.assign(visits=pd.NA, member=pd.NA)
    np.testing.assert_allclose(part.score_samples(narrow), fitted.score_samples(whole), rtol=1e-9)
    given = fitted.conditional({"weight": 1.0, "colour": "green"})
    rows = FRAME.assign(weight=1.0, colour="green")
    rest = ["height", "visits", "member"]
    known = fitted.marginal(["weight", "colour"]).score_samples(rows[["weight", "colour"]])
    np.testing.assert_allclose(given.score_samples(rows[rest]), fitted.score_samples(rows) - known, rtol=1e-8)
    for made, table in ((part, narrow), (given, rows[rest])):
        made.save(tmp_path / "m")
        for back in (unveil.load(tmp_path / "m"), pickle.loads(pickle.dumps(made))):
            np.testing.assert_array_equal(back.score_samples(table), made.score_samples(table))
        assert np.isfinite(made.bic(table))
        again = clone(made).fit(table)
        assert again.score(table) >= made.score(table) - 1e-2


def test_impute_beats_the_mean(model):
    holes = HOLED["height"].isna().to_numpy()
    filled = model.impute(HOLED)[:, 0].astype(float)
    truth = FRAME["height"].to_numpy()
    errors = [np.sqrt(np.mean((guess - truth)[holes] ** 2)) for guess in (filled, HOLED["height"].mean())]
    assert errors[0] < 0.8 * errors[1]


def test_files_and_pickles_bring_back_the_same_bits(tmp_path):
    fitted = mixed(families={"visits": "number", 3: "category"}).fit(HOLED)
    fitted.save(tmp_path / "m")
    loaded, pickled = unveil.load(tmp_path / "m"), pickle.loads(pickle.dumps(fitted))
    assert loaded.families == fitted.families
    np.testing.assert_array_equal(loaded.predict_proba(HOLED), fitted.predict_proba(HOLED))
    np.testing.assert_array_equal(loaded.sample(5)[0], fitted.sample(5)[0])
    loaded.partial_fit(FRAME)
    pickled.partial_fit(FRAME)
    np.testing.assert_array_equal(loaded.score_samples(HOLED), pickled.score_samples(HOLED))


class Counts(Poisson):
    """A family of one's own."""


def test_a_file_holds_no_family_of_ones_own(tmp_path):
    fitted = mixed(families={"visits": Counts()}).fit(FRAME)
    with pytest.raises(TypeError, match=r"families of your own are not stored .*pickle it"):
        fitted.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.score_samples(FRAME), fitted.score_samples(FRAME))


def test_parameters_pass_through_clone_and_set_params():
    made = clone(mixed(families={"visits": "number"}, covariance_type="diag"))
    assert made.get_params()["families"] == {"visits": "number"}
    assert made.set_params(families="auto").fit(FRAME).kinds_[2] == "count"


def test_a_stream_does_not_change_its_structure():
    stream = mixed().partial_fit(FRAME).set_params(covariance_type="tied")
    with pytest.raises(ValueError, match="was changed since partial_fit began"):
        stream.partial_fit(FRAME)


def test_a_warm_start_of_another_structure_is_cold():
    fitted = mixed(warm_start=True).fit(FRAME).set_params(covariance_type="tied").fit(FRAME)
    np.testing.assert_array_equal(fitted.means_, mixed(covariance_type="tied").fit(FRAME).means_)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_constant_columns_and_one_category_do_no_harm():
    dull = FRAME.assign(weight=1.0, visits=0, member=True, colour="red")
    fitted = mixed().fit(dull)
    assert np.isfinite(fitted.score_samples(dull)).all()
    assert np.isfinite(fitted.score_samples(FRAME)).all()


def test_fewer_rows_than_columns_are_told_of():
    flat = np.random.default_rng(0).random((22, 30))
    with pytest.warns(FitWarning, match="more parameters than the rows support"):
        fitted = MixedMixture(random_state=0).fit(flat)
    assert "reg_covar=1e-06 is not small against a component's variance" in str(fitted.certificate_)


@pytest.mark.parametrize("schedule", ["squarem", "incremental"])
def test_schedules_agree_on_the_optimum(schedule):
    settings = {"responsibilities_init": START, "tol": 1e-10, "max_iter": 5000}
    batch = MixedMixture(2, **settings).fit(HOLED)
    other = MixedMixture(2, schedule=schedule, **settings).fit(HOLED)
    assert other.score(HOLED) == pytest.approx(batch.score(HOLED), abs=1e-6)


def test_a_product_for_all_columns_is_what_its_groups_are() -> None:
    random = np.random.default_rng(0)
    X = np.c_[random.poisson([2, 9], (80, 2)), random.normal(50.0, 1.0, 80)][:, [0, 2, 1]]
    product = Product(((Poisson(), (0, 2)), (Gaussian(), (1,))))  # counts may not be shifted, numbers may
    whole = MixedMixture(2, families=product, random_state=0).fit(X)
    groups = MixedMixture(2, families=[("count", [0, 2]), ("number", [1])], random_state=0).fit(X)
    np.testing.assert_allclose(whole.weights_ @ whole.means_, X.mean(axis=0), rtol=1e-9)
    assert whole.score(X) == pytest.approx(groups.score(X), rel=1e-8)
