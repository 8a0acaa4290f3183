"""Numbers of a figure with as many digits as a screen can show.

A value keeps six digits of its own, so that a logarithmic axis and a label under the pointer are right, and six digits
of the spread of its array, so that points far from zero stay apart (years with fractions). Whole numbers stay whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_DIGITS = 6


def rounded(value: Any) -> Any:
    """A JSON value whose numbers have few digits; what is not finite becomes null, as plotly wants its gaps.

    >>> rounded([1 / 3, 2.0, float("nan"), None, True, "a"]), rounded([2020.123456789, 2020.123556789])
    ([0.333333, 2, None, None, True, 'a'], [2020.123456789, 2020.123556789])
    >>> rounded({"x": [[1e-9 / 3, 1e9 / 3]], "y": 1e300})
    {'x': [[3.33333e-10, 333333333]], 'y': 1e+300}
    """
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        decimals = _decimals(_spread(value))
        return [_short(part, decimals) if type(part) is float else rounded(part) for part in value]
    return _short(value, 0) if type(value) is float else value


def _spread(values: Sequence[Any]) -> float:
    """From the least to the greatest number of an array; 0 where there are none."""
    numbers = [value for value in values if type(value) in (float, int) and math.isfinite(value)]
    return float(max(numbers)) - float(min(numbers)) if numbers else 0.0


def _decimals(size: float) -> int:
    """Decimals that show six digits of a number of this size, none where the whole numbers do."""
    return max(0, _DIGITS - 1 - math.floor(math.log10(size))) if 0 < size < math.inf else 0


def _short(value: float, decimals: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = round(value, min(max(decimals, _decimals(abs(value))), 300))
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
