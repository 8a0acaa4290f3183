import math

from hypothesis import given
from hypothesis import strategies as st

from unveil.reporting.paper.rounding import rounded

size = st.floats(1e-200, 1e12)
finite = st.just(0.0) | size | size.map(lambda value: -value)


@given(st.lists(finite, min_size=2))
def test_what_is_lost_cannot_be_seen(values):
    spread = max(values) - min(values)
    for value, short in zip(values, rounded(values), strict=True):
        assert abs(value - short) <= 5.001e-5 * abs(value)  # five digits of its own
        assert abs(value - short) <= 5.001e-5 * spread or spread == 0  # and of the axis


def test_numbers_get_short():
    assert repr(rounded([0.1234567891, 12.3456789, 1.0, -0.0])) == "[0.12346, 12.346, 1, 0]"
    assert rounded([math.inf, -math.inf, math.nan]) == [None, None, None]
    assert rounded({"a": [True, None, "x", [1.23456789]], "b": 2.3456789}) == {
        "a": [True, None, "x", [1.2346]],
        "b": 2.3457,
    }
