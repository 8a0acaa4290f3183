"""The face that all hidden Markov models share: check the input, assemble the parts, run the loop, set attributes.

    p(x, s) = startprob[s_1] p(x_1 | s_1)  product over t of  transmat[s_t-1, s_t] p(x_t | s_t)

EM on a chain is known as Baum-Welch: the E step runs forward and backward over each sequence, the M step counts. What
differs between these models is the family of their emissions and how its parameters are shown; both are abstract here.
What a fitted model is used for is `unveil.chains.fitted.methods`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from unveil.chains.description import Modelled, Tables
from unveil.chains.fitted.methods import ChainMethods
from unveil.chains.input import as_sequences, handed, joined_weights, lengths_of, rows_of
from unveil.chains.model.constraints import (
    allowed_steps,
    first_states,
    is_ordered,
    probabilities,
    start_rule,
    transition_rule,
)
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.chains.starts import (
    FREE,
    LABELLED,
    ORDERED,
    PLACED,
    STARTS,
    Search,
    first_params,
    occupancy,
    sample_of,
    short_runs,
    starts,
    supported,
)
from unveil.core.arrays import Floats
from unveil.core.loop import BoundChange, ExpectationStep, Parts, best_of, check_allowed, fit
from unveil.core.protocols import Schedule, Source
from unveil.core.result import Fit, State
from unveil.core.statistics import Statistics
from unveil.estimation.base import Estimator, engine_for, seed_of
from unveil.estimation.input import as_source, frame_of
from unveil.estimation.partial_fit import Stream, feed, resumable
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES, resolve
from unveil.estimation.stationarity import stationarity
from unveil.expectations import Annealed, Exact
from unveil.numerics.blas import single_threaded_blas
from unveil.schedules import Batch
from unveil.sources.sequences import Sequences

COOLER = {"annealed": Annealed(0.85)}  # what a word means for chains: neighbours count too, so states melt sooner
ZEROS = "see transitions, startprob_init, transmat_init and what is given of the emissions"


@dataclass(frozen=True)
class PossibleChange(BoundChange):
    """Stop as ever, and where nothing can come of going on: a chain that is impossible stays so."""

    def __call__(self, before: State, after: State) -> bool:
        """Whether to stop."""
        never = before.record.log_likelihood == after.record.log_likelihood == -np.inf
        return never or super().__call__(before, after)


class HMMEstimator(Estimator, Modelled, ChainMethods, DensityMixin, BaseEstimator):
    """Hidden Markov models with emissions of any family."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "transitions": [str, tuple, "array-like"],
        "fixed": [dict, None],
        "tied": [dict, None],
        "startprob_init": ["array-like", None],
        "transmat_init": ["array-like", None],
        "startprob_prior": [Interval(Real, 1.0, None, closed="left"), "array-like", None],
        "transmat_prior": [Interval(Real, 1.0, None, closed="left"), "array-like", None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"auto", *STARTS})],
        "algorithm": [StrOptions({"viterbi", "map"})],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions({"auto", "threads", "dask"}), HasMethods("map_reduce")],
        "schedule": [StrOptions(set(SCHEDULES)), HasMethods("sweep")],
        "expectation": [StrOptions(set(EXPECTATIONS)), HasMethods("responsibilities")],
    }

    def _learn(self, source: Source) -> None:
        """Set what the family needs to know of the data before a fit."""

    # -- input ---------------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """The rows of a table as the family takes them."""
        return as_source(self, X, sample_weight, reset=reset, min_rows=min_rows, missing=self._takes_missing)

    def _sequences(
        self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None, *, reset: bool
    ) -> Sequences:
        """What the user hands in for prediction, checked; scikit-learn's labels in second place are ignored."""
        if not reset:
            self._settle()
        return self._taken(X, lengths, None, sample_weight, sequence_weight, reset=reset)

    def _taken(
        self, X: Any, y: Any, lengths: Any, sample_weight: Any, sequence_weight: Any, *, reset: bool
    ) -> Sequences:
        """What the user hands in, checked, as sequences."""
        table, found = handed(X)
        source = self._source(table, joined_weights(sample_weight), reset=reset)
        return as_sequences(source, found, lengths_of(y, lengths, source.n_rows), sequence_weight)

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> Any:
        """Fit by EM (Baum-Welch).

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features), or a list of sequences
            The steps of all sequences, one after the other. In a list each array or frame is a sequence; one of a
            single dimension has one column.
        y : array-like, optional
            `fit(X, lengths)` is understood, as in hmmlearn: integers that sum to the number of rows are lengths. Other
            arrays with an entry for each row, which scikit-learn's tools may hand over, are ignored.
        lengths : array-like of int, optional
            How many steps each sequence has; by default `X` is one sequence.
        sample_weight : array-like of shape (n_samples,), optional
            How often the observation of each step counts; 0 is a step of which nothing was seen.
        sequence_weight : array-like of shape (n_sequences,), optional
            How often each sequence counts: weight 3 equals the sequence three times, weight 0 equals no sequence.

        Returns
        -------
        self
        """
        self._validate_params()
        with single_threaded_blas():
            source = self._taken(X, y, lengths, sample_weight, sequence_weight, reset=True)
            self._check_rules()
            self._learn(rows_of(source))
            stream, figures = self._climb(source)
            self._adopt(stream, figures)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> Any:
        """Learn from one more batch of sequences, by stepwise EM.

        The first batch chooses the start. Step sizes follow ``schedule`` if it is a ``Stepwise``, or else its defaults.
        """
        self._validate_params()
        fresh = not hasattr(self, "_stream")
        if not fresh and not self._suits_chain(self._stream.params):
            raise ValueError("n_components or the emissions were changed since partial_fit began: call fit anew")
        with single_threaded_blas():
            source = self._taken(X, y, lengths, sample_weight, sequence_weight, reset=fresh)
            if fresh:
                self._check_rules()
                self._learn(rows_of(source))
                self.random_seed_ = seed_of(self.random_state)
                model = self._model(self._frame(source))
                start = next(self._start_params(model, source))
                self._stream = Stream(model.shift, start, np.arange(self.n_components))
            self._adopt(feed(self._stream, self._parts(self._model(self._stream.shift), source)))
        return self

    def score(  # type: ignore[override]
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> float:
        """Log-likelihood of all sequences: the sum over them, as in hmmlearn, not the mean over rows.

        Parameters are those of `fit`; `score(X, lengths)` is understood too.
        """
        return super().score(X, y if lengths is None else lengths, sample_weight, sequence_weight)

    def _frame(self, source: Sequences) -> Floats:
        """The shift of the frame: zero in columns that may not be shifted."""
        middle = frame_of(rows_of(source))  # which refuses a column of which nothing is seen
        return np.where(self._bare_family().framing(source.n_columns), middle, 0.0)

    def _parts(self, model: HiddenMarkov, source: Sequences) -> Parts:
        schedule: Schedule = resolve("schedule", self.schedule, SCHEDULES, "sweep")
        asked = (
            COOLER.get(self.expectation, self.expectation) if isinstance(self.expectation, str) else self.expectation
        )
        return Parts(
            model.suited_to(source.n_rows),
            source,
            resolve("expectation", asked, EXPECTATIONS, "responsibilities"),
            schedule,
            engine_for(self.engine, source),
            PossibleChange(self.tol),
            self.max_iter,
            self.random_seed_,
            self._callbacks_for(source, self.verbose_interval),
        )

    # -- the climb -----------------------------------------------------------------------------------------------------

    def _climb(self, source: Sequences) -> tuple[Stream, Mapping[str, float]]:
        """All starts, each to its end; the best of them, with its states in canonical order."""
        self.random_seed_ = seed_of(self.random_state)
        model = self._model(self._frame(source))
        recalled = self._recalled(model.shift)
        parts = self._parts(model, source)
        check_allowed(parts)  # before any start is run
        begin = self._start_params(model, source) if recalled is None else iter([recalled])
        outcome = best_of((partial(fit, parts, params) for params in begin), partial(supported, model))
        if outcome.history and outcome.history[-1].log_likelihood == -np.inf:
            raise ValueError(f"X holds a sequence that has no chance, since probabilities of 0 rule it out: {ZEROS}")
        if recalled is None and self._starts_short(model.shift):
            outcome = outcome.noting("tried", self._search().total(self.n_components, self.n_init))
        kept = recalled is not None or self._keeps_order() or not outcome.history
        shares = occupancy(outcome.statistics) if not kept else np.zeros(self.n_components)
        order = np.argsort(-shares, kind="stable")
        return resumable(outcome, model.shift, order), self._figures(parts, outcome)

    def _recalled(self, shift: Floats) -> MarkovParams | None:
        """Where a warm start goes on: at the attributes, whether a fit or the user set them."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        if hasattr(self, "history_") and not (hasattr(self, "_stream") and self._suits_chain(self._stream.params)):
            return None  # what was fitted before was another model
        params = replace(self._fitted()[1], emissions=self._recall(shift))
        if not self._suits_chain(params):
            raise ValueError(
                "warm_start=True goes on from the attributes, but those set are not of the shapes asked for"
            )
        return params

    def _keeps_order(self) -> bool:
        """Whether the order of the states means something: it is given, or masks tell the states apart."""
        given = (self.startprob_init, self.transmat_init, *self._inits().values())
        constrained = allowed_steps(self.transitions, self.n_components) is not None or self.fixed or self.tied
        return bool(constrained) or any(one is not None for one in given)

    def _inits(self) -> Tables:
        """What the user gave as a start of the emissions, as it came."""
        return {name: getattr(self, f"{name}_init", None) for name in self._emissions}

    def _search(self) -> Search:
        """Which starts are tried."""
        allowed = allowed_steps(self.transitions, self.n_components)
        if any(one is not None for one in self._inits().values()):
            return Search(PLACED, follows=True)
        if is_ordered(allowed):
            return Search(ORDERED)
        return Search(LABELLED, renamed=True) if self._keeps_order() else Search(FREE)

    def _starts_short(self, shift: Floats) -> bool:
        """Whether the starts are the best of short runs: nobody said where to begin, and there are optima to miss."""
        return self.init_params == "auto" and self.n_components > 1 and not self._is_complete(shift)

    def _is_complete(self, shift: Floats) -> bool:
        """Whether all of the start is given."""
        given = (self.startprob_init, self.transmat_init, *self._given(shift).values())
        return all(one is not None for one in given)

    def _start_params(self, model: HiddenMarkov, source: Sequences) -> Iterator[MarkovParams]:
        """First parameters, one set per start, with the given parts in place."""
        finish = partial(self._finished, shift=model.shift)
        if self._is_complete(model.shift):
            k = self.n_components
            yield finish(MarkovParams(np.full(k, 1.0 / k), np.full((k, k), 1.0 / k), None))
            return
        if source.n_rows < self.n_components:
            got = f"n_components = {self.n_components}, n_samples = {source.n_rows}"
            raise ValueError(f"Expected n_samples >= n_components but got {got}")
        search, seed = self._search(), self.random_seed_
        sample = sample_of(model, source, seed, whole=search.kinds is ORDERED)
        if self.init_params == "auto":
            yield from short_runs(sample, search, seed, self.n_init, finish)
            return
        engine = engine_for(self.engine, source)
        for start in starts(self.init_params, sample, seed, self.n_init, finish):
            yield first_params(sample, sample.first(start, engine, source), search, finish)

    def _finished(self, params: MarkovParams, shift: Floats) -> MarkovParams:
        """`params` with what the user gave in place."""
        k, allowed = self.n_components, allowed_steps(self.transitions, self.n_components)
        start = probabilities("startprob_init", self.startprob_init, (k,), first_states(self.transitions, k))
        transition = probabilities("transmat_init", self.transmat_init, (k, k), allowed)
        self._check_tables(start, transition)
        emissions, family = self._placed(params.emissions, self._given(shift)), self._family(shift)
        return MarkovParams(
            params.start if start is None else start,
            params.transition if transition is None else transition,
            family.settled(emissions),  # what is tied is equal
        )

    def _check_tables(self, start: Floats | None, transition: Floats | None) -> None:
        """Refuse tables of a start that are against the rules: entries that are tied and not equal."""
        rules = (self.n_components, self.transitions, self.fixed, self.tied)
        if start is not None:
            start_rule(*rules, self.startprob_prior).check(start, "startprob_init")
        if transition is not None:
            transition_rule(*rules, self.transmat_prior).check(transition, "transmat_init")

    # -- the end -------------------------------------------------------------------------------------------------------

    def _figures(self, parts: Parts, outcome: Fit) -> Mapping[str, float]:
        """What the certificate says of the end of a fit; where q was not the posterior, a pass of it is run."""
        if not outcome.history or not isinstance(parts.model, HiddenMarkov):
            return {}
        if isinstance(parts.schedule, Batch) and parts.expectation.posterior:
            return _figures_of(parts.model, outcome.entered, outcome.statistics)
        return _figures_of(parts.model, outcome.params, _posterior_pass(parts, outcome.params))

    def _adopt(self, stream: Stream, figures: Mapping[str, float] | None = None) -> None:
        """Set the fitted attributes."""
        self._stream = stream
        outcome, params, order = stream.outcome, stream.params, stream.order
        self.startprob_ = params.start[order]
        self.transmat_ = params.transition[np.ix_(order, order)]
        self._show(self._family(stream.shift).taken(params.emissions, order), stream.shift)
        self.lower_bounds_ = [record.objective / record.weight for record in outcome.history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        visits = occupancy(stream.latest)[order] if outcome.history else None
        counted = visits if visits is not None and visits.any() else np.full(len(order), np.nan)
        self.occupancy_ = counted / counted.sum()
        self._report(outcome, visits, figures)

    def _excuse(self) -> str | None:
        """Why the free energy of this fit may fall, if there is a reason."""
        return "a floor held a state back" if self.history_.events.get("floored") else None


def _figures_of(model: HiddenMarkov, params: MarkovParams, statistics: Statistics) -> dict[str, float]:
    """Figures of a fitted chain, by the names that `unveil.certificate.examine` takes.

    `statistics` are those of a pass at `params`. How much the emissions of two states overlap is not among them:
    neighbours tell states apart as well.
    """
    steps_each = float(statistics["weight"]) / max(model.n_parameters(len(model.shift)), 1)
    figures = {
        "stationarity": stationarity(model, params, statistics),
        "observations_per_parameter": steps_each,
        "cells_per_parameter": steps_each * len(model.shift),
    }
    figures = {name: value for name, value in figures.items() if not np.isnan(value)}
    with suppress(np.linalg.LinAlgError):  # parameters that ran away: that is for the history to tell
        figures.update(model.family.health(params.emissions))
    return figures


def _posterior_pass(parts: Parts, params: MarkovParams) -> Statistics:
    """Statistics of all sequences under the posterior."""
    step = ExpectationStep(parts.model, parts.model.prepare(params), Exact(), parts.seed, 0)
    statistics, _ = parts.engine.map_reduce(step, parts.source, None)
    return statistics
