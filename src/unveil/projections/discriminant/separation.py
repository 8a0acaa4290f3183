"""Directions that separate classes best, the linear rule that tells them apart, and how strongly they are separate.

Classes share a covariance C and have means m_k and priors p_k. By Bayes' rule log p(k | x) is, up to a term that is the
same for all classes,

    (x - c)' C^-1 (m_k - c) - (m_k - c)' C^-1 (m_k - c) / 2 + log p_k

about any point c; about the mean of all rows it keeps its digits, wherever the data lies. The directions w are those of
greatest between-class scatter w' B w at unit noise w' C w = 1 (Fisher 1936; Rao 1948).

How strong the separation along w is, with y = w' x (noise of variance 1):

    signal to noise = (1/n) sum n_k (mean of y in class k - mean of y)^2
    log Bayes factor = (sum (y - mean of y)^2 - sum (y - mean of its class)^2) / 2 = n (signal to noise) / 2

the latter of classes with means of their own against none, at the means that were found, so it never speaks for none.
`evidence` does not presume the means: both they and the covariance are integrated out under the conjugate prior
(normal-inverse-Wishart) worth one row: C about that of all rows, m_k about their mean with covariance C. It grows like
the difference of BICs (Schwarz 1978) and is negative where the labels explain nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.projections.discriminant.scatter import ClassScatter
from unveil.projections.discriminant.shrinkage import Covariances, scales_of, shrunk
from unveil.projections.eigenvectors import eigenvectors
from unveil.projections.pca.routes import FLOAT_EPSILON

Look = Callable[[Floats], Floats]  # the scatter within classes along given directions, from the rows themselves
POOR_CONDITION = 1e-4  # conditioning below which directions of small variance are worth another look at the rows


class SeparationProblem(NamedTuple):
    """What a solver starts from."""

    scatter: ClassScatter
    covariances: Covariances
    priors: Floats
    centre: Floats  # (columns,): c
    ways: Floats  # (classes, columns): m_k - c
    scale: float  # n over the divisor of the covariance
    sphere: float  # 1 for a covariance that is a multiple of the identity, 0 for any
    tol: float
    look: Look | None = None  # another look at the rows, if they are there


class DiscriminantRule(NamedTuple):
    """What a solver finds."""

    discriminants: Floats  # (classes, columns): C^-1 (m_k - c)
    pull: Floats  # (columns,): C^-1 c, for coefficients about zero
    covariance: Floats | None = None  # C, where it is made
    directions: Floats | None = None  # (columns, count)
    ratio: Floats | None = None  # share of the between-class variance along each


def priors_of(scatter: ClassScatter, given: Any) -> Floats:
    """Prior probabilities: as given, or shares of the weight."""
    if given is None:
        return np.asarray(scatter.weights / scatter.weight)
    try:
        priors = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"priors must be numbers, one a class, got {given!r}") from error
    if priors.shape != scatter.weights.shape:
        raise ValueError(f"priors must have shape {scatter.weights.shape}, one a class, got {priors.shape}")
    if not np.all((priors >= 0) & np.isfinite(priors)):
        raise ValueError(f"priors must be non-negative and finite, got {priors.tolist()}")
    if not np.any(priors):
        raise ValueError("priors must have a positive entry, got zeros only")
    if abs(priors.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
        priors = priors / priors.sum()
    if np.all(scatter.rows > 0):
        return priors
    there = np.where(scatter.rows > 0, priors, 0.0)  # a class without rows has no place yet
    if not np.any(there):
        raise ValueError(f"priors leave no probability to the classes that have rows so far, got {priors.tolist()}")
    return there / there.sum()


def lacking(scatter: ClassScatter, scaled: bool, own: bool = True) -> str | None:
    """What leaves no noise to weigh distances by, if anything; `own` is whether the covariance is the scatter's."""
    if scatter.rows.sum() <= scatter.seen:
        got = f"{int(scatter.rows.sum())} rows of {scatter.seen} classes"
        return f"The number of samples must be more than the number of classes, got {got}"
    if own and not np.any(scatter.within):
        return "X does not vary within the classes: there is no noise to weigh their distances by"
    if scaled and scatter.weight <= scatter.seen:
        got = f"{scatter.weight:g} for {scatter.seen} classes"
        return f"the sum of sample_weight must be more than the number of classes, got {got}"
    return None


