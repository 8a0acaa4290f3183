"""The compiled E step of rows with missing cells, against tiles of one pattern each and against single rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.families.columns.test_marginal import brute_force, random_components, with_holes
from unveil.core.protocols import Block
from unveil.expectations import Exact
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.kernels import missing
from unveil.families.kernels.missing import Ordered
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.numerics.missing_patterns import find_patterns
from unveil.numerics.tiles import SMALLEST_TILE

Floats = NDArray[np.float64]
STRUCTURES: list[Structure] = [Full(), Tied(), Diagonal(), Spherical()]


def model_of(structure: Structure, means: Floats, covariances: Floats) -> tuple[Mixture, MixtureParams]:
    """A mixture whose covariances are those given, or what of them the structure keeps."""
    (k, d), shape = means.shape, structure.shape(*means.shape)
    kept = {3: covariances, 2: np.einsum("kii->ki", covariances), 1: covariances[:, 0, 0]}[len(shape)]
    kept = covariances[0] if isinstance(structure, Tied) else kept
    shares = np.random.default_rng(k).dirichlet(np.full(k, 5.0))
    return Mixture(Gaussian(structure), k, np.zeros(d)), MixtureParams(shares, GaussianParams(means, kept, 0.0 * means))


def both(model: Mixture, params: MixtureParams, rows: Floats, weights: Floats | None = None) -> tuple[Any, Any]:
    """The E step of the kernel, and by tiles."""
    block, plan = Block(0, 0, rows, weights), model.prepare(params)
    memo = model._remember(block)
    assert memo.patterns is not None
    fast = model._expect_at_once(plan, block, memo)
    return fast, model._expect_by_tiles(plan, block, Exact(), memo, np.random.default_rng)


def assert_same(fast: Any, slow: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(fast[1], slow[1], rtol=tolerance, atol=1e-12)
    np.testing.assert_allclose(fast[0], slow[0], rtol=tolerance, atol=tolerance * np.abs(slow[0]).max())


def test_one_pattern_only() -> None:
    random = np.random.default_rng(5)
    rows = random.normal(size=(1500, 3))
    rows[:, 1] = np.nan
    model, params = model_of(Full(), *random_components(random, 2, 3))
    assert_same(*both(model, params, rows))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 40),
    st.sampled_from([0.1, 0.5, 0.9]),
    st.booleans(),
    st.sampled_from(STRUCTURES),
)
def test_equals_single_rows_and_tiles(
    seed: int, d: int, k: int, n: int, share: float, weighted: bool, structure: Structure
) -> None:
    random = np.random.default_rng(seed)
    rows = with_holes(random, n, d, share)
    rows[0] = np.nan  # a row with nothing in it
    weights = random.integers(0, 4, n) * 0.5 + (np.arange(n) == 0) if weighted else None
    model, params = model_of(structure, *random_components(random, k, d))
    fast, slow = both(model, params, rows, weights)
    assert_same(fast, slow)
    dense = structure.dense(params.components.covariances, k, d)
    ones = np.ones(n) if weights is None else weights
    right = brute_force(rows, ones, params.weights, params.components.means, dense)
    second = structure.sums.second(right.products)
    assert_same(fast, (np.concatenate([right.counts[:, None], right.sums, second], axis=1), right.log_likelihood))


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: type(one).__name__)
def test_many_tiles_and_patterns_that_run_over_their_ends(structure: Structure) -> None:
    random = np.random.default_rng(4)
    rows = with_holes(random, 3001, 4, 0.1)
    model, params = model_of(structure, *random_components(random, 9, 4))
    assert_same(*both(model, params, rows, random.random(3001)))


def test_many_missing_columns_make_smaller_tiles() -> None:
    random = np.random.default_rng(13)
    model, params = model_of(Full(), *random_components(random, 20, 64))
    rows = with_holes(random, 100, 64, 0.95)
    patterns = find_patterns(rows)
    ordered = Ordered(rows, np.empty(0), patterns.order, patterns.bounds, patterns.columns, patterns.missing)
    assert missing.tile_of(ordered, 20)[0] < SMALLEST_TILE
    assert_same(*both(model, params, rows), 1e-12)


def test_components_without_a_row_in_a_tile() -> None:
    random = np.random.default_rng(6)
    means, covariances = random_components(random, 3, 2)
    rows = with_holes(random, 400, 2, 0.2)
    rows = rows[~np.isnan(rows).all(axis=1)]
    model, params = model_of(Full(), means + np.array([[0.0], [1e3], [0.0]]), covariances)
    params = replace(params, weights=np.array([1.0, 0.0, 0.0]))
    with np.errstate(divide="ignore"):
        fast, slow = both(model, params, rows)
    assert_same(fast, slow)
    np.testing.assert_array_equal(fast[0][1:], 0.0)


def test_duplicates_count_as_weights() -> None:
    random = np.random.default_rng(7)
    rows, counts = with_holes(random, 50, 3, 0.3), random.integers(1, 4, 50)
    model, params = model_of(Full(), *random_components(random, 3, 3))
    weighted, _ = both(model, params, rows, counts.astype(float))
    repeated, _ = both(model, params, np.repeat(rows, counts, axis=0))
    assert_same(weighted, repeated, 1e-12)


def test_moments_are_about_the_origins() -> None:
    random = np.random.default_rng(8)
    model, params = model_of(Full(), *random_components(random, 3, 4))
    origins = params.components.means + 0.1
    params = replace(params, components=replace(params.components, origins=origins))
    fast, slow = both(model, params, with_holes(random, 200, 4, 0.2))
    assert_same(fast, slow)


def test_far_from_the_origin_nothing_cancels() -> None:
    random = np.random.default_rng(9)
    means, covariances = random_components(random, 2, 3)
    rows = with_holes(random, 100, 3, 0.3)
    model, near = model_of(Full(), means, covariances)
    far = replace(near, components=replace(near.components, means=means + 1024.0, origins=means + 1024.0))
    near = replace(near, components=replace(near.components, origins=means))
    assert_same(both(model, far, rows + 1024.0)[0], both(model, near, rows)[0])


@pytest.mark.parametrize("holes", [[0], [3], [0, 3], [1, 3], [0, 1, 3], [0, 1, 2, 3]])
def test_columns_that_nearly_depend_on_each_other(holes: list[int]) -> None:
    # missing together, the precision of columns 0 and 3 has no digits to spare; what is seen is well conditioned
    random = np.random.default_rng(10)
    means, covariances = random_components(random, 2, 4)
    mix = np.eye(4)
    mix[3] = mix[0] + 1e-5 * mix[3]
    rows = random.normal(size=(100, 4)) @ mix.T
    rows[:, holes] = np.nan
    model, params = model_of(Full(), means @ mix.T, mix @ covariances @ mix.T)
    assert_same(*both(model, params, rows), 1e-9)


def test_units_do_not_matter() -> None:
    random = np.random.default_rng(11)
    means, covariances = random_components(random, 2, 3)
    rows, units = with_holes(random, 200, 3, 0.4), np.array([1e-8, 1.0, 1e8])
    model, params = model_of(Full(), means, covariances)
    _, scaled = model_of(Full(), means * units, covariances * np.outer(units, units))
    one, other = both(model, params, rows)[0], both(model, scaled, rows * units)[0]
    upper = np.outer(units, units)[np.triu_indices(3)]
    np.testing.assert_allclose(other[0] / np.concatenate([[1.0], units, upper]), one[0], rtol=1e-9, atol=1e-9)


def test_the_same_bits_twice() -> None:
    random = np.random.default_rng(12)
    rows = with_holes(random, 2000, 5, 0.1)
    model, params = model_of(Full(), *random_components(random, 4, 5))
    rows.flags.writeable = False
    one, other = both(model, params, rows)[0], both(model, params, rows.copy())[0]
    assert one[1] == other[1]
    np.testing.assert_array_equal(one[0], other[0])
    assert one[0].shape == (4, model.family.n_statistics(5))
