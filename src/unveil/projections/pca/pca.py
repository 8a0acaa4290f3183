"""Principal component analysis: the directions of greatest variance, the way there and the way back.

The components are the eigenvectors u of the covariance, S u = lambda u, by falling lambda, the variance along u;
`routes.py` has the ways to them, `projector.py` what can be done with them.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from unveil.certificate import Certificate
from unveil.core.declared import (
    FINITE,
    Declaration,
    MayLack,
    OrNone,
    RecordOf,
    Size,
    at_least_zero,
    chances,
    counts,
    numbers,
    positive,
    semidefinite,
)
from unveil.core.loop import watchers
from unveil.core.protocols import Source
from unveil.core.result import Status
from unveil.core.statistics import Statistics
from unveil.estimation.base import engine_for, seed_of, warn_of
from unveil.estimation.declarations import sums
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import as_source
from unveil.estimation.task import fit_task
from unveil.estimation.units import odd_square, refuse_units
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.pca.certificate import certify, certify_passes
from unveil.projections.pca.lanczos import LanczosSearch
from unveil.projections.pca.moments import TableMoments
from unveil.projections.pca.projector import PrincipalPlane
from unveil.projections.pca.robust import RobustFit, robust_pca
from unveil.projections.pca.routes import (
    ColumnMetric,
    Spectrum,
    by_covariance,
    by_products,
    by_svd,
    checked_feature_weight,
    degrees,
    in_units,
    minka_dimension,
)
from unveil.projections.pca.rows import as_rows, is_sparse
from unveil.projections.pca.weighted import WeightedFit, weighted_pca, with_cell_weights

NARROW_COLUMNS = 1000  # columns up to which all of the covariance is cheap
SMALL_CELLS = 1 << 26  # cells up to which rows may be brought into memory unasked: half a gigabyte
WIDEST_COLUMNS = 20_000  # columns up to which there is room for a covariance: 3.2 gigabytes
TIGHT_VECTORS = 8  # that the tight search multiplies in a pass: as many as a compressed row is multiplied by at once
TIGHT_RESIDUAL = 1e-10  # share of a variance to which its residual falls in the tight search
SETTLED_RESIDUAL = 1e-8  # and at which the quick one ends before its passes do


def _adds_up(estimator: PCA) -> bool:
    """Whether there is a `partial_fit`; the message is what an AttributeError says."""
    if estimator.robust:
        raise AttributeError("partial_fit needs robust=False: weights of rows depend on all of them")
    if estimator.svd_solver not in ("auto", "covariance_eigh"):
        taken = "'auto' or 'covariance_eigh', whose moments add up"
        raise AttributeError(f"partial_fit needs svd_solver {taken}, got {estimator.svd_solver!r}")
    return True


class PCA(PrincipalPlane):
    """Principal component analysis.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        Number of components; a share of variance to keep (0 < share < 1); "mle" for Minka's choice; None keeps all.
    copy : bool, default=True
        Kept for scikit-learn's sake: rows are never written to, so both values mean the same.
    whiten : bool, default=False
        Give scores unit variance.
    scale : bool, default=False
        Divide columns by their standard deviation (over n - 1) first, so that variances are those of the correlation
        matrix. Constant columns are left as they are.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        The route. "covariance_eigh" streams moments in one pass and solves an eigenproblem; "full" brings all rows into
        memory and decomposes them, which also resolves nearly dependent columns; "randomized" finds the first few
        components by a few passes of products, to many digits where variances fall quickly and to a few where they do
        not; "arpack" goes on until they are found to the last digits. All but "full" take sparse rows, which stay
        sparse, and all take every kind of source and weights.

        "auto" goes by shape, so that every storage takes the same route. For up to 1,000 columns and ten times as many
        rows it takes "covariance_eigh". Else, if fewer than 0.8 min(rows, columns) components are asked for by number,
        and rows or columns are more than 500, "randomized". Else "full" for fewer rows than columns, or for up to
        67,108,864 cells with fewer than ten rows a column, and "covariance_eigh" for the rest. Sparse rows take
        "arpack" for more than 1,000 columns if few components are asked for by number, else "covariance_eigh".
    tol : float, default=0.0
        For "arpack": where the residual S u - lambda u of each component may end, as a share of lambda. 0 asks for
        ten digits, at which variances are found to the last one.
    iterated_power : int or "auto", default="auto"
        For "randomized": passes of products after the first; a space of all their results is searched, not the last one
        alone. "auto" is 6 for fewer than 0.1 min(rows, columns) components, else 4, and stops before if eight digits
        are settled.
    n_oversamples : int, default=10
        For "randomized": vectors multiplied in a pass, beyond `n_components`.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Kept for scikit-learn's sake: vectors are always made orthonormal ("QR"), at no pass over the rows.
    robust : bool, default=False
        Let rows count less the further they lie off the plane of the first `n_components`, which must be a number:
        Tukey's weights over a robust scale of the distances, from spherical components about a spatial median
        (Locantore et al. 1999; Maronna 2005). Rows far out on the plane count in full.
    random_state : int, RandomState or None, default=None
        For the first vectors of "arpack" and "randomized", and the starts of `robust`.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where passes run; it changes nothing but the time.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, n_components_, n_samples_, \
