import numpy as np
import pytest
from unveil.reporting.groups import RowGroup

from unveil.reporting.words import apart, combination, count, listed, number


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


def test_what_sets_a_group_apart():
    group = RowGroup(0, 5, 0.5, 1.0, np.zeros(3), np.array([1.24, -2.5, 0.1]))
    assert apart(group, ("eruptions", "waiting", "depth")) == "very low waiting (-2.5 sd), high eruptions (+1.2 sd)"
    assert apart(group._replace(difference=np.zeros(3)), ("a", "b", "c")) == "close to the other rows in every column"


def test_combinations_in_words():
    assert combination({"n_components": 1, "covariance_type": "diag"}) == "one component with diagonal covariance"
    assert combination({"n_components": 3, "covariance_type": "full"}, "group") == "three groups with full covariance"
    two = {"n_components": 2, "covariance_type": "VEV"}
    assert combination(two) == "two components with VEV covariance (one shape)"
