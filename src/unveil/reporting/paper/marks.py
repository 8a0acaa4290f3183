"""Small things that stand in cells of tables: bars and histograms, as numbers and paths that the template writes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unveil.reporting.parts import Cell

_TALL = 20  # units of the drawing, from foot to head


def full_cell(cell: Cell | str) -> Cell:
    """A cell in full; words are the most of it."""
    return cell if isinstance(cell, Cell) else Cell(cell)


def share(value: float) -> str:
    """Percent of a bar's track.

    >>> share(0.3333), share(7.0), share(float("nan"))
    ('33.3', '100.0', '0.0')
    """
    return f"{100 * min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0:.1f}"


def spark_path(heights: Sequence[float]) -> str:
    """Bars of a small histogram, strokes a unit apart, as an SVG path; a bar that is not zero can be seen.

    >>> spark_path([1, 0, 4])
    'M0 20v-5M2 20v-20'
    """
    sizes = [float(height) if math.isfinite(height) and height > 0 else 0.0 for height in heights]
    most = max(sizes, default=0.0)
    tall = [max(1, round(_TALL * (size / most))) if size else 0 for size in sizes]
    return "".join(f"M{place} {_TALL}v-{size}" for place, size in enumerate(tall) if size)