class White(NamedTuple):
    """Coordinates of unit noise."""

    basis: Floats  # (columns, count): A with A' C A = I
    conditioning: float  # smallest variance over the largest that were brought to 1


def whitening(covariance: Floats, tol: float, scales: Floats) -> White:
    """The directions whose deviation exceeds `tol` once columns are divided by `scales`, brought to unit noise.

    Directions that are mere rounding do not count, whatever `tol`.
    """
    values, vectors = eigenvectors(covariance / np.outer(scales, scales))
    values, vectors = values[::-1], vectors[:, ::-1]
    floor = max(tol**2, 8 * FLOAT_EPSILON * len(values) * values[0])
    kept = int(np.count_nonzero(values > floor))
    basis = vectors[:, :kept] / scales[:, None] / np.sqrt(values[:kept])
    return White(np.asarray(basis), float(values[kept - 1] / values[0]) if kept else 1.0)


def polished(basis: Floats, seen: Floats) -> Floats:
    """`basis` brought to unit noise where the covariance along it is `seen` to be not quite the identity."""
    factor = linalg.cholesky(seen, lower=True)
    return np.asarray(linalg.solve_triangular(factor, basis.T, lower=True).T)


def by_whitening(problem: SeparationProblem) -> DiscriminantRule:
    """From directions of unit noise to those of greatest signal, as scikit-learn's "svd" has them.

    Directions with less than `tol` of the largest signal are left out.
    """
    scatter, ways, tol = problem.scatter, problem.ways, problem.tol
    plain = shrunk(scatter.within / scatter.weight, problem.sphere)
    white = whitening(problem.scale * plain, tol, scales_of(plain))
    basis = white.basis
    if white.conditioning < POOR_CONDITION and problem.look is not None:
        basis = polished(basis, problem.scale / scatter.weight * problem.look(basis))
    spokes = np.sqrt(scatter.weight * problem.priors / max(len(ways) - 1, 1))[:, None] * ways
    _, singular, right = np.linalg.svd(spokes @ basis, full_matrices=False)
    largest = singular.max(initial=0.0)
    directions = basis @ right[singular > tol * largest].T
    ratio = singular**2 / np.sum(singular**2) if largest > 0 else np.zeros(len(singular))
    return DiscriminantRule(ways @ directions @ directions.T, np.zeros(ways.shape[1]), None, directions, ratio)


def by_least_squares(problem: SeparationProblem) -> DiscriminantRule:
    """C^-1 by least squares, of smallest norm where C has no inverse: scikit-learn's "lsqr". No directions."""
    covariance = problem.scale * shrunk(problem.covariances.within(problem.scatter, problem.priors), problem.sphere)
    wanted = np.vstack([problem.ways, problem.centre]).T
    scales, factor, singular = factored(covariance)
    if singular is None:  # in columns of unit variance fewer digits are lost
        solved = linalg.cho_solve((factor, True), wanted / scales[:, None]).T / scales
    else:
        solved = linalg.lstsq(covariance, wanted, cond=8 * FLOAT_EPSILON * len(covariance))[0].T
    return DiscriminantRule(solved[:-1], solved[-1], covariance)


