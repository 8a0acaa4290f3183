"""What a fitted mixture does: log-densities, sums, draws, marginals and conditionals, over a frozen `FittedMixture`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from unveil.core.arrays import Array, Floats, Indices
from unveil.core.drive import answer_to
from unveil.core.protocols import Ask, Asking, Block, Memo, Source
from unveil.estimation.base import engine_for
from unveil.estimation.columns import column_number
from unveil.estimation.input import finite_rows
from unveil.expectations import Exact
from unveil.families.base import Family, Tile
from unveil.mixtures.model.model import Mixture, MixtureParams, Plan
from unveil.numerics.blas import single_threaded_blas


@dataclass(frozen=True)
class FittedMixture:
    """A mixture ready for use: the model that attributes describe, its parameters, and what every block needs."""

    model: Mixture
    params: MixtureParams
    plan: Plan


def ready(model: Mixture, params: MixtureParams) -> FittedMixture:
    """A mixture with its plan made."""
    with single_threaded_blas():
        return FittedMixture(model, params, model.prepare(model.recentre(params)))


# -- functions of a block, as engines take them ------------------------------------------------------------------------


@dataclass(frozen=True)
class LogJoint:
    """log p(x, s) of a block."""

    fitted: FittedMixture

    def __call__(self, block: Block) -> Floats:
        """(rows, components)."""
        finite_rows(block, missing=self.fitted.model.family.takes_missing)
        return self.fitted.model.log_joint(self.fitted.plan, block)


@dataclass(frozen=True)
class FilledIn:
    """A block with its missing cells filled in."""

    fitted: FittedMixture

    def __call__(self, block: Block) -> Floats:
        """(rows, columns); cells that are there stay as they are, to the last bit."""
        finite_rows(block, missing=True)
        completed = self.fitted.model.complete(self.fitted.plan, block, Exact())
        return np.where(np.isnan(block.rows), completed, block.rows)


class DensityTotals(NamedTuple):
    """Log-density, log-probability of the likeliest component, and weight, summed over rows."""

    log_likelihood: float
    sure: float
    weight: float


@dataclass(frozen=True)
class DensitySums:
    """`DensityTotals` of a block."""

    fitted: FittedMixture

    def __call__(self, block: Block) -> tuple[float, float, float]:
        """The three sums; rows without weight take no part, however unlikely they are."""
        joint = LogJoint(self.fitted)(block)
        scores = logsumexp(joint, axis=1)
        weights = np.ones(len(scores)) if block.weights is None else block.weights
        sure = np.max(joint, axis=1) - scores
        counted = weights > 0
        return (
            float(weights @ np.where(counted, scores, 0.0)),
            float(weights @ np.where(counted, sure, 0.0)),
            float(weights.sum()),
        )


@dataclass(frozen=True)
class OfEachBlock:
    """A function of a block as a step of a pass: what was found of each block, in order, adds up to a tuple."""

    function: Callable[[Block], Any]

    def __call__(self, block: Block, memo: Memo) -> tuple[Any, Memo]:
        """What was found of one."""
        return (self.function(block),), None


# -- rows --------------------------------------------------------------------------------------------------------------


def each_block(function: Callable[[Block], Any], source: Source, engine: Any) -> Iterator[Any]:
    """A function of every block, in order, on the engine."""
    with single_threaded_blas():
        yield from engine_for(engine, source).map(function, source)


def map_rows(fitted: FittedMixture, source: Source, engine: Any, finish: Callable[[Floats], Array]) -> Array:
    """`finish` of log p(x, s) for all rows."""
    return np.concatenate([finish(joint) for joint in each_block(LogJoint(fitted), source, engine)])


def likeliest(joint: Floats) -> Array:
    """The likeliest component of each row."""
    return np.argmax(joint, axis=1)


def posterior(joint: Floats) -> Array:
    """Probability of each component given the row."""
    return np.asarray(softmax(joint, axis=1))


def log_density(joint: Floats) -> Array:
    """Log-density of each row."""
    return np.asarray(logsumexp(joint, axis=1))


def summing(fitted: FittedMixture, source: Source, engine: Any) -> Asking[DensityTotals]:
    """Sums over all rows, asked for along with what others ask of them."""
    found = yield from answer_to(Ask(engine_for(engine, source), source, OfEachBlock(DensitySums(fitted))))
    return DensityTotals(*map(float, np.array(found).sum(axis=0)))


def draw(fitted: FittedMixture, n_samples: Any, random: np.random.RandomState) -> tuple[Floats, Indices]:
    """Rows drawn from the mixture, and the components they came from."""
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
    model, params = fitted.model, fitted.params
    counts = random.multinomial(int(n_samples), params.weights / params.weights.sum())
    drawn = [model.family.draw(params.components, c, int(count), random) for c, count in enumerate(counts)]
    return np.concatenate(drawn) + model.shift, np.repeat(np.arange(len(counts)), counts)


# -- other mixtures ----------------------------------------------------------------------------------------------------


def marginal(fitted: FittedMixture, columns: Indices) -> tuple[Family, MixtureParams]:
    """The mixture of some of the columns."""
    family, components = fitted.model.family.marginal(fitted.params.components, columns)
    return family, MixtureParams(fitted.params.weights, components)


def conditional(fitted: FittedMixture, columns: Indices, values: Floats) -> tuple[Family, MixtureParams]:
    """The mixture of the other columns where the values of `columns` are known, which lie in the frame."""
    model, params = fitted.model, fitted.params
    family, components = model.family.conditional(params.components, columns, values)
    return family, MixtureParams(_weights_given(model, params, columns, values), components)


def _weights_given(model: Mixture, params: MixtureParams, columns: Indices, values: Floats) -> Floats:
    """Weights of the components given the values of some columns."""
    family, components = model.family.marginal(params.components, columns)
    tile = Tile(values[:, None], np.empty((len(params.weights), 1)))
    family.score(family.plan(components), tile)
    with np.errstate(divide="ignore"):
        weights: Floats = softmax(tile.logits[:, 0] + np.log(params.weights))
    return weights


def chosen_columns(estimator: Any, columns: Any) -> Indices:
    """Numbers of some columns, each once."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(f"columns must be a list of names or numbers, got {columns!r}")
    chosen = np.array([column_number(estimator, one) for one in columns], dtype=np.intp)
    if not len(chosen) or len(set(chosen.tolist())) < len(chosen):
        raise ValueError(f"columns must name at least one column, and each once, got {columns!r}")
    return chosen
