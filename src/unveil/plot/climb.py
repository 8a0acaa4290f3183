"""How a fit climbed: the log-likelihood and the free energy below it, pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.plot.style import add_line, colour, finish, new_figure

FLAT = 1e-6  # of the height: what climbs less is told, not drawn


def convergence(history: Any) -> Any:
    """Log-likelihood and free energy over the passes; where the two differ, the gap is shaded.

    Parameters
    ----------
    history : History
        An estimator's ``history_``.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = unveil.GaussianMixture(2, random_state=0).fit(X)
    >>> figure = unveil.plot.convergence(model.history_)
    >>> len(figure.data[0].y) == model.n_iter_
    True
    """
    if not hasattr(history, "free_energy"):
        raise TypeError(f"history must be the history_ of an estimator of unveil; got a {type(history).__name__}")
    likelihood = np.asarray(history.log_likelihood, dtype=np.float64)
    energy = np.asarray(history.free_energy, dtype=np.float64)
    if not len(energy):
        raise ValueError("history must hold at least one pass; got none")
    passes = list(range(1, len(energy) + 1))
    flat = bool(np.ptp(energy) <= FLAT * max(float(np.abs(energy).max()), 1.0))
    figure = new_figure("pass over the data", "log-likelihood")
    apart = bool(np.nanmax(np.abs(likelihood - energy)) > 1e-9 * max(float(np.nanmax(np.abs(energy))), 1.0))
    mode = "lines+markers" if len(passes) <= 60 else "lines"
    look = {"mode": mode, "marker": {"size": 6}, "hovertemplate": "pass %{x}: %{y:,.10~g}"}
    add_line(figure, passes, likelihood.tolist(), "log-likelihood", colour(0), dash="solid", **look)
    if apart:
        add_line(figure, passes, energy.tolist(), "free energy", colour(1), dash="dash", fill="tonexty", **look)
    figure.update_xaxes(rangemode="tozero", dtick=1 if len(passes) <= 12 else None)
    figure.update_yaxes(tickformat=",")
    if flat:  # else rounding would be drawn as a climb, with as many digits as it has
        middle = float(energy[-1])
        figure.update_yaxes(range=[middle - 1.0, middle + 1.0])
    said = "1 pass" if len(passes) == 1 else f"{len(passes)} passes"
    said += ", which gained next to nothing: the start was at the end already." if flat and len(passes) > 1 else "."
    gap = "The gap is what the choice of q gives away." if apart else "The free energy touches the log-likelihood."
    return finish(figure, "How the fit climbed", f"{said} {gap}")
