"""Where a Markov chain is in the long run, and how long it stays.

The stationary distribution of each closed class of states (one that is never left) is found by the elimination of
Grassmann, Taksar & Heyman (1985), which subtracts nothing and so gets every entry right to nearly all its digits, the
tiny ones too. It is what a chain's occupation tends to on average, so a periodic chain has one as well. With several
closed classes there is a stationary distribution for each; they are weighted by the chance to end up in them from the
first state, which again is the average occupation in the long run.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from unveil.core.arrays import Floats


def long_run(start: Floats, transition: Floats) -> Floats:
    """Share of the steps that a chain spends in each state in the long run, (states,)."""
    count, labels = connected_components(transition > 0, connection="strong")
    leaves = labels[:, None] != labels[None, :]
    closed = [c for c in range(count) if not np.any(transition[leaves & (labels == c)[:, None]] > 0)]
    classes = [np.flatnonzero(labels == c) for c in closed]
    transient = np.flatnonzero(~np.isin(labels, closed))
    visits = _visits(start[transient], transition[transient[:, None], transient])
    found = np.zeros(len(start))
    for members in classes:
        arriving = start[members].sum() + float((visits @ transition[transient[:, None], members]).sum())
        found[members] = arriving * stationary(transition[members[:, None], members])
    return found / found.sum()


def stationary(transition: Floats) -> Floats:
    """The stationary distribution of an irreducible chain.

    >>> stationary(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [0.5, 0.5]
    """
    reduced = np.array(transition, dtype=np.float64)
    size = len(reduced)
    for last in range(size - 1, 0, -1):  # the chain as seen where it is in the first `last` states
        reduced[:last, last] /= reduced[last, :last].sum()
        reduced[:last, :last] += np.outer(reduced[:last, last], reduced[last, :last])
    shares = np.ones(size)
    for state in range(1, size):
        shares[state] = shares[:state] @ reduced[:state, state]
    return shares / shares.sum()


def durations(transition: Floats) -> Floats:
    """Expected number of steps that a visit to each state takes: 1 / (1 - a_kk), infinite where it is never left."""
    away = np.where(np.eye(len(transition), dtype=bool), 0.0, transition).sum(axis=1)  # 1 - a_kk loses digits
    with np.errstate(divide="ignore"):
        return 1.0 / away


def _visits(start: Floats, within: Floats) -> Floats:
    """Expected visits to states that are left for good in the end."""
    return np.asarray(np.linalg.solve((np.eye(len(start)) - within).T, start), dtype=np.float64)
