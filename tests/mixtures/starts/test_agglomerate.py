"""Greedy agglomeration: the same merges as the plain search through all pairs, and its determinants."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.mixtures.starts.agglomerate import Costs, RowGroups, agglomerate, joint_log_determinants, log_determinant


class Table(Costs):
    """Costs made up: of a pair of groups by what they hold, with no law to them at all."""

    def __init__(self, groups, seed):
        self.groups, self.seed = groups, seed
        self.held = [frozenset([i]) for i in range(groups.size)]

    def cost(self, one, other):
        return np.random.default_rng([self.seed, *sorted(one | other)]).normal()

    def row(self, i):
        return np.array([self.cost(self.held[i], other) for other in self.held])

    def after_merge(self, a, b):
        self.held[a] |= self.held[b]
        self.held[b] = self.held[-1]
        self.held.pop()


def plainly(n, cost):
    held, merges = {i: frozenset([i]) for i in range(n)}, []
    while len(held) > 1:
        _, a, b = min((cost(held[a], held[b]), a, b) for a in held for b in held if a < b)
        held[a] |= held.pop(b)
        merges.append([a, b])
    return merges


def singles(rows, scatters=False):
    return RowGroups.of_rows(rows, np.ones(len(rows)), np.arange(len(rows)), scatters)


@pytest.mark.parametrize("seed", range(12))
def test_merges_are_those_of_the_plain_search_whatever_the_costs(seed):
    groups = singles(np.zeros((13, 1)))
    table = Table(groups, seed)
    assert agglomerate(groups, table, 1).tolist() == plainly(13, table.cost)


def test_stops_with_as_many_groups_as_asked_for():
    groups = singles(np.zeros((6, 2)))
    assert len(agglomerate(groups, Table(groups, 0), 4)) == 2
    assert groups.size == 4
    assert len(agglomerate(groups, Table(groups, 0), 4)) == 0


def test_merged_groups_have_the_moments_of_their_rows():
    generator = np.random.default_rng(0)
    rows, counts = generator.normal(size=(9, 3)), generator.uniform(0.5, 3, size=9)
    groups = RowGroups.of_rows(rows, counts, np.arange(9), scatters=True)
    held = Table(groups, 0)
    for a, b in [(0, 1), (2, 3), (0, 2), (1, 4)]:
        groups.merge(a, b)
        held.after_merge(a, b)
    labels = np.empty(9, np.intp)
    for place, members in enumerate(held.held):
        labels[list(members)] = place
    assert groups.size == 5
    expected = RowGroups.of_rows(rows, counts, labels, scatters=True)
    assert groups.members[:5].tolist() == expected.members.tolist() == np.bincount(labels).tolist()
    for name in ("counts", "means", "traces", "scatters"):
        np.testing.assert_allclose(getattr(groups, name)[:5], getattr(expected, name), rtol=1e-12, atol=1e-12)
    here = labels == 0
    covariance = np.cov(rows[here].T, aweights=counts[here], ddof=0)
    np.testing.assert_allclose(expected.scatters[0], covariance * counts[here].sum())


@pytest.mark.parametrize("d", [1, 2, 5])
def test_determinants_of_unions(d):
    generator = np.random.default_rng(d)
    rows, counts = generator.normal(size=(20, d)), generator.uniform(0.5, 3, size=20)
    labels = np.repeat([0, 1, 2, 3], [1, 2, 5, 12])
    groups = RowGroups.of_rows(rows, counts, labels, scatters=True)
    out = np.empty(4)
    for i in range(4):
        joint_log_determinants(groups.counts, groups.means, groups.scatters, groups.members, i, np.empty((d, d)), out)
        assert out[i] == -np.inf
        for j in set(range(4)) - {i}:
            both = np.where((labels == i) | (labels == j), 0, 1)
            union = RowGroups.of_rows(rows, counts, both, scatters=True)
            enough = union.members[0] > d
            assert out[j] == (pytest.approx(np.linalg.slogdet(union.scatters[0])[1]) if enough else -np.inf)


def test_log_determinant():
    factor = np.random.default_rng(1).normal(size=(6, 6))
    matrix = factor @ factor.T
    expected = np.linalg.slogdet(matrix)[1]
    assert log_determinant(np.tril(matrix)) == pytest.approx(expected)
    assert log_determinant(1e-40 * matrix) == pytest.approx(expected - 6 * 40 * np.log(10))
    flat = factor[:, :5] @ factor[:, :5].T
    assert log_determinant(flat) == log_determinant(np.zeros((2, 2))) == -np.inf
