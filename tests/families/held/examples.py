"""Families of which something is held or tied, with parameters and rows, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests.oracles.covariances import obeying, packed, structure_of
from unveil.families import hold
from unveil.families.base import Family, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.family import Held
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import NormalInverseWishart
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams

Floats = NDArray[np.float64]
K, D = 3, 3
RANDOM = np.random.default_rng(0)
ROWS = 2.0 * RANDOM.normal(size=(150, D)) + np.repeat([[-2.0], [0.0], [3.0]], 50, axis=0)
COUNTS = RANDOM.poisson(np.repeat([[1.0], [4.0], [9.0]], 50, axis=0), (150, D)).astype(np.float64)
TIMES = RANDOM.exponential(2.0, (150, D))
BITS = (RANDOM.random((150, D)) < np.repeat([[0.2], [0.5], [0.8]], 50, axis=0)).astype(np.float64)
CODES = np.column_stack([RANDOM.integers(0, n, 150) for n in (2, 3, 4)]).astype(np.float64)
SHARES = RANDOM.dirichlet(np.ones(K), len(ROWS)).T.copy()
MEANS = np.array([[-2.0, -2.0, 0.0], [0.5, 0.0, 0.0], [3.0, 2.0, 1.0]])
ORIGINS = np.zeros((K, D))
FEW = np.array([[True, False, False], [False, False, True], [False, False, False]])
TIES = np.array([[-1, 0, 1], [0, 0, -1], [0, -1, 1]])
CHANCES = RANDOM.uniform(0.2, 0.8, (K, D))
WISHART = NormalInverseWishart(np.array([0.5, 0.0, -1.0]), 3.0, 4.0 * np.eye(D), 7.0)
FOUR = {"full": Full(), "tied": Tied(), "diagonal": Diagonal(), "spherical": Spherical()}


def normal(model: str) -> GaussianParams:
    matrices = obeying(model, np.random.default_rng(2), K, D)
    return GaussianParams(MEANS, packed(structure_of(model), matrices), ORIGINS)


def probabilities(*levels: int) -> Floats:
    return np.concatenate([np.random.default_rng(n).dirichlet(np.full(n, 3.0), K) for n in levels], axis=1)


def moments_of(family: Family, params: Any, rows: Floats, shares: Floats = SHARES) -> Floats:
    tile = Tile(np.ascontiguousarray(rows.T), np.empty((len(shares), len(rows))))
    plan = family.plan(params)
    family.score(plan, tile)
    tile.logits[...] = shares
    return family.gather(plan, tile)


def height(family: Family, moments: Floats, params: Any) -> float:
    return float(np.sum(family.natural(params) * moments)) + family.log_prior(params)


def optimum(objective: Callable[[Floats], float], start: Floats) -> float:
    """The highest that a general optimiser gets to."""
    found = minimize(lambda v: -objective(v), start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return -float(found.fun)


def tied_start(family: Held, params: Any) -> Any:
    return family.settled(params)


def obeyed(family: Held, found: Any, start: Any) -> None:
    entries = family.rule.entries
    held = np.zeros((K, D), dtype=bool) if entries.held is None else entries.held
    np.testing.assert_array_equal(found.means[held], start.means[held])
    tied = np.full((K, D), -1) if entries.tied is None else entries.tied
    for column in range(D):
        for label in set(tied[:, column]) - {-1}:
            assert len(set(found.means[tied[:, column] == label, column])) == 1


GAUSSIAN_MASKS: dict[str, dict[str, Any]] = {
    "means": {"means": FEW},
    "ties": {"tied_means": TIES},
    "both": {"means": np.where(TIES >= 0, False, FEW), "tied_means": np.where(FEW, -1, TIES)},
    "covariances": {"covariances": np.ones(K, dtype=bool)},
    "all": {"means": FEW, "tied_means": np.where(FEW, -1, TIES), "covariances": True},
}


def student_params(params: GaussianParams, dofs: Floats) -> StudentParams:
    return StudentParams(params.means, params.covariances, dofs, params.origins)


LEVELS = (2, 3, 4)
TOTAL = sum(LEVELS)
HELD_LEVELS = np.zeros((K, TOTAL), dtype=bool)
HELD_LEVELS[0, [0, 1]] = True  # a whole column
HELD_LEVELS[1, 3] = True
HELD_LEVELS[2, [5, 6]] = True
TIED_LEVELS = np.full((K, TOTAL), -1)
TIED_LEVELS[[0, 1, 2], [2, 4, 2]] = 0  # levels of different numbers, bound to a row with a held one
TIED_LEVELS[0, 5:7] = 1
TIED_LEVELS[1, 8] = 1
LEVEL_MASKS: dict[str, dict[str, Any]] = {
    "held": {"probabilities": HELD_LEVELS},
    "tied": {"tied_probabilities": TIED_LEVELS},
    "both": {"probabilities": HELD_LEVELS, "tied_probabilities": TIED_LEVELS},
    "whole": {"tied_probabilities": np.where(np.arange(K)[:, None] < 2, np.arange(TOTAL), -1)},
    "fair": {"tied_probabilities": np.where(np.arange(K)[:, None] == 1, np.zeros(TOTAL, dtype=int), -1)},
}


def mixed() -> tuple[Held, ProductParams, Floats]:
    inner = Product(((Gaussian(Full(), 0.0), (0, 2)), (Poisson(), (1,)), (Bernoulli(), (3,))))
    masks = [{"means": FEW[:, :2]}, None, {"tied_probabilities": np.array([[0], [0], [-1]])}]
    matrices = obeying("VVV", np.random.default_rng(4), K, 2)
    params = ProductParams(
        (
            GaussianParams(MEANS[:, :2], matrices, ORIGINS[:, :2]),
            PoissonParams(8.0 * CHANCES[:, :1]),
            BernoulliParams(np.array([[0.3], [0.3], [0.7]])),
        )
    )
    return hold(inner, parts=masks), params, np.column_stack([ROWS[:, 0], COUNTS[:, 0], ROWS[:, 1], BITS[:, 0]])


def compound() -> tuple[Held, CompoundParams, Floats]:
    weights = np.array([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.6, 0.2, 0.2]])
    rates = PoissonParams(np.linspace(1.0, 9.0, 9)[:, None] * np.ones(D))
    fixed = np.zeros((K, 3), dtype=bool)
    fixed[0, 0] = True
    tied = np.array([[-1, -1, -1], [-1, -1, -1], [-1, 0, 0]])
    held = np.zeros((9, D), dtype=bool)
    held[4] = True
    family = hold(Compound(Poisson(), 3), weights=fixed, tied_weights=tied, parts={"rates": held})
    return family, CompoundParams(weights, rates), COUNTS


def cases() -> dict[str, tuple[Held, Any, Floats]]:
    gaussian = hold(Gaussian(Full(), 0.0), **GAUSSIAN_MASKS["both"])
    shared = hold(Gaussian(Tied(), 0.0), **GAUSSIAN_MASKS["both"])
    some = hold(Gaussian(Full(), 0.0, WISHART), means=FEW, covariances=np.array([True, False, False]))
    student = hold(Student(Diagonal(), 0.0), dofs=np.array([True, False, False]), **GAUSSIAN_MASKS["ties"])
    heavy = student_params(normal("VVI"), np.array([3.0, 8.0, 20.0]))
    levels = hold(Categorical(LEVELS), **LEVEL_MASKS["whole"])
    return {
        "gaussian": (gaussian, gaussian.settled(normal("VVV")), ROWS),
        "shared": (shared, shared.settled(normal("EEE")), ROWS),
        "some": (some, normal("VVV"), ROWS),
        "student": (student, student.settled(heavy), ROWS),
        "poisson": (hold(Poisson(), rates=FEW), PoissonParams(8.0 * CHANCES), COUNTS),
        "categorical": (levels, levels.settled(CategoricalParams(probabilities(*LEVELS))), CODES),
        "product": mixed(),
    }


CASES = cases()
