"""Gaussians of which some columns are seen, row by row against the formulas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from unveil.families.base import Tile
from unveil.families.columns.marginal import about, observe
from unveil.families.kernels.missing import CentredSums

Floats = NDArray[np.float64]


class Expected(NamedTuple):
    """What an E step gives: the log-likelihood, and moments about zero."""

    log_likelihood: float
    counts: Floats
    sums: Floats
    products: Floats


def random_components(random: np.random.Generator, k: int, d: int) -> tuple[Floats, Floats]:
    roots = random.normal(size=(k, d, d + 1))
    return random.normal(size=(k, d)) * 2.0, roots @ np.swapaxes(roots, 1, 2) / d + 0.2 * np.eye(d)


def with_holes(random: np.random.Generator, n: int, d: int, share: float) -> Floats:
    return np.where(random.random((n, d)) < share, np.nan, random.normal(size=(n, d)) * 2.0)


def brute_force(rows: Floats, weights: Floats, shares: Floats, means: Floats, covariances: Floats) -> Expected:
    """The E step of a mixture, one row and one component at a time."""
    (k, d), log_likelihood = means.shape, 0.0
    counts, sums, products = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    for row, weight in zip(rows, weights, strict=True):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        joint = np.log(shares)
        for c in range(k if len(o) else 0):
            joint[c] += multivariate_normal(means[c, o], covariances[c][np.ix_(o, o)]).logpdf(row[o])
        log_likelihood += weight * logsumexp(joint)
        for c, share in enumerate(weight * np.exp(joint - logsumexp(joint))):
            gain = covariances[c][np.ix_(m, o)] @ np.linalg.inv(covariances[c][np.ix_(o, o)])
            x = row.copy()
            x[m] = means[c, m] + gain @ (row[o] - means[c, o])
            second = np.outer(x, x)
            second[np.ix_(m, m)] += covariances[c][np.ix_(m, m)] - gain @ covariances[c][np.ix_(o, m)]
            counts[c], sums[c], products[c] = counts[c] + share, sums[c] + share * x, products[c] + share * second
    return Expected(log_likelihood, counts, sums, products)


def flat(products: Floats) -> Floats:
    return products.reshape(len(products), -1)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 3), st.data())
def test_score_and_gather_agree_with_the_formulas(seed: int, d: int, k: int, data: st.DataObject) -> None:
    columns = np.array(sorted(data.draw(st.sets(st.integers(0, d - 1)))), dtype=np.intp)
    random = np.random.default_rng(seed)
    means, covariances = random_components(random, k, d)
    rows = random.normal(size=(5, d))
    rows[:, np.setdiff1d(np.arange(d), columns)] = np.nan
    seen, tile = observe(means, covariances, columns), Tile(rows.T.copy(), np.empty((k, 5)))
    seen.score(tile.x, tile.logits)
    total = logsumexp(tile.logits, axis=0)
    tile.logits = np.exp(tile.logits - total)
    moments = seen.gather(tile, np.zeros((k, d)), flat)
    right = brute_force(rows, np.ones(5), np.ones(k), means, covariances)
    np.testing.assert_allclose(total.sum(), right.log_likelihood, rtol=1e-10, atol=1e-10)
    expected = np.concatenate([right.counts[:, None], right.sums, flat(right.products)], axis=1)
    np.testing.assert_allclose(moments, expected, rtol=1e-9, atol=1e-10)


def test_nothing_seen_tells_nothing() -> None:
    means, covariances = random_components(np.random.default_rng(0), 2, 3)
    seen, logits = observe(means, covariances, np.arange(0)), np.empty((2, 4))
    seen.score(np.full((3, 4), np.nan), logits)
    np.testing.assert_array_equal(logits, 0.0)
    np.testing.assert_array_equal(seen.spread, covariances)
    np.testing.assert_array_equal(seen.filled(np.full((3, 4), np.nan), 1), np.repeat(means[1][:, None], 4, axis=1))


def test_all_seen_is_the_density() -> None:
    random = np.random.default_rng(1)
    means, covariances = random_components(random, 2, 3)
    x, logits = random.normal(size=(3, 7)), np.empty((2, 7))
    seen = observe(means, covariances, np.arange(3))
    seen.score(x, logits)
    for c in range(2):
        np.testing.assert_allclose(logits[c], multivariate_normal(means[c], covariances[c]).logpdf(x.T), rtol=1e-12)
    np.testing.assert_array_equal(seen.whiten, np.tril(seen.whiten))
    np.testing.assert_array_equal(seen.filled(x, 0), x)


def test_predictions_are_conditional_means() -> None:
    means, covariances = np.array([[1.0, 2.0]]), np.array([[[2.0, 1.0], [1.0, 3.0]]])
    predicted, spread = observe(means, covariances, np.array([0])).predict(np.array([3.0]))
    np.testing.assert_allclose(predicted, [[3.0]])
    np.testing.assert_allclose(spread, [[[2.5]]])


def test_completed_rows_weigh_the_components() -> None:
    means, covariances = np.array([[0.0, 4.0], [0.0, 8.0]]), np.repeat(np.eye(2)[None], 2, axis=0)
    tile = Tile(np.array([[1.0, 2.0], [np.nan, np.nan]]), np.array([[1.0, 0.25], [0.0, 0.75]]))
    rows = observe(means, covariances, np.array([0])).complete(tile)
    np.testing.assert_allclose(rows, [[1.0, 2.0], [4.0, 7.0]])


@pytest.mark.parametrize("d", [1, 3])
def test_moments_move_to_other_points(d: int) -> None:
    random = np.random.default_rng(2)
    rows, means, origins = random.normal(size=(2, 9, d)), random.normal(size=(2, d)), random.normal(size=(2, d))
    weights = random.random((2, 9))

    def moments(points: Floats) -> tuple[Floats, Floats]:
        y = rows - points[:, None]
        return np.einsum("kr,kri->ki", weights, y), np.einsum("kr,kri,krj->kij", weights, y, y)

    totals, products = moments(means)
    counts = weights.sum(axis=1)
    sums = CentredSums(counts, np.concatenate([products, totals[:, None]], axis=1))
    first, second = moments(origins)
    expected = np.concatenate([counts[:, None], first, flat(second)], axis=1)
    np.testing.assert_allclose(about(sums, means - origins, flat), expected, rtol=1e-12, atol=1e-12)


def test_every_pattern_of_a_block_at_once() -> None:
    random = np.random.default_rng(3)
    means, covariances = random_components(random, 2, 2)
    rows = np.array([[1.0, 2.0], [np.nan, 1.0], [0.5, np.nan]])
    patterns = SimpleNamespace(
        order=np.arange(3),
        bounds=np.arange(4),
        columns=np.array([[0, 1], [0, 1], [1, 0]]),
        missing=np.array([0, 1, 1]),
    )
    shares = np.array([0.3, 0.7])
    sums, log_likelihood = observe(means, covariances, np.arange(2)).expect(np.log(shares), rows, None, patterns)
    right = brute_force(rows, np.ones(3), shares, means, covariances)
    np.testing.assert_allclose(log_likelihood, right.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(sums.counts, right.counts, rtol=1e-12)
