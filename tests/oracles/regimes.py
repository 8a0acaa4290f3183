"""Chains of three states that last, with emissions of every family, and a start that all tests of them share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracles.chains import Chain
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.chains.model.probability_table import Stochastic, left_right
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.compound import Compound
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.family import hold
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams

Floats = NDArray[np.float64]
LENGTHS = [40, 1, 25, 60, 34]
START = np.array([0.5, 0.3, 0.2])
STEPS = np.array([[0.6, 0.2, 0.2], [0.3, 0.5, 0.2], [0.25, 0.25, 0.5]])
TRUE_STEPS = np.array([[0.9, 0.08, 0.02], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
MEANS = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 4.0]])


def regimes(lengths: list[int] = LENGTHS, seed: int = 12) -> tuple[Floats, Floats]:
    """Rows of three states that last, and counts of the same states."""
    random, states, rows = np.random.default_rng(seed), [], []
    for length in lengths:
        state = int(random.integers(3))
        for _ in range(length):
            states.append(state)
            rows.append(MEANS[state] + random.normal(size=2) @ np.array([[1.0, 0.3], [0.0, 0.8]]))
            state = int(random.choice(3, p=TRUE_STEPS[state]))
    counts = random.poisson(np.array([2.0, 8.0, 20.0])[states])
    return np.array(rows), counts[:, None].astype(np.float64)


ROWS, COUNTS = regimes()
CODES = np.minimum(COUNTS // 4, 4)


def chain(family: Any, emissions: Any, rows: Floats, lengths: list[int] = LENGTHS, **settings_: Any) -> Chain:
    """Sequences from the start that all tests here share."""
    shift = rows.mean(axis=0) if family.framed and not isinstance(family, Product) else np.zeros(rows.shape[1])
    model = HiddenMarkov(family, 3, shift, **settings_)
    params = MarkovParams(START, STEPS, family.located(emissions, -shift))
    return Chain(model, params, rows, np.array(lengths, dtype=np.intp), lambda row, state: 0.0)


def gaussian(rows: Floats = ROWS, lengths: list[int] = LENGTHS, **settings_: Any) -> Chain:
    means = np.array([[0.5, 0.5], [2.0, 0.0], [-1.0, 3.0]])
    emissions = GaussianParams(means, np.tile(np.eye(2), (3, 1, 1)), np.zeros((3, 2)))
    return chain(Gaussian(Full(), 0.0), emissions, rows, lengths, **settings_)


def poisson(**settings_: Any) -> Chain:
    return chain(Poisson(), PoissonParams(np.array([[1.0], [5.0], [15.0]])), COUNTS, **settings_)


def categorical(**settings_: Any) -> Chain:
    table = np.array([[0.6, 0.2, 0.1, 0.05, 0.05], [0.2, 0.3, 0.3, 0.1, 0.1], [0.05, 0.05, 0.1, 0.2, 0.6]])
    return chain(Categorical((5,)), CategoricalParams(table), CODES, **settings_)


def bernoulli(**settings_: Any) -> Chain:
    yes = np.array([[0.2, 0.3], [0.6, 0.4], [0.9, 0.8]])
    return chain(Bernoulli(), BernoulliParams(yes), np.column_stack([COUNTS > 5, ROWS > 1.5])[:, :2] * 1.0, **settings_)


def student() -> Chain:
    emissions = StudentParams(MEANS, np.tile(np.eye(2), (3, 1, 1)), np.full(3, 5.0), np.zeros((3, 2)))
    return chain(Student(Full(), 0.0), emissions, ROWS)


def mixed(**settings_: Any) -> Chain:
    parts = (gaussian().params.emissions, PoissonParams(np.array([[1.0], [5.0], [15.0]])))
    located = Gaussian(Full(), 0.0).located(parts[0], ROWS.mean(axis=0))
    family = Product(((Gaussian(Full(), 0.0), (0, 1)), (Poisson(), (2,))))
    return chain(family, ProductParams((located, parts[1])), np.hstack([ROWS, COUNTS]), **settings_)


def holes() -> Chain:
    random = np.random.default_rng(3)
    rows = np.where(random.random(ROWS.shape) < 0.2, np.nan, ROWS)
    shift = gaussian().model.shift
    return replace(gaussian(), rows=rows, model=replace(gaussian().model, shift=shift))


def compound() -> Chain:
    """A mixture of two in each state."""
    start = np.random.default_rng(0).dirichlet(np.ones(3), size=len(ROWS))
    one = gaussian()
    model = replace(one.model, family=Compound(Gaussian(Full(), 1e-6), 2))
    return replace(one, model=model, params=model.first(model.gather(one.block(), start.T)))


def held() -> Chain:
    """Rates of one state that stay as they are."""
    one = poisson()
    return replace(one, model=replace(one.model, family=hold(Poisson(), rates=np.array([[True], [False], [False]]))))


def mixed_holes(**settings_: Any) -> Chain:
    one = mixed(**settings_)
    return replace(one, rows=np.where(np.random.default_rng(4).random(one.rows.shape) < 0.3, np.nan, one.rows))


CHAINS = {
    "gaussian": gaussian(),
    "holes": holes(),
    "poisson": poisson(),
    "categorical": categorical(),
    "bernoulli": bernoulli(),
    "student": student(),
    "mixed": mixed(),
    "mixed holes": mixed_holes(),
    "compound": compound(),
    "held": held(),
    "left-right": gaussian(transition_rule=Stochastic(allowed=left_right(3))),
    "prior": poisson(start_rule=Stochastic(concentration=2.0), transition_rule=Stochastic(concentration=1.5)),
    "tied": categorical(transition_rule=Stochastic(tied=np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]))),
}


def started(name: str) -> Chain:
    """A chain whose start obeys its own rules."""
    one = CHAINS[name]
    rules = one.model.start_rule, one.model.transition_rule
    start, transition = rules[0].first(10 * one.params.start), rules[1].first(10 * one.params.transition)
    return replace(one, params=replace(one.params, start=start, transition=transition))
