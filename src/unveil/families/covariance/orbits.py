"""Unconstrained coordinates of covariances, for all fourteen structures.

A structure has three letters: volume, shape and orientation are equal (E), a component's own (V) or those of the
unit sphere (I). What is equal is one row of coordinates, what is own is a row per component: a matrix of ones and
zeros, (k, rows), hands rows out to components, and its transpose gathers their gradients. Around C0 = A A' either

    C = exp(volume) A T T' A',   T lower triangular, of determinant 1, where shape and orientation have the same letter;
    C = exp(volume) D diag(exp(shape)) D',   D = D0 (I - W/2)^-1 (I + W/2),  W skew (Cayley), where they have not.

The first has no seam; in the second, a turn in the plane of two equal variances changes nothing, as on the poles of
a globe. Shapes add up to zero: they are contrasts of logarithms. At the origin all coordinates are zero. No variance
along an axis, nor of a column given those before it (the squared pivots of the triangle), falls below a floor, where
the gradient down is cut off: where the likelihood has no bound, one component would drag the others with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from unveil.core.arrays import Floats
from unveil.families.covariance.diagonals import EEI, EII, EVI, VEI
from unveil.families.covariance.ellipsoids import EEV, EVE, EVV, VEE, VEV, VVE
from unveil.families.covariance.orientation import shared_axes
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.covariance.symmetric import invert_positive

LETTERS: dict[type[Structure], str] = {
    Spherical: "VII",
    Diagonal: "VVI",
    Tied: "EEE",
    Full: "VVV",
    **{kind: kind.__name__ for kind in (EII, EEI, VEI, EVI, VEE, EVE, VVE, EEV, VEV, EVV)},
}
HANDS: dict[str, Callable[[int], Floats]] = {
    "E": lambda k: np.ones((k, 1)),
    "V": np.eye,
    "I": lambda k: np.zeros((k, 0)),
}
AXES: dict[str, Callable[[Floats], Floats]] = {
    "E": lambda matrices: np.broadcast_to(shared_axes(matrices), matrices.shape),
    "V": lambda matrices: np.linalg.eigh(matrices)[1],
    "I": lambda matrices: np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape),
}
LOG_ABOVE_FLOOR = 1e-6  # logarithm above the floor that is as good as none
LEAST_TURN_INFORMATION = 1e-2  # least information of a turn: in the plane of two equal variances there is none


class Orbit(ABC):
    """Coordinates of the covariances of all components."""

    lowest: Floats  # (k, d): logarithms of the least variances

    def __init__(self, letters: str, n_components: int, n_columns: int) -> None:
        self.volumes, self.shapes, self.turns = (HANDS[letter](n_components) for letter in letters)
        self.contrasts = contrasts(n_columns)
        self.planes = np.tril_indices(n_columns, -1)
        n_planes = n_columns * (n_columns - 1) // 2
        self.widths = (1, n_columns - 1, n_planes)
        self.sizes = tuple(hand.shape[1] * width for hand, width in zip(self._hands, self.widths, strict=True))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(self.sizes)

    @property
    def _hands(self) -> tuple[Floats, Floats, Floats]:
        return self.volumes, self.shapes, self.turns

    @abstractmethod
    def matrices(self, vector: Floats) -> Floats:
        """Covariances (k, d, d)."""

    @abstractmethod
    def gradient(self, slopes: Floats, vector: Floats) -> Floats:
        """Gradient in `vector` of a function whose derivatives by the covariances are `slopes` (k, d, d)."""

    def energy_gradient(self, counts: Floats, scatter: Floats, pull: Floats, vector: Floats) -> tuple[Floats, Floats]:
        """Gradient of -1/2 sum_k [counts_k log|C_k| + trace(P_k S_k)] in `vector`, and P `pull` (k, d)."""
        precisions = invert_positive(self.matrices(vector))[0]
        slopes = -0.5 * (counts[:, None, None] * precisions - precisions @ scatter @ precisions)
        return self.gradient(slopes, vector), (precisions @ pull[:, :, None])[:, :, 0]

    @abstractmethod
    def stiffness(self) -> Floats:
        """Information of a turn in each plane, (k, planes), per unit of weight, at the origin."""

    def information(self, counts: Floats) -> Floats:
        """Fisher information of each coordinate at the origin, given the weight of each component."""
        n_columns = len(self.contrasts)
        parts = (
            np.full((len(counts), 1), 0.5 * n_columns),
            np.full((len(counts), n_columns - 1), 0.5),
            self.stiffness(),
        )
        return self._gathered(*(counts[:, None] * part for part in parts))

    def _handed_out(self, vector: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-volumes (k,), log-shapes (k, d) and what goes with each plane (k, planes)."""
        first, second = np.cumsum(self.sizes)[:2]
        parts = vector[:first], vector[first:second], vector[second:]
        volume, shape, plane = (
            hand @ part.reshape(hand.shape[1], width)
            for hand, part, width in zip(self._hands, parts, self.widths, strict=True)
        )
        return volume[:, 0], shape @ self.contrasts.T, plane

    def _free(self, logs: Floats, slopes: Floats) -> Floats:
        """Slopes by the log-variances (k, d), but for those that lead below the floor."""
        bound = (logs < self.lowest) | ((logs < self.lowest + LOG_ABOVE_FLOOR) & (slopes < 0))
        return np.where(bound, 0.0, slopes)

    def _gathered(self, volume: Floats, shape: Floats, plane: Floats) -> Floats:
        """The transpose: what each component says of its rows, added up. `shape` is of the contrasts, (k, d - 1)."""
        return np.concatenate(
            [(hand.T @ part).ravel() for hand, part in zip(self._hands, (volume, shape, plane), strict=True)]
        )


