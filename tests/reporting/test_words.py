import numpy as np
import pytest

from tests.reporting.study.made import visits
from unveil.reporting.study.groups import Difference
from unveil.reporting.study.rows import model_rows
from unveil.reporting.study.rules import Condition, GroupRule
from unveil.reporting.words import apart, combination, count, kinds_of, listed, number, percent, rule
from unveil.tables.preparation import prepare


@pytest.fixture(scope="module")
def rows():
    return model_rows(prepare(visits()[0]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(-3.48778, "-3.488"), (0.001234, "0.001234"), (99999.6, "100,000"), (1e15, "1e+15"), (-0.0, "0"), (10.0, "10")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_lists_end_with_and():
    assert listed(["a", "b"]) == "a and b"
    assert listed([str(n) for n in range(20)], most=4) == "0, 1, 2 and 17 more"
    assert count(0, "row") == "0 rows"
    assert percent(0.9996) == "99.96%"


def test_what_sets_a_group_apart(rows):
    spent, device = (rows.names.index(name) for name in ("spent", "device"))
    phone = rows.levels[device].index("phone")
    told = [Difference(spent, -1, -2.5, 3.0, 9.0), Difference(device, phone, 1.1, 0.8, 0.1)]
    assert apart(told, rows) == "very low spent (-2.5 sd), device is phone (80% against 10%)"
    member = rows.names.index("member")
    seldom = [Difference(device, phone, -1.1, 0.1, 0.8), Difference(member, 1, -1.0, 0.0, 0.5)]
    assert apart(seldom, rows) == "device is seldom phone (10% against 80%), member is never yes (0% against 50%)"
    assert apart([], rows) == "close to the other rows in every column"


def test_rules_in_words(rows):
    spent, device = (rows.names.index(name) for name in ("spent", "device"))
    conditions = (
        Condition(spent, -1, True, 45.0),
        Condition(device, rows.levels[device].index("phone"), False, np.nan),
    )
    assert rule(GroupRule(conditions, 1.0, 1.0), rows) == "spent > 45 and device is not phone"
    assert rule(GroupRule((Condition(spent, -1, True, np.inf),), 1.0, 1.0), rows) == "spent is missing"


def test_kinds_are_counted(rows):
    assert kinds_of(rows) == "one of numbers, one of counts, one of yes or no and one of categories"


def test_combinations_in_words():
    assert (
        combination({"n_components": 1, "covariance_type": "diag"})
        == "one component with diagonal covariance (along the columns)"
    )
    assert (
        combination({"n_components": 3, "covariance_type": "full"}, "group")
        == "three groups with full covariance (each its own shape)"
    )
    assert combination({"n_components": 2}) == "two components"
    two = {"n_components": 2, "covariance_type": "VEV"}
    assert combination(two) == "two components with VEV covariance (one shape)"
