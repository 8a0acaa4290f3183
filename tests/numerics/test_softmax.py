"""Responsibilities against scipy: ordinary tiles, impossible rows, minus infinity, NaN, weights of zero."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from unveil.numerics.softmax import CACHED_ROWS, hard_assign, soft_assign

Floats = NDArray[np.float64]
NONE = np.empty(0)


def tile(k: int, n: int, spread: float = 5.0) -> Floats:
    return np.random.default_rng(k * 1000 + n).normal(0, spread, (k, n)) - 1e3


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("n", [1, CACHED_ROWS - 1, CACHED_ROWS, CACHED_ROWS + 1, 3 * CACHED_ROWS + 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_soft_is_scipys_softmax(k: int, n: int, weighted: bool) -> None:
    logits = tile(k, n)
    weights = np.random.default_rng(1).uniform(0, 3, n) if weighted else NONE
    each = weights if weighted else np.ones(n)
    out = logits.copy()
    total = soft_assign(out, weights)
    np.testing.assert_allclose(out, softmax(logits, axis=0) * each, rtol=1e-13, atol=1e-300)
    assert total == pytest.approx(float(each @ logsumexp(logits, axis=0)), rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("n", [1, CACHED_ROWS, CACHED_ROWS + 1, 3 * CACHED_ROWS + 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_hard_is_argmax(k: int, n: int, weighted: bool) -> None:
    logits = np.round(tile(k, n))  # rounded, so that there are equals
    weights = np.random.default_rng(1).uniform(0, 3, n) if weighted else NONE
    each = weights if weighted else np.ones(n)
    out = logits.copy()
    log_likelihood, free_energy = hard_assign(out, weights)
    np.testing.assert_array_equal(out, np.eye(k)[:, np.argmax(logits, axis=0)] * each)
    assert log_likelihood == pytest.approx(float(each @ logsumexp(logits, axis=0)), rel=1e-13)
    assert free_energy == pytest.approx(float(each @ logits.max(axis=0)), rel=1e-13)
    assert free_energy <= log_likelihood


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (4, 9), elements=st.floats(-1e5, 1e5) | st.just(-np.inf)))
def test_rows_sum_to_one_or_are_impossible(logits: Floats) -> None:
    impossible = np.all(logits == -np.inf, axis=0)
    soft, hard = logits.copy(), logits.copy()
    total, (log_likelihood, free_energy) = soft_assign(soft, NONE), hard_assign(hard, NONE)
    for out in (soft, hard):
        np.testing.assert_allclose(out.sum(axis=0), np.where(impossible, 0.0, 1.0), rtol=1e-14)
        assert np.all(out >= 0)
    assert np.all(soft[logits == -np.inf] == 0)
    if impossible.any():
        assert total == log_likelihood == free_energy == -np.inf
    else:
        assert total == pytest.approx(log_likelihood, rel=1e-12, abs=1e-12)
        assert free_energy <= log_likelihood + 1e-9


@pytest.mark.parametrize("assign", [soft_assign, hard_assign])
def test_a_row_of_weight_zero_takes_part_in_nothing_even_if_it_is_impossible(assign: Any) -> None:
    logits = np.array([[-1.0, -np.inf, -3.0], [-2.0, -np.inf, -1.0]])
    weights = np.array([1.0, 0.0, 2.0])
    out = logits.copy()
    sums = assign(out, weights)
    assert np.all(np.isfinite(sums))
    np.testing.assert_array_equal(out[:, 1], 0.0)
    np.testing.assert_allclose(out.sum(axis=0), weights)


@pytest.mark.parametrize("assign", [soft_assign, hard_assign])
@pytest.mark.parametrize("component", [0, 1, 2])
def test_nan_is_never_swallowed(assign: Any, component: int) -> None:
    logits = np.zeros((3, 4))
    logits[component, 2] = np.nan
    assert np.isnan(assign(logits, NONE)).all()


def test_far_apart_logits_neither_overflow_nor_underflow() -> None:
    logits = np.array([[1e300, -1e300, 0.0], [-1e300, -1e300, -800.0]])
    out = logits.copy()
    soft_assign(out, NONE)
    np.testing.assert_array_equal(out, [[1.0, 0.5, 1.0], [0.0, 0.5, 0.0]])