def by_eigenvectors(problem: SeparationProblem) -> DiscriminantRule:
    """From B w = lambda C w, as scikit-learn's "eigen"."""
    within = problem.covariances.within(problem.scatter, problem.priors)
    between = problem.covariances.total(problem.scatter) - within
    covariance = problem.scale * shrunk(within, problem.sphere)
    refuse_singular(covariance)
    values, vectors = linalg.eigh(between, covariance)
    directions = vectors[:, np.argsort(values)[::-1]]
    total = values.sum()
    ratio = np.sort(values / total)[::-1] if total != 0 else np.zeros(len(values))  # shrinkage may leave a total < 0
    inverse = directions @ directions.T
    return DiscriminantRule(problem.ways @ inverse, problem.centre @ inverse, covariance, directions, ratio)


SOLVERS = {"svd": by_whitening, "lsqr": by_least_squares, "eigen": by_eigenvectors}


def factored(covariance: Floats) -> tuple[Floats, Floats, int | None]:
    """Scales of the columns, the Cholesky factor at unit variances, and a column that follows from those before it."""
    scales = scales_of(covariance)
    unit = covariance / np.outer(scales, scales)
    factor, failed = linalg.lapack.dpotrf(unit, lower=True)
    left = np.diagonal(factor)[: failed - 1 if failed else None] ** 2  # of a column's variance, given those before it
    small = [*np.flatnonzero(left < 8 * FLOAT_EPSILON * len(unit)), *([failed - 1] if failed else [])]
    return scales, factor, int(small[0]) if small else None


def refuse_singular(covariance: Floats) -> None:
    """An error that names a column which follows from those before it, as far as rounding lets one see."""
    column = factored(covariance)[2]
    if column is not None:
        raise linalg.LinAlgError(
            f"the covariance within the classes is singular: column {column} of X does not vary, or follows from the "
            "columns before it; solver='svd' takes such data, and so does a fixed shrinkage"
        )


def signals_of(scatter: ClassScatter, discriminants: Floats) -> Floats:
    """How strongly classes are separate along the directions of greatest signal: n times the signal to noise of each.

    The signals are eigenvalues of C^-1 B, and so of the small matrix of (m_k - m)' C^-1 (m_l - m) sqrt(n_k n_l).
    """
    weights, ways = scatter.weights, scatter.centres - scatter.middle
    centred = discriminants - weights @ discriminants / scatter.weight
    roots = np.sqrt(weights)
    gram = np.outer(roots, roots) * (ways @ centred.T)
    count = min(scatter.seen - 1, ways.shape[1])
    return np.maximum(np.linalg.eigvalsh((gram + gram.T) / 2)[::-1][:count], 0.0)


def evidence(scatter: ClassScatter, spherical: bool = False) -> float:
    """Log of p(rows | labels) / p(rows | no labels), means and shared covariance integrated out.

    With prior covariance Psi = total / n at d + 2 degrees of freedom and means N(m, C), for d columns
    (Murphy 2007, section 8):

        d/2 (log(1 + n) - sum log(1 + n_k)) - (d + 2 + n)/2 (log |Psi + within + S| - log |Psi + total|)

    where S = sum n_k / (1 + n_k) (m_k - m)(m_k - m)'. A sphere has traces in place of determinants.
    """
    used = scatter.of_seen()
    n, weights, ways = used.weight, used.weights, used.centres - used.middle
    total = used.within + used.between
    pulled = np.sqrt(weights / (1 + weights))[:, None] * ways
    after = total / n + used.within + pulled.T @ pulled
    counting = float(np.log1p(n) - np.log1p(weights).sum())
    if spherical:
        d = len(total)
        if np.trace(total) <= 0:
            return 0.0
        ratio = np.log(np.trace(after) / np.trace(total)) - np.log1p(1 / n)
        return 0.5 * d * counting - 0.5 * (d + 2 + d * n) * float(ratio)
    white = whitening(total, 0.0, scales_of(total)).basis
    d = white.shape[1]
    determinant = np.linalg.slogdet(white.T @ after @ white)[1] - d * np.log1p(1 / n)
    return 0.5 * d * counting - 0.5 * (d + 2 + n) * float(determinant)
