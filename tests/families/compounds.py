"""Components that are mixtures, with parameters and rows, for their tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import laws
from unveil.core.protocols import Schedule
from unveil.expectations import Exact
from unveil.families.base import Family, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Diagonal, Full, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem

Floats = NDArray[np.float64]
K, M, D = 2, 3, 2
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.dirichlet(np.full(M, 4.0), K)
MEANS = 2.0 * RANDOM.normal(size=(K * M, D))
ROOTS = RANDOM.normal(size=(K * M, D, D))
MATRICES = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(D)
ROWS = 2.5 * RANDOM.normal(size=(200, D))
COUNTS = RANDOM.poisson(3.0, (200, D)).astype(np.float64)
CODES = RANDOM.integers(0, 2, (200, D)).astype(np.float64)
RATES = RANDOM.uniform(1.0, 6.0, (K * M, D))
CHANCES = RANDOM.uniform(0.2, 0.8, (K * M, D))
LEVELS = np.concatenate([CHANCES[:, :1], 1 - CHANCES[:, :1], CHANCES[:, 1:], 1 - CHANCES[:, 1:]], axis=1)
ORIGINS = np.zeros((K * M, D))
NORMAL = GaussianParams(MEANS, MATRICES, ORIGINS)
PRODUCT = Product(((Gaussian(Full(), 0.0), (0,)), (Poisson(), (1,))))
PARTS = ProductParams((GaussianParams(MEANS[:, :1], MATRICES[:, :1, :1], ORIGINS[:, :1]), PoissonParams(RATES[:, :1])))
CASES: dict[str, tuple[Family, Any, Floats]] = {
    "full": (Gaussian(Full(), 0.0), NORMAL, ROWS),
    "tied": (Gaussian(Tied(), 0.0), GaussianParams(MEANS, MATRICES[0], ORIGINS), ROWS),
    "diagonal": (Gaussian(Diagonal(), 0.0), GaussianParams(MEANS, np.exp(0.2 * MEANS), ORIGINS), ROWS),
    "student": (Student(Full(), 0.0), StudentParams(MEANS, MATRICES, np.full(K * M, 6.0), ORIGINS), ROWS),
    "poisson": (Poisson(), PoissonParams(RATES), COUNTS),
    "bernoulli": (Bernoulli(), BernoulliParams(CHANCES), CODES),
    "categorical": (Categorical((2, 2)), CategoricalParams(LEVELS), CODES),
    "product": (PRODUCT, PARTS, np.column_stack([ROWS[:, 0], COUNTS[:, 0]])),
}
by_case = pytest.mark.parametrize("name", CASES)
SCHEDULES: dict[str, Schedule] = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=1),
    "squarem": Squarem(),
    "gradient": Gradient(),
    "lbfgs": LBFGS(),
}


class ByTiles(Exact):
    """The posterior, but not known to be: so it goes by tiles."""

    posterior = False


def scored(family: Family, params: Any, rows: Floats, observed: Any = None, k: int = K) -> tuple[Any, Tile]:
    plan = family.plan(params)
    tile = Tile(np.ascontiguousarray(rows.T), np.empty((k, len(rows))), None, slice(0, len(rows)), observed)
    family.score(plan, tile)
    return plan, tile


def compound(name: str, concentration: float = 1.0) -> tuple[Compound, CompoundParams, Floats]:
    family, parts, rows = CASES[name]
    return Compound(family, M, concentration), CompoundParams(WEIGHTS, parts), rows


def shares(n_rows: int) -> Floats:
    return np.random.default_rng(5).dirichlet(np.ones(K), n_rows).T.copy()


def mixture_case(name: str, rows: Floats | None = None) -> laws.Case:
    family, params, own = compound(name)
    start = MixtureParams(np.full(K, 1.0 / K), params)
    return laws.Case(Mixture(family, K, np.zeros(D)), start, own if rows is None else rows, Exact())
