"""Axes common to all components: the rotation that brings scatter matrices nearest to diagonal.

Along axes D (d, d), in columns, a component has mean squares s_k = diag(D' S_k D) and variances a_k that follow from
them. The axes of greatest likelihood are where

    height(D) = sum_k n_k / n * sum_j (log a_kj + s_kj / a_kj)

is least over all rotations: common principal components (Flury, 1984). Browne and McNicholas (Estimating common
principal components in high dimensions, 2014) majorise the height by a linear function of D and jump to its minimum,
step by step: some thousand on the irises. Here the same height is lowered by a quasi-Newton
method on the rotations (L-BFGS; Nocedal, 1980): a turn by a skew matrix T changes it by sum_ij 2 T_ij E_ij to first
order, where E = sum_k n_k / n D' S_k D diag(1 / a_k), and the curvature in the plane of axes i and j, variances held,
is that of Flury and Gautschi (1986), 2 sum_k n_k / n (1 / a_ki - 1 / a_kj) (s_kj - s_ki). A step is taken only if it
lowers the height, so the likelihood never falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.numerics.lbfgs import Secant, two_loops

Fit = Callable[[Floats], Floats]
AXES_SETTLED = 1e-15  # what the next step promises, per unit of weight and axis, at which the axes stand
MOST_AXES_STEPS = 300
LBFGS_MEMORY = 10  # steps that L-BFGS looks back on
LARGEST_TURN = 0.5  # radians in one plane, for one step: a quadratic model knows nothing of what lies beyond
SOFTEST_PLANE = 1e-6  # least curvature of a plane, as a share of the largest: in round planes there is none
ARMIJO_SHARE = 1e-4  # share of the promised fall that a step must bring (Armijo)


class _Axes(NamedTuple):
    """Axes, their height, and slope and curvature in each plane (d * (d - 1) / 2,)."""

    axes: Floats
    height: float
    slope: Floats
    curvature: Floats


def common_axes(counts: Floats, scatters: Floats, starts: Floats, fit: Fit) -> Floats:
    """Common axes (d, d) in columns, from the best of `starts` (m, d, d) on.

    `fit` turns mean squares along axes into variances, both (k, d).
    """
    weights = counts / counts.sum()
    here = min((_look(weights, scatters, axes, fit) for axes in starts), key=lambda place: place.height)
    past: list[Secant] = []
    for _ in range(MOST_AXES_STEPS):
        turn = _direction(here, past)
        promise = -float(here.slope @ turn)
        if not promise > AXES_SETTLED * len(here.axes):
            break
        found = _descend(weights, scatters, here, turn, promise, fit)
        if found is None:
            if not past:
                break
            past.clear()  # what was learnt misleads: go on by the curvature of the planes alone
            continue
        here, step, change = found
        if step @ change > 1e-10 * (change @ change) / here.curvature.max():
            past.append(Secant(step, change))
            del past[:-LBFGS_MEMORY]
    return here.axes


def shared_axes(matrices: Floats) -> Floats:
    """Axes of matrices that have them in common: those of a mixture, in which equal eigenvalues rarely stay equal."""
    shares = np.sqrt(np.arange(1.0, len(matrices) + 1.0)) / np.einsum("kii->k", matrices)
    return np.linalg.eigh(np.tensordot(shares, matrices, axes=1))[1]


def _look(weights: Floats, scatters: Floats, axes: Floats, fit: Fit) -> _Axes:
    """Height, slope and curvature at some axes."""
    half = scatters @ axes
    squares = np.einsum("ij,kij->kj", axes, half)
    variances = fit(squares)
    inverses = weights[:, None] / variances
    height = float(np.sum(weights[:, None] * (np.log(variances) + squares / variances)))
    edge = axes.T @ np.einsum("kij,kj->ij", half, inverses)
    cross = inverses.T @ squares
    own = np.diagonal(cross)
    bend = 2.0 * (cross + cross.T - own[:, None] - own)
    planes = np.triu_indices(len(axes), 1)
    curvature = np.maximum(bend[planes], SOFTEST_PLANE * np.max(bend, initial=0.0) + np.finfo(float).tiny)
    return _Axes(axes, height, 2.0 * (edge - edge.T)[planes], curvature)


def _direction(here: _Axes, past: list[Secant]) -> Floats:
    """A turn in each plane, by L-BFGS on top of the curvature of the planes."""
    turn = two_loops(-here.slope, past, lambda rest: rest / here.curvature)
    return turn * min(1.0, LARGEST_TURN / max(np.max(np.abs(turn), initial=0.0), LARGEST_TURN))


def _descend(
    weights: Floats, scatters: Floats, here: _Axes, turn: Floats, promise: float, fit: Fit
) -> tuple[_Axes, Floats, Floats] | None:
    """A lower place along `turn`, the step to it and the change of slope; None where rounding hides it."""
    share = 1.0
    while share > 1e-6:
        there = _look(weights, scatters, _turned(here.axes, share * turn), fit)
        if there.height <= here.height - ARMIJO_SHARE * share * promise:
            return there, share * turn, there.slope - here.slope
        share *= 0.5
    return None


def _turned(axes: Floats, turn: Floats) -> Floats:
    """Axes turned by the Cayley transform of the skew matrix with `turn` in its upper triangle."""
    half = np.zeros_like(axes)
    half[np.triu_indices(len(axes), 1)] = 0.5 * turn
    half -= half.T.copy()
    unit = np.eye(len(axes))
    return axes @ np.linalg.solve(unit - half, unit + half)
