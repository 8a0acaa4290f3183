"""Components of two mixtures, matched by the rows they own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from unveil import GaussianMixture, MixedMixture
from unveil.mixtures.matching import matched, matched_by_draws

random = np.random.default_rng(0)
GROUPS = random.integers(4, size=300)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]])
def test_a_permutation_is_undone(order: list[int]) -> None:
    table = np.eye(4)[GROUPS] * 0.7 + 0.075
    np.testing.assert_array_equal(matched(table[:, order], table), order)


def test_weights_decide_between_rows_that_disagree() -> None:
    one = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    other = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert matched(one, other).tolist() == [1, 0]
    assert matched(one, other, np.array([1.0, 1.0, 9.0])).tolist() == [0, 1]


def test_two_fits_are_matched_without_their_rows() -> None:
    rows = random.normal(size=(300, 2)) + np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[GROUPS]
    one = GaussianMixture(4, random_state=0).fit(rows[::2])
    other = GaussianMixture(4, random_state=5, covariance_type="diag").fit(rows[1::2])
    order = matched_by_draws(one, other)
    np.testing.assert_allclose(other.means_[order], one.means_, atol=1.5)


def test_columns_of_words_have_names_that_nobody_asks_for() -> None:
    frame = pd.DataFrame({"x": random.normal(size=300) + 9.0 * (GROUPS % 2), "w": np.array(list("abcd"))[GROUPS]})
    model = MixedMixture(2, random_state=0).fit(frame)
    assert sorted(matched_by_draws(model, model).tolist()) == [0, 1]
