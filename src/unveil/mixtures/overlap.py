"""Figures of a mixture for its certificate: is it at an optimum, are components apart, are there enough rows?

*Overlap* (Maitra & Melnykov 2010). A row of component a is taken for one of b where weight_b p_b(x) > weight_a p_a(x).
The chance of that under p_a has no closed form for most families; rows drawn from a tell it to a few per cent, which
is enough to say whether two components are apart.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.core.statistics import Statistics
from unveil.estimation.scaffold import sizes, slope
from unveil.mixtures.model.model import DEAD, Mixture, MixtureParams

logger = logging.getLogger("unveil")


MOST_DRAWS, FEWEST_DRAWS = 1000, 50  # rows per component: a share of 1/4 to one or to six per cent
WORK = 2e8  # multiplications that an overlap may cost, some tens of milliseconds
PAIR = 20  # what a row and a component cost besides its statistics, likewise in multiplications
DRAWN = 50  # what a cell that is drawn costs, likewise
FACTORS = 5e7  # components times columns cubed: what factoring their covariances may cost, likewise


def figures_of(
    model: Mixture, params: MixtureParams, statistics: Statistics, seed: int, order: NDArray[np.intp] | None = None
) -> dict[str, float]:
    """All figures of a fitted mixture that are known, by the names that `unveil.certificate.examine` takes.

    `statistics` are those of a pass at `params` themselves (see `stationarity`). Components are called by their place
    in `order`, or by that in `params`.
    """
    figures = sizes(model, statistics, params.components)
    return {**figures, **costly_figures(model, params, statistics, seed, order)}


def costly_figures(
    model: Mixture, params: MixtureParams, statistics: Statistics, seed: int, order: NDArray[np.intp] | None = None
) -> dict[str, float]:
    """Those that take longer than a small fit."""
    figures = slope(model, params, statistics)
    with suppress(np.linalg.LinAlgError):  # parameters that ran away: that is for the history to tell
        figures.update(_largest_overlap(overlap(model, params, seed), order))
    return figures


def overlap(model: Mixture, params: MixtureParams, seed: int, draws: int | None = None) -> Floats:
    """For each ordered pair (a, b), the chance that a row of component a is likelier to be one of b, weights included.

    Parameters
    ----------
    model : Mixture
    params : MixtureParams
    seed : int
        Of the rows that are drawn.
    draws : int, optional
        Rows per component; by default as many as cost little.

    Returns
    -------
    array of shape (k, k)
        Zero on the diagonal and for components that stand for nothing; nan throughout where it would cost too much.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.mixtures.overlap import overlap
    >>> from unveil.families.gaussian import Gaussian, GaussianParams
    >>> from unveil.mixtures.model.model import Mixture, MixtureParams
    >>> far = GaussianParams(np.array([[0.0], [20.0]]), np.ones((2, 1, 1)), np.zeros((2, 1)))
    >>> overlap(Mixture(Gaussian(), 2, np.zeros(1)), MixtureParams(np.array([0.5, 0.5]), far), seed=0).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    k = model.n_components
    draws = affordable_draws(model) if draws is None else draws
    if draws == 0:
        logger.info("overlap is not estimated: %d components of %d columns would take too long", k, len(model.shift))
        return np.full((k, k), np.nan)
    random, unshifted = np.random.RandomState(seed), replace(model, shift=np.zeros_like(model.shift))
    plan = unshifted.prepare(params)
    alive = np.flatnonzero(params.weights > DEAD)
    shares = np.zeros((k, k))
    # a warning of the generator or an overflow far out in a tail is no matter of the fit
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for one in alive:
            rows = model.family.draw(params.components, int(one), draws, random)
            shares[one, alive] = _likelier(unshifted.log_joint(plan, Block(0, 0, rows)), int(one))[alive]
    return shares


def affordable_draws(model: Mixture) -> int:
    """Rows per component that can be drawn and scored at little cost; 0 where even a few are too many."""
    k, n_columns = model.n_components, len(model.shift)
    if k * model.family.factoring(n_columns) > FACTORS:
        return 0
    each = k * k * (model.family.n_statistics(n_columns) + PAIR) + k * n_columns * DRAWN
    draws = min(int(WORK // each), MOST_DRAWS)
    return draws if draws >= FEWEST_DRAWS else 0


def _likelier(joint: Floats, component: int) -> Floats:
    """Share of rows (rows, components) likelier under each other component; equal ones count half."""
    own = joint[:, component, None]
    shares: Floats = np.mean((joint > own) + 0.5 * (joint == own), axis=0)
    shares[component] = 0.0
    return shares


def _largest_overlap(shares: Floats, order: NDArray[np.intp] | None) -> dict[str, float]:
    """The worst pair, each by its place in `order`."""
    if len(shares) < 2:
        return {}
    if np.isnan(shares).any():
        return {"overlap": float("nan")}
    if order is not None:
        shares = shares[np.ix_(order, order)]
    one, other = np.unravel_index(np.argmax(shares), shares.shape)
    return {"overlap": float(shares[one, other]), "overlap_of": float(one), "overlap_with": float(other)}
