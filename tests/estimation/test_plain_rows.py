"""The short look at tables against scikit-learn's long one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unveil import (
    ICA,
    PCA,
    CategoricalHMM,
    CategoricalMixture,
    GaussianMixture,
    LinearDiscriminantAnalysis,
    MixedMixture,
    PoissonHMM,
    PoissonMixture,
)
from unveil.engines import Threads
from unveil.estimation.input import rows_in
from unveil.estimation.looks import looking_once
from unveil.estimation.plain_rows import as_floats, block_at_hand, plain_source
from unveil.sources import ArraySource

X = np.random.default_rng(0).normal(size=(60, 3))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.matrix(X)


@pytest.mark.parametrize(
    "table",
    [X.tolist(), X.astype(np.int16), X[:, 0], X[None], X[:0], X[:, :0], pd.DataFrame(X), X.astype(">f8"), MATRIX],
)
def test_what_needs_a_closer_look_gets_one(table: Any) -> None:
    assert plain_source(PCA(), table, reset=True) is None


@pytest.mark.parametrize("table", [X, X.astype(np.float32), np.asfortranarray(X), X[::2, ::-1]])
def test_arrays_of_floats_are_taken_as_they_are(table: Any) -> None:
    model = PCA()
    source = plain_source(model, table, reset=True)
    assert source is not None
    assert source.rows is table
    assert model.n_features_in_ == 3
    assert plain_source(model, table[:1], reset=False) is not None
    assert plain_source(model, table, reset=True, min_rows=1000) is None


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32])
def test_whole_numbers_are_turned_into_floats(dtype: Any) -> None:
    table = np.arange(60).reshape(20, 3).astype(dtype)
    source = plain_source(PCA(), table, reset=True)
    assert source is not None
    assert source.rows.dtype == np.float64
    np.testing.assert_array_equal(source.rows, table)


def test_names_are_forgotten_and_missed_as_in_scikit_learn() -> None:
    model = PCA().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert plain_source(model, X, reset=False) is None
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named = model.transform(X)
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.transform(X), named, atol=1e-12)


def test_another_number_of_columns_is_refused() -> None:
    model = PCA().fit(X)
    assert plain_source(model, X[:, :2], reset=False) is None
    with pytest.raises(ValueError, match="X has 2 features, but PCA is expecting 3 features"):
        model.transform(X[:, :2])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("model", [PCA(2), ICA(random_state=0, gaussianity_level=1.0), LinearDiscriminantAnalysis()])
@pytest.mark.parametrize("n_rows", [60, 40_000])
def test_cells_that_are_not_finite_are_named(model: Any, bad: float, n_rows: int) -> None:
    rows, labels = np.tile(X, (n_rows // 60 + 1, 1))[:n_rows], np.arange(n_rows) % 3
    model.fit(rows, labels)
    spoilt = rows.copy()
    spoilt[n_rows - 7, 1] = bad
    where = f"Input X contains {'NaN' if np.isnan(bad) else 'infinity'}: row {n_rows - 7}, column 1"
    for ask in (lambda: model.fit(spoilt, labels), lambda: model.transform(spoilt)):
        with pytest.raises(ValueError, match=where):
            ask()


def test_weights_go_the_long_way() -> None:
    source = rows_in(PCA(), X, np.arange(60.0), reset=True)
    assert not isinstance(source, ArraySource)
    assert next(iter(source.read())).weights is not None


# -- arrays that a fitted model takes without a closer look, beside what the closer look makes of them -----------------

random = np.random.default_rng(1)
CODES = random.integers(4, size=(200, 3)).astype(np.float64)
ODD = np.array([2.0, 3.5, 7.0])[random.integers(3, size=(200, 3))]
COUNTED = random.poisson(3.0, size=(200, 3)).astype(np.float64)
MIXED = np.column_stack([random.normal(size=200), CODES[:, 0], ODD[:, 0], COUNTED[:, 0], random.random(200) < 0.5])
KINDS = {1: "category", 2: "category", 3: "count", 4: "yes/no"}
FITTED: dict[str, tuple[Any, Any]] = {
    "numbers": (GaussianMixture(2, random_state=0), X),
    "counts": (PoissonMixture(2, random_state=0), COUNTED),
    "codes": (CategoricalMixture(2, random_state=0), CODES),
    "values": (CategoricalMixture(2, random_state=0), ODD),
    "mixed": (MixedMixture(2, families=KINDS, random_state=0), MIXED),
    "chain of codes": (CategoricalHMM(2, random_state=0), CODES),
    "chain of counts": (PoissonHMM(2, random_state=0), COUNTED),
}


def both_ways(name: str, table: Any) -> tuple[Any, Any]:
    """Rows as they are taken without a closer look, and with one."""
    model, rows = FITTED[name]
    if not hasattr(model, "n_features_in_"):
        model.fit(rows)
    rows_in_face = model._emission().rows
    plain = rows_in_face.plain(model)
    assert plain is not None
    closer = rows_in_face.source(model, table, reset=False)
    return plain(table), np.concatenate([block.rows for block in closer.read()])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint32])
def test_plain_rows_are_those_of_the_closer_look(name: str, dtype: Any) -> None:
    rows = FITTED[name][1]
    whole = np.array_equal(rows, np.floor(rows)) and (rows >= 0).all()
    if not whole and np.dtype(dtype).kind != "f":
        return
    for table in (rows.astype(dtype), np.asfortranarray(rows.astype(dtype)), rows[:1].astype(dtype)):
        quick, closer = both_ways(name, table)
        assert quick is not None
        np.testing.assert_array_equal(quick.rows, closer)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("name", [name for name in FITTED if name != "numbers"])
@pytest.mark.parametrize("cell", [np.nan, -1.0, 0.25, 1e6])
def test_what_a_column_does_not_hold_is_left_to_the_closer_look(name: str, cell: float) -> None:
    model, rows = FITTED[name]
    if not hasattr(model, "n_features_in_"):
        model.fit(rows)
    plain = model._emission().rows.plain(model)
    assert plain is not None
    spoilt = rows[:5].copy()
    spoilt[3, 1] = cell
    if "counts" in name and cell == 1e6:
        assert plain(spoilt) is not None
    else:
        assert plain(spoilt) is None
    for table in (rows.tolist(), rows[:, :2], rows[0], rows[:0], rows.astype(np.float16), rows.astype(">f8")):
        assert plain(table) is None


def test_names_and_words_leave_nothing_plain() -> None:
    named = CategoricalMixture(2, random_state=0).fit(pd.DataFrame(CODES, columns=["a", "b", "c"]))
    words = CategoricalMixture(2, random_state=0).fit(np.where(CODES > 1, "high", "low"))
    for model in (named, words):
        assert model._emission().rows.plain(model) is None


def test_what_is_known_of_the_columns_is_known_anew_when_it_changes() -> None:
    model = CategoricalMixture(2, random_state=0).fit(CODES)
    before = model.predict_proba(CODES)
    model.categories_ = [values + 10.0 for values in model.categories_]
    np.testing.assert_array_equal(model.predict_proba(CODES + 10.0), before)


def test_a_block_at_hand_is_one_block_of_an_array() -> None:
    block = block_at_hand(ArraySource(X), "auto")
    assert block is not None
    np.testing.assert_array_equal(block.rows, X)
    assert block_at_hand(ArraySource(X), Threads(2)) is None
    assert block_at_hand(ArraySource(np.zeros((40_000, 2))), "auto") is None


def test_tables_of_floats_are_as_scikit_learn_has_them() -> None:
    assert as_floats(X) is X
    np.testing.assert_array_equal(as_floats(X.tolist()), X)
    for bad in (np.array([[np.nan]]), X[:0], X[0], X[:, :0]):
        with pytest.raises(ValueError, match=r"NaN|minimum|2D"):
            as_floats(bad)
    assert as_floats(X[:, :0], min_columns=0).shape == (60, 0)


def test_fits_side_by_side_have_one_source() -> None:
    rows = np.ones((30, 2))
    fitted = GaussianMixture(1).fit(X[:, :2])._emission().rows.plain(GaussianMixture(1).fit(X[:, :2]))
    with looking_once(rows):
        one, other = (plain_source(GaussianMixture(), rows, reset=True) for _ in range(2))
        assert one is other is fitted(rows)
    assert plain_source(GaussianMixture(), rows, reset=True) is not one
