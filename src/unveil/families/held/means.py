"""Means of which some entries are held or tied, with covariances that follow from them.

With t the means that would be best, n how much the rows pull at them, and N the weight of the log-determinants,

    height = -1/2 sum_k N_k [ log|C_k| + trace C_k^-1 (S_k + rho_k (m_k - t_k)(m_k - t_k)') ],   rho = n / N.

Given the covariances, the free entries of m solve a linear system; given m, covariances have the M step of their
structure. Taking turns (ECM) never lowers the height. Where each component has a matrix of its own there is a shorter
way: at its best C, the height is -1/2 N_k log(1 + rho_k q_k) with q_k the squared distance of m_k from t_k in units of
S_k, and below it lies the parabola with n_k / (1 + rho_k q_k) in place of n_k that touches it at the m of before. One
step is then exact where no tie binds components, and a few are where one does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats, Labels, Mask
from unveil.families.covariance.orbits import LETTERS
from unveil.families.covariance.structure import Structure
from unveil.families.covariance.symmetric import invert_positive
from unveil.families.held.entries import clusters, pooled, renumbered

MOST_TURNS = 200
MEANS_SETTLED = 1e-11  # squared change of the means, in units of their covariances, at which turns end


class Pull(NamedTuple):
    """What the rows, and a prior, say of means and covariances."""

    structure: Structure
    groups: Labels  # (k, d): of the entries that are free
    targets: Floats  # (k, d): t
    mass: Floats  # (k,): n
    counts: Floats  # (k,): N
    best: Floats  # covariances at t, in the structure's shape
    fixed: Mask  # (k,): components whose covariance stays
    about: Callable[[Floats, Floats], tuple[Floats, int]]  # covariances given means, from some on; how many floored
    bound: bool = False  # whether covariances are tied to each other


class LocatedGaussians(NamedTuple):
    """Means, covariances in the structure's shape, and how many had to be floored."""

    means: Floats
    covariances: Floats
    floored: int


def located(pull: Pull, means: Floats, covariances: Floats) -> LocatedGaussians:
    """The best means and covariances, from some that obey the groups on."""
    own = LETTERS.get(type(pull.structure)) == "VVV" and not pull.bound
    step = _of_own_matrices if own else _in_turns
    return step(pull, means, covariances)


def _in_turns(pull: Pull, means: Floats, covariances: Floats) -> LocatedGaussians:
    """Means given covariances, covariances given means."""
    bound = knots(pull.groups)
    for _ in range(MOST_TURNS):
        precisions = _inverse(pull.structure, covariances, means)
        before, means = means, moved(bound, pull.targets, means, pull.mass, precisions)
        covariances, floored = pull.about(means, covariances)
        if _change(before, means, precisions) < MEANS_SETTLED:
            break
    return LocatedGaussians(means, covariances, floored)


def _of_own_matrices(pull: Pull, means: Floats, covariances: Floats) -> LocatedGaussians:
    """Parabolas below the height at the best covariances."""
    chosen = np.where(pull.fixed[:, None, None], covariances, pull.best)
    precisions = _inverse(pull.structure, chosen, means)
    ratio = np.where(pull.fixed, 0.0, pull.mass / np.where(pull.counts > 0, pull.counts, 1.0))
    bound = knots(pull.groups)
    for _ in range(MOST_TURNS):
        mass = pull.mass / (1.0 + ratio * _squares(means - pull.targets, precisions))
        before, means = means, moved(bound, pull.targets, means, mass, precisions)
        if _change(before, means, precisions) < MEANS_SETTLED:
            break
    return LocatedGaussians(means, *pull.about(means, covariances))


class Knot(NamedTuple):
    """Components bound together by groups: their numbers, and a matrix (entries, groups) of ones and zeros."""

    members: NDArray[np.intp]
    spread: Floats


def knots(groups: Labels) -> list[Knot]:
    """All components of which an entry is free."""
    found = []
    for members in clusters(groups):
        here = renumbered(groups[members]).ravel()
        if here.max(initial=-1) >= 0:
            spread = np.zeros((len(here), int(here.max()) + 1))
            spread[here >= 0, here[here >= 0]] = 1.0
            found.append(Knot(members, spread))
    return found


def moved(bound: list[Knot], targets: Floats, means: Floats, mass: Floats, precisions: Floats) -> Floats:
    """Means with their free entries where sum_k mass_k (m_k - t_k)' P_k (m_k - t_k) is least."""
    found = means.copy()
    pulled = mass[:, None, None] * precisions
    forces = np.einsum("kij,kj->ki", pulled, targets - means)
    for members, spread in bound:
        blocks = spread.reshape(len(members), -1, spread.shape[1])
        matrix = np.tensordot(blocks, pulled[members] @ blocks, axes=((0, 1), (0, 1)))
        found[members] += (spread @ _solved(matrix, spread.T @ forces[members].ravel())).reshape(len(members), -1)
    return found


def _solved(matrix: Floats, slope: Floats) -> Floats:
    """A positive definite system, in units of its diagonal."""
    units = np.sqrt(np.diagonal(matrix))
    try:
        return np.asarray(np.linalg.solve(matrix / np.outer(units, units), slope / units) / units)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix / np.outer(units, units), slope / units, rcond=None)[0] / units)


def alive_groups(groups: Labels, counts: Floats) -> Labels:
    """Groups but for those that no row pulls at."""
    weight = pooled(groups, np.broadcast_to(counts[:, None], groups.shape))
    return renumbered(np.where((groups >= 0) & (weight > 0), groups, -1))


def _inverse(structure: Structure, covariances: Floats, means: Floats) -> Floats:
    return invert_positive(np.ascontiguousarray(structure.dense(covariances, *means.shape)))[0]


def _squares(away: Floats, precisions: Floats) -> Floats:
    return np.einsum("ki,kij,kj->k", away, precisions, away)


def _change(before: Floats, after: Floats, precisions: Floats) -> float:
    return float(np.max(_squares(after - before, precisions), initial=0.0))
