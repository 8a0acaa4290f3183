import numpy as np
import pandas as pd
import polars
import pytest

import unveil
from unveil import CategoricalMixture, MixedMixture
from unveil.estimation.coded import natural_kinds
from unveil.estimation.input import is_count, is_time, is_yes_or_no
from unveil.sources.array import ArraySource

random = np.random.default_rng(0)
GROUP = random.integers(0, 2, 80)
FRAME = pd.DataFrame(
    {
        "colour": random.choice(["red", "green", "blue"], 80),
        "height": random.normal(5.0 * GROUP, 1.0),
        "visits": random.poisson(2.0 + 6.0 * GROUP),
        "member": random.random(80) < 0.2 + 0.6 * GROUP,
        "grade": random.integers(0, 3, 80),
    }
)
NUMBERS = ["height", "visits", "member", "grade"]


@pytest.fixture(scope="module")
def model():
    return MixedMixture(2, random_state=0).fit(FRAME)


def mixed(**settings):
    return MixedMixture(2, random_state=0, **settings)


def test_supports():
    cells = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    assert is_count(cells).tolist() == [False, True, False, True, True]
    assert is_yes_or_no(cells).tolist() == [False, True, False, True, False]
    assert is_time(cells).tolist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    "same",
    [
        FRAME.astype({"colour": "category"}),
        FRAME.convert_dtypes(),
        FRAME.convert_dtypes(dtype_backend="pyarrow"),
        FRAME.to_numpy(),
        FRAME.to_numpy().tolist(),
        polars.from_pandas(FRAME),
    ],
    ids=["category", "nullable", "arrow", "objects", "lists", "polars"],
)
def test_a_table_is_the_same_in_all_its_guises(model, same):
    again = mixed().fit(same)
    assert again.kinds_ == model.kinds_ == ["category", "number", "count", "yes/no", "count"]
    assert again.categories_[0].tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(again.score_samples(same), model.score_samples(FRAME))


def test_missing_is_missing_whatever_it_is_called():
    holes = random.random(FRAME.shape) < 0.1
    plain = FRAME.astype(object).mask(holes, None)
    guises = [plain, plain.mask(holes, np.nan), FRAME.convert_dtypes().mask(holes, pd.NA), plain.to_numpy().tolist()]
    scores = [mixed().fit(guise).score_samples(guise) for guise in guises]
    for other in scores[1:]:
        np.testing.assert_array_equal(other, scores[0])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("families", ["auto", {"grade": "category"}])
def test_files_give_the_same_bits_as_frames(tmp_path, ending, families):
    path = tmp_path / f"table.{ending}"
    FRAME.to_parquet(path) if ending == "parquet" else FRAME.to_csv(path, index=False)
    scan = unveil.scan(path, columns=NUMBERS)
    ours, theirs = mixed(families=families).fit(scan), mixed(families=families).fit(FRAME[NUMBERS])
    assert ours.kinds_ == theirs.kinds_
    np.testing.assert_array_equal(ours.score_samples(scan), theirs.score_samples(FRAME[NUMBERS]))
    np.testing.assert_array_equal(theirs.score_samples(scan), ours.score_samples(FRAME[NUMBERS]))


def test_weights_in_files(tmp_path):
    FRAME.to_parquet(tmp_path / "table.parquet")
    scan = unveil.scan(tmp_path / "table.parquet", columns=["visits", "member"], weight="grade")
    plain = FRAME[["visits", "member"]]
    ours = CategoricalMixture(2, random_state=0).fit(scan)
    theirs = CategoricalMixture(2, random_state=0).fit(plain, sample_weight=FRAME["grade"])
    np.testing.assert_array_equal(ours.weights_, theirs.weights_)
    assert ours.score(scan) == theirs.score(plain, sample_weight=FRAME["grade"])


def test_columns_of_files_in_another_order_are_refused(tmp_path, model):
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    fitted = mixed().fit(FRAME[NUMBERS])
    with pytest.raises(ValueError, match="in this order"):
        fitted.predict(unveil.scan(tmp_path / "table.csv", columns=NUMBERS[::-1]))


