"""FastICA: fixed-point iterations for white rows (Hyvärinen 1999).

For a unit vector w of the unmixing matrix, y = w'z, the step is w <- E[g(y) z] - E[g'(y)] w, which is Newton's where
sources are independent. *Parallel* moves all vectors at once and makes them orthogonal again by the nearest orthogonal
matrix, (W W')^(-1/2) W; *deflation* finds one after the other, each orthogonal to those before.

A pass returns E[g(y) y'], not E[g(y) z']; since rows of W are orthonormal, z = W'y and the one gives the other. For a
single vector w is completed to a basis first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.core.checkpoint import ended_early
from unveil.core.result import Status
from unveil.projections.ica.contrasts import ContrastMoments

logger = logging.getLogger("unveil")

Evaluate = Callable[..., ContrastMoments]


class UnmixingOutcome(NamedTuple):
    """Where a solver ended."""

    unmixing: Floats
    gradient_norms: Floats  # largest entry of the relative gradient, at each pass
    n_iter: int
    status: Status


def parallel(evaluate: Evaluate, start: Floats, tol: float, max_iter: int) -> UnmixingOutcome:
    """All sources at once; stops when no vector turns by more than `tol`, by 1 minus the cosine.

    Ctrl-C ends it early, here and below, and keeps what was reached.
    """
    norms: list[float] = []
    unmixing, turn, status = orthogonalised(start), np.inf, Status.MAX_ITER
    try:
        while len(norms) < max_iter and turn >= tol:
            means = evaluate(unmixing)
            norms.append(rotation_gradient(means))
            unmixing, turn = leap(unmixing, means)
    except KeyboardInterrupt:
        status = interrupted(len(norms))
    return UnmixingOutcome(unmixing, np.array(norms), len(norms), Status.CONVERGED if turn < tol else status)


def leap(unmixing: Floats, means: ContrastMoments) -> tuple[Floats, float]:
    """Where a step takes all vectors, and the most that one of them turns, by 1 minus the cosine."""
    moved = orthogonalised(means.products @ unmixing - means.slopes[:, None] * unmixing)
    return moved, float(np.abs(np.abs((moved * unmixing).sum(axis=1)) - 1.0).max())


def deflation(evaluate: Evaluate, start: Floats, tol: float, max_iter: int) -> UnmixingOutcome:
    """One source after the other. Each vector is followed until it turns by less than `tol`."""
    found: list[Floats] = []
    counts, status = [0], Status.CONVERGED
    try:
        for vector in start:
            found.append(vector / linalg.norm(vector))  # (NumPy's norm has the squares over- and underflow)
            turn, before = np.inf, np.array(found[:-1]).reshape(-1, len(vector))
            counts.append(0)
            while counts[-1] < max_iter and turn >= tol:
                moved = _followed(evaluate, found[-1], before)
                turn = abs(abs(float(moved @ found[-1])) - 1.0)
                found[-1], counts[-1] = moved, counts[-1] + 1
            status = status if turn < tol else Status.MAX_ITER
    except KeyboardInterrupt:
        status = interrupted(sum(counts))
    unmixing = completed(np.array(found if counts[-1] else found[:-1]))
    return UnmixingOutcome(unmixing, np.array([rotation_gradient(evaluate(unmixing))]), max(counts), status)


def _followed(evaluate: Evaluate, vector: Floats, before: Floats) -> Floats:
    """One step of a unit vector, kept orthogonal to those `before`."""
    basis = completed(vector[None])
    means = evaluate(basis, 1)
    moved = means.products[0] @ basis - means.slopes[0] * vector
    moved -= (before @ moved) @ before
    return np.asarray(moved / linalg.norm(moved))


def interrupted(count: int) -> Status:
    """What a solver answers to Ctrl-C after so many passes; it goes on to the caller where there is nothing to keep."""
    if not count:
        raise KeyboardInterrupt
    ended_early()
    logger.warning("interrupted after %d passes; keeping the best so far", count)
    return Status.INTERRUPTED


def orthogonalised(matrix: Floats) -> Floats:
    """The nearest orthogonal matrix, (W W')^(-1/2) W, from singular vectors: W W' would lose half of the digits."""
    left, _, right, failed = linalg.lapack.dgesdd(matrix)  # half of the time of NumPy's, which calls it
    if failed:
        raise linalg.LinAlgError("the search for independent components met a matrix that is not finite")
    return np.asarray(left @ right)


def completed(vectors: Floats) -> Floats:
    """An orthonormal basis, in rows, of which the orthonormal `vectors` are the first."""
    basis = linalg.qr(vectors.T)[0].T
    basis[: len(vectors)] = vectors
    return np.ascontiguousarray(basis)


def signs_of(means: ContrastMoments, variances: Floats | float = 1.0) -> Floats:
    """+1 where F has a minimum in the source's direction, as for heavy tails under log cosh, and -1 where a maximum.

    The criterion is E[g'(y)] E[y²] - E[g(y) y], 0 for a Gaussian.
    """
    return np.where(means.slopes * variances < means.products.diagonal(), -1.0, 1.0)


def rotation_gradient(means: ContrastMoments) -> float:
    """Largest entry of the gradient of the contrast along rotations, in the coordinates of the sources."""
    signed = signs_of(means)[:, None] * means.products
    return float(np.abs(signed - signed.T).max() / 2.0)
