"""What probabilistic PCA and factor analysis share: rows are mean + W z + noise, with the scores z hidden.

Complete rows need one pass of moments, from which `unveil.projections.factors.model` has the answer. Where cells are
missing, EM (`unveil.projections.factors.missing`) starts from the answer for the moments of the cells that are there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from unveil.certificate import Certificate, Finding
from unveil.core.arrays import Floats
from unveil.core.declared import (
    FINITE,
    AllOf,
    Declaration,
    OrNone,
    RecordOf,
    Size,
    Tried,
    at_least_zero,
    definite,
    numbers,
    semidefinite,
    symmetric,
)
from unveil.core.loop import Parts, check_allowed
from unveil.core.protocols import Block, Engine, Source
from unveil.core.result import Fit, History, Status
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.estimation.base import engine_for
from unveil.estimation.declarations import StreamOf, statistics, sums
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import refuse_nonfinite, rows_in
from unveil.estimation.registry import SCHEDULES, resolve
from unveil.estimation.scaffold import Stream, feed, resumable
from unveil.estimation.task import fit_task
from unveil.estimation.units import refuse_units
from unveil.expectations import Exact
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.factors.density import FactorDensity, FactorPosterior
from unveil.projections.factors.missing import (
    Factors,
    Hidden,
    climb,
    covariance_of,
    expect_moments,
    observed_moments,
)
from unveil.projections.factors.model import (
    Covariance,
    FactorParams,
    canonical,
    floored,
    interrupted,
    stirred,
    variances_of,
    variances_seen,
)
from unveil.projections.factors.noise_search import FactorRule
from unveil.projections.passes import reduced
from unveil.projections.pca.rows import dense_frame
from unveil.schedules.squarem import Squarem
from unveil.schedules.stepwise import Running, Stepwise

DIMENSION_PATIENCE = 3  # dimensions in a row that must do worse before the search for the best of them ends
SCARCE_CELLS, SCARCE_COLUMN, SCARCE_PAIRS = 0.25, 0.05, 0.5  # few: shares of all cells, of a column's, of pairs
LEAST_SQUARES, MOST_SQUARES = 1e-140, 1e140  # of a column about its mean; fits multiply such sums by each other
REPLACED_FINDINGS = frozenset({"restarts", "floored"})  # findings of the certificate that are said in better words here


class SeenCells(NamedTuple):
    """A table after its pass of moments."""

    source: Source
    engine: Engine
    shift: Floats
    statistics: Statistics
    given: Covariance
    floors: Floats

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return float(self.statistics["holes"]) == 0.0

    @property
    def scarce(self) -> bool:
        """Whether so few cells or pairs of columns are there that rows are better not completed by them."""
        pairs = self.statistics["pairs"]
        shares = np.diagonal(pairs) / self.given.weight
        return bool(
            np.mean(shares) < SCARCE_CELLS or np.min(shares) < SCARCE_COLUMN or np.mean(pairs > 0) <= SCARCE_PAIRS
        )


class FactorEstimator(FactorDensity):
    """Gaussian factors with noise of any structure."""

    _card_from = "unveil.projections.shown:factor_card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions({"auto", *SCHEDULES}), HasMethods("sweep")],
        "engine": ENGINE_TAKEN,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _own_parts = {"FactorParams": FactorParams}  # noqa: RUF012  read only
    _takes_missing = True
    _resumed_from: ClassVar[tuple[str, ...]] = ("_stream", "_moments")
    _hidden: ClassVar[type[Hidden]] = Factors  # what EM takes to be hidden where cells are missing
    _moments: Statistics | None  # of all rows so far, while none of their cells was missing
    n_components: Any

    @abstractmethod
    def _set_attributes(self, params: FactorParams) -> None:
        """Set the fitted attributes from parameters in the coordinates of the data, in canonical form."""

    @abstractmethod
    def _floor_finding(self, columns: NDArray[np.intp]) -> Finding:
        """What to say of columns whose noise is at its floor."""

    def _start(self, n_columns: int) -> Floats | None:
        """Noise to start from, if any is given."""
        return None

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "n_components_", Size("components", 0)
        q = self.n_components_
        yield "components_", numbers(q, d)
        yield "mean_", numbers(d)
        yield "noise_variance_", at_least_zero(*self._noise_shape(d), high=FINITE, above=True)
        scores = {"centre": numbers(q), "spread": numbers(q, q, laws=(definite,))}
        places = {"loadings": numbers(d, q), "mean": numbers(d), "noise": at_least_zero(d, above=True)}
        second = (q + 1) * (q + 2) // 2  # of the scores and 1
        told = statistics(latent=sums(second), grams=sums(second, d), cross=sums(q + 1, d), squares=sums(d, low=0.0))
        params = RecordOf(FactorParams, {**places, **scores})
        yield "_stream", StreamOf(params, told, d, q, self._moved, reach=MOST_SQUARES**0.5).declared()
        moments = {"weight": at_least_zero(), "holes": at_least_zero(), "sums": sums(d)}
        products = {name: sums(d, d, laws=(symmetric,)) for name in ("products", "pairs")}
        yield "_moments", OrNone(AllOf((RecordOf(Statistics, {**moments, **products}), Tried(_check_moments))))

    def _make_ready(self) -> None:
        """The density of a row of zeros."""
        posterior = FactorPosterior.of(self._noise, *self._shown(), self.mean_)
        posterior.inferred(Block(0, 0, np.zeros((1, self.n_features_in_))), dense=True)

    def _noise_shape(self, n_columns: int) -> tuple[int, ...]:
        """Of the noise as it is shown."""
        return (n_columns,)

    def _moved(self, stream: Stream) -> FactorParams:
        """Parameters after an M step from what a stream has seen."""
        assert stream.running is not None
        model = Factors(self._noise, stream.shift, self._noise.floors(variances_of(stream.params)))
        return model.maximise(stream.running.statistics.scaled(stream.seen), stream.params)

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the parameters of greatest likelihood.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
            The rows; NaN stands for a missing cell.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: weight 3 equals the row three times, weight 0 equals no row.
        """
        self._validate_params()
        with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
            source = rows_in(self, X, sample_weight, reset=True, min_rows=2, missing=True)
            seen = self._see(source, dense_frame(source))
            exact = seen.complete and self._is_auto()  # whether moments are all that is needed
            outcome = self._chosen(seen, exact)
            stream = resumable(outcome, seen.shift, np.arange(len(outcome.params.centre)))
            if exact:  # statistics of an E step are made of the moments when they are needed
                stream = replace(stream, running=None)
            self._adopt(stream, seen.floors, seen.statistics if exact else None)
        return self

    def _see(self, source: Source, shift: Floats, before: Statistics | None = None) -> SeenCells:
        """The pass of moments, added to those of earlier rows if there are any."""
        engine = engine_for(self.engine, source)
        statistics = reduced(engine, partial(observed_moments, shift), source)
        if not np.all(np.isfinite(statistics["products"])):
            refuse_nonfinite(source, missing=True)
            refuse_units(source, small=False)
        if before is not None:
            statistics = before + statistics
        _check_size(np.diagonal(statistics["products"]))
        given, variances = covariance_of(statistics), variances_seen(statistics)
        resolution = (4.0 * np.finfo(np.float64).eps * (shift + given.mean)) ** 2  # what rounding gives to such cells
        variances = np.where(variances > resolution, variances, 0.0)
        if not np.any(variances):
            refuse_units(source)
            raise ValueError("X has no variance: all rows are equal, so there is nothing to explain")
        return SeenCells(source, engine, shift, statistics, given, self._noise.floors(variances))

    def _solve(self, seen: SeenCells, count: int, exact: bool) -> Fit:
        """The fit with `count` components: that of the moments, or EM from there."""
        rule = FactorRule(count, self.tol, self.max_iter, self._start(len(seen.shift)))
        of_moments = self._noise.fit(seen.given, seen.floors, rule)
        if exact:
            return of_moments
        if of_moments.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # no pass was made that could be kept
        kind = self._hidden if self._is_auto() and not seen.scarce else Factors
        start = of_moments.params if np.all(seen.statistics["pairs"] > 0) else stirred(of_moments.params)
        return climb(self._parts(seen.source, seen.shift, seen.floors, kind), start)

    def _is_auto(self) -> bool:
        return isinstance(self.schedule, str) and self.schedule == "auto"

    def _parts(self, source: Source, shift: Floats, floors: Floats, kind: type[Hidden] = Factors) -> Parts:
        schedule = Squarem() if self._is_auto() else resolve("schedule", self.schedule, SCHEDULES, "sweep")
        model = kind(self._noise, shift, floors, bool(getattr(source, "random_access", False)))
        engine, stop, callbacks = engine_for(self.engine, source), BoundChange(self.tol), self._callbacks_for(source)
        parts = Parts(model, source, Exact(), schedule, engine, stop, self.max_iter, callbacks=callbacks)
        check_allowed(parts)
        return parts

    # -- how many components -------------------------------------------------------------------------------------------

    def _chosen(self, seen: SeenCells, exact: bool) -> Fit:
        """The fit with the number of components asked for."""
        wanted, limit = self.n_components, self._noise.limit(seen.source.n_columns)
        if isinstance(wanted, str) and wanted == "bic":
            return self._best(seen, exact)
        if wanted is None:
            return self._solve(seen, self._noise.most(seen.given), exact)
        count = self._named(seen) if isinstance(wanted, str) else int(wanted)
        if not 0 <= count <= limit:
            sizes = f"n_features={seen.source.n_columns}"
            raise ValueError(f"n_components={wanted} must be from 0 to {limit} for {sizes}")
        return self._solve(seen, count, exact)

    def _best(self, seen: SeenCells, exact: bool) -> Fit:
        """The fit of lowest BIC; where each takes passes, until more components did worse some times in a row."""
        best, lowest, worse = None, np.inf, 0
        try:
            for count in range(self._noise.most(seen.given) + 1):
                outcome = self._solve(seen, count, exact)
                n_parameters = self._n_parameters_of(count, seen.source.n_columns)
                bic = -2.0 * outcome.objective + n_parameters * float(np.log(seen.given.weight))
                worse = 0 if bic < lowest else worse + 1
                if bic < lowest or best is None:
                    best, lowest = outcome, bic
                if outcome.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt
                if worse >= DIMENSION_PATIENCE and not exact:
                    break
        except KeyboardInterrupt:
            if best is None:
                raise
            best = interrupted(best)
        assert best is not None
        return best

    # -- a stream ------------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream.

        While no cell is missing, moments are added up and the fit is that of all rows so far. From the first missing
        cell on, or if ``schedule`` is named, each batch is a step of stepwise EM. The number of components is
        settled by the first batch, which must have a value in every column.
        """
        self._validate_params()
        fresh = not hasattr(self, "_stream")
        with single_threaded_blas():
            source = rows_in(self, X, sample_weight, reset=fresh, min_rows=2 if fresh else 1, missing=True)
            seen: SeenCells | None
            if fresh:
                seen = self._see(source, dense_frame(source))
                start = self._chosen(seen, exact=True).params
                stream = Stream(seen.shift, start, np.arange(len(start.centre)))
            else:
                stream = self._stream
                self._check_unchanged(len(stream.params.centre))
                seen = None if self._moments is None else self._see(source, stream.shift, self._moments)
            if seen is not None and seen.complete and self._is_auto():
                self._adopt(self._accounted(stream, seen), seen.floors, seen.statistics)
            else:
                self._step(source, stream)
        return self

    def _check_unchanged(self, count: int) -> None:
        wanted = self.n_components
        if isinstance(wanted, Integral) and int(wanted) != count:
            raise ValueError(f"n_components={wanted} was changed since partial_fit began with {count}: call fit anew")

    def _accounted(self, stream: Stream, seen: SeenCells) -> Stream:
        """The stream with the fit of all rows so far."""
        rule = FactorRule(len(stream.params.centre), self.tol, self.max_iter)
        outcome = self._noise.fit(seen.given, seen.floors, rule)
        records = (*stream.history.records, outcome.history[-1])
        history = History(records, outcome.history.events, Status.STREAMING, False, (), len(records))
        reached = {"params": outcome.params, "latest": outcome.statistics, "seen": seen.given.weight}
        return replace(stream, history=history, **reached)

    def _step(self, source: Source, stream: Stream) -> None:
        """Stepwise EM on one batch."""
        refuse_nonfinite(source, missing=True)
        floors = self._noise.floors(variances_of(stream.params))
        before = getattr(self, "_moments", None)
        if before is not None:  # what exact moments told so far counts for as many batches as their rows would make
            weight = float(before["weight"])
            told = expect_moments(before, stream.params).scaled(1.0 / weight)
            stream = replace(stream, running=Running(1 + int(weight) // Stepwise().batch_rows, told), seen=weight)
        self._adopt(feed(stream, self._parts(source, stream.shift, floors)), floors, None)

    # -- what was fitted -----------------------------------------------------------------------------------------------

    def _adopt(self, stream: Stream, floors: Floats, moments: Statistics | None) -> None:
        """Set the fitted attributes."""
        self._stream, self._moments = stream, moments
        params = canonical(stream.params)
        self.n_components_ = len(params.centre)
        self._set_attributes(replace(params, mean=params.mean + stream.shift))
        found = self._findings(floored(params.noise, floors))
        self._report(stream.outcome, None, self._figures(params, stream), more=found)
        self._amend(stream.outcome, {finding.name for finding in found})

    def _figures(self, params: FactorParams, stream: Stream) -> Mapping[str, float]:
        """What the certificate judges."""
        values = linalg.eigvalsh(params.loadings @ params.loadings.T + np.diag(params.noise))
        weight, n_columns = stream.seen or float(stream.latest["weight"]), len(params.mean)
        rows = weight / self._n_parameters_of(self.n_components_, n_columns)
        return {
            "observations_per_parameter": rows,
            "cells_per_parameter": rows * n_columns,
            "smallest_eigenvalue": float(values[0]),
            "largest_eigenvalue": float(values[-1]),
            "condition": float(values[-1] / values[0]) if values[0] > 0 else np.inf,
        }

    def _findings(self, columns: NDArray[np.intp]) -> list[Finding]:
        return [self._floor_finding(columns)] if len(columns) else []

    def _amend(self, outcome: Fit, known: set[str]) -> None:
        """Leave out of the certificate what is said in better words, or does not apply."""
        several = len(outcome.history.restarts) > 1
        replaced = (REPLACED_FINDINGS - {"restarts"} if several else REPLACED_FINDINGS) - known
        kept = [finding for finding in self.certificate_.findings if finding.name not in replaced]
        self.certificate_ = Certificate(tuple(kept))


def _check_moments(statistics: Statistics) -> None:
    """Refuse moments that no rows have, or none that are taken."""
    _check_size(np.diagonal(statistics["products"]))
    if not np.any(variances_seen(statistics) > 0):
        raise ValueError("they have no variance")
    lacks = semidefinite(covariance_of(statistics).matrix)
    if lacks is not None:
        raise ValueError(f"their covariance must {lacks}")


def _check_size(squares: Floats) -> None:
    """Refuse columns whose squares leave no room for products of them."""
    least, most = float(np.min(squares, where=squares > 0, initial=np.inf)), float(np.max(squares))
    if not (least >= LEAST_SQUARES and most <= MOST_SQUARES):  # so that NaN is refused as well
        got, taken = f"{least if most <= MOST_SQUARES else most:.2g}", f"{LEAST_SQUARES:.0e} to {MOST_SQUARES:.0e}"
        raise ValueError(f"X has a column whose weighted squares add up to {got}; {taken} are taken: change the units")