def test_natural_kinds_of_tables_of_numbers(tmp_path):
    table = np.array([[0, -1], [3, 2]])
    source = ArraySource(table.astype(float))
    assert natural_kinds(table, source) == ["count", "number"]
    assert natural_kinds(table.astype(float), source) == ["number", "number"]
    np.save(tmp_path / "table.npy", table)
    scan = unveil.scan(tmp_path / "table.npy")
    assert natural_kinds(scan, scan) == ["count", "number"]


def test_memory_maps_are_read_as_they_come(tmp_path):
    table = FRAME[["visits", "grade"]].to_numpy()
    np.save(tmp_path / "table.npy", table)
    ours = mixed(families={1: "category"}).fit(np.load(tmp_path / "table.npy", mmap_mode="r"))
    theirs = mixed(families={1: "category"}).fit(table)
    np.testing.assert_array_equal(ours.score_samples(table), theirs.score_samples(table))


def test_frames_of_single_precision_stay_so():
    single = FRAME[["height"]].astype(np.float32)
    model = mixed()
    source = model._emission().rows.source(model, single, reset=True)
    assert source.dtype == np.float32


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"height": "tall"}, "column 'height' is taken for a number, but holds cells that are not numbers"),
        ({"visits": -3}, "Negative values in data passed to X: column 'visits' must hold counts"),
        ({"visits": 0.5}, r"column 'visits' must hold counts 0, 1, 2, ..., got 0.5 in row 0"),
        ({"member": 3}, "column 'member' must hold yes or no"),
        ({"height": np.inf}, "infinity"),
    ],
)
def test_cells_that_a_column_cannot_hold_are_refused(model, change, message):
    with pytest.raises(ValueError, match=message):
        model.predict(FRAME.assign(**change))


def test_cells_of_files_that_a_column_cannot_hold_are_refused(tmp_path):
    FRAME.assign(visits=0.5).to_parquet(tmp_path / "table.parquet")
    fitted = mixed().fit(FRAME[["height", "visits"]])
    with pytest.raises(ValueError, match="column 'visits' must hold counts"):
        fitted.predict(unveil.scan(tmp_path / "table.parquet", columns=["height", "visits"]))


def test_columns_in_another_order_or_number_are_refused(model):
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(FRAME[FRAME.columns[::-1]])
    with pytest.raises(ValueError, match="yet now missing:\n- colour"):
        model.predict(FRAME.drop(columns="colour"))
    nameless = mixed().fit(FRAME.to_numpy())
    with pytest.raises(ValueError, match="X has 2 features, but MixedMixture is expecting 5 features as input"):
        nameless.predict(FRAME.to_numpy()[:, :2])


def test_numbers_where_words_were_are_refused():
    fitted = CategoricalMixture().fit(FRAME[["colour", "grade"]].to_numpy())
    with pytest.raises(ValueError, match="column 0 holds numbers, but words such as 'blue' at fit time"):
        fitted.predict(np.zeros((2, 2)))


def test_a_column_of_nothing_is_named():
    for empty in (FRAME.assign(colour=None), FRAME.assign(colour=np.nan)):
        with pytest.raises(ValueError, match="no value in column 'colour': all of its cells are missing"):
            mixed().fit(empty)


def test_empty_tables_are_refused(model):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(FRAME.iloc[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        mixed().fit(FRAME[[]])


@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.ones(3), r"must have shape \(80,\)"), (np.zeros(80), "zeros only"), (-np.ones(80), "not negative")],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(ValueError, match=f"sample_weight.*{message}"):
        mixed().fit(FRAME, sample_weight=weights)


def test_many_different_numbers_are_no_categories():
    with pytest.raises(ValueError, match="column 1 has more than 1000 different numbers: not one of categories"):
        mixed(families={1: "category"}).fit(np.random.default_rng(0).normal(size=(1100, 2)))


# -- unseen categories -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["colour", "grade"])
def test_unseen_categories_are_missing_or_an_error(column):
    families = {"grade": "category"}
    unseen, absent = FRAME.assign(**{column: 77}), FRAME.astype(object).assign(**{column: None})
    lenient = mixed(families=families).fit(FRAME)
    np.testing.assert_array_equal(lenient.score_samples(unseen), lenient.score_samples(absent))
    strict = mixed(families=families, handle_unknown="error").fit(FRAME)
    np.testing.assert_array_equal(strict.score_samples(absent), lenient.score_samples(absent))
    with pytest.raises(ValueError, match=f"column '{column}' holds 77, which was not there at fit time"):
        strict.predict(unseen)


