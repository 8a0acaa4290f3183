"""Principal component analysis: one streamed pass of moments and an eigenproblem, or an SVD in memory.

The components are the eigenvectors u of the covariance, S u = lambda u, by falling lambda (the variance along u). The
covariance is built on the engine from any source; the SVD route needs the rows in memory and in return resolves
directions whose variance is below the rounding of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from unveil.core.protocols import Block, Source
from unveil.estimators.base import engine_for
from unveil.estimators.dimension import minka_dimension
from unveil.estimators.persistence import Savable
from unveil.estimators.table import as_source, frame_of, refuse_nonfinite
from unveil.kernels.blas import single_threaded_blas
from unveil.models.moments import MomentsStep, moments

Floats = NDArray[np.float64]
ROUNDING = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Project:
    """(rows - mean) @ basis of a block, as engines take it."""

    mean: Floats
    basis: Floats

    def __call__(self, block: Block) -> NDArray[Any]:
        """Scores of one block, in the precision of its rows."""
        scores: NDArray[Any] = ((block.rows - self.mean) @ self.basis).astype(block.rows.dtype, copy=False)
        return scores


class PCA(Savable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        Number of components; a share of variance to keep (0 < share < 1); "mle" for Minka's choice; None keeps all.
    copy : bool, default=True
        Kept for scikit-learn's sake: rows are never written to, so both values mean the same.
    whiten : bool, default=False
        Give scores unit variance.
    svd_solver : {"auto", "full", "covariance_eigh"}, default="auto"
        "covariance_eigh" streams moments and solves an eigenproblem; "full" is an SVD of the rows in memory, for few
        rows, many columns or nearly dependent columns; "auto" takes the SVD for arrays with more than 1,000 columns
        or fewer than ten rows a column.
    engine : {"auto", "threads", "dask"} or engine, default="auto"
        Where the pass runs.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, n_components_, n_samples_, \
noise_variance_
        As in scikit-learn. With ``sample_weight`` the sum of weights stands for the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import PCA
    >>> X = np.array([[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [3.0, 2.9]])
    >>> PCA(1).fit(X).explained_variance_ratio_.round(3).tolist()
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
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh"})],
        "engine": [StrOptions({"auto", "threads", "dask"}), HasMethods("map_reduce")],
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        engine: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.engine = engine

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCA:
        """Find the components.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._validate_params()
        with single_threaded_blas():
            source = as_source(self, X, sample_weight, reset=True)
            self.n_samples_ = source.n_rows
            values, self.components_, weight = self._solve(source)
            self._keep(values, weight)
        return self

    def _solve(self, source: Source) -> tuple[Floats, Floats, float]:
        """All variances and components, and the weight of the data; sets the mean."""
        rows = getattr(source, "rows", None)
        wide = source.n_columns > 1000 or source.n_rows < 10 * source.n_columns
        if rows is not None and (self.svd_solver == "full" or (self.svd_solver == "auto" and wide)):
            return self._by_svd(rows)
        if self.svd_solver == "full":
            kind = type(source).__name__
            taken = "plain rows in memory, without weights"
            raise ValueError(f"svd_solver='full' needs {taken}, got {kind}; take 'covariance_eigh' or 'auto'")
        return self._by_covariance(source)

    def _by_covariance(self, source: Source) -> tuple[Floats, Floats, float]:
        shift = frame_of(source)
        statistics, _ = engine_for(self.engine, source).map_reduce(MomentsStep(shift), source, None)
        if not np.all(np.isfinite(statistics["products"])):
            refuse_nonfinite(source)
        weight, self.mean_, scatter = moments(statistics, shift)
        values, vectors = linalg.eigh(scatter / _degrees(weight))
        limit = min(max(source.n_rows, int(weight)), source.n_columns)
        values, components = np.maximum(values[::-1], 0.0)[:limit], _signed(vectors.T[::-1])
        return values, _completed(components[:limit], values, ROUNDING * source.n_columns), weight

    def _by_svd(self, rows: NDArray[Any]) -> tuple[Floats, Floats, float]:
        weight = float(len(rows))
        self.mean_ = np.mean(rows, axis=0, dtype=np.float64)
        _, singular, components = linalg.svd(rows - self.mean_, full_matrices=False, check_finite=False)
        components = _completed(_signed(components), singular, ROUNDING * max(rows.shape))
        return singular**2 / _degrees(weight), components, weight

    def _keep(self, values: Floats, weight: float) -> None:
        """Choose how many components to keep, and set the attributes that depend on it."""
        total = float(values.sum())
        kept = self.n_components_ = self._count(values, weight)
        self.components_ = np.ascontiguousarray(self.components_[:kept])
        self.explained_variance_ = values[:kept]
        self.explained_variance_ratio_ = values[:kept] / total if total > 0 else np.zeros(kept)
        self.singular_values_ = np.sqrt(values[:kept] * _degrees(weight))
        rank = len(values)
        self.noise_variance_ = float(values[kept:].mean()) if kept < min(rank, self.n_features_in_) else 0.0

    def _count(self, values: Floats, weight: float) -> int:
        wanted, limit = self.n_components, len(values)
        if wanted is None:
            return limit
        if wanted == "mle":
            if self.n_samples_ < self.n_features_in_:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            return minka_dimension(values, weight)
        if isinstance(wanted, Integral):
            wanted = int(wanted)
            if wanted > limit:
                sizes = f"min(n_samples, n_features)={limit}"
                raise ValueError(
                    f"n_components={wanted} must be between 0 and {sizes} with svd_solver={self.svd_solver!r}"
                )
            return wanted
        shares = np.cumsum(values) / values.sum()
        return int(np.searchsorted(shares, wanted, side="right")) + 1

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores: coordinates of the rows along the components."""
        check_is_fitted(self)
        source = as_source(self, X, reset=False)
        basis = self.components_.T / self._scales() if self.whiten else self.components_.T
        with single_threaded_blas():
            return np.concatenate(list(engine_for(self.engine, source).map(Project(self.mean_, basis), source)))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the scores of the same rows."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Rows at the given scores: the way back, up to the reconstruction error."""
        check_is_fitted(self)
        scores = np.asarray(X)
        basis = self.components_ * self._scales()[:, None] if self.whiten else self.components_
        return scores @ basis + self.mean_

    def _scales(self) -> Floats:
        """Standard deviation along each component; tiny where there is none, as in scikit-learn."""
        scales = np.sqrt(self.explained_variance_)
        return np.where(scales < np.finfo(scales.dtype).eps, np.finfo(scales.dtype).eps, scales)

    def get_covariance(self) -> Floats:
        """Covariance of the data under the model: components, plus noise in all other directions."""
        check_is_fitted(self)
        excess = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        return (self.components_.T * excess) @ self.components_ + self.noise_variance_ * np.eye(self.n_features_in_)

    def get_precision(self) -> Floats:
        """Inverse of the covariance."""
        if self.n_components_ == 0:
            return np.eye(self.n_features_in_) / self.noise_variance_
        return np.asarray(linalg.inv(self.get_covariance(), check_finite=False))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row under the probabilistic model (Tipping & Bishop 1999)."""
        check_is_fitted(self)
        source = as_source(self, X, reset=False)
        factor = linalg.cholesky(self.get_precision(), lower=True)
        constant = 2.0 * np.sum(np.log(np.diagonal(factor))) - self.n_features_in_ * np.log(2.0 * np.pi)
        with single_threaded_blas():
            blocks = engine_for(self.engine, source).map(Project(self.mean_, factor), source)
            return np.concatenate(
                [0.5 * (constant - np.sum(block.astype(np.float64) ** 2, axis=1)) for block in blocks]
            )

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the rows."""
        return float(np.mean(self.score_samples(X)))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _degrees(weight: float) -> float:
    """Divisor of the scatter: one less than the number of rows, but never nothing."""
    return max(weight - 1.0, 1.0) if weight > 1.0 else weight


def _signed(components: Floats) -> Floats:
    """Components with the largest entry of each positive, so that signs do not depend on the route."""
    return np.asarray(svd_flip(None, components, u_based_decision=False)[1])


def _completed(components: Floats, sizes: Floats, tolerance: float) -> Floats:
    """Components whose size is mere rounding replaced by directions that depend on the others alone.

    Any basis of the directions without variance would do; this one is the same by every route: the axis that is
    furthest from what is there already, made orthogonal to it, again and again.
    """
    rank = int(np.count_nonzero(sizes > tolerance * sizes.max(initial=0.0)))
    basis = components.copy()
    for place in range(rank, len(basis)):
        known = basis[:place]
        axis = int(np.argmax(np.round(1.0 - np.sum(known**2, axis=0), 9)))
        direction = np.eye(1, basis.shape[1], axis)[0]
        for _ in range(2):  # once more: the first time leaves rounding of the size of what was taken off
            direction -= (known @ direction) @ known
        basis[place] = direction / np.linalg.norm(direction)
    return basis
