"""What a component looks like: two groups show, heavy tails do not, and skewed groups are told from two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.families.covariance.structure import Diagonal, Full, Spherical
from unveil.families.gaussian import Gaussian
from unveil.families.small.appearance import are_apart, longest_axes, look_at


@pytest.mark.parametrize("structure", [Full(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_two_groups_in_one_component_show_and_heavy_tails_do_not(structure: Any, share: float) -> None:
    random = np.random.default_rng(0)
    for away, wanted in ((0.0, [False, False]), (4.0, [True, False])):
        double = random.normal(size=(600, 3)) + np.where(random.random((600, 1)) < share, [[0.0, away, 0.0]], 0.0)
        points = np.concatenate([double, 30.0 + random.standard_t(3, size=(600, 3))])
        table = Gaussian(structure, 1e-6).small_table(points - points.mean(axis=0), None)
        assert look_at(table, table.labelled(np.repeat([0, 1], 600), 2)).doubled().tolist() == wanted


@pytest.mark.parametrize("n_columns", [3, 11])
def test_axes_make_the_spread_one(n_columns: int) -> None:
    """The longest ones, of covariances and of variances."""
    factors = np.random.default_rng(n_columns).normal(size=(4, n_columns, n_columns))
    covariances = factors @ np.swapaxes(factors, 1, 2)
    axes = longest_axes(covariances)
    assert axes.shape == (4, min(n_columns, 8), n_columns)
    spreads = np.einsum("kai,kij,kbj->kab", axes, covariances, axes)
    np.testing.assert_allclose(spreads, np.broadcast_to(np.eye(axes.shape[1]), spreads.shape), atol=1e-8)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    plain = longest_axes(np.ascontiguousarray(variances))
    assert plain.shape == axes.shape
    np.testing.assert_allclose(np.einsum("kai,ki->ka", plain**2, variances), 1.0)


@pytest.mark.parametrize(
    ("gap", "shares", "apart"),
    [(3.0, (0.5, 0.5), True), (2.0, (0.5, 0.5), False), (4.5, (0.95, 0.05), True), (2.5, (0.95, 0.05), False)],
)
def test_groups_with_a_dip_between_them_are_apart(gap: float, shares: tuple[float, float], apart: bool) -> None:
    """Whatever their coordinates are, and where columns are independent as well."""
    means = np.array([[0.0, 0.0, 0.0], [gap, 0.0, 0.0]])
    assert are_apart((np.array(shares), means, np.ones((2, 3)))) is apart
    turn = np.random.default_rng(0).normal(size=(3, 3))
    covariance = turn @ turn.T
    assert are_apart((np.array(shares), means @ turn.T, np.stack([covariance, covariance]))) is apart


def test_halves_of_a_skewed_group_are_not_apart() -> None:
    """One narrow near the mode, one wide along the tail, as two components share an exponential column."""
    means, spread = np.array([[0.4, 0.0], [2.0, 0.0]]), np.array([[0.09, 1.0], [1.7, 1.0]])
    assert not are_apart((np.array([0.6, 0.4]), means, spread))
