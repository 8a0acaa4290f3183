"""A slow oracle for the fourteen structures: covariances written out from volumes, shapes and turns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from unveil.estimation.registry import STRUCTURES, lookup
from unveil.families.covariance.structure import ColumnVariances, SphereVariances, Structure, Tied
from unveil.families.covariance.symmetric import triangle

Floats = NDArray[np.float64]
DIAGONAL = ("EII", "VII", "EEI", "VEI", "EVI", "VVI")
ELLIPSOIDAL = ("EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")
MODELS = DIAGONAL + ELLIPSOIDAL


def structure_of(model: str) -> Structure:
    found: Structure = lookup(STRUCTURES[model])()
    return found


def moments_of(structure: Structure, scatters: Floats) -> Floats:
    """Second moments about the mean, as the structure reads them, from scatter matrices (k, d, d)."""
    if isinstance(structure, SphereVariances):
        return np.einsum("kii->k", scatters)[:, None] / scatters.shape[1]
    if isinstance(structure, ColumnVariances):
        return np.einsum("kii->ki", scatters)
    rows, columns = triangle(scatters.shape[1])
    return scatters[:, rows, columns]


def packed(structure: Structure, matrices: Floats) -> Floats:
    """Matrices (k, d, d) that obey a structure, in its own shape."""
    if isinstance(structure, SphereVariances):
        return matrices[:, 0, 0].copy()
    if isinstance(structure, ColumnVariances):
        return np.einsum("kii->ki", matrices).copy()
    return matrices[0] if isinstance(structure, Tied) else matrices


def objective(counts: Floats, scatters: Floats, matrices: Floats) -> float:
    """The expected log-likelihood, but for a constant."""
    traces = np.einsum("kii->k", np.linalg.solve(matrices, scatters))
    return float(-0.5 * counts @ (np.linalg.slogdet(matrices)[1] + traces))


def estimated(model: str, counts: Floats, scatters: Floats, previous: Floats | None = None) -> Floats:
    """The M step of a model, as matrices, with a floor that is far away."""
    structure, (k, d) = structure_of(model), scatters.shape[:2]
    before = None if previous is None else packed(structure, previous)
    floor = np.full(d, 1e-15)
    covariances, floored = structure.estimate(counts, moments_of(structure, scatters), floor, 0.0, before)
    assert floored == 0
    assert covariances.shape == structure.shape(k, d)
    return structure.dense(covariances, k, d)


def random_scatters(seed: int, k: int, d: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    roots = random.normal(size=(k, d, d + 2)) * np.exp(random.normal(size=(k, d, 1)))
    return random.uniform(5.0, 50.0, k), roots @ np.swapaxes(roots, 1, 2) / (d + 2)


class Coordinates:
    """Free coordinates of a model about some covariances that obey it: logarithms of volume and shape, and turns."""

    def __init__(self, model: str, matrices: Floats) -> None:
        self.model, (self.k, self.d) = model, matrices.shape[:2]
        if model[2] == "V":
            self.axes = np.linalg.eigh(matrices)[1]
        elif model[2] == "E":
            shares = np.sqrt(np.arange(1.0, self.k + 1.0)) / np.einsum("kii->k", matrices)
            self.axes = np.repeat(np.linalg.eigh(np.tensordot(shares, matrices, axes=1))[1][None], self.k, axis=0)
        else:
            self.axes = np.repeat(np.eye(self.d)[None], self.k, axis=0)
        self.logs = np.log(np.einsum("kij,kil,klj->kj", self.axes, matrices, self.axes))
        self.free = [{"E": 1, "V": self.k, "I": 0}[letter] for letter in model]
        self.sizes = [self.free[0], self.free[1] * self.d, self.free[2] * self.d * (self.d - 1) // 2]

    def matrices(self, moves: Floats) -> Floats:
        volume, shape, turn = np.split(moves, np.cumsum(self.sizes)[:2])
        shapes = shape.reshape(self.free[1], self.d)
        logs = self.logs + volume[:, None]
        logs = logs + (shapes - shapes.mean(axis=1, keepdims=True) if self.free[1] else 0.0)
        skew = np.zeros((max(self.free[2], 1), self.d, self.d))
        rows, columns = np.triu_indices(self.d, 1)
        skew[: self.free[2], rows, columns] = turn.reshape(self.free[2], len(rows))
        axes = self.axes @ np.stack([expm(one - one.T) for one in skew])
        return (axes * np.exp(logs)[:, None, :]) @ np.swapaxes(axes, 1, 2)


def obeying(model: str, random: np.random.Generator, k: int, d: int) -> Floats:
    """Random covariances that obey a model."""
    coordinates = Coordinates(model, np.repeat(np.eye(d)[None], k, axis=0))
    return coordinates.matrices(random.normal(size=sum(coordinates.sizes)))


def assert_obeys(model: str, matrices: Floats) -> None:
    """Volumes, shapes and axes are equal where the model says so."""
    d = matrices.shape[1]
    values = np.sort(np.linalg.eigvalsh(matrices), axis=1)
    volumes = np.exp(np.mean(np.log(values), axis=1))
    shapes = values / volumes[:, None]
    if model[0] == "E":
        np.testing.assert_allclose(volumes, volumes[0], rtol=1e-9)
    if model[1] == "E":
        np.testing.assert_allclose(shapes, shapes[:1].repeat(len(shapes), axis=0), rtol=1e-9)
    if model[1] == "I":
        np.testing.assert_allclose(shapes, 1.0)
    if model[2] == "I":
        np.testing.assert_array_equal(matrices * (1.0 - np.eye(d)), 0.0)
    if model[2] == "E":
        products = matrices[:, None] @ matrices[None]
        np.testing.assert_allclose(products, products.swapaxes(0, 1), atol=1e-12 * np.abs(products).max())
