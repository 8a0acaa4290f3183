"""How regimes follow each other: the probabilities of the next one, and how long each is expected to stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.plot.labels import label
from unveil.plot.marks.cells import add_cells, set_height, two_digits
from unveil.plot.style import finish, new_figure


def transitions(transmat: ArrayLike, *, names: Sequence[str] | None = None, step: str = "step") -> Any:
    """Probabilities from each regime (down) to the next (across), with the expected stay.

    Parameters
    ----------
    transmat : array-like of shape (k, k)
        `transmat_` of a hidden Markov model; rows add up to 1.
    names : sequence of str, optional
        What to call the regimes.
    step : str, default="step"
        What one step is: a day, a month.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> plot.transitions([[0.9, 0.1], [0.5, 0.5]]).data[0].y
    ('Regime 1<br>stays 10 steps', 'Regime 2<br>stays 2 steps')
    """
    matrix = np.asarray(transmat, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"transmat must be square, got shape {matrix.shape}")
    if names is not None and len(names) != len(matrix):
        raise ValueError(f"names must hold {len(matrix)} names, one a regime; got {len(names)}")
    called = (
        [f"Regime {number + 1}" for number in range(len(matrix))] if names is None else [label(n, 16) for n in names]
    )
    figure = new_figure("next", "now")
    add_cells(
        figure,
        matrix,
        called,
        [f"{name}<br>{_stay(p, label(step))}" for name, p in zip(called, np.diag(matrix), strict=True)],
        texts=[[two_digits(value) for value in row] for row in matrix],
        hovertemplate="to %{x}: <b>%{z:.3f}</b><extra></extra>",
        showscale=False,
    )
    set_height(figure, 2 * len(matrix), extra=140)
    caption = f"Each line: what comes after a regime, one {label(step)} later, and how long it is expected to stay."
    return finish(figure, "How regimes follow each other", caption)


def expected_stays(transmat: ArrayLike) -> Floats:
    """Steps that each regime is expected to last, 1 / (1 - p) of its probability to stay.

    >>> expected_stays([[0.9, 0.1], [0.0, 1.0]]).round(6).tolist()
    [10.0, inf]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 - np.diag(np.asarray(transmat, dtype=np.float64))))


def _stay(probability: float, step: str) -> str:
    if probability >= 1.0 - 1e-9:
        return "never leaves"
    length = 1.0 / (1.0 - probability)
    shown = f"{length:,.0f}" if length >= 10 or abs(length - round(length)) < 0.05 else f"{length:.1f}"
    return f"stays {shown} {step}{'' if shown == '1' else 's'}"
