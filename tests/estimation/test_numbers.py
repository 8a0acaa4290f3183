"""What is no number is not taken for one, whoever asks."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.estimation.numbers import plain_numbers
from unveil.sources import ArraySource, with_weights

ROWS = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [8.0]], 20, axis=0)
FACES = [unveil.KMeans(2, random_state=0), unveil.GaussianMixture(2, random_state=0), unveil.PCA(1)]
every = pytest.mark.parametrize("face", FACES, ids=lambda face: type(face).__name__)


@every
@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_refused(face, dtype):
    moments = np.arange(80).reshape(40, 2).astype(dtype)
    for X in (moments, pd.DataFrame(moments.astype(dtype.replace("[D]", "[s]")), columns=["a", "b"])):
        with pytest.raises(ValueError, match=r"X.* holds (dates|lengths of time)"):
            face.fit(X)
    with pytest.raises(ValueError, match=r"sample_weight holds (dates|lengths of time)"):
        face.fit(ROWS, sample_weight=moments[:, 0])


@every
def test_dates_of_polars_are_refused(face):
    frame = pl.DataFrame({"day": pd.date_range("2024-01-01", periods=40), "x": ROWS[:, 0]})
    with pytest.raises(ValueError, match="column 'day' of X holds dates"):
        face.fit(frame)


@every
def test_whole_numbers_that_would_be_rounded_are_refused(face):
    keys = np.arange(80, dtype=np.int64).reshape(40, 2) + 2**60
    for X in (keys, keys.astype(np.uint64) + np.uint64(2**63), pd.DataFrame(keys)):
        with pytest.raises(ValueError, match=r"beyond 2\*\*53, .* such as \d+ in row [01]"):
            face.fit(X)
    exact = np.arange(80, dtype=np.int64).reshape(40, 2) * 2**54
    np.testing.assert_array_equal(plain_numbers(exact), exact)
    face.fit(ROWS, sample_weight=np.arange(40))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63) + 1])
def test_the_first_number_that_is_rounded_is_named(value):
    cells = np.array([[1, 2**62], [3, value], [value, 0]], dtype=np.int64)
    with pytest.raises(ValueError, match=rf"such as {value} in row 1, column 1"):
        plain_numbers(cells)


def test_masked_cells_are_missing():
    masked = np.ma.masked_greater(ROWS, 9.0)
    holes = np.where(masked.mask, np.nan, ROWS)
    told = unveil.GaussianMixture(2, random_state=0).fit(masked)
    np.testing.assert_array_equal(told.means_, unveil.GaussianMixture(2, random_state=0).fit(holes).means_)
    np.testing.assert_array_equal(told.predict_proba(masked), told.predict_proba(holes))
    with pytest.raises(ValueError, match="NaN"):
        unveil.KMeans(2, random_state=0).fit(masked)
    np.testing.assert_array_equal(plain_numbers(np.ma.masked_array(ROWS)), ROWS)
    assert np.isnan(plain_numbers(np.ma.masked_equal([1, 2], 2))[1])
    with pytest.raises(ValueError, match="holds dates"):
        plain_numbers(np.ma.masked_array(np.array(["2024-01-01"], dtype="datetime64[D]"), mask=[False]))


@every
@pytest.mark.parametrize("weights", [["1"] * 40, np.full(40, "1"), np.full(40, 1 + 1j), [None] * 40])
def test_weights_must_be_numbers(face, weights):
    with pytest.raises(ValueError, match="sample_weight must be"):
        face.fit(ROWS, sample_weight=weights)


@every
@pytest.mark.parametrize("size", [1e308, 1e150, 5e-324, 1e-150])
def test_weights_whose_sums_float64_does_not_hold_are_refused(face, size):
    with pytest.raises(ValueError, match=r"sample_weight must have its largest entry between 1e-100 and"):
        face.fit(ROWS, sample_weight=np.full(40, size))


@every
def test_small_weights_beside_others_are_no_rows(face):
    weights = np.where(np.arange(40) % 4, 1.0, 5e-324)
    tiny, none = face.fit(ROWS, sample_weight=weights), face.__class__(**face.get_params())
    none.fit(ROWS, sample_weight=np.where(weights < 1, 0.0, 1.0))
    name = next(name for name in ("cluster_centers_", "means_", "components_") if hasattr(tiny, name))
    np.testing.assert_allclose(getattr(tiny, name), getattr(none, name), rtol=1e-9)


COUNTS = np.repeat([[0, 1, 4], [7, 2, 0]], 20, axis=0) + np.random.default_rng(1).integers(0, 2, size=(40, 3))
OF_COUNTS = ("PoissonMixture", "PoissonHMM", "CategoricalMixture", "CategoricalHMM", "BernoulliMixture")
SIZES = {"n_components": 2, "n_clusters": 2, "random_state": 0, "max_iter": 5, "n_init": 2}


@pytest.mark.filterwarnings("ignore")  # five passes are few
@pytest.mark.parametrize(
    "name", [name for name in unveil.__all__ if hasattr(getattr(unveil, name), "get_params") and name != "PCFG"]
)
def test_numbers_of_numpy_are_numbers(name):
    kind = getattr(unveil, name)
    rows = COUNTS[:, :1] if name == "CategoricalHMM" else COUNTS if name in OF_COUNTS else ROWS
    rows = rows > 1 if name == "BernoulliMixture" else rows
    given = {key: value for key, value in SIZES.items() if key in kind().get_params()}
    if name in ("LinearDiscriminantAnalysis", "ProbabilisticPCA", "FactorAnalysis"):
        given["n_components"] = 1
    fits = []
    for number in (int, np.int64):
        model = kind(**{key: number(value) for key, value in given.items()})
        fits.append(model.fit(rows, np.arange(40) // 20) if name == "LinearDiscriminantAnalysis" else model.fit(rows))
    floats = [key for key, value in vars(fits[0]).items() if isinstance(value, np.ndarray) and value.dtype.kind == "f"]
    assert floats
    for key in floats:
        np.testing.assert_array_equal(getattr(fits[0], key), getattr(fits[1], key))


@pytest.mark.parametrize(
    "part",
    [
        {"schedule": unveil.schedules.Stepwise(batch_rows=np.int64(16))},
        {"schedule": unveil.schedules.Gradient(steps=np.int64(2))},
        {"expectation": unveil.expectations.Sparse(active=np.int64(1), refresh=np.int64(2))},
        {"expectation": unveil.expectations.Annealed(passes=np.int64(3))},
        {"engine": unveil.engines.Threads(workers=np.int64(1))},
    ],
    ids=lambda part: type(next(iter(part.values()))).__name__,
)
def test_numbers_of_numpy_are_numbers_to_parts(part):
    model = unveil.GaussianMixture(2, random_state=0, **part).fit(ROWS)
    assert sorted(np.round(model.means_[:, 0])) == [0.0, 8.0]


def test_a_grid_of_numpy_is_a_grid_of_numbers():
    found = unveil.select(FACES[1], ROWS, {"n_components": np.arange(1, 4)})
    assert type(found.best_params_["n_components"]) is int


def test_keys_are_refused_whatever_holds_them(tmp_path):
    """Lists, tables of Arrow and polars, files: all go through floats."""
    keys = 2**60 + np.arange(40)
    table = pa.table({"key": keys, "x": ROWS[:, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    np.save(tmp_path / "t.npy", np.column_stack([keys, keys]))
    kept = pyarrow.feather.read_table(tmp_path / "t.feather")
    handed = [table, kept, pl.DataFrame({"key": keys, "x": ROWS[:, 0]}), np.column_stack([keys, keys]).tolist()]
    handed += [np.column_stack([keys, keys]).astype(object)]
    for X in (*handed, *(unveil.scan(tmp_path / f"t.{ending}") for ending in ("parquet", "feather", "npy"))):
        with pytest.raises(ValueError, match=r"beyond 2\*\*53|1152921504606846977"):
            unveil.PCA(1).fit(X)
    assert unveil.PCA(1).fit(unveil.scan(tmp_path / "t.parquet", columns=["x"])).mean_.shape == (1,)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
def test_a_pipe_does_not_keep_one_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for read in (unveil.scan, unveil.report, unveil.load):
        with pytest.raises(ValueError, match="not a file but a pipe or a device"):
            read(tmp_path / "pipe.csv")


def test_weights_that_add_nothing_are_none():
    faint = np.where(np.arange(40) % 2, 1.0, 5e-324)
    assert with_weights(ArraySource(ROWS), faint).weights.tolist() == (np.arange(40) % 2).tolist()