class Congruent(Orbit):
    """C = exp(volume) A T T' A'."""

    def __init__(self, letters: str, matrices: Floats, floor: Floats) -> None:
        super().__init__(letters, *matrices.shape[:2])
        self.roots = np.linalg.cholesky(matrices)
        self.pivots = 2.0 * np.log(np.einsum("kii->ki", self.roots))
        self.lowest = np.minimum(np.log(floor), self.pivots)

    def matrices(self, vector: Floats) -> Floats:
        """Covariances (k, d, d)."""
        roots = self.roots @ self._triangles(vector)[1]
        return roots @ np.swapaxes(roots, 1, 2)

    def gradient(self, slopes: Floats, vector: Floats) -> Floats:
        """By dC = A (dR R' + R dR') A', with R = exp(volume / 2) T."""
        triangles = self._triangles(vector)[1]
        return self._along(2.0 * np.swapaxes(self.roots, 1, 2) @ slopes @ self.roots @ triangles, vector)

    def energy_gradient(self, counts: Floats, scatter: Floats, pull: Floats, vector: Floats) -> tuple[Floats, Floats]:
        """The same by triangles: with B = A R, the products above are R'^-1 (B^-1 S B'^-1 - counts)."""
        triangles = self._triangles(vector)[1]
        pulls, pulled = np.empty_like(scatter), np.empty_like(pull)
        unmoved, unit = not np.any(vector), np.eye(scatter.shape[1])
        for k, root in enumerate(self.roots):
            base = root if unmoved else root @ triangles[k]
            half = solve_triangular(base, scatter[k], lower=True, check_finite=False)
            inner = solve_triangular(base, half.T, lower=True, check_finite=False) - counts[k] * unit
            # at the origin R is the unit matrix
            pulls[k] = inner if unmoved else solve_triangular(triangles[k], inner, lower=True, trans=1)
            pulled[k] = cho_solve((base, True), pull[k], check_finite=False)
        return self._along(pulls, vector), pulled

    def _along(self, pulls: Floats, vector: Floats) -> Floats:
        """The gradient from derivatives by R."""
        logs, triangles, scales = self._triangles(vector)
        along = self._free(logs, 0.5 * np.einsum("kii,kii->ki", pulls, triangles))
        below = pulls[:, *self.planes]
        volume = along.sum(axis=1) + 0.5 * np.sum(below * triangles[:, *self.planes], axis=1)
        return self._gathered(volume[:, None], along @ self.contrasts, below * scales)

    def stiffness(self) -> Floats:
        """One."""
        return np.ones((len(self.roots), self.widths[2]))

    def _triangles(self, vector: Floats) -> tuple[Floats, Floats, Floats]:
        """Logarithms of the squared pivots, exp(volume / 2) T, and exp(volume / 2) as a column."""
        volume, shape, plane = self._handed_out(vector)
        logs, scales = self.pivots + volume[:, None] + shape, np.exp(0.5 * volume)[:, None]
        triangles = np.zeros_like(self.roots)
        triangles[:, *self.planes] = scales * plane
        np.einsum("kii->ki", triangles)[...] = np.exp(0.5 * (np.maximum(logs, self.lowest) - self.pivots))
        return logs, triangles, scales


