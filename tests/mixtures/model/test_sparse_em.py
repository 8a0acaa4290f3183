"""Sparse EM against brute force: q held row by row, its free energy summed over every row and component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from unveil.core.protocols import Block
from unveil.expectations import Exact, Sparse
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.covariance.structure import Diagonal, Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.student import Student
from unveil.mixtures.model.model import Mixture, MixtureParams

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
K, N = 5, 400
GROUPS = random.integers(K, size=N)
CENTRES = random.normal(size=(K, 2)) * 3
NUMBERS = random.normal(size=(N, 2)) + CENTRES[GROUPS]
HOLES = np.where(random.random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)
COUNTS = random.poisson(np.exp(0.4 * CENTRES[GROUPS] + 1.0)).astype(np.float64)
ANSWERS = (NUMBERS > 0).astype(np.float64)
NARROW = NUMBERS * 1e-4 + 40.0 * CENTRES[GROUPS]  # components with frames of their own
SHARES = random.integers(0, 3, N).astype(np.float64)


def gaussians(structure: Any, means: Floats, variance: float = 1.5) -> tuple[Mixture, MixtureParams]:
    covariances = np.tile(np.eye(2) * variance, (K, 1, 1)) if isinstance(structure, Full) else np.full((K, 2), variance)
    params = GaussianParams(means, covariances, np.zeros((K, 2)))
    return Mixture(Gaussian(structure, 0.0), K, np.zeros(2), False), MixtureParams(np.full(K, 1 / K), params)


def first(model: Mixture, rows: Floats) -> MixtureParams:
    q = np.random.default_rng(1).dirichlet(np.ones(K) * 0.3, N).T
    return model.first(model.gather(Block(0, 0, rows), np.ascontiguousarray(q)))


CASES: dict[str, tuple[Mixture, MixtureParams, Floats]] = {
    "full": (*gaussians(Full(), CENTRES + 0.5), NUMBERS),
    "diagonal": (*gaussians(Diagonal(), CENTRES + 0.5), NUMBERS),
    "holes": (*gaussians(Full(), CENTRES + 0.5), HOLES),
    "narrow": (*gaussians(Full(), 40.0 * CENTRES, 1e-3), NARROW),
    "poisson": (
        Mixture(Poisson(), K, np.zeros(2), False),
        MixtureParams(np.full(K, 1 / K), PoissonParams(np.exp(0.3 * CENTRES + 1.0))),
        COUNTS,
    ),
    "bernoulli": (
        Mixture(Bernoulli(), K, np.zeros(2), False),
        MixtureParams(np.full(K, 1 / K), BernoulliParams(0.1 + 0.8 * random.random((K, 2)))),
        ANSWERS,
    ),
}


@dataclass
class Oracle:
    """q of every row, as the theory has it."""

    model: Mixture
    rows: Floats
    active: int
    q: Floats | None = None
    lists: NDArray[np.bool_] | None = None  # (rows, components)

    def step(self, params: MixtureParams, fresh: bool) -> Floats:
        joint = self.model.log_joint(self.model.prepare(params), Block(0, 0, self.rows))
        if fresh or self.q is None or self.lists is None:
            self.q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
            ranks = np.argsort(np.argsort(-joint, axis=1, kind="stable"), axis=1)
            self.lists = ranks < self.active
            return joint
        inside = np.where(self.lists, joint, -np.inf)
        mass = np.where(self.lists, self.q, 0.0).sum(axis=1, keepdims=True)
        self.q = np.where(self.lists, mass * np.exp(inside - logsumexp(inside, axis=1, keepdims=True)), self.q)
        return joint

    def bound(self, joint: Floats, weights: Floats) -> float:
        assert self.q is not None
        held = self.q > 0
        terms = np.where(held, self.q * (np.where(held, joint, 0.0) - np.log(np.where(held, self.q, 1.0))), 0.0)
        return float(weights @ terms.sum(axis=1))


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "holes"])
@pytest.mark.parametrize("active", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_free_energy_is_exact_at_every_pass_and_never_falls(kind: str, active: int, weighted: bool) -> None:
    model, params, rows = CASES[kind]
    weights = SHARES if weighted else None
    counted = np.ones(N) if weights is None else weights
    params = model.recentre(params)
    block, memo, expectation = Block(0, 0, rows, weights), None, Sparse(active, refresh=4)
    oracle, path = Oracle(model, rows, min(active, K)), []
    for number in range(9):
        statistics, memo = model.expect(model.prepare(params), block, expectation, memo, np.random.default_rng)
        joint = oracle.step(params, number % 4 == 0)
        assert oracle.q is not None
        bound = oracle.bound(joint, counted)
        assert float(statistics["free_energy"]) == pytest.approx(bound, rel=1e-9)
        assert float(statistics["free_energy"]) <= counted @ logsumexp(joint, axis=1) + 1e-7
        np.testing.assert_allclose(statistics["moments"][:, 0], counted @ oracle.q, rtol=1e-7, atol=1e-7)
        path.append(bound)
        params = model.maximise(statistics, params)
    assert np.all(np.diff(path) >= -1e-9 * np.abs(path[:-1]))


def test_missing_cells() -> None:
    """What is hidden there are the cells too, so the bound between refreshes is below that of the oracle."""
    model, params, rows = CASES["holes"]
    block, memo, expectation, path = Block(0, 0, rows, SHARES), None, Sparse(2, refresh=3), []
    for number in range(10):
        plan = model.prepare(params)
        statistics, memo = model.expect(plan, block, expectation, memo, np.random.default_rng)
        exact, _ = model.expect(plan, block, Exact(), None, np.random.default_rng)
        log_likelihood = float(exact["log_likelihood"])
        path.append(float(statistics["free_energy"]))
        assert path[-1] <= log_likelihood + 1e-8
        if number % 3 == 0:
            assert path[-1] == pytest.approx(log_likelihood, rel=1e-12)
            np.testing.assert_allclose(statistics["moments"], exact["moments"], rtol=1e-9, atol=1e-9)
        params = model.maximise(statistics, params)
    assert np.all(np.diff(path) >= -1e-9 * np.abs(path[:-1]))


def test_a_frame_that_moved_calls_for_a_refresh() -> None:
    model, params, rows = CASES["narrow"]
    block, expectation = Block(0, 0, rows), Sparse(2, refresh=100)
    params = model.recentre(params)
    _, memo = model.expect(model.prepare(params), block, expectation, None, np.random.default_rng)
    _, memo = model.expect(model.prepare(params), block, expectation, memo, np.random.default_rng)
    assert memo.lists.age == 1
    moved = GaussianParams(params.components.means, params.components.covariances, params.components.origins + 1e-3)
    elsewhere = MixtureParams(params.weights, moved)
    _, memo = model.expect(model.prepare(elsewhere), block, expectation, memo, np.random.default_rng)
    assert memo.lists.age == 0


def test_a_scale_mixture_keeps_its_bound() -> None:
    """Student's t has a hidden scale besides: the bound is below the log-likelihood, and never falls."""
    model = Mixture(Student(Full(), 0.0, 4.0), K, np.zeros(2), False)
    params, memo, path = first(model, NUMBERS), None, []
    for _ in range(12):
        plan = model.prepare(params)
        statistics, memo = model.expect(plan, Block(0, 0, NUMBERS), Sparse(2, 4), memo, np.random.default_rng)
        exact, _ = model.expect(plan, Block(0, 0, NUMBERS), Exact(), None, np.random.default_rng)
        path.append(float(statistics["free_energy"]))
        assert path[-1] <= float(exact["log_likelihood"]) + 1e-8
        params = model.maximise(statistics, params)
    assert np.all(np.diff(path) >= -1e-9 * np.abs(path[:-1]))


def test_frozen_moments_are_what_lies_off_the_lists() -> None:
    model, params, rows = CASES["full"]
    plan = model.prepare(params)
    _, memo = model.expect(plan, Block(0, 0, rows), Sparse(2), None, np.random.default_rng)
    joint = model.log_joint(plan, Block(0, 0, rows))
    q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    off = np.argsort(np.argsort(-joint, axis=1), axis=1) >= 2
    expected = model.gather_under(plan, Block(0, 0, rows), np.ascontiguousarray(np.where(off, q, 0.0).T))
    np.testing.assert_allclose(memo.lists.moments, expected["moments"], rtol=1e-9, atol=1e-9)