noise_variance_, n_features_in_, feature_names_in_
        As in scikit-learn. With ``sample_weight`` the sum of weights stands for the number of rows. With
        ``feature_weight`` w, components are orthonormal in the metric diag(w).
    loadings_ : ndarray of shape (n_features, n_components)
        Covariance of each column (over its scale) with each component at unit variance; with `scale`, correlations.
    scale_ : ndarray of shape (n_features,) or None
        What columns are divided by.
    feature_weight_ : ndarray of shape (n_features,) or None
        The weights of the columns.
    outlier_weights_ : ndarray of shape (n_samples,)
        With `robust`: how much each row counts, from 0 to 1.
    history_, converged_, n_iter_
        With `robust` or ``cell_weight``: how the passes went; the objective is minus the sum of losses or of weighted
        squares.
    certificate_ : Certificate
        To how many digits S u = lambda u holds, and the components are orthonormal.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import PCA
    >>> X = np.array([[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [3.0, 2.9]])
    >>> model = PCA(1).fit(X)
    >>> model.explained_variance_ratio_.round(3).tolist()
    [0.998]
    >>> model.reconstruction_error(X).round(4).tolist()
    [0.001, 0.0073, 0.0073, 0.001]
    >>> PCA(1).partial_fit(X[:2]).partial_fit(X[2:]).explained_variance_ratio_.round(3).tolist()
    [0.998]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "scale": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "robust": ["boolean"],
        "random_state": ["random_state"],
        "engine": ENGINE_TAKEN,
    }
    _resumed_from: ClassVar[tuple[str, ...]] = ("_moments",)

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        scale: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: Any = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        robust: bool = False,
        random_state: Any = None,
        engine: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.scale = scale
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.robust = robust
        self.random_state = random_state
        self.engine = engine

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "n_samples_", counts()
        yield "n_components_", Size("components", 0)
        yield "mean_", numbers(d)
        yield "scale_", OrNone(positive(d))
        yield "feature_weight_", OrNone(at_least_zero(d))
        yield "components_", numbers("components", d)
        for name in ("explained_variance_", "singular_values_"):
            yield name, at_least_zero("components", high=FINITE)
        yield "explained_variance_ratio_", chances("components")
        yield "noise_variance_", at_least_zero(high=FINITE)
        yield "outlier_weights_", MayLack(chances(None))
        scatter = sums(d, d, laws=(semidefinite,))
        told = RecordOf(Statistics, {"weight": at_least_zero(), "mean": numbers(d), "scatter": scatter})
        yield "_moments", MayLack(told)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        feature_weight: Any = None,
        cell_weight: Any = None,
    ) -> PCA:
        """Find the components.

        Parameters
        ----------
        X : array, frame, sparse matrix, scan or Dask array of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        feature_weight : array-like of shape (n_features,), optional
            How much each column counts, w: squared distances are sums of w (x - y)^2, and components are those of the
            columns times sqrt(w), put back in units of the columns. A column of weight 0 has no say in them; it is
            reconstructed by its regression on the scores.
        cell_weight : array-like, scan or Dask array of shape (n_samples, n_features), optional
            How much each cell counts, by alternating least squares (Gabriel & Zamir 1979). A cell of weight 0 may be
            NaN. `n_components` must be a number: planes of different dimension are not nested, and may be local optima.
        """
        self._validate_params()
        for name in ("outlier_weights_", "history_", "converged_", "n_iter_"):
            self.__dict__.pop(name, None)
        if self.robust or cell_weight is not None:
            with fit_task(self, X=X, sample_weight=sample_weight, cell_weight=cell_weight):
                return self._fit_unevenly(X, sample_weight, feature_weight, cell_weight)
        with single_threaded_blas():
            source = as_rows(self, X, sample_weight, reset=True)
            metric = ColumnMetric(self.scale, checked_feature_weight(feature_weight, source.n_columns))
            spectrum = self._solve(source, metric)
        self.n_samples_ = source.n_rows
        self._keep(spectrum, metric, self._count(spectrum))
        return self

    def _fit_unevenly(self, X: Any, sample_weight: Any, feature_weight: Any, cell_weight: Any) -> PCA:
        """Find the components where rows or cells do not all count alike."""
        what = "robust=True" if self.robust else "cell_weight"
        refused = {"scale": self.scale, "feature_weight": feature_weight is not None}
        refused["cell_weight"] = self.robust and cell_weight is not None
        for name, given in refused.items():
            if given:
                raise ValueError(
                    f"{name} does not go together with {what}: scale the columns of X first, or do without"
                )
        if not isinstance(self.n_components, Integral):
            raise ValueError(f"n_components must be an integer with {what}, got {self.n_components!r}")
        if cell_weight is None:
            source = as_rows(self, X, sample_weight, reset=True)
        else:  # cells of weight 0 may be NaN
            source = as_source(self, X, sample_weight, reset=True, missing=True)
        engine, callbacks, count = engine_for(self.engine, source), watchers(), int(self.n_components)
        found: RobustFit | WeightedFit
        if self.robust:
            found = robust_pca(engine, source, count, seed=seed_of(self.random_state), callbacks=callbacks)
            self.outlier_weights_ = found.outlier_weights
            certificate = certify_passes(found.history, found.spectrum, count)
        else:
            found = weighted_pca(engine, with_cell_weights(source, cell_weight), count, callbacks=callbacks)
            certificate = certify_passes(found.history, found.spectrum, count, "residual")
        self.n_samples_, self.history_, self.n_iter_ = source.n_rows, found.history, len(found.history)
        self.converged_ = found.history.status is Status.CONVERGED
        self._keep(found.spectrum, ColumnMetric(), count, certificate)
        return self

    @available_if(_adds_up)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, feature_weight: Any = None) -> PCA:
        """Take in more rows: the components are then those of all rows so far, up to rounding.

        It goes on from a fit by "covariance_eigh" too, whose moments are kept. As long as fewer rows have come than
        components are asked for, there are as many components as rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        feature_weight : array-like of shape (n_features,), optional
            As in `fit`; None keeps that of the call before.
        """
        self._validate_params()
        if hasattr(self, "components_") and not hasattr(self, "_moments"):
            raise ValueError("partial_fit cannot go on from this fit, which kept no moments; fit by 'covariance_eigh'")
        first = not hasattr(self, "_moments")
        with single_threaded_blas():
            source = as_rows(self, X, sample_weight, reset=first)
            self._refuse_too_wide(source)
            weights = checked_feature_weight(feature_weight, source.n_columns)
            if weights is None and not first:
                weights = self.feature_weight_
            metric = ColumnMetric(self.scale, weights)
            before = None
            if not first:
                kept = self._moments
                before = TableMoments(float(kept["weight"]), kept["mean"], kept["scatter"]), self.n_samples_
            spectrum = by_covariance(engine_for(self.engine, source), source, metric, before)
        self.n_samples_ = source.n_rows + (0 if before is None else before[1])
        count = self._count(spectrum, streaming=True)
        self._keep(spectrum, metric, count, certify(spectrum, count, approximate=True, stream=True))
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        feature_weight: Any = None,
        cell_weight: Any = None,
    ) -> Any:
        """Fit, then the scores of the same rows: with weights of cells, those that fit them best."""
        self.fit(X, None, sample_weight, feature_weight, cell_weight)
        return self.transform(X) if cell_weight is None else self.scores(X, cell_weight)

    def _solve(self, source: Source, metric: ColumnMetric) -> Spectrum:
        """The spectrum, by the route that suits the data and `svd_solver`."""
        found = self._solved_by(self._suited(source) if self.svd_solver == "auto" else self.svd_solver, source, metric)
        if odd_square(found.total):
            refuse_units(source)
        return found

    def _solved_by(self, solver: str, source: Source, metric: ColumnMetric) -> Spectrum:
        if solver == "covariance_eigh":
            self._refuse_too_wide(source)
            wanted = int(self.n_components) if isinstance(self.n_components, Integral) else None
            return by_covariance(engine_for(self.engine, source), source, metric, wanted=wanted)
        if solver == "full":
            if is_sparse(source):
                raise ValueError("svd_solver='full' takes dense rows, got sparse ones; the other solvers take them")
            return by_svd(source, metric)
        count = self._few(source, metric, solver)
        search = self._tight(count) if solver == "arpack" else self._quick(count, source)
        random = np.random.default_rng(seed_of(self.random_state))
        return by_products(engine_for(self.engine, source), source, metric, search, random)

    def _suited(self, source: Source) -> str:
        """What "auto" takes: see the class."""
        n_rows, n_columns = source.n_rows, source.n_columns
        tall, least = n_rows >= 10 * n_columns, min(n_rows, n_columns)
        few = isinstance(self.n_components, Integral) and 1 <= int(self.n_components) < 0.8 * least
        if is_sparse(source):
            return "arpack" if few and n_columns > NARROW_COLUMNS else "covariance_eigh"
        if n_columns <= NARROW_COLUMNS and tall:
            return "covariance_eigh"
        if few and max(n_rows, n_columns) > 500:
            return "randomized"
        small = n_rows * n_columns <= SMALL_CELLS and not tall
        return "full" if small or n_rows < n_columns else "covariance_eigh"

    def _refuse_too_wide(self, source: Source) -> None:
        if source.n_columns > WIDEST_COLUMNS:
            taken = f"at most {WIDEST_COLUMNS} columns; ask for a number of components by 'randomized' or 'arpack'"
            raise ValueError(f"X has {source.n_columns} columns; svd_solver='covariance_eigh' takes {taken}")

    def _few(self, source: Source, metric: ColumnMetric, solver: str) -> int:
        """Number of components, where a route finds the first few alone."""
        columns = int(np.count_nonzero(metric.support(source.n_columns)))
        limit = min(source.n_rows, columns) - (solver == "arpack")
        count = limit if self.n_components is None else self.n_components
        if not isinstance(count, Integral) or not 1 <= int(count) <= limit:
            got = f"svd_solver={solver!r}, n_samples={source.n_rows} and n_features={columns}"
            raise ValueError(f"n_components={count!r} must be an integer from 1 to {limit} with {got}")
        return int(count)

    def _tight(self, count: int) -> LanczosSearch:
        return LanczosSearch(count, min(count, TIGHT_VECTORS), 10_000, max(float(self.tol), TIGHT_RESIDUAL))

    def _quick(self, count: int, source: Source) -> LanczosSearch:
        block = count + self.n_oversamples
        if self.iterated_power != "auto":
            return LanczosSearch(count, block, 1 + int(self.iterated_power), 0.0, settle=False)
        more = 6 if count < 0.1 * min(source.n_rows, source.n_columns) else 4
        return LanczosSearch(count, block, 1 + more, SETTLED_RESIDUAL, settle=False)

    def _keep(
        self, spectrum: Spectrum, metric: ColumnMetric, kept: int, certificate: Certificate | None = None
    ) -> None:
        """Set the attributes of the first `kept` components, and warn if they cannot be trusted."""
        values, total = spectrum.values[:kept], spectrum.total
        self.n_components_ = kept
        self.mean_, self.scale_, self.feature_weight_ = spectrum.mean, spectrum.scale, metric.weights
        self.components_ = in_units(spectrum, metric, kept)
        self.explained_variance_ = values
        self.explained_variance_ratio_ = values / total if total > 0 else np.zeros(kept)
        self.singular_values_ = np.sqrt(values * degrees(spectrum.weight))
        left = spectrum.limit - kept
        self.noise_variance_ = max(total - float(values.sum()), 0.0) / left if left > 0 else 0.0
        self.__dict__.pop("_moments", None)
        if spectrum.moments is not None:
            self._moments = Statistics(**spectrum.moments._asdict())
        asked, quick = isinstance(self.n_components, Integral), self.svd_solver in ("auto", "randomized")
        self.certificate_ = certificate or certify(spectrum, kept, quick, asked)
        warn_of(self, self.certificate_.at_once, depth=3 if certificate is None else 4)

    def _count(self, spectrum: Spectrum, streaming: bool = False) -> int:
        """How many components to keep."""
        wanted, values = self.n_components, spectrum.values
        if wanted is None:
            return len(values)
        if wanted == "mle":
            if self.n_samples_ < self.n_features_in_ and not streaming:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            return minka_dimension(values, spectrum.weight)
        if isinstance(wanted, Integral):
            if int(wanted) > len(values) and not (streaming and int(wanted) <= self.n_features_in_):
                sizes = f"min(n_samples, n_features)={len(values)}"
                raise ValueError(f"n_components={wanted} must be from 0 to {sizes} with svd_solver={self.svd_solver!r}")
            return min(int(wanted), len(values))
        shares = np.cumsum(values) / max(values.sum(), np.finfo(np.float64).tiny)
        return min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(values))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
