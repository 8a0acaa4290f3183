"""Hidden Markov chains by brute force: every path of every sequence, one after the other, and densities as in books."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.loop import ExpectationStep, Parts, fit
from unveil.core.protocols import Block, Expectation, Schedule
from unveil.core.result import Fit, State
from unveil.core.statistics import Statistics
from unveil.engines import Threads
from unveil.expectations import Exact
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.schedules import Batch
from unveil.sources import ArraySource, Sequences

Floats = NDArray[np.float64]
Density = Callable[[Floats, int], float]  # log p(row | state), missing cells left out


@dataclass(frozen=True)
class Chain:
    """A model, parameters, sequences that suit them, and the density of a row as a book has it."""

    model: HiddenMarkov
    params: MarkovParams
    rows: Floats
    lengths: NDArray[np.intp]
    density: Density
    weights: Floats | None = None
    sequence_weights: Floats | None = None

    def block(self) -> Block:
        """All of it as one block."""
        return Block(0, 0, self.rows, self.weights, self.lengths, self.sequence_weights)

    def source(self, enough: int = 2048) -> Sequences:
        """All of it as a source."""
        return Sequences(ArraySource(self.rows, self.weights), self.lengths, self.sequence_weights, enough=enough)


def chances(random: np.random.Generator, k: int) -> tuple[Floats, Floats]:
    """Probabilities of starts and transitions."""
    return random.dirichlet(np.ones(k)), random.dirichlet(np.ones(k), size=k)


def gaussian(random: np.random.Generator, k: int, n_rows: int) -> tuple[Any, Any, Floats, Density]:
    """Two columns, full covariances."""
    roots = np.tril(random.normal(size=(k, 2, 2))) + 1.5 * np.eye(2)
    means, covariances = random.normal(size=(k, 2)), roots @ np.swapaxes(roots, 1, 2)

    def density(row: Floats, state: int) -> float:
        there = ~np.isnan(row)
        part = covariances[state][np.ix_(there, there)]
        return float(stats.multivariate_normal.logpdf(row[there], means[state][there], part)) if there.any() else 0.0

    rows = 1.5 * random.normal(size=(n_rows, 2))
    return Gaussian(reg_covar=0.0), GaussianParams(means, covariances, np.zeros((k, 2))), rows, density


def categorical(random: np.random.Generator, k: int, n_rows: int) -> tuple[Any, Any, Floats, Density]:
    """Columns of three and two levels."""
    tables = [random.dirichlet(np.ones(levels), size=k) for levels in (3, 2)]

    def density(row: Floats, state: int) -> float:
        cells = zip(tables, row, strict=True)
        return float(sum(np.log(table[state, int(x)]) for table, x in cells if not np.isnan(x)))

    rows = np.column_stack([random.integers(0, levels, n_rows) for levels in (3, 2)]).astype(np.float64)
    return Categorical((3, 2)), CategoricalParams(np.hstack(tables)), rows, density


def poisson(random: np.random.Generator, k: int, n_rows: int) -> tuple[Any, Any, Floats, Density]:
    """Two columns of counts."""
    rates = random.gamma(2.0, size=(k, 2)) + 0.1

    def density(row: Floats, state: int) -> float:
        there = ~np.isnan(row)
        return float(stats.poisson.logpmf(row[there], rates[state][there]).sum())

    return Poisson(), PoissonParams(rates), random.poisson(2.0, (n_rows, 2)).astype(np.float64), density


def bernoulli(random: np.random.Generator, k: int, n_rows: int) -> tuple[Any, Any, Floats, Density]:
    """Three columns of yes and no."""
    yes = random.uniform(0.05, 0.95, size=(k, 3))

    def density(row: Floats, state: int) -> float:
        there = ~np.isnan(row)
        return float(stats.bernoulli.logpmf(row[there], yes[state][there]).sum())

    return Bernoulli(), BernoulliParams(yes), random.integers(0, 2, (n_rows, 3)).astype(np.float64), density


FAMILIES = {"gaussian": gaussian, "categorical": categorical, "poisson": poisson, "bernoulli": bernoulli}


def chain_of(
    family: str,
    seed: int,
    lengths: list[int],
    k: int = 3,
    *,
    holes: float = 0.0,
    weighted: bool = False,
    compiled: bool = True,
) -> Chain:
    """Sequences of a family, with a share of missing cells, and weights of steps and sequences some of which are 0."""
    random = np.random.default_rng(seed)
    n_rows = sum(lengths)
    built, emissions, rows, density = FAMILIES[family](random, k, n_rows)
    rows = np.where(random.random(rows.shape) < holes, np.nan, rows)
    if holes and n_rows:
        rows[random.integers(n_rows)] = np.nan  # a step of which nothing is there
    steps = random.choice([0.0, 0.5, 1.0, 2.0], n_rows) if weighted else None
    each = random.choice([0.0, 0.3, 1.0, 2.0], len(lengths)) if weighted else None
    model = HiddenMarkov(built, k, np.zeros(rows.shape[1]), compiled=compiled)
    params = MarkovParams(*chances(random, k), emissions)
    return Chain(model, params, rows, np.array(lengths, dtype=np.intp), density, steps, each)


@dataclass(frozen=True)
class Truth:
    """What enumeration finds; sums with the weights of the sequences."""

    log_likelihoods: Floats  # of each sequence, without its weight
    best: Floats  # joint log-probability of the likeliest path of each
    starts: Floats
    transitions: Floats
    posteriors: Floats  # (rows, k), without any weight
    scores: Floats


def enumerate_paths(chain: Chain, power: float = 1.0) -> Truth:
    """Sums over all paths, each with its probability to some power."""
    k, params = chain.model.n_components, chain.params
    steps = np.ones(len(chain.rows)) if chain.weights is None else chain.weights
    each = np.ones(len(chain.lengths)) if chain.sequence_weights is None else chain.sequence_weights
    scores = np.array([[w * chain.density(x, s) for s in range(k)] for x, w in zip(chain.rows, steps, strict=True)])
    starts, transitions, posteriors = np.zeros(k), np.zeros((k, k)), np.zeros(scores.shape)
    log_likelihoods, best, first = [], [], 0
    with np.errstate(divide="ignore"):
        log_start, log_transition = np.log(params.start), np.log(params.transition)
    for length, weight in zip(chain.lengths, each, strict=True):
        here = scores[first : first + length]
        paths = list(product(range(k), repeat=int(length)))
        heights = np.array([_height(here, log_start, log_transition, path) for path in paths])
        total = float(np.logaddexp.reduce(power * heights))
        for path, share in zip(paths, np.exp(power * heights - total), strict=True):
            starts[path[0]] += weight * share
            for t, state in enumerate(path):
                posteriors[first + t, state] += share
                if t:
                    transitions[path[t - 1], state] += weight * share
        log_likelihoods.append(total)
        best.append(heights.max())
        first += length
    return Truth(np.array(log_likelihoods), np.array(best), starts, transitions, posteriors, scores)


def _height(scores: Floats, log_start: Floats, log_transition: Floats, path: tuple[int, ...]) -> float:
    """log p(x, path)."""
    steps = sum(log_transition[one, other] for one, other in pairwise(path))
    return float(log_start[path[0]] + steps + sum(scores[t, state] for t, state in enumerate(path)))


def expect(
    chain: Chain, expectation: Expectation | None = None, memo: Any = None, params: Any = None, number: int = 0
) -> tuple[Statistics, Any]:
    """Statistics and memo of a chain as one block."""
    plan = chain.model.prepare(chain.params if params is None else params)
    step = ExpectationStep(chain.model, plan, expectation or Exact(), seed=0, number=number)
    return step(chain.block(), memo)


def never(before: State, after: State) -> bool:
    """The stopping rule that never stops."""
    return False


def run(
    chain: Chain,
    expectation: Expectation | None = None,
    schedule: Schedule | None = None,
    engine: Any = None,
    passes: int = 8,
    enough: int = 64,
) -> Fit:
    """The loop on a chain, in blocks of a few sequences."""
    source = chain.source(enough)
    parts = (chain.model, source, expectation or Exact(), schedule or Batch(), engine or Threads(1), never, passes)
    return fit(Parts(*parts), chain.params)
