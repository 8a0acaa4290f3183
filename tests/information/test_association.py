from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from unveil.information.association import association_matrix, cramers_v


def test_numbers_are_compared_as_numpy_and_scipy_do_over_the_rows_that_have_both() -> None:
    random = np.random.default_rng(0)
    table = random.normal(size=(80, 3)) @ random.normal(size=(3, 3)) + 1e6
    table[random.random(table.shape) < 0.2] = np.nan
    found = association_matrix(list(table.T), ["number"] * 3)
    ranks = association_matrix(list(table.T), ["number", "count", "number"], ranks=True)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(table[:, [i, j]]).any(axis=1)
        assert found[i, j] == pytest.approx(np.corrcoef(table[both, i], table[both, j])[0, 1], abs=1e-6)
    np.testing.assert_allclose(np.diag(ranks), 1.0)
    whole = random.normal(size=(50, 2)) ** 3
    expected = stats.spearmanr(whole).statistic
    assert association_matrix(list(whole.T), ["number"] * 2, ranks=True)[0, 1] == pytest.approx(expected)


def test_chance_is_taken_off() -> None:
    random = np.random.default_rng(1)
    found = []
    for _ in range(20):
        columns = [random.normal(size=300), random.integers(40, size=300), random.integers(40, size=300)]
        found.append(association_matrix(columns, ["number", "category", "category"])[1, [0, 2]])
    assert (np.median(found, axis=0) < 0.1).all()  # plainly, both are about 0.36


def test_what_goes_together_wholly_has_one() -> None:
    codes = np.repeat([0, 1, 2], 30)
    found = association_matrix([codes * 5.0, codes, 2 - codes], ["number", "category", "category"])
    np.testing.assert_allclose(found, 1.0)


def test_constants_have_no_association() -> None:
    found = association_matrix([np.ones(9), np.arange(9.0), np.zeros(9)], ["number", "number", "category"])
    assert np.isnan(found[0, 1])
    assert np.isnan(found[1, 2])
    assert np.isnan(cramers_v([0, 0], [np.nan, 1]))


def test_kinds_must_fit() -> None:
    with pytest.raises(ValueError, match="kinds must hold a word for each of 2 columns, got 1"):
        association_matrix([[1.0], [2.0]], ["number"])
