"""Scores and sums of the steps of chains in compiled pieces, against the products that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.chains.kernels.emissions import emitter_of, gather_rows, score_rows
from unveil.families.kernels.em import LINEAR, NORM, PRODUCTS, SQUARES, CompiledSums

KINDS = {"linear": LINEAR, "squares": SQUARES, "norm": NORM, "products": PRODUCTS}


def table_of(sums: CompiledSums, rows: Any, shift: Any) -> Any:
    """T of the rows, (statistics, rows)."""
    x = np.asarray(rows, dtype=np.float64) - shift
    d = x.shape[1]
    seconds = {
        id(LINEAR): np.empty((len(x), 0)),
        id(SQUARES): x**2,
        id(NORM): np.sum(x**2, axis=1, keepdims=True),
        id(PRODUCTS): np.stack([x[:, i] * x[:, j] for i in range(d) for j in range(i, d)], axis=1),
    }
    return np.hstack([np.ones((len(x), 1)), x, seconds[id(sums)]]).T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [1, 7, 5000])
@pytest.mark.parametrize("states", [1, 3, 4, 5, 8, 9])
def test_scores_and_sums_are_products_with_the_statistics(kind: str, n_rows: int, states: int) -> None:
    random = np.random.default_rng(n_rows)
    rows, shift = random.normal(size=(n_rows, 3)), random.normal(size=3)
    table = table_of(KINDS[kind], rows, shift)
    natural, posteriors = random.normal(size=(states, len(table))), random.random((n_rows, states))
    emitter = emitter_of(KINDS[kind])
    assert emitter is not None
    out = np.empty((n_rows, states))
    score_rows(rows, shift, natural, emitter, out)
    np.testing.assert_allclose(out, (natural @ table).T, rtol=1e-12, atol=1e-12)
    moments = gather_rows(rows, shift, natural, emitter, posteriors)
    np.testing.assert_allclose(moments, posteriors.T @ table.T, rtol=1e-10, atol=1e-10)


def test_rows_may_be_a_view_that_cannot_be_written_to() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 6))[:, ::2]
    rows.flags.writeable = False
    emitter = emitter_of(LINEAR)
    assert emitter is not None
    natural, out = np.ones((2, 4)), np.empty((20, 2))
    score_rows(rows, np.zeros(3), natural, emitter, out)
    np.testing.assert_allclose(out[:, 0], 1.0 + rows.sum(axis=1))


def test_a_kind_of_its_own_has_no_compiled_piece() -> None:
    assert emitter_of(None) is None
    assert emitter_of(PRODUCTS._replace(second=len)) is None


@pytest.mark.parametrize("columns", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("states", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_every_width_of_rows(columns: int, states: int, kind: Any) -> None:
    for n_rows in (1, 15, 16, 128, 273):
        random = np.random.default_rng(columns)
        rows, shift = random.normal(size=(n_rows, columns)).astype(kind), random.normal(size=columns)
        table = table_of(PRODUCTS, rows, shift)
        natural, out = random.normal(size=(states, len(table))), np.empty((n_rows, states))
        emitter = emitter_of(PRODUCTS)
        assert emitter is not None
        score_rows(rows, shift, natural, emitter, out)
        np.testing.assert_allclose(out, (natural @ table).T, rtol=1e-12, atol=1e-12)
        posteriors = random.random((n_rows, states))
        moments = gather_rows(rows, shift, natural, emitter, posteriors)
        np.testing.assert_allclose(moments, posteriors.T @ table.T, rtol=1e-10, atol=1e-10)
