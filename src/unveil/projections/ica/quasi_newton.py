"""Preconditioned L-BFGS for independent component analysis (Ablin, Cardoso & Gramfort 2018).

What is lowered is minus the mean log-likelihood of rows under densities exp(-sign F(y) - y² / 2) of the sources,

    loss(W) = -log |det W| + Σ_i sign_i E[F(y_i)] + E[y_i²] / 2,        y = W z

either over all W (`FreeUnmixing`) or over orthogonal ones, as befits white z (`OrthogonalUnmixing`, Picard-O): there
all but F is constant. Signs are chosen as the fit goes, +1 for a source with tails heavier than a Gaussian's and -1 for
lighter ones under F = log cosh (Lee, Girolami & Sejnowski 1999), so uniform and Laplace sources are both found. With
fixed signs the quadratic term goes, and the density is exp(-F(y)).

Steps are relative, W <- (1 + step) W or the rotation nearest to it, so that the condition of the mixing does not
matter. Where sources are independent the Hessian falls apart into blocks of two, (i, j) and (j, i), which are solved in
closed form; their eigenvalues are kept above `HESSIAN_FLOOR`. L-BFGS learns from the steps what this leaves out.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.result import Status
from unveil.numerics.lbfgs import Secant, two_loops
from unveil.projections.ica.contrasts import ContrastMoments
from unveil.projections.ica.fixed_point import Evaluate, UnmixingOutcome, interrupted, orthogonalised, signs_of

HESSIAN_FLOOR = 0.01  # of the eigenvalues of the approximate Hessian
LBFGS_MEMORY = 7  # steps that L-BFGS remembers
STEP_HALVINGS = 10  # halvings of a step
LOSS_ROUNDING = 1e-13  # losses closer than this, relatively, are told apart by their gradients
MOST_SIGN_CHANGES = 5  # times that the sign of a source may change: one on the fence must not keep the fit from ending


class UnmixingPass(NamedTuple):
    """An unmixing matrix, and what a pass found there."""

    unmixing: Floats
    means: ContrastMoments
    covariance: Floats  # of the sources


class SourceDensities(NamedTuple):
    """Densities of the sources."""

    signs: Floats
    quadratic: float  # factor of y² / 2: 1 where signs may change, else 0


@dataclass(frozen=True)
class OrthogonalUnmixing:
    """Rotations of white rows."""

    curved: bool = False  # does the Hessian need E[g'(y_i) y_j²]?

    def loss(self, point: UnmixingPass, model: SourceDensities) -> float:
        """What is lowered: the signed contrast."""
        return float(model.signs @ point.means.values)

    def gradient(self, point: UnmixingPass, model: SourceDensities) -> Floats:
        """Antisymmetric: how the contrast changes with a rotation in each plane."""
        signed = model.signs[:, None] * point.means.products
        return np.asarray((signed - signed.T) / 2.0)

    def solved(self, point: UnmixingPass, model: SourceDensities, gradient: Floats) -> Floats:
        """The inverse of the approximate Hessian, applied to `gradient`: each plane by itself."""
        bends = model.signs * (point.means.slopes - np.diagonal(point.means.products))
        return gradient / np.maximum((bends[:, None] + bends) / 2.0, HESSIAN_FLOOR)

    def moved(self, unmixing: Floats, step: Floats) -> Floats:
        """The rotation nearest to W plus the step: exp(step) W up to third order, and never more than a right angle."""
        return orthogonalised(unmixing + step @ unmixing)


@dataclass(frozen=True)
class FreeUnmixing:
    """All invertible matrices."""

    curved: bool = True

    def loss(self, point: UnmixingPass, model: SourceDensities) -> float:
        """Minus the mean log-likelihood, but for a constant."""
        squares = model.quadratic * float(np.trace(point.covariance)) / 2.0
        return float(model.signs @ point.means.values + squares - np.linalg.slogdet(point.unmixing)[1])

    def gradient(self, point: UnmixingPass, model: SourceDensities) -> Floats:
        """E[score(y) y'] - 1."""
        signed = model.signs[:, None] * point.means.products
        return np.asarray(signed + model.quadratic * point.covariance - np.eye(len(signed)))

    def solved(self, point: UnmixingPass, model: SourceDensities, gradient: Floats) -> Floats:
        """Each block ((a, 1), (1, b)) by itself, shifted where its smaller eigenvalue is below the floor."""
        bends = model.signs[:, None] * point.means.curvature + model.quadratic * np.diagonal(point.covariance)
        smaller = (bends + bends.T - np.sqrt((bends - bends.T) ** 2 + 4.0)) / 2.0
        bends = bends + np.maximum(HESSIAN_FLOOR - smaller, 0.0)
        determinant = bends * bends.T - 1.0
        np.fill_diagonal(determinant, 1.0)
        solution = np.asarray((bends.T * gradient - gradient.T) / determinant)
        own = np.maximum(1.0 + np.diagonal(bends), HESSIAN_FLOOR)  # on the diagonal there is one number, not a block
        np.fill_diagonal(solution, np.diagonal(gradient) / own)
        return solution

    def moved(self, unmixing: Floats, step: Floats) -> Floats:
        """W plus the step, in its own coordinates."""
        return unmixing + step @ unmixing


UnmixingGeometry = OrthogonalUnmixing | FreeUnmixing


class UnmixingPlace(NamedTuple):
    """A point, and the gradient there."""

    point: UnmixingPass
    gradient: Floats


class UnmixingSearch:
    """One fit: passes over the rows, and the steps that were taken."""

    def __init__(self, evaluate: Evaluate, geometry: UnmixingGeometry, covariance: Floats) -> None:
        self.evaluate, self.geometry, self.covariance = evaluate, geometry, covariance
        self.learned: deque[Secant] = deque(maxlen=LBFGS_MEMORY)

    def point(self, unmixing: Floats) -> UnmixingPass:
        """What a pass finds at `unmixing`."""
        means = self.evaluate(unmixing, None, self.geometry.curved)
        return UnmixingPass(unmixing, means, unmixing @ self.covariance @ unmixing.T)

    def direction(self, place: UnmixingPlace, model: SourceDensities) -> Floats:
        """Minus the gradient times the inverse Hessian of L-BFGS."""
        return -two_loops(place.gradient, self.learned, partial(self.geometry.solved, place.point, model))

    def lowered(
        self, place: UnmixingPlace, model: SourceDensities, step: Floats
    ) -> tuple[UnmixingPlace, Floats] | None:
        """The first of `step`, half of it, a quarter... that lowers the loss; None where none does."""
        loss, norm = self.geometry.loss(place.point, model), largest(place.gradient)
        slack = LOSS_ROUNDING * max(abs(loss), 1.0)
        for _ in range(STEP_HALVINGS):
            point = self.point(self.geometry.moved(place.point.unmixing, step))
            change = self.geometry.loss(point, model) - loss
            if change <= slack:
                trial = UnmixingPlace(point, self.geometry.gradient(point, model))
                if change < -slack or largest(trial.gradient) < norm:
                    return trial, step
            step = step / 2.0
        return None

    def advance(self, place: UnmixingPlace, model: SourceDensities) -> UnmixingPlace | None:
        """The next place; the plain gradient is tried where all that was learned fails."""
        found = self.lowered(place, model, self.direction(place, model))
        if found is None:
            self.learned.clear()
            found = self.lowered(place, model, -place.gradient)
        if found is None:
            return None
        after, step = found
        change = after.gradient - place.gradient
        if np.vdot(step, change) > 0.0:
            self.learned.append(Secant(step, change))
        return after


class Signs:
    """The signs of the densities, chosen as the fit goes."""

    def __init__(self, count: int, extended: bool) -> None:
        self.model, self.extended = SourceDensities(np.ones(count), float(extended)), extended
        self.switches = np.zeros(count)

    def switch(self, point: UnmixingPass) -> bool:
        """Choose anew at `point`; True if a sign has changed."""
        if not self.extended:
            return False
        wanted = signs_of(point.means, np.diagonal(point.covariance))
        switched = (wanted != self.model.signs) & (self.switches <= MOST_SIGN_CHANGES)  # the first is the choice itself
        if not switched.any():
            return False
        self.switches += switched
        self.model = self.model._replace(signs=np.where(switched, wanted, self.model.signs))
        return True


def largest(gradient: Floats) -> float:
    """The norm by which convergence is judged."""
    return float(np.abs(gradient).max())


def quasi_newton(search: UnmixingSearch, start: Floats, extended: bool, tol: float, max_iter: int) -> UnmixingOutcome:
    """From `start` until no entry of the relative gradient is above `tol`; Ctrl-C ends it early."""
    signs, geometry = Signs(len(start), extended), search.geometry
    norms: list[float] = []
    unmixing, status = start, Status.MAX_ITER
    try:
        point = search.point(start)
        place: UnmixingPlace | None = UnmixingPlace(point, geometry.gradient(point, signs.model))
        while place is not None:
            if signs.switch(place.point):
                search.learned.clear()
                place = UnmixingPlace(place.point, geometry.gradient(place.point, signs.model))
            norms.append(largest(place.gradient))
            unmixing = place.point.unmixing
            if norms[-1] <= tol or len(norms) > max_iter:
                break
            place = search.advance(place, signs.model)
    except KeyboardInterrupt:
        status = interrupted(len(norms))
    status = Status.CONVERGED if norms[-1] <= tol else status
    return UnmixingOutcome(unmixing, np.array(norms), max(len(norms) - 1, 1), status)
