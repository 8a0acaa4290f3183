"""Principal curve: a smooth curve through the middle of the data, and where each row lies along it.

The first principal component is the straight line that is nearest to the rows; the principal curve bends it
(`unveil.projections.curves.model` has the two steps that take turns).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.certificate import Certificate, Finding
from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, Declaration, at_least_zero, numbers, rising
from unveil.core.protocols import Block, Engine, Source
from unveil.core.result import History, Status
from unveil.core.statistics import tree_sum
from unveil.estimation.base import engine_for, warn_of
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import finite_rows, frame_of, refuse_nonfinite, rows_in
from unveil.estimation.task import fit_task
from unveil.estimation.units import odd_square, refuse_units, units_told
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.curves.local import Local
from unveil.projections.curves.model import (
    CurveFit,
    CurveOutcome,
    FirstCurve,
    OntoCurve,
    OntoLine,
    Polyline,
    Projected,
    ellipse,
    leading_axes,
    summed,
)
from unveil.projections.curves.spline import Spline
from unveil.projections.pca.certificate import findings_of
from unveil.projections.pca.routes import moments_of
from unveil.projections.projection import Projection

Placed = tuple[Projected, Floats]  # rows of a block upon the curve, and squares of their distances


def _place(polyline: Polyline, shift: Floats, names: tuple[str, ...] | None, block: Block) -> Placed:
    """Project a block, whose cells must be finite."""
    coordinates, squares = polyline.project(finite_rows(block, names), shift)
    return Projected(coordinates, *summed(block, squares)), squares


CYCLE_TURNS, CYCLE_SWING = (
    20,
    0.01,
)  # last passes over which the distance may swing by such a share of itself: smoothers
#                                       are no descent, and a step back and forth is the end of many
TINY_DISTANCE = 1e-300  # where all rows are on the curve


class PrincipalCurve(Projection):
    """Principal curve by projecting and smoothing in turn (Hastie & Stuetzle 1989).

    Parameters
    ----------
    smoother : {"spline", "local"}, default="spline"
        How conditional means along the curve are found: by a smoothing spline, or by lines through neighbours.
    degrees_of_freedom : float or "gcv", default=5
        Equivalent degrees of freedom of the spline: 2 is a straight line, more bend more. "gcv" leaves them to
        generalised cross-validation in every turn, which follows the data closely; it takes the sum of the weights for
        the number of rows.
    span : float, default=2/3
        Share of the rows that are neighbours of a place, with ``smoother="local"``.
    closed : bool, default=False
        Whether the curve comes back to where it begins.
    bias_correction : bool, default=False
        Whether to smooth residuals too, in every turn, and add them (Banfield & Raftery 1992): bends are flattened
        less. The curve follows the rows more closely than one without at the same degrees of freedom.
    init : "pca" or array-like of shape (n_points, n_features), default="pca"
        The first curve: the first principal component, or an ellipse in the plane of the first two if it is closed; or
        points in order.
    stretch : float, default=0
        Ends of an open curve are moved on in every turn by so many times the way from the last row but one to the
        last, so that it can grow (R's princurve takes 2). Where rows share an end there is no such way, and it stays.
    n_points : int, default=2048
        The curve is drawn through the coordinates of all rows, or at most about so many.
    tol : float, default=1e-4
        Converged when the total squared distance changes by no more than this share of it.
    max_iter : int, default=100
        Most turns. Ctrl-C ends them early, and keeps the curve of the last one.
    verbose : int, default=0
        Log every turn.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where passes over the rows run.

    Attributes
    ----------
    points_ : ndarray of shape (n_points, n_features)
        Points of the curve, in order; those of a closed one end with the first.
    positions_ : ndarray of shape (n_points,)
        Arc length along the curve at each of the points.
    length_ : float
        Arc length of the whole.
    coordinates_ : ndarray of shape (n_samples,)
        Arc length at the point of the curve that is nearest to each row.
    distance_ : float
        Total squared distance of the rows to the curve, with weights.
    distance_path_ : ndarray of shape (n_iter_ + 1,)
        The same at the start and after each turn.
    center_ : ndarray of shape (n_features,)
        What rows are taken relative to.
    converged_, n_iter_, history_, certificate_
        How the fit went; the free energy of the history is minus the total squared distance, which theory allows
        to rise or fall from turn to turn.

    Notes
    -----
    ``PrincipalCurve(stretch=2, tol=1e-3, max_iter=10)`` is what R's ``princurve::principal_curve`` does by default.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import PrincipalCurve
    >>> angle = np.linspace(0, np.pi, 60)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> curve = PrincipalCurve(degrees_of_freedom=8).fit(arc)
    >>> round(curve.length_, 1), bool(curve.distance_ < 0.01)
    (3.1, True)
    >>> curve.transform(arc[:2]).shape, curve.inverse_transform([[0.0]]).shape
    ((2, 1), (1, 2))
    """

    _card_from = "unveil.projections.shown:curve_card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "smoother": [StrOptions({"spline", "local"})],
        "degrees_of_freedom": [Interval(Real, 2, None, closed="left"), StrOptions({"gcv"})],
        "span": [Interval(Real, 0, 1, closed="right")],
        "closed": ["boolean"],
        "bias_correction": ["boolean"],
        "init": [StrOptions({"pca"}), "array-like"],
        "stretch": [Interval(Real, 0, None, closed="left")],
        "n_points": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "engine": ENGINE_TAKEN,
    }

    def __init__(
        self,
        *,
        smoother: str = "spline",
        degrees_of_freedom: Any = 5.0,
        span: float = 2 / 3,
        closed: bool = False,
        bias_correction: bool = False,
        init: Any = "pca",
        stretch: float = 0.0,
        n_points: int = 2048,
        tol: float = 1e-4,
        max_iter: int = 100,
        verbose: int = 0,
        engine: Any = "auto",
    ) -> None:
        self.smoother = smoother
        self.degrees_of_freedom = degrees_of_freedom
        self.span = span
        self.closed = closed
        self.bias_correction = bias_correction
        self.init = init
        self.stretch = stretch
        self.n_points = n_points
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.engine = engine

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "center_", numbers(d)
        yield "points_", numbers("points", d)
        yield "positions_", at_least_zero("points", laws=(rising,))
        yield "length_", at_least_zero()
        yield "coordinates_", at_least_zero(None, gaps=True)
        yield "distance_", at_least_zero(high=FINITE)
        yield "distance_path_", at_least_zero(None, high=FINITE)

    def _make_ready(self) -> None:
        self._polyline()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PrincipalCurve:
        """Find the curve.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._validate_params()
        if self.closed and self.stretch > 0:
            raise ValueError(f"stretch={self.stretch!r} needs an open curve, got closed=True: it has no ends")
        with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
            source = rows_in(self, X, sample_weight, reset=True)
            with units_told(source):
                outcome = self._run(source)
            self._keep(outcome, source)
        self._tell(outcome)
        return self

    def _run(self, source: Source) -> CurveOutcome:
        """The turns, from the start that `init` and `closed` ask for."""
        engine = engine_for(self.engine, source)
        start, self.center_ = self._start(engine, source)
        degrees = None if isinstance(self.degrees_of_freedom, str) else float(self.degrees_of_freedom)
        smoother = Local(self.span, self.n_points) if self.smoother == "local" else Spline(degrees)
        points = int(self.n_points)
        options = (bool(self.closed), bool(self.bias_correction), float(self.stretch), points, self.tol, self.max_iter)
        fit = CurveFit(engine, source, self.center_, smoother, *options)
        return fit.run(start, self._callbacks_for(source))

    def _start(self, engine: Engine, source: Source) -> tuple[FirstCurve, Floats]:
        """The first curve, and the frame."""
        if not isinstance(self.init, str):
            shift = frame_of(source)
            polyline = Polyline.through(self._given() - shift).stretched(self.stretch)
            refuse_nonfinite(source)
            return OntoCurve(polyline, shift), shift
        if self.closed and min(source.n_rows, source.n_columns) < 2:
            shape = f"{source.n_rows} and {source.n_columns}"
            raise ValueError(f"closed=True needs at least 2 rows and 2 columns, got {shape}")
        found = moments_of(engine, source)
        if odd_square(float(found.scatter.max(initial=0.0)) / found.weight):
            refuse_units(source)
        axes, variances = leading_axes(found.scatter / found.weight)
        if not self.closed:
            return OntoLine(found.mean, axes[0]), found.mean
        return OntoCurve(Polyline.through(ellipse(axes, variances)), found.mean), found.mean

    def _given(self) -> Floats:
        """The curve that `init` holds."""
        points = _numbers(self.init, "init")
        if points.ndim != 2 or points.shape[1] != self.n_features_in_ or len(points) < 2:
            wanted = f"(n, {self.n_features_in_}) with at least 2 points"
            raise ValueError(f"init must be 'pca' or points in order of shape {wanted}, got shape {points.shape}")
        if not np.all(np.isfinite(points)):
            raise ValueError("init must hold finite numbers, got NaN or infinity")
        if not np.ptp(points, axis=0).any():
            raise ValueError(f"init must hold points that differ, got the same one {len(points)} times")
        return np.concatenate([points, points[:1]]) if self.closed else points

    def _keep(self, outcome: CurveOutcome, source: Source) -> None:
        """Set what was found: the curve from the first row along it to the last, and the rows upon it."""
        polyline, coordinates = outcome.polyline, outcome.projected.coordinates
        if not self.closed:
            polyline = Polyline.through(polyline.between(np.nanmin(coordinates), np.nanmax(coordinates)))
        self.points_ = polyline.points + self.center_
        self.positions_ = self._polyline().positions
        self.length_ = float(self.positions_[-1])
        placed = self._placed(source)
        self.coordinates_ = np.concatenate([block.coordinates for block, _ in placed])
        self.distance_ = float(tree_sum([block.distance for block, _ in placed]))
        self.distance_path_ = -outcome.history.free_energy

    def _tell(self, outcome: CurveOutcome) -> None:
        """Say how the fit went."""
        self.history_ = outcome.history
        self.converged_ = outcome.history.status is Status.CONVERGED
        self.n_iter_ = len(outcome.history) - 1
        turns = replace(outcome.history, records=outcome.history.records[1:])  # the first is that of the start
        self.certificate_ = Certificate((*(_turning(found, turns) for found in findings_of(turns)), _length(self)))
        warn_of(self, self.certificate_.findings, depth=3)

    def _polyline(self) -> Polyline:
        return Polyline.through(self.points_ - self.center_)

    def _placed(self, source: Source) -> list[Placed]:
        """Rows upon the curve, block by block."""
        return self._map(partial(_place, self._polyline(), self.center_, source.names), source)

    def transform(self, X: Any) -> NDArray[Any]:
        """Coordinate of each row: the arc length at the point of the curve that is nearest to it, (n_samples, 1)."""
        source = self._fitted_rows(X)
        coordinates = np.concatenate([block.coordinates for block, _ in self._placed(source)])
        return coordinates[:, None].astype(source.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Floats:
        """Points of the curve at coordinates; beyond the ends of an open one its ends, around a closed one."""
        check_is_fitted(self)
        coordinates = _numbers(X, "X")
        if coordinates.ndim != 2 or coordinates.shape[1] != 1:
            raise ValueError(f"X must be coordinates of shape (n, 1), got shape {coordinates.shape}")
        if not np.all(np.isfinite(coordinates)):
            raise ValueError("X must hold finite coordinates, got NaN or infinity")
        if self.closed and self.length_ > 0.0:
            coordinates = coordinates % self.length_
        return self._polyline().at(coordinates[:, 0]) + self.center_

    def project(self, X: Any) -> Floats:
        """The point of the curve that is nearest to each row, (n_samples, n_features)."""
        placed = self._placed(self._fitted_rows(X))
        return self._polyline().at(np.concatenate([block.coordinates for block, _ in placed])) + self.center_

    def distance(self, X: Any) -> Floats:
        """Distance of each row to the curve, (n_samples,)."""
        placed = self._placed(self._fitted_rows(X))
        return np.sqrt(np.concatenate([squares for _, squares in placed]))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean squared distance of the rows to the curve."""
        placed = self._placed(self._fitted_rows(X, sample_weight))
        distance, weight = (
            float(tree_sum([getattr(block, name) for block, _ in placed])) for name in ("distance", "weight")
        )
        return -distance / weight

    @property
    def _n_features_out(self) -> int:
        return 1


def _numbers(values: Any, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None


def _turning(found: Finding, turns: History) -> Finding:
    """A curve that goes round and round among curves that are as near to the rows as each other has come to its end."""
    last = turns.heights[-CYCLE_TURNS:]
    if found.severity != "warning" or turns.status is not Status.MAX_ITER or len(last) < CYCLE_TURNS:
        return found
    swing = (max(last) - min(last)) / max(abs(last[-1]), TINY_DISTANCE)
    if swing > CYCLE_SWING:
        return found
    message = f"the distance to the rows no longer falls: it swings by {swing:.1%} over the last {CYCLE_TURNS} passes"
    return Finding("converged", "note", message, float(len(turns)), kind="cycle")


def _length(curve: Any) -> Finding:
    """Whether there is a curve at all."""
    if curve.length_ > 0:
        return Finding("length", "fine", f"the curve is {curve.length_:.3g} long", float(curve.length_))
    remedy = "look at the columns that were read"
    severity = "warning" if len(curve.coordinates_) > 1 else "doubt"
    return Finding("length", severity, "the curve is a point", 0.0, kind="point", remedy=remedy)
