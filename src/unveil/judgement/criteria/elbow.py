r"""Where the cost stops falling fast: the elbow, if there is one.

On a unit square, the curve of the cost runs from (0, 1) down to (1, 0).

*Chord*: the point that is furthest below the straight line between the ends; there is always one.
*Kneedle* (Satopaa, Albrecht, Irwin and Raghavan, Finding a "kneedle" in a haystack, ICDCS workshops, 2011): a local
maximum of the difference from the chord, after which the difference falls by more than `sensitivity` mean steps.

Both find an elbow on any convex curve, also where the rows are spread evenly and there is nothing to be found. There
the cost falls as :math:`K^{-2/d}` (Zador, IEEE Trans. Information Theory 28, 1982), a straight line of log cost
over log K whatever d is. So an elbow must be a *bend* of that line:

.. math:: \frac{\text{slope into } K}{\text{slope out of } K} \ge 1.75

with slopes of the last and next step and of three steps (the lesser slope in, the greater out), so that one unlucky
fit is no elbow. Of 960 tables without clusters (uniform, normal, exponential, Student with 3 degrees of freedom; 1 to
20 columns, 50 to 1,000 rows, K up to 12) 9 had such a bend by chance. Of 240 normal ones five times as long in one
direction 29 had: where K-means has one long axis to cut up, the cost does bend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.judgement.criteria.opinions import SIZE, Line, Opinion, known

ELBOW_BEND = 1.75  # ratio of slopes from which on a bend is an elbow
SLOPE_STEPS = 3  # steps that slopes are taken over
NO_COST = 1e-12  # share of the first cost that counts as none


class Elbow(NamedTuple):
    """Where the elbow is, by each reading; None where there is none."""

    chord: int | None
    kneedle: int | None
    sharpest: int | None  # the size of the sharpest bend
    bend: float  # and how sharp it is
    size: int | None  # the clear elbow


def heights(sizes: ArrayLike, costs: ArrayLike) -> Floats:
    """How far each point lies below the chord, on the unit square, measured upright.

    The distance to the chord is this divided by the root of two.

    >>> heights([1, 2, 3], [8.0, 2.0, 0.0]).tolist()
    [0.0, 0.25, 0.0]
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    width, fall = x[-1] - x[0], y[0] - y[-1]
    if width <= 0 or fall <= 0:
        return np.zeros(len(x))
    return np.asarray((y[0] - y) / fall - (x - x[0]) / width)


def kneedle(sizes: ArrayLike, costs: ArrayLike, sensitivity: float = 1.0) -> int | None:
    """The position of the first knee that the difference curve confirms; None where there is none."""
    rise = heights(sizes, costs)
    step = float(np.mean(np.diff(np.asarray(sizes, dtype=np.float64)))) / max(float(np.ptp(sizes)), 1.0)
    for place in range(1, len(rise) - 1):
        if rise[place] > 0.0 and rise[place] >= rise[place - 1] and rise[place] > rise[place + 1]:
            later = np.flatnonzero(rise[place + 1 :] > rise[place])
            end = place + 1 + int(later[0]) if len(later) else len(rise)
            if float(rise[place + 1 : end].min()) < rise[place] - sensitivity * step:
                return place
    return None


def bends(sizes: ArrayLike, costs: ArrayLike) -> Floats:
    """Slope into each point over the slope out of it, of log cost over log size; NaN at the ends.

    >>> bends([1, 2, 4, 8], [8.0, 4.0, 2.0, 1.0]).round(6).tolist()
    [nan, 1.0, 1.0, nan]
    """
    x, values = np.log(np.asarray(sizes, dtype=np.float64)), np.asarray(costs, dtype=np.float64)
    out = np.full(len(x), np.nan)
    if len(x) < SLOPE_STEPS or values[0] <= 0:
        return out
    y = np.log(np.maximum(values / values[0], NO_COST))

    def slope(i: int, j: int) -> float:
        return max(float((y[i] - y[j]) / (x[j] - x[i])), 0.0)

    for i in range(1, len(x) - 1):
        into = min(slope(i - 1, i), slope(max(i - SLOPE_STEPS, 0), i))
        away = max(slope(i, i + 1), slope(i, min(i + SLOPE_STEPS, len(x) - 1)))
        out[i] = into / away if away > 0 else np.inf if into > 0 else np.nan
    return out


def find(sizes: Sequence[int], costs: Sequence[float]) -> Elbow:
    """The elbow by all readings.

    >>> find([1, 2, 3, 4, 5, 6], [100.0, 40.0, 5.0, 4.5, 4.1, 3.8]).size
    3
    >>> find([1, 2, 3, 4, 5, 6], [60.0, 30.0, 20.0, 15.0, 12.0, 10.0]).size is None
    True
    """
    if len(sizes) < SLOPE_STEPS:
        return Elbow(None, None, None, np.nan, None)
    below, knee, sharp = heights(sizes, costs), kneedle(sizes, costs), bends(sizes, costs)
    chord = int(sizes[int(np.argmax(below))]) if below.max() > 0 else None
    named = None if knee is None else int(sizes[knee])
    if np.isnan(sharp).all():
        return Elbow(chord, named, None, np.nan, None)
    place = int(np.nanargmax(sharp))
    size, bend = int(sizes[place]), float(sharp[place])
    return Elbow(chord, named, size, bend, size if bend >= ELBOW_BEND else None)


def settle(line: Sequence[dict[str, Any]]) -> None:
    """Write the columns ``elbow`` (the bend), ``chord`` and ``kneedle`` (the two heights) into a line of the table."""
    fitted = [row for row in line if row.get("inertia") is not None]
    if len(fitted) < SLOPE_STEPS:
        return
    sizes, costs = [row[SIZE] for row in fitted], [row["inertia"] for row in fitted]
    below = heights(sizes, costs)
    sharp = bends(sizes, costs)
    for row, height, bend in zip(fitted, below, sharp, strict=True):
        row |= {"chord": float(height / np.sqrt(2.0)), "kneedle": float(height)}
        row["elbow"] = None if np.isnan(bend) else float(bend)


def opine(line: Line) -> Opinion:
    """The elbow's answer."""
    points = known(line, "inertia")
    found = find([size for size, _ in points], [cost for _, cost in points])
    if found.size is not None:
        others = {"chord": found.chord, "kneedle": found.kneedle}
        agree = [name for name, size in others.items() if size == found.size]
        differ = [f"{name} at {size}" for name, size in others.items() if size not in (None, found.size)]
        how = f"bend {found.bend:.1f}" if np.isfinite(found.bend) else "nothing is left of the cost"
        how += f"; {' and '.join(agree)} agree{'s' if len(agree) == 1 else ''}" if agree else ""
        how += f"; {', '.join(differ)}" if differ else ""
        return Opinion("elbow", "elbow", found.size, f"the elbow of the cost ({how})")
    return Opinion("elbow", "elbow", None, f"no clear elbow{_why(found)}", structure=False)


def _why(found: Elbow) -> str:
    if found.chord is None or np.isnan(found.bend):
        return " (too few numbers of clusters were tried to see one)"
    return f" (the chord would put it at {found.chord}, but the cost falls as evenly as without clusters)"
