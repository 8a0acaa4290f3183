"""Independent component analysis: sources that are mixed into the columns, found by not being Gaussian.

The model is x = mean + mixing s, with independent s. Rows are whitened (`whitening.py`), which leaves a rotation to be
found (`search.py`). The model fixes sources up to their order, scale and sign, so these follow a rule: unit variance,
falling variance explained (the squared length of the mixing column), and its largest entry positive.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.certificate import Certificate, Finding
from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, at_least_zero, chances, numbers, truth
from unveil.core.protocols import Engine, Source
from unveil.core.result import Status
from unveil.estimation.base import engine_for, warn_of
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import rows_in
from unveil.estimation.plain_rows import as_floats
from unveil.estimation.task import fit_task
from unveil.estimation.units import UnitsError, learn_in_other_units
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.affine import project
from unveil.projections.ica.fixed_point import UnmixingOutcome
from unveil.projections.ica.gaussianity import gaussian_finding, shape_of
from unveil.projections.ica.model import CONTRASTS, Passes
from unveil.projections.ica.quasi_newton import FreeUnmixing, UnmixingGeometry
from unveil.projections.ica.search import SolverFrame, contrast_of, geometry_of, solved
from unveil.projections.ica.whitening import rank_finding, root_of, whitening_of
from unveil.projections.passes import lone_block
from unveil.projections.pca.routes import moments_of
from unveil.projections.projection import Projection

ENDINGS = {
    Status.CONVERGED: "converged after {}",
    Status.MAX_ITER: "not converged after {}",
    Status.INTERRUPTED: "interrupted after {}; the best so far is kept",
}


UNIT_POWERS = {"mean_": 1, "mixing_": 1, "whitening_": -1, "components_": -1}
"""How attributes go with the unit of the table."""


class ICA(Projection):
    """Independent component analysis.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of sources: rows are reduced to so many principal directions first. None takes all that there are.
    algorithm : {"picard", "parallel", "deflation"}, default="picard"
        "picard" maximises a likelihood by preconditioned L-BFGS; "parallel" and "deflation" are FastICA, the same
        iterations as in scikit-learn.
    whiten : {"unit-variance", "arbitrary-variance", False}, default="unit-variance"
        Scale of the sources: variance 1, or 1 / n_samples as in scikit-learn. False leaves rows as they are, centred
        or not; "parallel" and "deflation" then take them to be white already.
    fun : {"logcosh", "exp", "cube"} or callable, default="logcosh"
        The contrast. A callable, for FastICA only, returns g(x) and the mean of g'(x) over the last axis, or all of
        g'(x), which is what ``sample_weight`` needs.
    fun_args : dict or None, default=None
        Arguments of a callable `fun`, or ``{"alpha": a}`` with 1 <= a <= 2 for "logcosh".
    max_iter : int, default=200
        Most iterations.
    tol : float or "auto", default="auto"
        "picard" stops when no entry of the relative gradient of the mean log-likelihood is above `tol`; "parallel" and
        "deflation" when no vector turns by more, by 1 minus the cosine. "auto" is 1e-7, and "picard" also stops where
        the next step is expected to gain less than 0.0001 nats for each thousand rows (0.0001 at least).
    w_init : array-like of shape (n_components, n_components) or None, default=None
        Start, in the coordinates of ``whitening_``. None draws one.
    whiten_solver : {"auto", "eigh", "svd"}, default="auto"
        "eigh" streams moments; "svd" decomposes rows in memory. "auto" takes "svd" for small tables with fewer than
        ten rows a column.
    orthogonal : bool or "auto", default="auto"
        For "picard": keep sources exactly uncorrelated, a search among rotations only. "auto" does where rows are
        whitened, and else takes any matrix.
    extended : bool, default=True
        For "picard": choose for every source whether its density has heavier or lighter tails than a Gaussian. If
        False the density is exp(-F): heavier tails, but for "cube", whose are lighter.
    gaussianity_level : float, default=0.01
        Level of the test whether a component can be told from Gaussian noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, and of the sample of rows that the search begins on.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where passes over the rows run.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The unmixing matrix: sources are ``(X - mean_) @ components_.T``.
    mixing_ : ndarray of shape (n_features, n_components)
        The way back, its pseudo-inverse.
    mean_, whitening_ : ndarray
        As in scikit-learn; only where rows are whitened.
    skewness_, kurtosis_ : ndarray of shape (n_components,)
        Of each source; kurtosis in excess of a Gaussian's.
    gaussian_pvalues_, gaussian_ : ndarray of shape (n_components,)
        p-value of each component against a search among Gaussian noise, and whether it is above `gaussianity_level`.
    gradient_norms_ : ndarray
        Largest entry of the relative gradient at each pass over all rows; for "deflation" at the end, where it need
        not vanish.
    converged_, n_iter_ : bool, int
        Whether `tol` was reached, and in how many iterations over all rows.
    certificate_ : Certificate
        What the fit was checked for.

    Notes
    -----
    A table with many rows is searched on a random tenth of them first (never fewer than 8192, and only for "picard"
    without `w_init`); the search goes on over all rows from there and ends by the same rule.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import ICA
    >>> random = np.random.default_rng(0)
    >>> sources = np.stack([random.laplace(size=5000), random.uniform(-1, 1, 5000)], axis=1)
    >>> model = ICA(random_state=0).fit(sources @ np.array([[1.0, 2.0], [3.0, 0.5]]))
    >>> model.mixing_.round(1).tolist()
    [[1.4, 1.7], [2.9, 0.3]]
    >>> model.gaussian_.tolist()
    [False, False]
    """

    _card_from = "unveil.projections.shown:independent_card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions({"picard", "parallel", "deflation"})],
        "whiten": [StrOptions({"unit-variance", "arbitrary-variance"}), Options(bool, {False})],
        "fun": [StrOptions(set(CONTRASTS)), callable],
        "fun_args": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "w_init": ["array-like", None],
        "whiten_solver": [StrOptions({"auto", "eigh", "svd"})],
        "orthogonal": ["boolean", StrOptions({"auto"})],
        "extended": ["boolean"],
        "gaussianity_level": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
        "engine": ENGINE_TAKEN,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: str = "picard",
        whiten: Any = "unit-variance",
        fun: Any = "logcosh",
        fun_args: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float | str = "auto",
        w_init: Any = None,
        whiten_solver: str = "auto",
        orthogonal: Any = "auto",
        extended: bool = True,
        gaussianity_level: float = 0.01,
        random_state: Any = None,
        engine: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.whiten = whiten
        self.fun = fun
        self.fun_args = fun_args
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.whiten_solver = whiten_solver
        self.orthogonal = orthogonal
        self.extended = extended
        self.gaussianity_level = gaussianity_level
        self.random_state = random_state
        self.engine = engine

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "components_", numbers("sources", d)
        q = len(self.components_)
        yield "mixing_", numbers(d, q)
        if self.whiten:
            yield "mean_", numbers(d)
            yield "whitening_", numbers(q, d)
        for name in ("skewness_", "kurtosis_"):
            yield name, numbers(q)
        yield "gaussian_pvalues_", chances(q)
        yield "gaussian_", truth(q)
        yield "gradient_norms_", at_least_zero(None)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ICA:
        """Find the sources.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; their sum is the number of rows that the test for Gaussian components goes by.

        Notes
        -----
        Ctrl-C ends the search and keeps the best so far, with a warning.
        """
        self._validate_params()
        contrast, geometry = contrast_of(self), geometry_of(self)
        try:
            with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
                source = rows_in(self, X, sample_weight, reset=True, min_rows=2)
                engine = engine_for(self.engine, source)
                frame, findings = self._frame(engine, source, geometry)
                lone = lone_block(engine, source)
                evaluate = Passes(engine, source, contrast, frame.shift, frame.matrix, lone)
                outcome = solved(self, evaluate, frame, geometry)
                self._keep(evaluate, frame, outcome)
                self._certify(outcome.status, findings, frame.weight)
        except UnitsError as error:
            if not self.whiten:  # sources are in the units of the columns, and their squares told
                raise
            learn_in_other_units(self, error, UNIT_POWERS)
        return self

    def _frame(
        self, engine: Engine, source: Source, geometry: UnmixingGeometry | None
    ) -> tuple[SolverFrame, list[Finding]]:
        """Coordinates for the solver, and what was found on the way to them."""
        if not self.whiten:
            for name in {"mean_", "whitening_"} & vars(self).keys():  # of a fit before
                delattr(self, name)
            return self._raw_frame(engine, source, geometry), []
        white = whitening_of(engine, source, self.n_components, self.whiten_solver)
        self.mean_, self.whitening_ = white.mean, white.matrix / np.sqrt(white.weight)
        same = np.eye(len(white.matrix))
        frame = SolverFrame(white.mean, white.matrix, white.colouring, same, white.mean, white.weight)
        return frame, [rank_finding(white, self.n_components)]

    def _raw_frame(self, engine: Engine, source: Source, geometry: UnmixingGeometry | None) -> SolverFrame:
        """Rows as they are; for a search over all matrices, brought near to white so that the start is sensible."""
        columns = source.n_columns
        if self.n_components not in (None, columns):
            raise ValueError(f"n_components={self.n_components} must be None or {columns}, all columns, if not whiten")
        found = moments_of(engine, source)
        second = found.scatter / found.weight + np.outer(found.mean, found.mean)
        same, shift = np.eye(columns), np.zeros(columns)
        if not isinstance(geometry, FreeUnmixing):
            return SolverFrame(shift, same, same, second, found.mean, found.weight)
        root = root_of(second)
        if root is None:
            raise ValueError("columns of X are linearly dependent, which needs whiten='unit-variance'")
        return SolverFrame(shift, root, linalg.inv(root), same, found.mean, found.weight)

    def _keep(self, evaluate: Passes, frame: SolverFrame, outcome: UnmixingOutcome) -> None:
        """Bring the sources to their canonical form, and set what was found."""
        components = np.ascontiguousarray(outcome.unmixing @ frame.matrix)
        mixing = frame.back @ np.linalg.inv(outcome.unmixing)
        about_mean = evaluate if frame.shift is frame.mean else replace(evaluate, shift=frame.mean)
        shape = shape_of(about_mean.powers(outcome.unmixing), frame.weight)
        scales = np.sqrt(shape.variances)
        order, signs = canonical(mixing * scales)
        unit = {"unit-variance": scales, "arbitrary-variance": scales * np.sqrt(frame.weight)}.get(self.whiten, 1.0)
        self.components_ = np.ascontiguousarray(((signs / unit)[:, None] * components)[order])
        self.mixing_ = np.ascontiguousarray((mixing * (signs * unit))[:, order])
        self.skewness_, self.kurtosis_ = (shape.skewness * signs)[order], shape.kurtosis[order]
        self.gaussian_pvalues_ = shape.pvalues[order]
        self.gaussian_ = self.gaussian_pvalues_ > self.gaussianity_level
        self.gradient_norms_ = outcome.gradient_norms
        self.converged_, self.n_iter_ = outcome.status is Status.CONVERGED, int(outcome.n_iter)

    def _certify(self, status: Status, findings: list[Finding], weight: float) -> None:
        """Put the findings together, and warn of those that speak against the fit."""
        norm, count = float(self.gradient_norms_[-1]), self.n_iter_
        passes = f"{count} iteration{'s' if count != 1 else ''}; the largest entry of the gradient is {norm:.2g}"
        said = ENDINGS[status].format(passes)
        remedy = "raise max_iter or tol" if status is Status.MAX_ITER else ""
        severity = "fine" if self.converged_ else "warning"
        convergence = Finding("converged", severity, said, norm, kind="not_converged", remedy=remedy)
        gaussian = gaussian_finding(self.gaussian_, self.gaussianity_level, weight)
        self.certificate_ = Certificate((convergence, *findings, gaussian))
        warn_of(self, self.certificate_.findings, depth=3)

    def transform(self, X: Any, copy: bool = True) -> NDArray[Any]:
        """Sources of the rows.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
        copy : bool, default=True
            Kept for scikit-learn's sake: rows are never written to, so both values mean the same.
        """
        source = self._fitted_rows(X)
        fill = partial(project, self._centre(), self.components_.T)
        return self._filled(fill, source, self._n_features_out, dtype=source.dtype)

    def inverse_transform(self, X: Any, copy: bool = True) -> NDArray[Any]:
        """Rows that the given sources mix to; `copy` is as in `transform`."""
        check_is_fitted(self)
        sources = as_floats(X)
        if sources.shape[1] != self._n_features_out:
            raise ValueError(f"X has {sources.shape[1]} columns, but {self._n_features_out} sources were fitted")
        rows = sources @ self.mixing_.T
        np.add(rows, self._centre(), out=rows)
        return rows.astype(sources.dtype, copy=False)

    def _centre(self) -> Floats:
        return getattr(self, "mean_", np.zeros(self.n_features_in_))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def canonical(mixing: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Order and signs of sources of unit variance: falling length of columns, largest entry positive."""
    order = np.argsort(-np.sum(mixing**2, axis=0), kind="stable")
    sizes = np.abs(mixing)
    # entries of equal size are told apart by rounding alone, so the first of them counts
    places = np.argmax(sizes >= (1.0 - 1e-9) * sizes.max(axis=0), axis=0)
    return order, np.where(mixing[places, np.arange(mixing.shape[1])] < 0.0, -1.0, 1.0)