def test_unseen_categories_in_tables_of_numbers():
    table = FRAME[["height", "grade"]].to_numpy()
    strange = table + np.array([0.0, 10.0])
    lenient = mixed(families={1: "category"}).fit(table)
    np.testing.assert_array_equal(
        lenient.score_samples(strange), lenient.score_samples(np.where([False, True], np.nan, table))
    )
    with pytest.raises(
        ValueError, match=r"column 1 holds 1. in row 0, which was not there at fit time; values are 0, 1"
    ):
        mixed(families={1: "category"}, handle_unknown="error").fit(table).predict(strange)


def test_a_stream_knows_the_categories_of_its_first_batch():
    later = FRAME.assign(colour="purple")
    lenient = mixed().partial_fit(FRAME).partial_fit(later)
    assert lenient.categories_[0].tolist() == ["blue", "green", "red"]
    blind = mixed().partial_fit(FRAME).partial_fit(later.assign(colour=None))
    np.testing.assert_array_equal(lenient.means_, blind.means_)
    with pytest.raises(ValueError, match="holds 'purple'"):
        mixed(handle_unknown="error").partial_fit(FRAME).partial_fit(later)


# -- there and back ----------------------------------------------------------------------------------------------------


def test_impute_gives_back_words_and_keeps_what_is_there(model):
    holed = FRAME.astype(object).mask(random.random(FRAME.shape) < 0.2, None)
    filled = model.impute(holed)
    assert set(filled[:, 0]) <= {"red", "green", "blue"}
    there = holed.notna().to_numpy()
    assert (filled[there] == FRAME.to_numpy()[there]).all()
    assert not pd.isna(filled).any()


def test_sample_gives_back_words(model):
    rows, labels = model.sample(50)
    assert rows.shape == (50, 5)
    assert set(rows[:, 0]) <= {"red", "green", "blue"}
    assert np.isfinite(model.score_samples(pd.DataFrame(rows, columns=FRAME.columns))).all()
    assert set(labels) <= {0, 1}


def test_tables_of_numbers_give_back_numbers():
    table = FRAME[["height", "grade"]].to_numpy() + np.array([0.0, 10.0])
    fitted = mixed(families={1: "category"}).fit(table)
    assert fitted.sample(3)[0].dtype == np.float64
    filled = fitted.impute(np.where(random.random(table.shape) < 0.3, np.nan, table))
    assert set(filled[:, 1]) <= {10.0, 11.0, 12.0}


def test_conditional_takes_mappings_and_rows(model):
    want = model.conditional({"colour": "red", "visits": 9}).weights_
    for given in ({0: "red", 2: 9}, ["red", None, 9, np.nan, pd.NA], {"colour": "red", -3: 9.0}):
        np.testing.assert_array_equal(model.conditional(given).weights_, want)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"colour": "purple"}, "column 'colour' holds 'purple', which was not there"),
        ({"colour": None}, "given must hold a value for column 'colour', got None"),
        ({"taste": 1}, "no column 'taste'"),
        ({"visits": -1}, "column 'visits' must hold counts"),
        ({"height": "tall"}, "column 'height' is taken for a number"),
        (["red"], "a row of 5 cells, got 1 cells"),
        ([None] * 5, "some but not all"),
    ],
)
def test_conditional_says_what_is_wrong(model, given, message):
    with pytest.raises(ValueError, match=message):
        model.conditional(given)


def test_warm_start_goes_on_only_with_the_same_columns():
    fitted = mixed(warm_start=True).fit(FRAME)
    assert fitted.fit(FRAME).n_iter_ <= 4
    other = FRAME.assign(colour=np.where(FRAME["colour"] == "red", "violet", FRAME["colour"]))
    cold = mixed().fit(other)
    np.testing.assert_array_equal(fitted.fit(other).score_samples(other), cold.score_samples(other))
    assert fitted.fit(FRAME[["height"]]).kinds_ == ["number"]
