"""What is no number is not taken for one, whoever asks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import unveil
from unveil.estimation.numbers import plain_numbers

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
@pytest.mark.parametrize("size", [1e308, 5e-324, 1e-300])
def test_weights_whose_sums_float64_does_not_hold_are_refused(face, size):
    with pytest.raises(ValueError, match=r"sample_weight must have its largest entry between 1e-200 and"):
        face.fit(ROWS, sample_weight=np.full(40, size))


@every
def test_small_weights_beside_others_are_no_rows(face):
    weights = np.where(np.arange(40) % 4, 1.0, 5e-324)
    tiny, none = face.fit(ROWS, sample_weight=weights), face.__class__(**face.get_params())
    none.fit(ROWS, sample_weight=np.where(weights < 1, 0.0, 1.0))
    name = next(name for name in ("cluster_centers_", "means_", "components_") if hasattr(tiny, name))
    np.testing.assert_allclose(getattr(tiny, name), getattr(none, name), rtol=1e-9)
