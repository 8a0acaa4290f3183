"""What a fitted mixture does: log-densities, sums, draws, marginals and conditionals, over a frozen `FittedMixture`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from unveil.core.arrays import Array, Floats, Indices
from unveil.core.drive import answer_to
from unveil.core.protocols import Ask, Asking, Block, Source
from unveil.core.steps import OfEachBlock
from unveil.estimation.base import engine_for
from unveil.estimation.columns import column_number
from unveil.estimation.input import finite_rows
from unveil.estimation.plain_rows import PlainRows, block_at_hand
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
    plain: PlainRows | None = None  # arrays that it takes without a closer look


def ready(model: Mixture, params: MixtureParams, plain: PlainRows | None = None) -> FittedMixture:
    """A mixture with its plan made."""
    with single_threaded_blas():
        return FittedMixture(model, params, model.prepare(model.recentre(params)), plain)


# -- questions: functions of log p(x, s) (components, rows) of a tile, which they may write to -------------------------


class Question(NamedTuple):
    """What is asked of every row."""

    answer: Callable[[Floats], Array]
    each: bool = False  # is there an answer for every component?
    dtype: type = np.float64
    based: bool = False  # does log h(x) add to it?


def label(joint: Floats) -> Array:
    """The component of greatest probability, the lowest of equals."""
    return np.argmax(joint, axis=0)


def shares(joint: Floats) -> Array:
    """Probability of each component given the row, (rows, components)."""
    joint -= joint.max(axis=0)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=0)
    return joint.T


def log_sum(joint: Floats) -> Floats:
    """log of the sum of exp(joint) over the components."""
    peak = joint.max(axis=0)
    peak = np.where(np.isneginf(peak), 0.0, peak)  # an impossible row
    with np.errstate(divide="ignore"):
        found: Floats = np.log(np.exp(joint - peak).sum(axis=0))
    found += peak
    return found


LIKELIEST = Question(label, dtype=np.intp)
POSTERIOR = Question(shares, each=True)
LOG_DENSITY = Question(log_sum, based=True)


# -- functions of a block, as engines take them ------------------------------------------------------------------------


@dataclass(frozen=True)
class Answered:
    """What a question says of every row of a block."""

    fitted: FittedMixture
    question: Question

    def __call__(self, block: Block) -> Array:
        """(rows,), or (rows, components)."""
        model, (_, each, dtype, based) = self.fitted.model, self.question
        finite_rows(block, missing=model.family.takes_missing)
        shape = (len(block.rows), model.n_components)
        out = np.empty(shape if each else shape[:1], dtype)
        for tile in model.scored(self.fitted.plan, block):
            out[tile.places] = self.question.answer(tile.logits)
        base = model.log_base(block.rows) if based else None
        return out if base is None else out + base


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
        model = self.fitted.model
        finite_rows(block, missing=model.family.takes_missing)
        scores, sure = np.empty(len(block.rows)), np.empty(len(block.rows))
        for tile in model.scored(self.fitted.plan, block):
            scores[tile.places] = found = log_sum(tile.logits)
            sure[tile.places] = tile.logits.max(axis=0) - found
        base = model.log_base(block.rows)
        scores = scores if base is None else scores + base
        if block.weights is None:
            return float(scores.sum()), float(sure.sum()), float(len(scores))
        weights = block.weights
        counted = weights > 0
        return (
            float(weights @ np.where(counted, scores, 0.0)),
            float(weights @ np.where(counted, sure, 0.0)),
            float(weights.sum()),
        )


# -- rows --------------------------------------------------------------------------------------------------------------


def each_block(function: Callable[[Block], Any], source: Source, engine: Any) -> Iterator[Any]:
    """A function of every block, in order, on the engine."""
    with single_threaded_blas():
        yield from engine_for(engine, source).map(function, source)


def map_rows(fitted: FittedMixture, source: Source, engine: Any, question: Question) -> Array:
    """What a question says of all rows."""
    block = block_at_hand(source, engine)
    if block is not None:
        with single_threaded_blas():
            return Answered(fitted, question)(block)
    found = list(each_block(Answered(fitted, question), source, engine))
    return found[0] if len(found) == 1 else np.concatenate(found)


def sums_at_hand(fitted: FittedMixture, source: Source, engine: Any) -> DensityTotals | None:
    """Sums over all rows where these are a block at hand."""
    block = block_at_hand(source, engine)
    if block is None:
        return None
    with single_threaded_blas():
        return DensityTotals(*DensitySums(fitted)(block))


def summing(fitted: FittedMixture, source: Source, engine: Any) -> Asking[DensityTotals]:
    """Sums over all rows, asked for along with what others ask of them."""
    found = yield from answer_to(Ask(engine_for(engine, source), source, OfEachBlock(DensitySums(fitted))))
    return DensityTotals(*map(float, np.array(found).sum(axis=0)))


def draw(fitted: FittedMixture, n_samples: Any, random: np.random.RandomState) -> tuple[Floats, Indices]:
    """Rows drawn from the mixture, and the components they came from."""
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
    return drawn_rows(fitted.model, fitted.params, int(n_samples), random)


def drawn_rows(
    model: Mixture, params: MixtureParams, count: int, random: np.random.RandomState
) -> tuple[Floats, Indices]:
    """The same of parameters that are not made ready for anything else."""
    counts = random.multinomial(count, params.weights / params.weights.sum())
    drawn = [model.family.draw(params.components, c, int(each), random) for c, each in enumerate(counts)]
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
