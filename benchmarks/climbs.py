"""The problems on which passes are counted, and who is asked for what: declarations, and data from fixed seeds."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson
from sklearn.datasets import load_iris

from benchmarks.passes import Climb, Climber, Problem
from benchmarks.tasks.mixture import gaussians
from unveil import GaussianMixture, PoissonMixture
from unveil.schedules import LBFGS, Squarem, Stepwise

Floats = NDArray[np.float64]

DEATHS = (162, 267, 271, 185, 111, 61, 27, 8, 3, 1)  # days with 0, 1, 2, ... deaths


def large(n_rows: int, seed: int = 0) -> Problem:
    """Eight overlapping Gaussians in eight columns, from random rows with the covariance of all."""
    start = gaussians(np.random.default_rng(seed), n_rows, 8, 8, 1.0)
    precisions = np.linalg.inv(start["covariances"]).astype(np.float64)
    return Problem(start["rows"], _gaussian(8, start["weights"], start["means"], precisions))


def london() -> Problem:
    """Two Poissons for the deaths of the London Times, from (.3, 1, 2.5): Hasselblad (1969), much hidden."""
    rows = np.repeat(np.arange(10.0), DEATHS)[:, None]
    joint = poisson.pmf(rows, [[1.0, 2.5]]) * [0.3, 0.7]
    return Problem(rows, PoissonMixture(2, responsibilities_init=joint / joint.sum(axis=1, keepdims=True)))


def overlapping(n_rows: int) -> Problem:
    """Two Gaussians two standard deviations apart: one hump."""
    rows = np.random.default_rng(0).standard_normal((n_rows, 1))
    rows[: n_rows // 2] += 2.0
    return Problem(rows, _gaussian(2, np.full(2, 0.5), np.array([[-1.0], [3.0]]), np.ones((2, 1, 1))))


def iris() -> Problem:
    """Three Gaussians from K-means; they are soon told apart, so EM is quick."""
    rows: Floats = load_iris(return_X_y=True)[0]
    return Problem(rows, GaussianMixture(3, reg_covar=0.0, init_params="kmeans", random_state=0))


def _gaussian(k: int, weights: Floats, means: Floats, precisions: Floats) -> GaussianMixture:
    start = {"weights_init": weights, "means_init": means, "precisions_init": precisions}
    return GaussianMixture(k, reg_covar=0.0, **start)


QUARTER = (Climber("stepwise", Stepwise(), 0.25),)
HALF = (Climber("squarem", Squarem(), 0.5), Climber("lbfgs", LBFGS()))
SLOW = (
    Climb("London Times, 2 Poissons", london, HALF, 1e-8, 1e-13),
    Climb("one hump, 2,000 x 1, 2 Gaussians", partial(overlapping, 2_000), HALF, 1e-8, 1e-13),
    Climb("iris, 3 Gaussians, full", iris, HALF, 1e-8, 1e-13),
)
CLIMBS = (
    *(
        Climb(
            f"1,000,000 x 8, 8 Gaussians, full, seed {seed}", partial(large, 1_000_000, seed), QUARTER, 1e-3, 1e-6, 0.25
        )
        for seed in range(3)
    ),
    *SLOW,
)
QUICK = (Climb("50,000 x 8, 8 Gaussians, full", partial(large, 50_000), QUARTER, 1e-3, 1e-6, 0.25), *SLOW)