class Spectral(Orbit):
    """C = exp(volume) D diag(exp(shape)) D'."""

    def __init__(self, letters: str, matrices: Floats, floor: Floats) -> None:
        super().__init__(letters, *matrices.shape[:2])
        self.axes = AXES[letters[2]](matrices)
        logs = np.log(np.einsum("kij,kil,klj->kj", self.axes, matrices, self.axes))
        volume = logs.mean(axis=1, keepdims=True)
        self.logs = shared_rows(self.volumes, volume) + shared_rows(self.shapes, logs - volume)
        self.lowest = np.minimum(np.log(np.einsum("ki,kij->kj", floor, self.axes**2)), self.logs)

    def matrices(self, vector: Floats) -> Floats:
        """Covariances (k, d, d)."""
        logs, axes, _, _ = self._turned(vector)
        return (axes * np.exp(np.maximum(logs, self.lowest))[:, None, :]) @ np.swapaxes(axes, 1, 2)

    def gradient(self, slopes: Floats, vector: Floats) -> Floats:
        """By dD = D0 (I - W/2)^-1 dW/2 (I + R), where R is the turn and D = D0 R."""
        logs, axes, inverse, turn = self._turned(vector)
        pulls = slopes @ (axes * np.exp(np.maximum(logs, self.lowest))[:, None, :])
        along = self._free(logs, np.einsum("kij,kij->kj", axes, pulls))
        unit = np.eye(turn.shape[1])
        turned = np.swapaxes(self.axes @ inverse, 1, 2) @ pulls @ np.swapaxes(unit + turn, 1, 2)
        skew = turned - np.swapaxes(turned, 1, 2)
        return self._gathered(along.sum(axis=1, keepdims=True), along @ self.contrasts, skew[:, *self.planes])

    def stiffness(self) -> Floats:
        """(a - b)^2 / (a b) for the variances a and b of a plane."""
        rows, columns = self.planes
        return np.maximum(
            4.0 * np.sinh(0.5 * (self.logs[:, rows] - self.logs[:, columns])) ** 2, LEAST_TURN_INFORMATION
        )

    def _turned(self, vector: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Logarithms of variances, axes, (I - W/2)^-1 and the turn."""
        volume, shape, plane = self._handed_out(vector)
        half = np.zeros_like(self.axes)
        half[:, *self.planes] = 0.5 * plane
        half -= np.swapaxes(half, 1, 2).copy()
        unit = np.eye(len(self.contrasts))
        inverse = np.asarray(np.linalg.inv(unit - half), dtype=np.float64)
        turn = inverse @ (unit + half)
        return self.logs + volume[:, None] + shape, self.axes @ turn, inverse, turn


def letters_of(structure: Structure) -> str:
    """Volume, shape and orientation of a structure."""
    letters = LETTERS.get(type(structure))
    if letters is None:
        raise TypeError(f"{type(structure).__name__} has no unconstrained coordinates, which gradient schedules need")
    return letters


def orbit_of(structure: Structure, matrices: Floats, floor: Floats) -> Orbit:
    """Coordinates around the covariances (k, d, d) of a structure; `floor` (k, d): least variances of the columns."""
    letters = letters_of(structure)
    kind = Congruent if letters[1] == letters[2] != "I" else Spectral
    return kind(letters, matrices, floor)


def contrasts(n_columns: int) -> Floats:
    """Orthonormal columns (d, d - 1) that add up to zero (Helmert's)."""
    steps = np.arange(1.0, n_columns)
    found = np.where(np.arange(n_columns)[:, None] <= np.arange(n_columns - 1), 1.0, 0.0)
    found[np.arange(1, n_columns), np.arange(n_columns - 1)] = -steps
    return found / np.sqrt(steps * (steps + 1.0))


def shared_rows(hand: Floats, values: Floats) -> Floats:
    """`values` (k, n) averaged over the components that share a row; zero where there is none."""
    return hand @ np.linalg.pinv(hand) @ values
