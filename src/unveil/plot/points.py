"""Few enough points to draw: a sample that depends on the number of rows alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 5000  # more points make a figure slow and no clearer


def thinned(n_rows: int, limit: int = MOST_POINTS) -> NDArray[np.int64]:
    """Numbers of the rows to draw, in order: all of them, or a fixed sample of `limit`.

    >>> thinned(3).tolist(), len(thinned(10**6))
    ([0, 1, 2], 5000)
    """
    from unveil.sources.rows import sample_rows

    return sample_rows(n_rows, min(n_rows, limit), seed=0)


def drawn(n_rows: int, of: int | None = None) -> str:
    """What the caption says about it; `of` is the size of the table when the `n_rows` are a sample themselves.

    >>> drawn(10), drawn(20_000)
    ('All 10 rows are drawn.', 'A sample of 5,000 of 20,000 rows is drawn.')
    """
    shown, total = min(n_rows, MOST_POINTS), n_rows if of is None else of
    if shown < total:
        return f"A sample of {shown:,} of {total:,} rows is drawn."
    return f"All {n_rows:,} rows are drawn." if n_rows > 1 else "The one row is drawn."
