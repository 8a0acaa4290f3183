"""Rows of a mixture as numbers that are uniform if it describes them: by columns, along the columns, from the centres.

    margin   u_j = sum_k w_k F_k(x_j)
    in turn  u_j = sum_k w_k(x_1 .. x_(j-1)) F_k(x_j | x_1 .. x_(j-1)),  weights given what came before (Rosenblatt)
    radius   P(a row of component k is as near to its centre), counted by the responsibilities: E[r_k g(x)] = w_k E_k[g]

Where a column holds whole numbers, u is drawn evenly between P(X < x) and P(X <= x) (Dunn and Smyth, Randomized
quantile residuals, 1996).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from unveil.core.arrays import Floats
from unveil.judgement.describes.density.calibration import Described


class Uniforms(NamedTuple):
    """Transforms of all columns in turn (d, n), of the radius (k, n) where there is one, and responsibilities."""

    in_turn: Floats
    radius: Floats | None
    responsibilities: Floats  # (k, n)


def uniforms(case: Described, random: np.random.Generator) -> Uniforms:
    """Along the columns, and from the centres."""
    turn = case.model.family.in_turn(case.params.components, case.framed)
    with np.errstate(divide="ignore"):
        log_weights = np.log(case.params.weights)[:, None]
    joint = log_weights[:, None] + np.cumsum(turn.log_density, axis=1)
    before = np.concatenate([np.broadcast_to(log_weights[:, None], joint[:, :1].shape), joint[:, :-1]], axis=1)
    shares = softmax(before, axis=0)
    upto, below = np.sum(shares * turn.upto, axis=0), np.sum(shares * turn.below, axis=0)
    evenly = random.random(upto.shape)
    return Uniforms(below + evenly * (upto - below), turn.radius, softmax(joint[:, -1], axis=0))


def margin(case: Described, column: int, x: Floats) -> Floats:
    """P(X <= x) of one column under the mixture, where `x` is in the frame; NaN stays."""
    there = ~np.isnan(x)
    each = case.model.family.cumulative(case.params.components, column, np.where(there, x, 0.0))
    return np.where(there, case.params.weights @ each, np.nan)


def log_densities(case: Described) -> Floats:
    """log p(x) of every row, (n,)."""
    turn = case.model.family.in_turn(case.params.components, case.framed)
    with np.errstate(divide="ignore"):
        log_weights = np.log(case.params.weights)[:, None]
    return np.asarray(logsumexp(log_weights + turn.log_density.sum(axis=1), axis=0))
