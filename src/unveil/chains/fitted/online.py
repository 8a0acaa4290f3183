"""One more observation at a time: what is known of the state after it, given what was known before."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from unveil.chains.fitted.belief import Belief, belief_of
from unveil.chains.fitted.block_functions import FilterStates
from unveil.chains.fitted.chain import FittedChain
from unveil.chains.model.model import MarkovPlan, log
from unveil.core.arrays import Floats
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences


def step(chain: FittedChain, observation: Sequences, state: Any) -> Belief:
    """The belief after a sequence of one step, given one of before or none."""
    before = None if state is None else belief_of("state", state, chain.model.n_components, chain.name)
    with single_threaded_blas():
        scores = FilterStates(chain.model, chain.plan).scores(next(iter(observation.read())))
        return advanced(chain.plan, scores, before, chain.name)


def observation(estimator: Any, x: Any) -> Sequences:
    """What a user hands to an estimator as one observation, checked, as a sequence of one step."""
    if hasattr(x, "columns"):
        source: Sequences = estimator._sequences(x, reset=False)
        if source.n_rows != 1:
            raise ValueError(f"x must be one observation, got {source.n_rows} rows")
        return source
    names = getattr(estimator, "feature_names_in_", None)
    row = _one_row(_in_order(x, names))
    if names is not None and not isinstance(row, ArraySource):
        estimator = copy(estimator)  # a row of words, too, may come without the names of its columns
        delattr(estimator, "feature_names_in_")
    found: Sequences = estimator._sequences(row, reset=False)
    return found


def _in_order(x: Any, names: Any) -> Any:
    """The cells of an observation that says the names of its columns (a mapping, a row of a frame), in order."""
    if not isinstance(x, Mapping) and not (hasattr(x, "index") and hasattr(x, "to_frame")):
        return x
    said = list(x.keys())
    if names is None or all(isinstance(name, int) for name in said):
        return list(x.values()) if isinstance(x, Mapping) else x.tolist()
    if sorted(map(str, said)) != sorted(names):
        raise ValueError(f"x must have the columns {list(names)}, got {said}")
    return [x[name] for name in names]


def _one_row(x: Any) -> Any:
    """An observation as a table of one row; words among numbers stay words.

    Numbers come as a source, which takes much less looking at than an array does.
    """
    plain = not isinstance(x, list | tuple) or not any(isinstance(cell, str) or cell is None for cell in x)
    cells = np.asarray(x, dtype=None if plain else object)
    if cells.ndim > 2 or (cells.ndim == 2 and len(cells) != 1) or not cells.size:
        raise ValueError(f"x must be one observation, got an array of shape {cells.shape}")
    row = cells.reshape(1, -1)
    return ArraySource(row.astype(np.float64)) if cells.dtype.kind in "fiu" else row


def advanced(plan: MarkovPlan, scores: Floats, before: Belief | None, model: str) -> Belief:
    """The belief after one more row of scores, in logarithms all the way: nothing underflows, however unlikely."""
    past, steps = (0.0, 0) if before is None else (before.log_likelihood, before.steps)
    prior = plan.log_start if before is None else _log_sums(before.log_probabilities[:, None] + plan.log_transition)
    joint = scores[0] + prior
    gain = float(_log_sums(joint[:, None])[0])
    return Belief(joint - gain if gain > -np.inf else joint, past + gain, steps + 1, model)


def _log_sums(logs: Floats) -> Floats:
    """log sum exp of each column."""
    peaks = logs.max(axis=0)
    base = np.where(peaks > -np.inf, peaks, 0.0)
    return base + log(np.exp(logs - base).sum(axis=0))
