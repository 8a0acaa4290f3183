"""The short look at tables against scikit-learn's long one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from unveil import ICA, PCA, LinearDiscriminantAnalysis
from unveil.estimation.input import rows_in
from unveil.estimation.plain_rows import plain_source
from unveil.sources import ArraySource

X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.parametrize(
    "table",
    [X.tolist(), X.astype(int), X[:, 0], X[None], X[:0], X[:, :0], pd.DataFrame(X), X.astype(">f8"), np.matrix(X)],
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
