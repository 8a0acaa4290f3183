"""Counts, sums and cost of clusters against exact arithmetic, and by every path to the same labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from unveil.clusters.assignment.cluster_sums import account
from unveil.numerics.tiles import readable

NONE, UNWEIGHTED = np.empty(0, np.int32), readable(np.empty(0))


def _exact_cost(rows, weights, labels, centres):
    """In fractions."""
    total = Fraction(0)
    for i, c in enumerate(labels.tolist()):
        gaps = (Fraction(x) - Fraction(z) for x, z in zip(rows[i].tolist(), centres[c].tolist(), strict=True))
        total += (Fraction(float(weights[i])) if len(weights) else 1) * sum(gap * gap for gap in gaps)
    return total


def _first(rows, weights, labels, centres):
    return account(rows, np.zeros(rows.shape[1]), weights, NONE, labels, None, centres)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("radius", [1.0, 1e-4, 1e-7, 1e-9])
def test_cost_of_tight_clusters_far_apart(radius, weighted):
    """The scatter is as little as 1e-18 of the squares; ten digits and more of it are right all the same."""
    random = np.random.default_rng(0)
    labels, homes = random.integers(0, 4, size=150).astype(np.int32), random.normal(size=(4, 3))
    rows = readable(homes[labels] + radius * random.normal(size=(150, 3)))
    weights = readable(random.random(150)) if weighted else UNWEIGHTED
    share = weights if weighted else np.ones(150)
    means = np.array([np.average(rows[labels == c], axis=0, weights=share[labels == c]) for c in range(4)])
    for centres in (means, homes + radius * random.normal(size=(4, 3))):
        _, _, cost = _first(rows, weights, labels, centres)
        exact = _exact_cost(rows, weights, labels, centres)
        assert abs(Fraction(cost) - exact) <= Fraction(1e-12) * exact


@pytest.mark.parametrize("weighted", [False, True])
def test_cost_is_never_negative(weighted):
    random = np.random.default_rng(0)
    for value in (0.1, 1e8 + 0.1, 1e-170, 1e-300):
        rows, labels = readable(np.full((50, 3), value)), random.integers(0, 3, size=50).astype(np.int32)
        weights = readable(random.random(50)) if weighted else UNWEIGHTED
        _, _, cost = _first(rows, weights, labels, np.full((3, 3), value))
        assert 0 <= cost <= 1e-28 * 50 * 3 * value**2


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_cost_at_the_ends_of_the_range(scale):
    random = np.random.default_rng(0)
    rows, labels = readable(scale * random.normal(size=(60, 2))), random.integers(0, 3, size=60).astype(np.int32)
    centres = scale * random.normal(size=(3, 2))
    exact = _exact_cost(rows, UNWEIGHTED, labels, centres)
    assert abs(Fraction(_first(rows, UNWEIGHTED, labels, centres)[2]) - exact) <= Fraction(1e-12) * exact


@pytest.mark.parametrize("scale", [1e160, 1e200])
def test_a_cost_beyond_the_range_is_infinite(scale):
    rows = readable(scale * np.array([[1.0], [-2.0], [3.0]]))
    tally, _, cost = _first(rows, UNWEIGHTED, np.zeros(3, np.int32), np.zeros((1, 1)))
    assert cost == np.inf
    assert tally.sums[0, 0] == pytest.approx(2 * scale, rel=1e-15)


def test_sums_are_rounded_once():
    random = np.random.default_rng(0)
    rows = readable(random.normal(size=(300, 4)) * np.logspace(-9, 9, 4))
    labels, weights = (
        random.integers(0, 5, size=300).astype(np.int32),
        readable(10.0 ** random.uniform(-6, 6, size=300)),
    )
    for heavy in (UNWEIGHTED, weights):
        tally, _, _ = _first(rows, heavy, labels, np.zeros((5, 4)))
        for c in range(5):
            mine = np.flatnonzero(labels == c)
            share = [Fraction(float(heavy[i])) if len(heavy) else Fraction(1) for i in mine]
            assert tally.counts[c] == float(sum(share))
            for j in range(4):
                exact = sum(w * Fraction(float(rows[i, j])) for w, i in zip(share, mine, strict=True))
                assert tally.sums[c, j] == float(exact)


@pytest.mark.parametrize("exponents", [(-300, -290), (-5, 5), (275, 285)])
def test_weights_of_any_size(exponents):
    random = np.random.default_rng(0)
    rows, labels = readable(random.normal(size=(80, 2))), random.integers(0, 3, size=80).astype(np.int32)
    weights = readable(10.0 ** random.uniform(*exponents, size=80))
    tally, _, cost = _first(rows, weights, labels, np.zeros((3, 2)))
    member = (labels[:, None] == np.arange(3)) * weights[:, None]
    np.testing.assert_allclose(tally.sums, member.T @ rows, rtol=1e-10)
    exact = _exact_cost(rows, weights, labels, np.zeros((3, 2)))
    assert cost == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, 3.0, 6.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_path_to_the_same_labels_ends_in_the_same_bits(weighted, spread):
    random = np.random.default_rng(1)
    size = 10.0 ** random.uniform(-spread, spread, size=300)
    rows = readable(random.normal(size=(300, 3)) * (1.0 if weighted else size[:, None]))
    weights, centres, shift = readable(size) if weighted else UNWEIGHTED, random.normal(size=(5, 3)), random.random(3)
    labels, tally = NONE, None
    for _ in range(60):
        new = labels.copy() if len(labels) else random.integers(0, 5, size=300).astype(np.int32)
        moved = random.integers(0, 300, size=random.integers(1, 140))
        new[moved] = random.integers(0, 5, size=len(moved))
        tally, changed, cost = account(rows, shift, weights, labels, new, tally, centres)
        assert changed == (300 if len(labels) == 0 else np.count_nonzero(new != labels))
        labels = new
    fresh, _, whole = account(rows, shift, weights, NONE, labels, None, centres)
    for name in ("members", "counts", "sums", "squares"):
        np.testing.assert_array_equal(getattr(tally, name), getattr(fresh, name))
    assert cost == whole


def test_a_heavy_row_that_leaves_takes_no_digits_along():
    rows, shift, centres = readable(np.array([[0.3], [0.7], [0.11], [0.2], [0.6]])), np.zeros(1), np.zeros((2, 1))
    before, after = np.zeros(5, np.int32), np.array([1, 0, 0, 0, 0], np.int32)
    for heavy in (1e10, 1e30, 1e300):
        weights = readable(np.array([heavy, 0.1, 0.2, 0.3, 0.1]))
        known, _, _ = account(rows, shift, weights, NONE, before, None, centres)
        tally, _, _ = account(rows, shift, weights, before, after, known, centres)
        fresh, _, _ = account(rows, shift, weights, NONE, after, None, centres)
        np.testing.assert_array_equal(tally.counts, fresh.counts)
        np.testing.assert_array_equal(tally.sums, fresh.sums)


def test_rows_without_weight_belong_to_nobody():
    rows, weights = readable(np.array([[1.0], [2.0], [5.0]])), readable(np.array([0.0, 1.0, 0.0]))
    before, after = np.array([0, 0, 1], np.int32), np.array([1, 0, 1], np.int32)
    known, _, _ = account(rows, np.zeros(1), weights, NONE, before, None, np.zeros((2, 1)))
    tally, changed, cost = account(rows, np.zeros(1), weights, before, after, known, np.zeros((2, 1)))
    assert (changed, cost) == (1, 4.0)
    assert tally.members.tolist() == [1, 0]
    assert tally.counts.tolist() == [1.0, 0.0]


def test_single_precision_rows_are_summed_in_double():
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(200, 3)).astype(np.float32), random.integers(0, 3, size=200).astype(np.int32)
    shift, centres = random.random(3), random.random((3, 3))
    one = account(readable(rows), shift, UNWEIGHTED, NONE, labels, None, centres)
    two = account(readable(rows.astype(np.float64)), shift, UNWEIGHTED, NONE, labels, None, centres)
    np.testing.assert_array_equal(one[0].sums, two[0].sums)
    assert one[2] == two[2]
