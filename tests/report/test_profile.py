import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.report.profile import describe, usable
from unveil.report.table import open_table


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40_000), st.sampled_from([0.0, 1e8]), st.integers(0, 10**6))
def test_agrees_with_numpy(n, offset, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)) + offset
    X[random.random(size=n) < 0.2, 1] = np.nan
    X[0] = offset + 1.0  # at least one cell everywhere
    columns, n_rows = describe(open_table(X, None, None))
    assert n_rows == n
    np.testing.assert_allclose([column.mean for column in columns], np.nanmean(X, axis=0), rtol=1e-12, atol=1e-12)
    assert [column.low for column in columns] == np.nanmin(X, axis=0).tolist()
    assert [column.high for column in columns] == np.nanmax(X, axis=0).tolist()
    assert [column.missing for column in columns] == np.isnan(X).sum(axis=0).tolist()


def test_deviations_are_those_of_the_complete_rows():
    X = np.random.default_rng(0).normal(size=(18_000, 3)) * [1.0, 5.0, 0.1] + 1e8
    X[::7, 1] = np.nan
    table = open_table(X, None, None)
    found = usable(table.source, describe(table)[0])
    complete = X[~np.isnan(X).any(axis=1)]
    assert found.n_rows == len(complete)
    np.testing.assert_allclose(found.deviation, complete.std(axis=0), rtol=1e-7)
