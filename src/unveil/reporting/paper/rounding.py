"""Numbers of a figure with as many digits as a screen can show.

A value keeps five digits of its own, so that a logarithmic axis and a label under the pointer are right, and five
digits of the spread of its array, so that points far from zero stay apart (years with fractions). Whole numbers stay
whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unveil.core.arrays import Floats

_DIGITS = 5
_FINEST = 300  # decimals; what is smaller is nothing


def rounded(value: Any) -> Any:
    """A JSON value whose numbers have few digits; what is not finite becomes null, as plotly wants its gaps.

    >>> rounded([1 / 3, 2.0, float("nan"), None, True, "a"]), rounded([2020.123456, 2020.523456])
    ([0.33333, 2, None, None, True, 'a'], [2020.12346, 2020.52346])
    >>> rounded({"x": [[1e-9 / 3, 1e9 / 3]], "y": 1e300})
    {'x': [[3.3333e-10, 333333333]], 'y': 1e+300}
    """
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return _array(value)
    return _array([value])[0] if type(value) is float else value


def _array(values: list[Any]) -> list[Any]:
    """An array, whose numbers are looked at together; what is no number stays or is an array itself."""
    places = [place for place, value in enumerate(values) if type(value) is float]
    made = [value if type(value) in (float, int, str) else rounded(value) for value in values]
    numbers = np.array([values[place] for place in places])
    for place, short in zip(places, _rounded_floats(numbers).tolist(), strict=True):
        made[place] = _plain(short)
    return made


def _rounded_floats(values: Floats) -> Floats:
    """Each value with the decimals that it needs, all that need as many at once."""
    there = np.isfinite(values) & (values != 0)
    if not there.any():
        return values
    finite = values[np.isfinite(values)]
    spread = float(finite.max()) - float(finite.min())
    size = np.zeros(len(values))
    size[there] = np.floor(np.log10(np.abs(values[there])))
    least = math.floor(math.log10(spread)) if 0 < spread < math.inf else math.inf
    decimals = np.clip(_DIGITS - 1 - np.minimum(size, least), 0, _FINEST).astype(int)
    made = values.copy()
    for count in np.unique(decimals[there]).tolist():
        chosen = there & (decimals == count)
        made[chosen] = _to_decimals(values[chosen], count)
    return made


def _to_decimals(values: Floats, count: int) -> Floats:
    """Powers of ten are exact up to 22, and so is the nearest number with so many decimals."""
    if count <= 22 and np.abs(values).max() < 1e15:
        return np.round(values, count)
    return np.array([round(value, count) for value in values.tolist()])


def _plain(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
