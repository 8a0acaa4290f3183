"""The face that all mixtures share: what the scaffold asks of a mixture.

What differs between mixtures is their emission, which is abstract here. What is done with a fitted one is `methods`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.clusters.assignment.in_numpy import SMALL_WORK
from unveil.core.arrays import Floats, Indices, Labels
from unveil.core.declared import Declaration, MayLack, RecordOf, counts, shares
from unveil.core.drive import answer_to
from unveil.core.loop import Parts
from unveil.core.protocols import Ask, Asking, Block, Engine, Source
from unveil.core.result import Fit
from unveil.estimation.base import Estimator, LaterFigures, engine_for
from unveil.estimation.declarations import SEED, StreamOf, statistics, sums
from unveil.estimation.emissions.base import Emission
from unveil.estimation.input import SAMPLE_ROWS_EACH, frame_of, sample_of
from unveil.estimation.scaffold import (
    EM_CONSTRAINTS,
    Stream,
    Task,
    end_of,
    feed_rows,
    first_of,
    fit_rows,
    has_settled,
    learn,
    parts_of,
    set_or_forget,
    sizes,
)
from unveil.estimation.shapes import Shapes, shapes_of
from unveil.estimation.task import fit_task
from unveil.estimation.units import refuse_rough
from unveil.families.base import Family
from unveil.mixtures.empty import POLICIES
from unveil.mixtures.methods import MixtureMethods
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.mixtures.overlap import costly_figures, figures_of
from unveil.mixtures.small import climb_over, climbs_at_once, small_table
from unveil.mixtures.starts.search import StartSearch
from unveil.mixtures.starts.starts import STARTS, Given, Sample, short_run_count, short_runs, starts, supported
from unveil.numerics.blas import single_threaded_blas
from unveil.schedules.reseeding import Reseeding

SEARCH_ROWS = 2048  # of a sample on which starts are searched for, and more
SEARCH_ROWS_PER_COLUMN = 5  # of each component, where that is more: it takes so many to know a covariance


class MixtureEstimator(MixtureMethods, Estimator, DensityMixin, BaseEstimator, ABC):
    """Mixtures of any family."""

    _card_from = "unveil.mixtures.shown:card"
    _shows_streams = True
    _own_parts = {"MixtureParams": MixtureParams}  # noqa: RUF012  read only
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        **EM_CONSTRAINTS,
        "init_params": [StrOptions({"auto", *STARTS})],
        "responsibilities_init": ["array-like", None],
        "weight_concentration_prior": [Interval(Real, 1.0, None, closed="left"), None],
        "empty_components": [StrOptions(set(POLICIES))],
    }

    weights_: Floats
    lower_bound_: float
    lower_bounds_: list[float]
    random_seed_: int

    @abstractmethod
    def _emission(self) -> Emission:
        """What components emit, as the arguments describe it."""

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        return self._emission().rows.missing

    def _check_storable(self) -> None:
        self._emission().check_storable()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def _declares(self) -> Declaration:
        yield from super()._declares()
        n_columns = self.n_features_in_
        yield from self._emission().declared_of_columns(n_columns)
        yield "weights_", shares("components")
        k, emission = len(self.weights_), self._emission()
        yield from emission.declared(k, n_columns)
        yield "clusters_", MayLack(counts(k, below=k))
        if hasattr(self, "_stream"):
            yield "random_seed_", SEED  # batches draw from it
            family = emission.family()
            params = RecordOf(MixtureParams, {"weights": shares(k), "components": family.declared(k, n_columns)})
            told = statistics(moments=sums(k, family.n_statistics(n_columns), laws=(family.lacks,)))
            stream = StreamOf(params, told, n_columns, k, self._moved, frame=(family.unframed,))
            yield "_stream", stream.declared()

    def _moved(self, stream: Stream) -> MixtureParams:
        """Parameters after an M step from what a stream has seen."""
        assert stream.running is not None
        model = self._model(stream.shift, len(self.weights_))
        return model.maximise(stream.running.statistics.scaled(stream.seen), stream.params)

    def _make_ready(self) -> None:
        self._mixture()

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
        with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
            fit_rows(self, self._opened(X, sample_weight))
        return self

    def _opened(self, X: Any, sample_weight: Any = None) -> Source:
        """The rows of a fit that is about to begin."""
        self._validate_params()
        source = self._emission().rows.source(self, X, sample_weight, reset=True, min_rows=2)
        self._begin(source)
        return source

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Labels:
        """Fit, then tell which component each row most likely comes from."""
        return self.fit(X, sample_weight=sample_weight).predict(X)  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream, by stepwise EM.

        The first batch chooses the start and so needs at least `n_components` rows. Step sizes follow
        ``schedule`` if it is a ``Stepwise``, or else its defaults.
        """
        self._validate_params()
        fresh = not hasattr(self, "_stream")
        if not fresh and not self._suits(self._stream.params):
            raise ValueError("n_components or covariance_type was changed since partial_fit began: call fit anew")
        with single_threaded_blas():
            source = self._emission().rows.source(self, X, sample_weight, reset=fresh)
            if fresh:
                self._begin(source)
            feed_rows(self, source, fresh)
        return self

    def _begin(self, source: Source) -> None:
        """Check that there are rows enough, and learn what the family needs to know of them."""
        if source.n_rows < self.n_components:
            got = f"n_components = {self.n_components}, n_samples = {source.n_rows}"
            raise ValueError(f"Expected n_samples >= n_components but got {got}")
        learn(self, source)

    # -- what the scaffold asks ----------------------------------------------------------------------------------------

    def _frame(self, source: Source) -> Floats:
        """The shift of the frame: zero in columns that may not be shifted."""
        rows, shifted = source, self._emission().family().framing(source.n_columns)
        look = partial(refuse_rough, rows, shifted, getattr(self, "reg_covar", 1.0) == 0)
        middle = frame_of(rows, look)  # which refuses a column of which nothing is seen
        return np.where(shifted, middle, 0.0)

    def _model(self, shift: Floats, n_components: int | None = None) -> Mixture:
        prior = 1.0 if self.weight_concentration_prior is None else float(self.weight_concentration_prior)
        return Mixture(self._emission().family(shift), n_components or self.n_components, shift, concentration=prior)

    def _parts(self, model: Mixture, source: Source) -> Parts:
        return parts_of(self, model.suited_to(source.n_rows), source)

    def _task(self, source: Source) -> Task:
        recalled = self.warm_start and hasattr(self, "_stream") and self._suits(self._stream.params)
        model = self._model(self._frame(source))
        sample = self._sample(model, source)
        parts, search = self._parts(model, source), self._search(sample, source.n_rows)
        whole = search is not None and sample.weights is None and len(sample.rows) == source.n_rows
        run = climb_over(model, parts, search.table if search is not None and whole else None)
        if self.empty_components != "keep":
            policy = POLICIES[self.empty_components](Block(0, 0, sample.rows, sample.weights))
            parts = replace(parts, schedule=Reseeding(parts.schedule, policy))
        sound, kept = partial(supported, model), recalled or self._is_given()
        if recalled:
            return Task(parts, iter([self._params_from_attributes(model.shift)]), sound, kept=kept, run=run)
        begin = self._start_params(model, source, sample, search)
        return Task(parts, begin, sound, partial(self._tried, model, search), kept, run=run)

    def _tried(self, model: Mixture, search: StartSearch | None) -> int:
        """How many climbs of a few passes the starts were the best of."""
        if not self._starts_short(model.shift):
            return 0
        return short_run_count(self.n_components, self.n_init) if search is None else search.tried

    def _first(self, model: Mixture, source: Source) -> Stream:
        sample = self._sample(model, source)
        start = next(self._start_params(model, source, sample, self._search(sample, source.n_rows)))
        return Stream(model.shift, first_of(start), np.arange(self.n_components))

    def _shares(self, outcome: Fit) -> Floats:
        weights: Floats = outcome.params.weights
        return weights

    def _figures(self, parts: Parts, outcome: Fit, order: Indices) -> tuple[Mapping[str, float], LaterFigures | None]:
        if not outcome.history:
            return {}, None
        model: Any = parts.model
        params, statistics = end_of(parts, outcome)
        if not has_settled(parts, outcome):
            return figures_of(model, params, statistics, parts.seed, order), None
        later = partial(costly_figures, model, params, statistics, parts.seed, order)
        return sizes(model, statistics, params.components), later

    def _set_attributes(self, stream: Stream) -> Any:
        family = self._emission().family(stream.shift)
        weights = stream.params.weights[stream.order]
        self._show(MixtureParams(weights, family.taken(stream.params.components, stream.order)), stream.shift)
        history = stream.outcome.history
        return weights * history[-1].weight if history else None

    def _show(self, params: MixtureParams, shift: Floats) -> None:
        """Set the attributes that show parameters."""
        set_or_forget(self, self._emission().attributes(params.components, shift))
        self.weights_ = params.weights

    def _params_from_attributes(self, shift: Floats) -> MixtureParams:
        components = self._emission().components(vars(self), shift)
        return MixtureParams(np.asarray(self.weights_, dtype=np.float64), components)

    def _from_attributes(self) -> tuple[Mixture, MixtureParams]:
        shift = self._emission().origin(vars(self), self.weights_)
        return self._model(shift, len(self.weights_)), self._params_from_attributes(shift)

    def _shapes(self) -> Shapes | None:
        model, params = self._from_attributes()
        return shapes_of(model.family, params.components, params.weights, model.shift)

    def _suits(self, params: MixtureParams) -> bool:
        """Whether `params` belong to a mixture as it is asked for now."""
        return len(params.weights) == self.n_components and self._emission().suits(params.components)

    def _excuse(self) -> str | None:
        reasons = {"reseeded": "a component was re-seeded", "floored": "a floor held a component back"}
        said = next((words for name, words in reasons.items() if self.history_.events.get(name)), None)
        return said or self._emission().excuse(self._stream.params.components)

    # -- starts --------------------------------------------------------------------------------------------------------

    def _sample(self, model: Mixture, source: Source) -> Sample:
        """Rows that starts are drawn from: enough to tell components apart, which the passes that follow make good."""
        k, n_columns = self.n_components, source.n_columns
        most, each = SMALL_WORK // (k * n_columns), SAMPLE_ROWS_EACH
        engine = engine_for(self.engine, source)
        if self._is_searched(model) or (self._starts_short(model.shift) and climbs_at_once(model, n_columns)):
            most, each = SEARCH_ROWS, max(each, SEARCH_ROWS_PER_COLUMN * model.family.least_rows(n_columns))
        return Sample(model, *sample_of(source, self.random_seed_, k, most, self._takes_missing, each, engine))

    def _is_searched(self, model: Mixture) -> bool:
        """Whether the start is searched for, by climbs over a sample that are compiled as a whole."""
        return model.plain and self._starts_short(model.shift) and not self._is_given()

    def _search(self, sample: Sample, n_rows: int) -> StartSearch | None:
        """The search for a start, where there is one and all cells of the sample are there."""
        if not self._is_searched(sample.model):
            return None
        table = small_table(sample.model, Block(0, 0, sample.rows, sample.weights))
        return None if table is None else StartSearch(table, sample.points, self.n_components, n_rows)

    def _given_weights(self) -> Floats | None:
        """Mixing weights that the user gave as a start."""
        return None

    def _is_given(self) -> bool:
        """Whether any part of the start is given, so that components keep their order."""
        emission = self._emission()
        given = (self.responsibilities_init, getattr(self, "weights_init", None), *emission.inits().values())
        return any(one is not None for one in given) or emission.family().ordered

    def _complete(self, shift: Floats) -> MixtureParams | None:
        """All of a start, where all of it is given."""
        emission, weights = self._emission(), self._given_weights()
        given = emission.given(shift)
        if weights is None or any(one is None for one in given.values()):
            return None
        return MixtureParams(weights, emission.placed(None, given))

    def _starts_short(self, shift: Floats) -> bool:
        """Whether the starts are the best of short runs: nobody said where to begin, and there are optima to miss."""
        given = self.responsibilities_init is not None or self._complete(shift) is not None
        return self.init_params == "auto" and not given and self.n_components > 1

    def _start_params(
        self, model: Mixture, source: Source, sample: Sample, search: StartSearch | None
    ) -> Iterator[MixtureParams | Asking[MixtureParams]]:
        """First parameters, one set per start, with the given parts in place."""
        complete = self._complete(model.shift)
        if complete is not None:
            yield complete
            return
        engine, seed = engine_for(self.engine, source), self.random_seed_
        finish = partial(self._placed, shift=model.shift)
        if self.responsibilities_init is not None:
            yield self._started(model, source, engine, sample, Given(self._given_responsibilities(source)))
        elif search is not None:
            for found in search.starts(seed, self.n_init):
                yield found or sample.first(sample.k_means(seed))
        elif self.init_params == "auto":
            yield from short_runs(sample, seed, self.n_init, finish)
        else:
            for start in starts(self.init_params, sample, seed, self.n_init):
                yield self._started(model, source, engine, sample, start)

    def _started(
        self, model: Mixture, source: Source, engine: Engine, sample: Sample, start: Any
    ) -> Asking[MixtureParams]:
        """First parameters from first responsibilities of all rows."""
        statistics = yield from answer_to(Ask(engine, source, sample.step(start)))
        return self._placed(model.first(statistics), model.shift)

    def _placed(self, params: MixtureParams, shift: Floats) -> MixtureParams:
        """`params` with what the user gave in place."""
        emission, weights = self._emission(), self._given_weights()
        components = emission.placed(params.components, emission.given(shift))
        return MixtureParams(params.weights if weights is None else weights, components)

    def _given_responsibilities(self, source: Source) -> Floats:
        table: Floats = check_array(self.responsibilities_init, dtype=np.float64, input_name="responsibilities_init")
        wanted = (source.n_rows, self.n_components)
        if table.shape != wanted or np.any(table < 0) or np.any(np.abs(table.sum(axis=1) - 1) > 1e-6):
            got = f"an array of shape {table.shape}"
            raise ValueError(f"responsibilities_init must hold {wanted} shares, each row summing to 1, got {got}")
        return table

    # -- other mixtures ------------------------------------------------------------------------------------------------

    def _alike(self) -> Any:
        """An estimator, not fitted, that takes columns for what they were taken for here, whatever their type."""
        return clone(self)

    def _described_by(self, family: Family, params: MixtureParams, shift: Floats, columns: Indices) -> Any:
        return described_by(self, clone(self), params, shift, columns)


def described_by(estimator: Any, made: Any, params: MixtureParams, shift: Floats, columns: Indices) -> Any:
    """`made` with parameters of some of the columns of `estimator`, and the look of a fitted one."""
    made.n_features_in_ = len(columns)
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_[columns]
    for name in ("kinds_", "categories_"):
        if hasattr(estimator, name):
            setattr(made, name, [getattr(estimator, name)[column] for column in columns])
    for name in ("converged_", "n_iter_", "history_", "certificate_", "lower_bound_"):
        setattr(made, name, getattr(estimator, name))
    made._show(params, shift)
    return made
