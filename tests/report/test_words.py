import numpy as np
import pytest

from unveil.report.groups import RowGroup
from unveil.report.words import apart, by_group, combination, count, listed, number


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
    assert combination({"n_components": 1, "covariance_type": "diag"}) == "one group with diagonal covariance"
    assert combination({"n_components": 3, "covariance_type": "full"}) == "three groups with full covariance"
    assert combination({"n_components": 2, "covariance_type": "VEV"}) == "two groups with VEV covariance (one shape)"


def test_components_are_counted_as_the_groups_of_the_page():
    said = "22% of the rows of component 0 would be taken for component 12's: the two may be one"
    assert by_group(said) == "22% of the rows of group 1 would be taken for group 13's: the two may be one"
    assert by_group("a component had to be kept from degenerating") == "a component had to be kept from degenerating"
