"""States as observations come in, without looking ahead or a little ahead, and what is to be expected next."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from unveil.chains.fitted.as_mixture import Description
from unveil.chains.fitted.base import ChainBase, whole_number
from unveil.chains.fitted.belief import Belief, belief_of
from unveil.chains.fitted.block_functions import Filtered, Lagged, Smoothed, lengths_of
from unveil.chains.fitted.forecast import Forecast
from unveil.chains.model.model import MarkovPlan, log
from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences

FARTHEST = 1 << 62  # steps: as good as all


class LastStates(Filtered):
    """Probabilities of the last state of each sequence, given all of it."""

    def __call__(self, block: Block) -> Floats:  # type: ignore[override]
        """(sequences, states)."""
        _, table = super().__call__(block)
        found: Floats = table[np.cumsum(lengths_of(block)) - 1]
        return found


class Online(ChainBase):
    """Mixin: filtering, smoothing with a lag, forecasts."""

    def filter(self, X: Any, lengths: Any = None) -> Floats:
        """Probabilities of the states given the past and the present only, (n_samples, n_components).

        Row t is p(s_t | x_1 ... x_t): what was known at the time, with no look ahead. From a step on
        that is impossible under the model, rows are zeros.
        """
        return np.concatenate([table for _, table in self._each(X, lengths, Filtered)])

    def smooth(self, X: Any, lengths: Any = None, lag: int | None = None) -> Floats:
        """Probabilities of the states given the sequence up to `lag` steps ahead, (n_samples, n_components).

        Parameters
        ----------
        X, lengths
            As in `decode`.
        lag : int, optional
            Row t is p(s_t | x_1 ... x_t+lag), or given all there is where the sequence ends before. 0 is `filter`;
            None, the default, looks at the whole sequence, as `predict_proba` does.
        """
        if lag is None:
            return np.concatenate([table for _, table in self._each(X, lengths, Smoothed)])
        if whole_number("lag", lag, 0) == 0:
            return self.filter(X, lengths)
        return np.concatenate(list(self._each(X, lengths, Lagged, lag=min(int(lag), FARTHEST))))

    def step(self, x: Any, state: Any = None) -> Belief:
        """Take in one more observation: `filter`, one step at a time.

        Parameters
        ----------
        x : array-like of shape (n_features,), mapping of names to cells, table of one row, or a single cell
            The observation; NaN for cells that are missing. What has names is taken by them.
        state : Belief or array of shape (n_components,), optional
            What the last call returned, or None before the first observation. Probabilities of the states serve where
            the parameters have changed since.

        Returns
        -------
        Belief
            Probabilities of the states given all observations so far, their log-density and their number.

        Examples
        --------
        >>> import numpy as np
        >>> from unveil import PoissonHMM
        >>> counts = np.array([1, 0, 2, 9, 8, 11, 1, 0, 1, 9, 12, 10])[:, None]
        >>> model = PoissonHMM(2, random_state=0).fit(counts)
        >>> belief = None
        >>> for count in [1, 0, 10]:
        ...     belief = model.step([count], belief)
        >>> belief.steps, bool(np.allclose(belief.probabilities, model.filter([[1], [0], [10]])[-1]))
        (3, True)
        """
        model, plan, name = self._planned()
        before = None if state is None else belief_of("state", state, model.n_components, name)
        source = self._observation(x)
        with single_threaded_blas():
            scores = Filtered(model, plan).scores(next(iter(source.read())))
            return _advanced(plan, scores, before, name)

    def _observation(self, x: Any) -> Sequences:
        """An observation, checked, as a sequence of one step."""
        if hasattr(x, "columns"):
            source = self._sequences(x, None, reset=False)
            if source.n_rows != 1:
                raise ValueError(f"x must be one observation, got {source.n_rows} rows")
            return source
        names = getattr(self, "feature_names_in_", None)
        row = _one_row(_in_order(x, names))
        if names is None or isinstance(row, ArraySource):
            return self._sequences(row, None, reset=False)
        nameless = copy(self)  # a row of words, too, may come without the names of its columns
        delattr(nameless, "feature_names_in_")
        return nameless._sequences(row, None, reset=False)

    def forecast(self, X: Any, h: int = 1, lengths: Any = None) -> Any:
        """What is to be expected in the `h` steps after a sequence ends.

        Parameters
        ----------
        X : sequences as in `decode`, or Belief
            What was seen so far.
        h : int, default=1
            Number of steps ahead.
        lengths : array-like of int, optional
            Lengths of the sequences, where `X` holds several.

        Returns
        -------
        Forecast
            A distribution for each step from 1 to `h`: probabilities of the states, and the mixture of observations
            that they weigh. For several sequences, a list of forecasts.
        """
        whole_number("h", h, 1)
        model, plan, name = self._planned()
        if isinstance(X, Belief):
            last = belief_of("X", X, model.n_components, name).probabilities[None]
        else:
            last = np.concatenate(list(self._each(X, lengths, LastStates)))
        described = Description.of(self, model, plan.params.emissions)
        found = [Forecast(one, plan.transition, described) for one in _ahead(last, plan.transition, int(h))]
        return found[0] if len(found) == 1 else found


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


def _advanced(plan: MarkovPlan, scores: Floats, before: Belief | None, model: str) -> Belief:
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


def _ahead(last: Floats, transition: Floats, h: int) -> Floats:
    """Probabilities of the states of the next `h` steps of each sequence, (sequences, h, states)."""
    found = np.empty((len(last), h, len(transition)))
    for number in range(h):
        last = found[:, number] = last @ transition
    return found
