import pickle
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from unveil.core.statistics import Statistics, TreeSum, tree_sum


@dataclass(frozen=True)
class Said:
    """Adds by writing down what was added to what."""

    text: str

    def __add__(self, other: "Said") -> "Said":
        return Said(f"({self.text}+{other.text})")


def recursive(items: list[Said]) -> Said:
    """The tree by its definition: on the left the largest power of two below the number of leaves, the rest right."""
    if len(items) == 1:
        return items[0]
    middle = 1 << ((len(items) - 1).bit_length() - 1)
    return recursive(items[:middle]) + recursive(items[middle:])


def leaves(number: int) -> list[Said]:
    return [Said(str(index)) for index in range(number)]


@pytest.mark.parametrize("number", [*range(1, 71), 1000])
def test_tree_has_the_shape_of_its_definition(number: int) -> None:
    assert tree_sum(leaves(number)) == recursive(leaves(number))


@given(st.integers(1, 200), st.integers(0, 5))
def test_sums_of_aligned_runs_may_be_handed_in_whole(number: int, height: int) -> None:
    items, adder = leaves(number), TreeSum()
    whole = number >> height << height
    for first in range(0, whole, 1 << height):
        adder.push(tree_sum(items[first : first + (1 << height)]), height)
    for item in items[whole:]:
        adder.push(item)
    assert adder.total() == tree_sum(items)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_tree_sum_is_the_sum(values: list[float]) -> None:
    assert tree_sum(values) == pytest.approx(sum(values), rel=1e-12, abs=1e-6)


def test_total_may_be_asked_for_on_the_way() -> None:
    adder = TreeSum()
    for number, item in enumerate(leaves(9), start=1):
        adder.push(item)
        assert adder.total() == recursive(leaves(number))


def test_sum_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no rows"):
        TreeSum().total()


def test_statistics_add_and_scale_name_by_name() -> None:
    one = Statistics(weight=2, moment=[[1.0, 2.0], [3.0, 4.0]])
    both = one + one.scaled(0.5)
    assert set(both) == {"weight", "moment"}
    assert len(both) == 2
    assert float(both["weight"]) == 3.0
    np.testing.assert_array_equal(both["moment"], [[1.5, 3.0], [4.5, 6.0]])
    np.testing.assert_array_equal(one["moment"], [[1.0, 2.0], [3.0, 4.0]])  # neither operand has changed


def test_statistics_are_float64_whatever_comes_in() -> None:
    mixed = Statistics(count=np.int32(3), total=np.ones(2, dtype=np.float32))
    assert {value.dtype for value in mixed.values()} == {np.dtype(np.float64)}


def test_statistics_of_different_kinds_do_not_add() -> None:
    with pytest.raises(ValueError, match=r"\['a'\] and \['b'\]"):
        Statistics(a=1) + Statistics(b=1)


def test_statistics_pickle_to_the_bit() -> None:
    before = Statistics(weight=0.1, moment=np.random.default_rng(0).normal(size=(3, 4)))
    after = pickle.loads(pickle.dumps(before))
    assert list(after) == list(before)
    assert all(after[name].tobytes() == before[name].tobytes() for name in before)


def test_repr_names_the_shapes() -> None:
    assert repr(Statistics(weight=1, moment=np.zeros((2, 3)))) == "Statistics(weight[], moment[2, 3])"
