"""The face that all mixtures share: check the input, assemble the parts, run the loop, set attributes.

What differs between mixtures is their family and how its parameters are shown; both are abstract here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from unveil.clusters.assignment.in_numpy import SMALL
from unveil.core.arrays import Floats
from unveil.core.loop import BoundChange, ExpectationStep, Parts, best_of, check_allowed, fit
from unveil.core.protocols import Block, Engine, Schedule, Source
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.estimation.base import Estimator, engine_for, seed_of
from unveil.estimation.input import as_source, frame_of, sample_of
from unveil.estimation.partial_fit import Stream, feed, resumable
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES, resolve
from unveil.expectations import Exact
from unveil.families.base import Family
from unveil.mixtures.empty import POLICIES
from unveil.mixtures.fitted import Density
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.mixtures.overlap import figures_of
from unveil.mixtures.starts.starts import STARTS, Given, Sample, short_run_count, short_runs, starts, supported
from unveil.numerics.blas import single_threaded_blas
from unveil.schedules import Batch
from unveil.schedules.reseeding import Reseeding


class MixtureEstimator(Estimator, Density, DensityMixin, BaseEstimator, ABC):
    """Mixtures of any family."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"auto", *STARTS})],
        "responsibilities_init": ["array-like", None],
        "weight_concentration_prior": [Interval(Real, 1.0, None, closed="left"), None],
        "empty_components": [StrOptions(set(POLICIES))],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions({"auto", "threads", "dask"}), HasMethods("map_reduce")],
        "schedule": [StrOptions(set(SCHEDULES)), HasMethods("sweep")],
        "expectation": [StrOptions(set(EXPECTATIONS)), HasMethods("responsibilities")],
    }

    @abstractmethod
    def _family(self) -> Family:
        """The family of the components, in the coordinates of the data."""

    def _framed_family(self, shift: Floats) -> Family:
        """The family in the frame."""
        return self._family()

    @abstractmethod
    def _show(self, params: MixtureParams, shift: Floats) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _recall(self, shift: Floats) -> MixtureParams:
        """Parameters in the frame, from the fitted attributes."""

    @abstractmethod
    def _shift(self) -> Floats:
        """A frame that suits the fitted attributes."""

    def _given(self, params: MixtureParams | None, shift: Floats) -> MixtureParams | None:
        """`params` with what the user gave as a start in place; None while parts are missing."""
        return params

    def _is_given(self) -> bool:
        """Whether any part of the start is given, so that components keep their order."""
        return self.responsibilities_init is not None

    def _suits(self, params: MixtureParams) -> bool:
        """Whether `params` belong to a mixture as it is asked for now."""
        return len(params.weights) == self.n_components

    def _learn(self, source: Source) -> None:
        """Set what the family needs to know of the data before a fit."""

    def _view(self, source: Source) -> Source:
        """The rows as the family takes them."""
        return source

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        source = as_source(self, X, sample_weight, reset=reset, min_rows=min_rows, missing=self._takes_missing)
        return self._view(source)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit by EM.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
            The rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: weight 3 equals the row three times, weight 0 equals no row.

        Returns
        -------
        self
        """
        self._validate_params()
        with single_threaded_blas():
            source = self._source(X, sample_weight, reset=True, min_rows=2)
            self._check_size(source)
            self._learn(source)
            stream, figures = self._climb(source)
            self._adopt(stream, figures)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.intp]:
        """Fit, then tell which component each row most likely comes from."""
        return self.fit(X, sample_weight=sample_weight).predict(X)  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from one more batch of a stream, by stepwise EM.

        The first batch chooses the start and so needs at least `n_components` rows. Step sizes follow
        ``schedule`` if it is a ``Stepwise``, or else its defaults.
        """
        self._validate_params()
        fresh = not hasattr(self, "_stream")
        if not fresh and not self._suits(self._stream.params):
            raise ValueError("n_components or covariance_type was changed since partial_fit began: call fit anew")
        with single_threaded_blas():
            source = self._source(X, sample_weight, reset=fresh)
            if fresh:
                self._check_size(source)
                self._learn(source)
                self.random_seed_ = seed_of(self.random_state)
                model = self._model(self._frame(source))
                start = next(self._start_params(model, source, self._sample(model, source)))
                self._stream = Stream(model.shift, start, np.arange(self.n_components))
            parts = self._parts(self._model(self._stream.shift), source)
            self._adopt(feed(self._stream, parts))
        return self

    def _check_size(self, source: Source) -> None:
        if source.n_rows < self.n_components:
            got = f"n_components = {self.n_components}, n_samples = {source.n_rows}"
            raise ValueError(f"Expected n_samples >= n_components but got {got}")

    def _frame(self, source: Source) -> Floats:
        """The shift of the frame: zero in columns that may not be shifted."""
        middle = frame_of(source)  # which refuses a column of which nothing is seen
        return np.where(self._family().framing(source.n_columns), middle, 0.0)

    def _model(self, shift: Floats, n_components: int | None = None) -> Mixture:
        prior = 1.0 if self.weight_concentration_prior is None else float(self.weight_concentration_prior)
        return Mixture(self._framed_family(shift), n_components or self.n_components, shift, concentration=prior)

    def _fitted(self) -> tuple[Mixture, MixtureParams]:
        shift = self._shift()
        return self._model(shift, len(self.weights_)), self._recall(shift)

    def _parts(self, model: Mixture, source: Source, sample: Sample | None = None) -> Parts:
        schedule: Schedule = resolve("schedule", self.schedule, SCHEDULES, "sweep")
        if sample is not None and self.empty_components != "keep":
            policy = POLICIES[self.empty_components](Block(0, 0, sample.rows, sample.weights))
            schedule = Reseeding(schedule, policy)
        return Parts(
            model.suited_to(source.n_rows),
            source,
            resolve("expectation", self.expectation, EXPECTATIONS, "responsibilities"),
            schedule,
            engine_for(self.engine, source),
            BoundChange(self.tol),
            self.max_iter,
            self.random_seed_,
            self._callbacks_for(source, self.verbose_interval),
        )

    def _climb(self, source: Source) -> tuple[Stream, Mapping[str, float]]:
        """All starts, each to its end; the best of them, with its components in canonical order."""
        recalled = self.warm_start and hasattr(self, "_stream") and self._suits(self._stream.params)
        self.random_seed_ = seed_of(self.random_state)
        model = self._model(self._frame(source))
        sample = self._sample(model, source)
        parts = self._parts(model, source, sample)
        check_allowed(parts)  # before any start is run
        begin = iter([self._recall(model.shift)]) if recalled else self._start_params(model, source, sample)
        outcome = best_of((partial(fit, parts, params) for params in begin), partial(supported, model))
        if not recalled and self._starts_short(model.shift):
            outcome = outcome.noting("tried", short_run_count(self.n_components, self.n_init))
        weights = outcome.params.weights
        kept = recalled or self._is_given()
        order = np.arange(len(weights)) if kept else np.argsort(-weights, kind="stable")
        return resumable(outcome, model.shift, order), self._figures(parts, outcome, order)

    def _sample(self, model: Mixture, source: Source) -> Sample:
        """Rows that starts are drawn from: enough for K-means, which the pass that follows makes good."""
        enough = SMALL // (self.n_components * source.n_columns)
        rows, weights = sample_of(source, self.random_seed_, self.n_components, enough, self._takes_missing)
        return Sample(model, rows, weights)

    def _starts_short(self, shift: Floats) -> bool:
        """Whether the starts are the best of short runs: nobody said where to begin, and there are optima to miss."""
        given = self.responsibilities_init is not None or self._given(None, shift) is not None
        return self.init_params == "auto" and not given and self.n_components > 1

    def _start_params(self, model: Mixture, source: Source, sample: Sample) -> Iterator[MixtureParams]:
        """First parameters, one set per start, with the given parts in place."""
        complete = self._given(None, model.shift)
        if complete is not None:
            yield complete
            return
        engine = engine_for(self.engine, source)
        if self.responsibilities_init is not None:
            yield self._first(model, source, engine, sample, Given(self._given_responsibilities(source)))
        elif self.init_params == "auto":
            yield from short_runs(sample, self.random_seed_, self.n_init, partial(self._completed, shift=model.shift))
        else:
            for start in starts(self.init_params, sample, self.random_seed_, self.n_init):
                yield self._first(model, source, engine, sample, start)

    def _first(self, model: Mixture, source: Source, engine: Engine, sample: Sample, start: Any) -> MixtureParams:
        statistics, _ = engine.map_reduce(sample.step(start), source, None)
        return self._completed(model.first(statistics), model.shift)

    def _completed(self, params: MixtureParams, shift: Floats) -> MixtureParams:
        """`params` with what the user gave in place."""
        completed = self._given(params, shift)
        return params if completed is None else completed

    def _given_responsibilities(self, source: Source) -> Floats:
        table: Floats = check_array(self.responsibilities_init, dtype=np.float64, input_name="responsibilities_init")
        wanted = (source.n_rows, self.n_components)
        if table.shape != wanted or np.any(table < 0) or np.any(np.abs(table.sum(axis=1) - 1) > 1e-6):
            got = f"an array of shape {table.shape}"
            raise ValueError(f"responsibilities_init must hold {wanted} shares, each row summing to 1, got {got}")
        return table

    def _figures(self, parts: Parts, outcome: Fit, order: NDArray[np.intp]) -> Mapping[str, float]:
        """What the certificate says of the end of a fit; where q was not the posterior, a pass of it is run."""
        if not outcome.history or not isinstance(parts.model, Mixture):
            return {}
        schedule = parts.schedule.schedule if isinstance(parts.schedule, Reseeding) else parts.schedule
        if isinstance(schedule, Batch) and parts.expectation.posterior:
            return figures_of(parts.model, outcome.entered, outcome.statistics, parts.seed, order)
        return figures_of(parts.model, outcome.params, _posterior_pass(parts, outcome.params), parts.seed, order)

    def _adopt(self, stream: Stream, figures: Mapping[str, float] | None = None) -> None:
        """Set the fitted attributes."""
        self._stream = stream
        outcome, weights = stream.outcome, stream.params.weights[stream.order]
        components = self._framed_family(stream.shift).taken(stream.params.components, stream.order)
        self._show(MixtureParams(weights, components), stream.shift)
        self.lower_bounds_ = [record.objective / record.weight for record in outcome.history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        self._report(outcome, weights * outcome.history[-1].weight if outcome.history else None, figures)

    def _excuse(self) -> str | None:
        """Why the free energy of this fit may fall, if there is a reason."""
        reasons = {"reseeded": "a component was re-seeded", "floored": "a floor held a component back"}
        return next((words for name, words in reasons.items() if self.history_.events.get(name)), None)


def _posterior_pass(parts: Parts, params: MixtureParams) -> Statistics:
    """Statistics of all rows under the posterior."""
    step = ExpectationStep(parts.model, parts.model.prepare(params), Exact(), parts.seed, 0)
    statistics, _ = parts.engine.map_reduce(step, parts.source, None)
    return statistics


def narrowed(estimator: Any, made: Any, columns: NDArray[np.intp]) -> None:
    """Give `made` the column names of `estimator`, narrowed to `columns`, and the look of a fitted one."""
    made.n_features_in_ = len(columns)
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_[columns]
    for name in ("converged_", "n_iter_", "history_", "certificate_", "lower_bound_"):
        setattr(made, name, getattr(estimator, name))
