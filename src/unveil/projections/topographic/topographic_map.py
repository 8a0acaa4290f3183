"""The generative topographic map: a curve or a sheet through the data, bent as the data is, with a density around it.

A lattice of points u in a latent line or square is laid into the data by y(u) = mean + phi(u) W, with noise of one
variance about it. `unveil.projections.topographic.model` has the EM, `unveil.projections.topographic.lattice` the
functions phi; here they meet the user. What is said of a row follows from the responsibilities r of the lattice points
for it: the mean of r on the lattice is where the row lies on the map, its mode the point that is likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, Declaration, Each, at_least_zero, counts, numbers, positive
from unveil.core.loop import ExpectationStep, Parts
from unveil.core.protocols import Engine, Source
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.estimation.base import engine_for, seed_of
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import frame_of, refuse_nonfinite, rows_in
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES
from unveil.estimation.scaffold import Task, climb, parts_of, stationarity
from unveil.estimation.task import fit_task
from unveil.estimation.units import refuse_units
from unveil.expectations import Exact
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.passes import put
from unveil.projections.projection import Projection
from unveil.projections.topographic.lattice import Basis, grid, magnification
from unveil.projections.topographic.model import NOISE_FLOOR, SheetFamily, TopographicMap
from unveil.projections.topographic.rows import (
    Located,
    completed,
    densities,
    likeliest,
    located,
    mean,
    shares,
    total,
)
from unveil.projections.topographic.start import SheetStart, TableSpread, axes_of, bent, plane, spread_of

ROUNDED = 1e-9  # how far points of a lattice may be from where they are
LATTICE_SHAPES, BASIS_SHAPES = {1: (64,), 2: (20, 20)}, {1: (12,), 2: (6, 6)}  # shapes by default
SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-200, 1e200  # mean of columns: past them products of squares are 0 or infinite


class GenerativeTopographicMap(Projection):
    """A principal curve or sheet with a density, by EM (GTM; Bishop, Svensen & Williams 1998).

    Parameters
    ----------
    n_components : {1, 2}, default=2
        Dimensions of the map: a curve or a sheet.
    lattice_shape : int, tuple of int or None, default=None
        Points of the lattice in each direction; None takes 64 on a curve and 20 by 20 on a sheet. Neighbours should lie
        no further apart than the noise is wide; more points cost time and bend no more.
    basis_shape : int, tuple of int or None, default=None
        Gaussian bumps in each direction, which say how much the map may bend; None takes 12 on a curve and 6 by 6 on a
        sheet. A plane is always within reach.
    basis_width : float, default=1.0
        Width of a bump (its standard deviation), in distances of neighbouring bumps.
    regularization : float, default=1.0
        Precision of the Gaussian prior that holds the bumps' weights near zero, and so the map near a plane, in units
        of one over the mean variance of a column.
    tol : float, default=1e-4
        The fit has converged when the objective per row changes by less in a pass.
    max_iter : int, default=200
        Most passes.
    n_init : int, default=1
        Starts; the best is kept. All but the first are random.
    init : {"pca", "random"}, default="pca"
        The first start: the plane of the first principal components, or a sheet bent at random.
    random_state : int, RandomState or None, default=None
        For random starts, expectations that draw, and `sample`.
    verbose : int, default=0
        Whether to log the passes.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where passes run.
    schedule : word or schedule, default="batch"
        When the parameters move: see `unveil.schedules`.
    expectation : word or expectation, default="exact"
        Which q: see `unveil.expectations`.

    Attributes
    ----------
    lattice_ : array of shape (n_points, n_components)
        Points of the lattice, in [-1, 1]; the last direction runs fastest.
    means_ : array of shape (n_points, n_features)
        Their images: the map in the space of the data.
    noise_variance_ : float
        Variance of the noise about the map, in every direction.
    basis_ : array of shape (n_points, n_functions)
        Bumps, coordinates and constant at the points of the lattice.
    coefficients_ : array of shape (n_functions, n_features)
        Their weights: ``means_ = mean_ + basis_ @ coefficients_``.
    mean_ : array of shape (n_features,)
        Mean of each column, over the cells that are there.
    prior_precision_ : float
        Precision of the prior of the bumps' weights, in units of the data.
    lower_bound_, lower_bounds_, history_, certificate_, converged_, n_iter_
        How the fit went: the bound per row, with the prior, at the end and pass by pass.

    Notes
    -----
    Missing cells are NaN. They cost nothing but themselves: a row is placed by the cells that are there, exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import GenerativeTopographicMap
    >>> random = np.random.default_rng(0)
    >>> angle = np.pi * random.random(300)
    >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * random.normal(size=(300, 2))
    >>> model = GenerativeTopographicMap(n_components=1).fit(X)
    >>> radii = np.linalg.norm(model.means_, axis=1)
    >>> bool(np.all(np.abs(radii - 1) < 0.1)), bool(abs(model.noise_variance_ ** 0.5 - 0.05) < 0.01)
    (True, True)
    >>> places = model.transform(X).ravel()
    >>> bool(abs(np.corrcoef(places, angle)[0, 1]) > 0.99)
    True
    """

    _own_parts = {"MixtureParams": MixtureParams}  # noqa: RUF012  read only
    _card_from = "unveil.projections.shown:map_card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 1, 2, closed="both")],
        "lattice_shape": [Interval(Integral, 2, None, closed="left"), tuple, list, None],
        "basis_shape": [Interval(Integral, 1, None, closed="left"), tuple, list, None],
        "basis_width": [Interval(Real, 0.0, None, closed="neither")],
        "regularization": [Interval(Real, 0.0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"pca", "random"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "engine": ENGINE_TAKEN,
        "schedule": [StrOptions(set(SCHEDULES)), HasMethods("sweep")],
        "expectation": [StrOptions(set(EXPECTATIONS)), HasMethods("responsibilities")],
    }
    _takes_missing = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        lattice_shape: Any = None,
        basis_shape: Any = None,
        basis_width: float = 1.0,
        regularization: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        init: str = "pca",
        random_state: Any = None,
        verbose: int = 0,
        engine: Any = "auto",
        schedule: Any = "batch",
        expectation: Any = "exact",
    ) -> None:
        self.n_components = n_components
        self.lattice_shape = lattice_shape
        self.basis_shape = basis_shape
        self.basis_width = basis_width
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.random_state = random_state
        self.verbose = verbose
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "lattice_", numbers("points", "dimensions", laws=(_even,))
        points, dimensions = self.lattice_.shape
        yield "basis_shape_", Each((counts(),) * dimensions)
        yield "basis_", numbers(points, prod(map(int, self.basis_shape_)) + dimensions + 1)
        yield "basis_width_", positive()
        yield "mean_", numbers(d)
        yield "prior_precision_", at_least_zero()
        yield "coefficients_", numbers(self.basis_.shape[1], d)
        yield "noise_variance_", at_least_zero(above=True, high=FINITE)
        yield "means_", numbers(points, d)

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GenerativeTopographicMap:
        """Fit by EM.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
            The rows; NaN is a missing cell.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: weight 3 equals the row three times, weight 0 equals no row.
        """
        self._validate_params()
        lattice = _shape("lattice_shape", self.lattice_shape, LATTICE_SHAPES[self.n_components], 2)
        bumps = _shape("basis_shape", self.basis_shape, BASIS_SHAPES[self.n_components], 1)
        with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
            source = self._source(X, sample_weight, reset=True)
            if source.n_columns < self.n_components:
                got = f"n_components={self.n_components} with n_features = {source.n_columns}"
                raise ValueError(f"a map has no more dimensions than the data, got {got}")
            self._adopt(*self._climb(source, lattice, Basis(bumps, float(self.basis_width))))
        return self

    def _climb(self, source: Source, lattice: tuple[int, ...], basis: Basis) -> tuple[Parts, Fit]:
        """All starts, each to its end; the best is kept."""
        engine, shift = engine_for(self.engine, source), frame_of(source)
        self.random_seed_ = seed_of(self.random_state)
        run = partial(_pass, engine, source)
        spread = spread_of(run, shift)
        if not spread.variances.any():
            refuse_units(source)
        if not SMALLEST_VARIANCE < spread.size < LARGEST_VARIANCE:
            refuse_nonfinite(source, missing=True)
            refuse_units(source)
            got = f"a mean variance of {spread.size:.3g}"
            raise ValueError(f"X has {got}, whose powers float64 does not hold: scale its columns")
        self.lattice_, self.basis_ = grid(lattice), basis(grid(lattice))
        self.basis_shape_, self.basis_width_ = basis.shape, basis.width
        self.mean_, self.prior_precision_ = spread.mean, float(self.regularization) / spread.size
        model = self._model(NOISE_FLOOR * spread.size, spread.holes)
        suited = replace(model, mixture=model.mixture.suited_to(source.n_rows))
        parts = parts_of(self, suited, source)
        starts = (model.start(*start) for start in self._starts(run, spread, lattice, basis))
        return parts, climb(Task(parts, starts, lambda outcome: True))

    def _starts(
        self, run: Callable[..., Statistics], spread: TableSpread, lattice: tuple[int, ...], basis: Basis
    ) -> Iterator[SheetStart]:
        """As many as are asked for, the first as `init` says."""
        for number in range(self.n_init):
            if number == 0 and self.init == "pca":
                yield plane(axes_of(run, spread, len(lattice) + 1, self.random_seed_), lattice, basis)
            else:
                key = np.random.SeedSequence(self.random_seed_, spawn_key=(number,))
                yield bent(spread, basis, np.random.default_rng(key))

    def _model(self, floor: float, holes: bool) -> TopographicMap:
        """The model of the lattice, basis and prior that are set, in the frame of the mean."""
        precision = np.zeros(self.basis_.shape[1])
        precision[: prod(self.basis_shape_)] = self.prior_precision_
        sheet = SheetFamily(self.basis_, precision, floor, holes)
        return TopographicMap(Mixture(sheet, len(self.basis_), self.mean_))

    def _adopt(self, parts: Parts, outcome: Fit) -> None:
        """Set the fitted attributes."""
        sheet = outcome.params.components
        self.coefficients_, self.noise_variance_ = sheet.coefficients, float(sheet.variance)
        self.means_ = self.mean_ + sheet.means
        self.lower_bounds_ = [record.objective / record.weight for record in outcome.history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        self._report(outcome, None, _figures(parts, outcome) if outcome.history else None)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _located(self, finish: Callable[[Floats], NDArray[Any]]) -> Located:
        """A function of log p(x, point), (points, rows), as engines take it."""
        model = self._model(self.noise_variance_, holes=False)
        return located(model, model.start(self.coefficients_, self.noise_variance_), finish)

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool = False) -> Source:
        """Checked rows, to fit to or for a model that is fitted. Whether cells are infinite, the sums will tell."""
        if not reset:
            check_is_fitted(self)
        least = 2 if reset else 1
        return rows_in(self, X, sample_weight, reset=reset, min_rows=least, missing=True, finite=False)

    def transform(self, X: Any) -> NDArray[Any]:
        """Where each row lies on the map: the mean of its responsibilities over the lattice, (n_samples, n_components).

        Of a row between two folds of the sheet this may be a place that is near neither; `modes` tells.
        """
        source = self._source(X)
        find = self._located(partial(mean, self.lattice_))
        return self._filled(partial(put, find), source, self.lattice_.shape[1], dtype=source.dtype)

    def modes(self, X: Any) -> Floats:
        """The likeliest point of the lattice for each row, (n_samples, n_components)."""
        numbers = self.predict(X)
        return np.asarray(self.lattice_[numbers])

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The number of the likeliest point of the lattice for each row."""
        source = self._source(X)
        return self._filled(partial(put, self._located(likeliest)), source, dtype=np.intp)

    def predict_proba(self, X: Any) -> Floats:
        """Responsibilities: the probability of every point of the lattice given the row, (n_samples, n_points)."""
        source = self._source(X)
        return self._filled(partial(put, self._located(shares)), source, len(self.lattice_))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row; of the cells that are there, where some are missing."""
        source = self._source(X)
        return self._filled(partial(put, self._located(densities)), source)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows."""
        source = self._source(X, sample_weight)
        log_likelihood, weight = np.sum(self._map(partial(total, self._located(densities)), source), axis=0)
        return float(log_likelihood / weight)

    def impute(self, X: Any) -> Floats:
        """`X` with missing cells (NaN) replaced by their expectation given the cells that are there."""
        source = self._source(X)
        expected = self._located(partial(mean, self.means_ - self.mean_))
        return np.concatenate(self._map(partial(completed, expected, self.mean_), source))

    # -- the map -------------------------------------------------------------------------------------------------------

    def inverse_transform(self, X: Any) -> Floats:
        """The map at points of the latent space, (n_points, n_components): where they lie in the data."""
        points = self._points(X, "X")
        return np.asarray(self.mean_ + Basis(self.basis_shape_, self.basis_width_)(points) @ self.coefficients_)

    def magnification_factors(self, points: Any = None) -> Floats:
        """Length (of a curve) or area (of a sheet) in the data per unit of the latent space: sqrt(det J J').

        Where it is large the map is stretched, as it is between clusters (Bishop, Svensen & Williams 1997).

        Parameters
        ----------
        points : array-like of shape (n_points, n_components), optional
            Where; by default at the points of the lattice.
        """
        check_is_fitted(self)
        where = self.lattice_ if points is None else self._points(points, "points")
        return magnification(Basis(self.basis_shape_, self.basis_width_).slopes(where), self.coefficients_)

    def sample(self, n_samples: int = 1) -> tuple[Floats, NDArray[np.intp]]:
        """Rows drawn from the model, and the numbers of the lattice points they came from."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
        random = check_random_state(self.random_state)
        numbers = random.randint(len(self.lattice_), size=int(n_samples))
        noise = random.standard_normal((int(n_samples), self.n_features_in_))
        return self.means_[numbers] + np.sqrt(self.noise_variance_) * noise, numbers

    def _points(self, points: Any, argument: str) -> Floats:
        check_is_fitted(self)
        found: Floats = check_array(points, dtype=np.float64, input_name=argument)
        if found.shape[1] != self.lattice_.shape[1]:
            wanted = f"(n_points, {self.lattice_.shape[1]})"
            raise ValueError(f"{argument} must be of shape {wanted}, got {found.shape}")
        return found

    @property
    def _n_features_out(self) -> int:
        return int(self.lattice_.shape[1])


def _pass(engine: Engine, source: Source, step: Any) -> Statistics:
    """Statistics of all rows."""
    return engine.map_reduce(step, source, None)[0]


def _figures(parts: Parts, outcome: Fit) -> Mapping[str, float]:
    """What the certificate says of the end of a fit: one more pass, under the posterior."""
    model: Any = parts.model
    params = model.recentre(outcome.params)
    step = ExpectationStep(model, model.prepare(params), Exact(), parts.seed, 0)
    statistics = _pass(parts.engine, parts.source, step)
    functions = model.sheet.effective_functions(statistics["moments"], params.components)
    per_column = float(statistics["weight"]) / functions
    return {
        "stationarity": stationarity(model, params, statistics),
        "observations_per_parameter": per_column / parts.source.n_columns,
        "cells_per_parameter": per_column,
    }


def _shape(argument: str, given: Any, default: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Counts in each direction, from what the user gave."""
    if given is None:
        return default
    shape = (given,) * len(default) if isinstance(given, Integral) else tuple(given)
    if len(shape) != len(default) or not all(isinstance(count, Integral) and int(count) >= least for count in shape):
        wanted = f"an integer or {len(default)} integers, each at least {least}"
        raise ValueError(f"{argument} must be {wanted} (one a direction), got {given!r}")
    return tuple(int(count) for count in shape)


def _even(lattice: Floats) -> str | None:
    """What is wrong with points that are to be a lattice."""
    shape = tuple(len(np.unique(way)) for way in lattice.T)
    fits = prod(shape) == len(lattice) and np.allclose(lattice, grid(shape), rtol=0.0, atol=ROUNDED)
    return None if fits else "be the points of a lattice, in order"
