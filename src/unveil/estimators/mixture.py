"""The face that all mixtures share: check the input, assemble the parts, run the loop, set attributes.

What differs between mixtures is their family and how its parameters are shown; both are abstract here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.core.fit import BoundChange, Parts, best_of, fit
from unveil.core.protocols import Block, Source
from unveil.estimators.base import Iterative, engine_for, seed_of
from unveil.estimators.persistence import Savable
from unveil.estimators.registry import EXPECTATIONS, SCHEDULES, resolve
from unveil.estimators.starts import STARTS, Sample, StartStep, starts
from unveil.estimators.streaming import Stream, feed, resumable
from unveil.estimators.table import as_source, finite_rows, frame_of, sample_of
from unveil.families.base import Family
from unveil.kernels.blas import single_threaded_blas
from unveil.models.direct import SMALL
from unveil.models.mixture import Mixture, MixtureParams, Plan

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogJoint:
    """log p(x, s) of a block, as engines take it."""

    model: Mixture
    plan: Plan

    def __call__(self, block: Block) -> Floats:
        """(rows, components)."""
        finite_rows(block)
        return self.model.log_joint(self.plan, block)


@dataclass(frozen=True)
class WeightedScore:
    """Log-density summed over the rows of a block, and their weight."""

    log_joint: LogJoint

    def __call__(self, block: Block) -> tuple[float, float]:
        """Both sums; rows without weight take no part, however unlikely they are."""
        scores = logsumexp(self.log_joint(block), axis=1)
        if block.weights is None:
            return float(scores.sum()), float(len(scores))
        return float(block.weights @ np.where(block.weights > 0, scores, 0.0)), float(block.weights.sum())


class MixtureEstimator(Savable, Iterative, DensityMixin, BaseEstimator, ABC):
    """Mixtures of any family."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions(set(STARTS))],
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
        """The family of the components."""

    @abstractmethod
    def _show(self, params: MixtureParams, shift: Floats, order: NDArray[np.intp]) -> None:
        """Set the fitted attributes, components in the given order."""

    @abstractmethod
    def _recall(self, shift: Floats) -> MixtureParams:
        """Parameters in the frame, from the fitted attributes."""

    @abstractmethod
    def _shift(self) -> Floats:
        """A frame that suits the fitted attributes."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Free parameters, for AIC and BIC."""

    @abstractmethod
    def _draw(self, component: int, count: int, random: np.random.RandomState) -> Floats:
        """`count` rows from one component."""

    def _given(self, params: MixtureParams | None, shift: Floats) -> MixtureParams | None:
        """`params` with what the user gave as a start in place; None while parts are missing."""
        return params

    def _is_given(self) -> bool:
        """Whether any part of the start is given, so that components keep their order."""
        return False

    def _suits(self, params: MixtureParams) -> bool:
        """Whether `params` belong to a mixture as it is asked for now."""
        return len(params.weights) == self.n_components

    def _view(self, source: Source) -> Source:
        """The rows as the family takes them."""
        return source

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
            source = self._view(as_source(self, X, sample_weight, reset=True, min_rows=2))
            self._check_size(source)
            self._adopt(self._climb(source))
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
            source = self._view(as_source(self, X, sample_weight, reset=fresh))
            if fresh:
                self._check_size(source)
                self.random_seed_ = seed_of(self.random_state)
                model = self._model(frame_of(source) if self._family().framed else np.zeros(source.n_columns))
                start = next(self._start_params(model, source, engine_for(self.engine, source)))
                self._stream = Stream(model.shift, start, np.arange(self.n_components))
            parts = self._parts(self._model(self._stream.shift), source)
            self._adopt(feed(self._stream, parts))
        return self

    def _check_size(self, source: Source) -> None:
        if source.n_rows < self.n_components:
            got = f"n_components = {self.n_components}, n_samples = {source.n_rows}"
            raise ValueError(f"Expected n_samples >= n_components but got {got}")

    def _model(self, shift: Floats) -> Mixture:
        return Mixture(self._family(), self.n_components, shift)

    def _parts(self, model: Mixture, source: Source) -> Parts:
        return Parts(
            model.suited_to(source.n_rows),
            source,
            resolve("expectation", self.expectation, EXPECTATIONS, "responsibilities"),
            resolve("schedule", self.schedule, SCHEDULES, "sweep"),
            engine_for(self.engine, source),
            BoundChange(self.tol),
            self.max_iter,
            self.random_seed_,
            self._callbacks_for(source, self.verbose_interval),
        )

    def _climb(self, source: Source) -> Stream:
        """All starts, each to its end; the best of them, with its components in canonical order."""
        recalled = self.warm_start and hasattr(self, "_stream") and self._suits(self._stream.params)
        self.random_seed_ = seed_of(self.random_state)
        model = self._model(frame_of(source) if self._family().framed else np.zeros(source.n_columns))
        parts = self._parts(model, source)
        begin = iter([self._recall(model.shift)]) if recalled else self._start_params(model, source, parts.engine)
        outcome = best_of(partial(fit, parts, params) for params in begin)
        weights = outcome.params.weights
        kept = recalled or self._is_given()
        order = np.arange(len(weights)) if kept else np.argsort(-weights, kind="stable")
        return resumable(outcome, model.shift, order)

    def _start_params(self, model: Mixture, source: Source, engine: Any) -> Iterator[MixtureParams]:
        """First parameters, one set per start, with the given parts in place."""
        complete = self._given(None, model.shift)
        if complete is not None:
            yield complete
            return
        # K-means on a sample gives a start; the pass that follows looks at every row
        enough = SMALL // (self.n_components * source.n_columns)
        rows, weights = sample_of(source, self.random_seed_, self.n_components, most=enough)
        sample = Sample(rows - model.shift, weights, self.n_components)
        for start in starts(self.init_params, sample, self.random_seed_, self.n_init):
            statistics, _ = engine.map_reduce(StartStep(model, start), source, None)
            params = self._given(model.first(statistics), model.shift)
            if params is not None:
                yield params

    def _adopt(self, stream: Stream) -> None:
        """Set the fitted attributes."""
        self._stream = stream
        outcome, weights = stream.outcome, stream.params.weights
        self._show(stream.params, stream.shift, stream.order)
        self.lower_bounds_ = [record.objective / record.weight for record in outcome.history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        self._report(outcome, weights * outcome.history[-1].weight if outcome.history else None)

    # -- use -----------------------------------------------------------------------------------------------------------

    def _blocks(self, X: Any, wrap: Callable[[LogJoint], Any], sample_weight: Any = None) -> Iterator[Any]:
        """A function of log p(x, s), block by block, on the engine."""
        check_is_fitted(self)
        source = self._view(as_source(self, X, sample_weight, reset=False))
        model = replace(self._model(self._shift()), n_components=len(self.weights_))
        with single_threaded_blas():
            plan = model.prepare(model.recentre(self._recall(model.shift)))
            yield from engine_for(self.engine, source).map(wrap(LogJoint(model, plan)), source)

    def _map(self, X: Any, finish: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """`finish` of log p(x, s) for all rows."""
        return np.concatenate([finish(joint) for joint in self._blocks(X, lambda step: step)])

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The likeliest component of each row."""
        return self._map(X, lambda joint: np.argmax(joint, axis=1))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component given the row, (n_samples, n_components)."""
        return self._map(X, lambda joint: softmax(joint, axis=1))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row."""
        return self._map(X, lambda joint: logsumexp(joint, axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows."""
        log_likelihood, weight = self._log_likelihood(X, sample_weight)
        return log_likelihood / weight

    def _log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Sum over rows, and the sum of weights: those given and those that a scan brings along."""
        sums = np.array(list(self._blocks(X, WeightedScore, sample_weight)))
        log_likelihood, weight = sums.sum(axis=0)
        return float(log_likelihood), float(weight)

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-likelihood + parameters * log n."""
        log_likelihood, count = self._log_likelihood(X, sample_weight)
        return -2.0 * log_likelihood + self._n_parameters() * float(np.log(count))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-likelihood + 2 * parameters."""
        return -2.0 * self._log_likelihood(X, sample_weight)[0] + 2.0 * self._n_parameters()

    def sample(self, n_samples: int = 1) -> tuple[Floats, NDArray[np.intp]]:
        """Rows drawn from the fitted mixture, and the components they came from."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
        random = check_random_state(self.random_state)
        counts = random.multinomial(n_samples, self.weights_ / self.weights_.sum())
        rows = [self._draw(component, int(count), random) for component, count in enumerate(counts)]
        return np.concatenate(rows), np.repeat(np.arange(len(counts)), counts)
