"""Look-up by groups of columns against plain sums."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import logsumexp

from unveil.families.kernels.bits import encode, expect_bits


@settings(max_examples=25, deadline=None)
@given(
    n_rows=st.integers(1, 40),
    n_columns=st.integers(1, 21),
    k=st.sampled_from([1, 3, 4, 9, 600]),  # the last takes groups of four columns
    weighted=st.booleans(),
    seed=st.integers(0, 100),
)
def test_equals_plain_sums(n_rows: int, n_columns: int, k: int, weighted: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = (random.random((n_rows, n_columns)) < 0.4).astype(np.float64)
    natural = random.normal(size=(k, 1 + n_columns))
    weights = random.integers(0, 3, n_rows).astype(np.float64) if weighted else np.empty(0)
    codes = encode(rows, k)
    assert codes is not None
    moments, log_likelihood = expect_bits(codes, weights, natural)
    joint = natural[:, :1] + natural[:, 1:] @ rows.T
    totals = logsumexp(joint, axis=0)
    counted = weights if weighted else np.ones(n_rows)
    shares = np.exp(joint - totals) * counted
    assert log_likelihood == pytest.approx(counted @ totals, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(moments[:, 0], shares.sum(axis=1), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(moments[:, 1:], shares @ rows, rtol=1e-10, atol=1e-14)


def test_more_rows_than_a_tile() -> None:
    random = np.random.default_rng(0)
    rows = (random.random((2500, 10)) < 0.5).astype(np.float32)
    natural = random.normal(size=(5, 11))
    codes = encode(rows, 5)
    assert codes is not None
    moments, _ = expect_bits(codes, np.empty(0), natural)
    joint = natural[:, :1] + natural[:, 1:] @ rows.T
    shares = np.exp(joint - logsumexp(joint, axis=0))
    np.testing.assert_allclose(moments[:, 1:], shares @ rows, rtol=1e-10)


@pytest.mark.parametrize("cell", [0.5, 2.0, -1.0, np.nan])
def test_what_is_not_a_bit_has_no_code(cell: float) -> None:
    rows = np.zeros((3, 2))
    rows[1, 1] = cell
    assert encode(rows, 2) is None
