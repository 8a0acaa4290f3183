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

Of few sources the Hessian along rotations is taken as it is (`FEW_SOURCES`): with W <- exp(E) W, E antisymmetric, and
P = E[g(y) y'],

    loss(E) - loss(0) = Σ s_i P_ij E_ij + 1/2 Σ s_i E[g'(y_i) y_j y_k] E_ij E_ik + 1/2 Σ s_i P_ik E_ij E_jk + ...

so that steps are Newton's, of which it takes but a few.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.result import Status
from unveil.numerics.lbfgs import Secant, two_loops
from unveil.projections.eigenvectors import eigenvectors
from unveil.projections.ica.contrasts import ContrastMoments, Curvature
from unveil.projections.ica.fixed_point import (
    Evaluate,
    UnmixingOutcome,
    interrupted,
    leap,
    orthogonalised,
    rotation_gradient,
    signs_of,
)

HESSIAN_FLOOR = 0.01  # of the eigenvalues of the approximate Hessian
LBFGS_MEMORY = 7  # steps that L-BFGS remembers
STEP_HALVINGS = 10  # halvings of a step
LOSS_ROUNDING = 1e-13  # losses closer than this, relatively, are told apart by their gradients
FEW_SOURCES = 4  # up to which Newton's steps are worth all moments of third order
FARTHEST_STEP = 0.03  # 1 minus the cosine of a turn that is no leap any more: 14 degrees
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
    """Rotations of white rows; `exact` is whether the Hessian is taken as it is."""

    exact: bool = False

    @property
    def curvature(self) -> Curvature:
        """What the Hessian needs to know."""
        return Curvature.WHOLE if self.exact else Curvature.NONE

    def loss(self, point: UnmixingPass, model: SourceDensities) -> float:
        """What is lowered: the signed contrast."""
        return float(model.signs @ point.means.values)

    def gradient(self, point: UnmixingPass, model: SourceDensities) -> Floats:
        """Antisymmetric: how the contrast changes with a rotation in each plane."""
        signed = model.signs[:, None] * point.means.products
        return np.asarray((signed - signed.T) / 2.0)

    def solved(self, point: UnmixingPass, model: SourceDensities, gradient: Floats) -> Floats:
        """The inverse of the Hessian, applied to `gradient`; of the approximate one, each plane by itself."""
        if self.exact:
            return along_rotations(point.means, model.signs, gradient)
        bends = model.signs * (point.means.slopes - point.means.products.diagonal())
        return gradient / np.maximum((bends[:, None] + bends) / 2.0, HESSIAN_FLOOR)

    def moved(self, unmixing: Floats, step: Floats) -> Floats:
        """The rotation nearest to W plus the step: exp(step) W up to third order, and never more than a right angle."""
        return orthogonalised(unmixing + step @ unmixing)


@dataclass(frozen=True)
class FreeUnmixing:
    """All invertible matrices."""

    exact: bool = False

    @property
    def curvature(self) -> Curvature:
        """What the Hessian needs to know."""
        return Curvature.SQUARES

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


class RotationMaps(NamedTuple):
    """From moments to the Hessian along rotations, in the entries above the diagonal of an antisymmetric matrix."""

    places: NDArray[np.intp]  # of these entries in the matrix, row by row
    mirrored: NDArray[np.intp]  # and of those below
    hessian: Floats  # (entries, entries, count² (count + 1)): of products and curvature of each source, side by side


@cache
def rotation_maps(count: int) -> RotationMaps:
    """The maps for so many sources: the Hessian is linear in the moments, so it is made of those of one each."""
    first, second = np.triu_indices(count, 1)
    units = np.eye(count**2 * (count + 1)).reshape(-1, count, count + 1, count)
    hessians = [_along(first, second, one[:, 0], one[:, 1:]) for one in units]
    return RotationMaps(first * count + second, second * count + first, np.stack(hessians, axis=2))


def _along(first: Any, second: Any, products: Floats, curvature: Floats) -> Floats:
    """The Hessian, by its definition, for moments that have their signs."""
    count, each = len(products), np.arange(len(products))
    whole = np.zeros((count, count, count, count))
    whole[:, each, each, :] = 0.5 * products[:, None, :]  # of E_ij E_jk
    whole += whole.transpose(2, 3, 0, 1)
    whole[each, :, each, :] += curvature  # of E_ij E_ik
    half = whole[first, second] - whole[second, first]
    return np.asarray(half[:, first, second] - half[:, second, first])


def along_rotations(means: ContrastMoments, signs: Floats, gradient: Floats) -> Floats:
    """The inverse of the Hessian along rotations, its eigenvalues kept off 0, applied to an antisymmetric matrix."""
    maps = rotation_maps(len(signs))
    moments = np.concatenate([means.products[:, None], means.curvature], axis=1) * signs[:, None, None]
    values, vectors = eigenvectors(maps.hessian @ moments.ravel())
    along = gradient.ravel()[maps.places] @ vectors / np.maximum(np.abs(values), HESSIAN_FLOOR)
    step, solution = vectors @ (2.0 * along), np.zeros(gradient.size)
    solution[maps.places], solution[maps.mirrored] = step, -step
    return solution.reshape(gradient.shape)


class UnmixingPlace(NamedTuple):
    """A point, the gradient there, and its largest entry."""

    point: UnmixingPass
    gradient: Floats
    norm: float


class UnmixingSearch:
    """One fit: passes over the rows, and the steps that were taken."""

    def __init__(self, evaluate: Evaluate, geometry: UnmixingGeometry, covariance: Floats) -> None:
        self.evaluate, self.geometry, self.covariance = evaluate, geometry, covariance
        same = isinstance(geometry, OrthogonalUnmixing) and np.array_equal(covariance, np.eye(len(covariance)))
        self.turned = covariance if same else None  # what all rotations make of it, where that is the same
        self.learned: deque[Secant] = deque(maxlen=LBFGS_MEMORY)

    def point(self, unmixing: Floats, curved: bool = True) -> UnmixingPass:
        """What a pass finds at `unmixing`, with or without what a Hessian needs."""
        means = self.evaluate(unmixing, None, self.geometry.curvature if curved else Curvature.NONE)
        covariance = unmixing @ self.covariance @ unmixing.T if self.turned is None else self.turned
        return UnmixingPass(unmixing, means, covariance)

    def place(self, point: UnmixingPass, model: SourceDensities) -> UnmixingPlace:
        """The point with its gradient."""
        gradient = self.geometry.gradient(point, model)
        return UnmixingPlace(point, gradient, largest(gradient))

    def direction(self, place: UnmixingPlace, model: SourceDensities) -> Floats:
        """Minus the gradient times the inverse Hessian of L-BFGS."""
        return -two_loops(place.gradient, self.learned, partial(self.geometry.solved, place.point, model))

    def lowered(
        self, place: UnmixingPlace, model: SourceDensities, step: Floats
    ) -> tuple[UnmixingPlace, Floats] | None:
        """The first of `step`, half of it, a quarter... that lowers the loss; None where none does."""
        loss = self.geometry.loss(place.point, model)
        slack = LOSS_ROUNDING * max(abs(loss), 1.0)
        for _ in range(STEP_HALVINGS):
            point = self.point(self.geometry.moved(place.point.unmixing, step))
            change = self.geometry.loss(point, model) - loss
            if change <= slack:
                trial = self.place(point, model)
                if change < -slack or trial.norm < place.norm:
                    return trial, step
            step = step / 2.0
        return None

    def advance(self, place: UnmixingPlace, model: SourceDensities, direction: Floats) -> UnmixingPlace | None:
        """The next place; the plain gradient is tried where all that was learned fails."""
        found = self.lowered(place, model, direction)
        if found is None:
            self.learned.clear()
            found = self.lowered(place, model, -place.gradient)
        if found is None:
            return None
        after, step = found
        change = after.gradient - place.gradient
        if not self.geometry.exact and np.vdot(step, change) > 0.0:
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
        wanted = signs_of(point.means, point.covariance.diagonal())
        if (wanted == self.model.signs).all():
            return False
        switched = (wanted != self.model.signs) & (self.switches <= MOST_SIGN_CHANGES)  # the first is the choice itself
        if not switched.any():
            return False
        self.switches += switched
        self.model = self.model._replace(signs=np.where(switched, wanted, self.model.signs))
        return True


def largest(gradient: Floats) -> float:
    """The norm by which convergence is judged."""
    return float(np.abs(gradient).max())


def quasi_newton(
    search: UnmixingSearch,
    start: Floats,
    extended: bool,
    tol: float,
    max_iter: int,
    leaps: int = 0,
    enough: float = 0.0,
) -> UnmixingOutcome:
    """From `start` until no entry of the relative gradient is above `tol`; Ctrl-C ends it early.

    It also ends where the next step is expected to lower the loss by no more than `enough`, half its product with the
    gradient (Newton's decrement).
    At most so many `leaps` come first, for as long as they lead far: steps of the fixed-point iteration, which does not
    ask what it lowers, and so is not held up on the slopes around a start that was drawn.
    """
    signs = Signs(len(start), extended)
    norms: list[float] = []
    unmixing, status, settled = start, Status.MAX_ITER, False
    try:
        point, turn = search.point(start, curved=not leaps), np.inf
        for left in range(min(leaps, max_iter) - 1, -1, -1):
            norms.append(rotation_gradient(point.means))
            unmixing, (moved, turn) = point.unmixing, leap(point.unmixing, point.means)
            near = turn < FARTHEST_STEP or left == 0
            point = search.point(moved, curved=near)
            if near:
                break
        place: UnmixingPlace | None = search.place(point, signs.model)
        while place is not None:
            if signs.switch(place.point):
                search.learned.clear()
                place = search.place(place.point, signs.model)
            norms.append(place.norm)
            unmixing = place.point.unmixing
            if norms[-1] <= tol or len(norms) > max_iter:
                break
            direction = search.direction(place, signs.model)
            settled = 0.0 <= -0.5 * float(np.vdot(place.gradient, direction)) <= enough
            place = None if settled else search.advance(place, signs.model, direction)
    except KeyboardInterrupt:
        status = interrupted(len(norms))
    status = Status.CONVERGED if settled or norms[-1] <= tol else status
    return UnmixingOutcome(unmixing, np.array(norms), max(len(norms) - 1, 1), status)
