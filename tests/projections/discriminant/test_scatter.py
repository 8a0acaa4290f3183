"""Scatter of labelled rows: the decomposition, far from zero, with classes far apart, in batches and with weights."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.engines import Threads
from unveil.projections.discriminant import scatter as module
from unveil.projections.discriminant.scatter import ClassScatter, class_frames, gather, is_lossy, seen_along
from unveil.sources import ArraySource, with_weights
from unveil.sources.files.labelled import Labelled

Floats = NDArray[np.float64]


def table(n_rows: int = 600, n_columns: int = 5, n_classes: int = 4, seed: int = 0) -> tuple[Floats, NDArray[Any]]:
    """Rows on a grid of sixteenths, so that shifting them by whole numbers loses nothing."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_classes, n_rows).astype(np.uint8)
    rows = random.normal(size=(n_rows, n_columns)) @ random.normal(size=(n_columns, n_columns))
    return np.round(16 * (rows + 3 * random.normal(size=(n_classes, n_columns))[codes])) / 16, codes


def found(rows: Floats, codes: NDArray[Any], weights: Floats | None = None, **options: Any) -> ClassScatter:
    source = Labelled(with_weights(ArraySource(rows), weights), codes)
    return gather(Threads(1), source, codes, 4, **options)


def oracle(rows: Floats, codes: NDArray[Any], weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Within, between and total scatter by their definitions, in long doubles."""
    weights = np.ones(len(rows)) if weights is None else weights
    table, weight = rows.astype(np.longdouble), weights.astype(np.longdouble)
    mean = weight @ table / weight.sum()
    means = np.stack([weight[codes == k] @ table[codes == k] / weight[codes == k].sum() for k in range(4)])
    within, total = table - means[codes], table - mean
    ways = means - mean
    counts = np.array([weight[codes == k].sum() for k in range(4)])
    return (within.T * weight) @ within, (ways.T * counts) @ ways, (total.T * weight) @ total


def close(one: Any, other: Any, digits: float = 1e-13) -> None:
    scale = float(np.max(np.abs(other)))
    np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=0, atol=digits * scale)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_total_is_within_plus_between(offset: float, weighted: bool, apart: bool) -> None:
    rows, codes = table()
    weights = np.random.default_rng(1).integers(0, 4, len(rows)).astype(float) if weighted else None
    here = found(rows + offset, codes, weights, apart=apart)
    within, between, total = oracle(rows, codes, weights)
    close(here.within, within)
    close(here.between, between)
    close(here.within + here.between, total)
    if apart:
        assert here.apart is not None
        close(here.apart.sum(axis=0), within)


@pytest.mark.parametrize("in_order", [False, True])
def test_classes_a_hundred_million_apart(in_order: bool) -> None:
    rows, codes = table(20_000, 3)
    places = 1e8 * np.arange(4)[codes][:, None]
    order = np.argsort(codes, kind="stable") if in_order else np.arange(len(codes))
    close(found((rows + places)[order], codes[order]).within, oracle(rows, codes)[0])


def test_a_poor_frame_costs_a_second_pass_and_no_digits() -> None:
    rows, codes = table()
    weights = np.arange(len(rows)) % 2.0
    rows[weights == 0] += 2e7  # rows that do not count draw the frames away
    close(found(rows, codes, weights).within, oracle(rows, codes, weights)[0])


def test_a_good_frame_is_not_lossy() -> None:
    rows, codes = table()
    source = Labelled(ArraySource(rows), codes)
    frames = class_frames(source, codes, 4)
    statistics, _ = Threads(1).map_reduce(partial(module.class_sums, frames, False, None), source, None)
    assert not is_lossy(statistics, module.scatter(statistics, frames))


def test_frames_of_classes_that_come_late_are_theirs() -> None:
    rows, codes = table(40_000, 2)
    order = np.argsort(codes, kind="stable")
    frames = class_frames(Labelled(ArraySource(rows[order]), codes[order]), codes[order], 4)
    means = np.stack([rows[codes == k].mean(axis=0) for k in range(4)])
    np.testing.assert_allclose(frames, means, atol=0.2)


def test_a_class_without_rows_has_a_finite_frame() -> None:
    rows, codes = table(50)
    here = gather(Threads(1), Labelled(ArraySource(rows), codes), codes, 6)
    assert np.all(np.isfinite(here.centres))
    assert here.seen == 4
    assert here.of_seen().centres.shape == (4, 5)


def test_a_constant_column_has_no_scatter_at_all() -> None:
    rows, codes = table()
    rows[:, 1] = 0.1
    rows[:, 2] = np.array([0.1, 0.7, 1e9 / 3, -2.3])[codes]
    here = found(rows, codes)
    assert not here.within[1:3].any()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 599), min_size=1, max_size=4, unique=True), st.sampled_from([0.0, 1e8]), st.booleans())
def test_batches_merge_to_the_whole(cuts: list[int], offset: float, apart: bool) -> None:
    rows, codes = table()
    ends = [0, *sorted(cuts), len(rows)]
    pieces = [found(rows[a:b] + offset, codes[a:b], apart=apart) for a, b in itertools.pairwise(ends)]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged.merged(piece)
    whole = found(rows + offset, codes, apart=apart)
    close(merged.within, whole.within, 1e-12)
    close(merged.between, whole.between, 1e-12)
    assert merged.rows.tolist() == whole.rows.tolist()
    if apart:
        close(merged.apart, whole.apart, 1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(seed: int) -> None:
    rows, codes = table(80, seed=seed % 7)
    times = np.random.default_rng(seed).integers(0, 3, len(rows))
    times[:20] = np.maximum(times[:20], 1)
    one, other = found(rows, codes, times.astype(float)), found(np.repeat(rows, times, 0), np.repeat(codes, times))
    close(one.within, other.within, 1e-12)
    close(one.between, other.between, 1e-12)
    np.testing.assert_allclose(one.weights, other.weights)


def test_scatter_along_a_basis_is_that_of_the_rows() -> None:
    rows, codes = table()
    basis = np.random.default_rng(3).normal(size=(5, 2))
    source = Labelled(ArraySource(rows + 1e8), codes)
    seen = seen_along(Threads(1), source, found(rows + 1e8, codes), basis)
    close(seen, basis.T @ np.asarray(oracle(rows, codes)[0], float) @ basis, 1e-12)
