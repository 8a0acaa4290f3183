import numpy as np
import pytest

from unveil import GaussianMixture
from unveil.report.groups import RowGroup, find_groups, told
from unveil.report.profile import describe, usable
from unveil.report.table import open_table


def groups_of(X, k):
    table = open_table(X, None, None)
    model = GaussianMixture(k, random_state=0).fit(X)
    return find_groups(model, table.source, usable(table.source, describe(table)[0])), model


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_differences_agree_with_the_definition(offset):
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3)) + np.repeat([[0.0, 0, 0], [9, 0, -9]], [30, 60], axis=0) + offset
    groups, model = groups_of(X, 2)
    labels = model.predict(X)
    for group in groups:
        inside, outside = X[labels == group.number], X[labels != group.number]
        pooled = np.sqrt((len(inside) * inside.var(axis=0) + len(outside) * outside.var(axis=0)) / len(X))
        expected = (inside.mean(axis=0) - outside.mean(axis=0)) / pooled
        np.testing.assert_allclose(group.difference, expected, rtol=1e-5)
        np.testing.assert_allclose(group.mean, inside.mean(axis=0), rtol=1e-9)
        assert group.rows == len(inside)
    assert sum(group.share for group in groups) == pytest.approx(1.0)


def test_a_single_group_differs_from_nothing():
    ((group,), _) = groups_of(np.random.default_rng(0).normal(size=(30, 2)), 1)
    assert group.difference.tolist() == [0.0, 0.0]
    assert group.sure == 1.0


def test_largest_differences_are_told_first_and_small_ones_not_at_all():
    group = RowGroup(0, 1, 0.5, 1.0, np.zeros(5), np.array([0.4, -3.0, 1.0, 2.0, 0.9]))
    assert told(group, tuple("abcde")) == [("b", -3.0), ("d", 2.0), ("c", 1.0)]
