"""Principal component analysis: the directions of greatest variance, the way there and the way back.

The components are the eigenvectors u of the covariance, S u = lambda u, by falling lambda, the variance along u;
`spectrum.py` has the routes to them.
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
from sklearn.utils.validation import check_is_fitted

from unveil.core.protocols import Block, Source
from unveil.estimators.base import engine_for
from unveil.estimators.dimension import minka_dimension
from unveil.estimators.persistence import Savable
from unveil.estimators.spectrum import Spectrum, by_covariance, by_lanczos, by_random_projection, by_svd
from unveil.estimators.table import as_source, finite_rows
from unveil.kernels.blas import single_threaded_blas

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Project:
    """(rows - mean) @ basis of a block, as engines take it."""

    mean: Floats
    basis: Floats

    def __call__(self, block: Block) -> NDArray[Any]:
        """Scores of one block, in the precision of its rows."""
        scores: NDArray[Any] = ((finite_rows(block) - self.mean) @ self.basis).astype(block.rows.dtype, copy=False)
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
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        "covariance_eigh" streams moments and solves an eigenproblem, for any source. The others decompose rows in
        memory: "full" for few rows, many columns or nearly dependent columns, "arpack" and "randomized" for few
        components of a wide table. "auto" takes, for arrays, what scikit-learn takes.
    tol, iterated_power, n_oversamples, power_iteration_normalizer, random_state
        For "arpack" and "randomized", as in scikit-learn.
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
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "engine": [StrOptions({"auto", "threads", "dask"}), HasMethods("map_reduce")],
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: Any = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        engine: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
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
            self._keep(self._solve(source))
        return self

    def _solve(self, source: Source) -> Spectrum:
        """The spectrum, by the route that suits the data and `svd_solver`."""
        rows, solver = getattr(source, "rows", None), self.svd_solver
        if solver == "auto":
            solver = "covariance_eigh" if rows is None else self._suited(*rows.shape)
        if solver == "covariance_eigh":
            return by_covariance(engine_for(self.engine, source), source)
        if rows is None:
            got = type(source).__name__
            taken = "rows in memory, without weights"
            raise ValueError(f"svd_solver={solver!r} needs {taken}, got {got}; 'covariance_eigh' takes any source")
        return self._in_memory(solver, rows)

    def _suited(self, n_rows: int, n_columns: int) -> str:
        """scikit-learn's choice for an array."""
        few = isinstance(self.n_components, Integral) and 1 <= int(self.n_components) < 0.8 * min(n_rows, n_columns)
        if n_columns <= 1000 and n_rows >= 10 * n_columns:
            return "covariance_eigh"
        return "randomized" if few and max(n_rows, n_columns) > 500 else "full"

    def _in_memory(self, solver: str, rows: NDArray[Any]) -> Spectrum:
        if solver == "full":
            return by_svd(rows)
        limit = min(rows.shape) - (solver == "arpack")
        count = limit if self.n_components is None else self.n_components
        if not isinstance(count, Integral) or not 1 <= int(count) <= limit:
            raise ValueError(f"n_components={count!r} must be an integer from 1 to {limit} with svd_solver={solver!r}")
        if solver == "arpack":
            return by_lanczos(rows, int(count), self.tol, self.random_state)
        return by_random_projection(
            rows,
            int(count),
            self.random_state,
            n_oversamples=self.n_oversamples,
            n_iter=self.iterated_power,
            power_iteration_normalizer=self.power_iteration_normalizer,
        )

    def _keep(self, spectrum: Spectrum) -> None:
        """Choose how many components to keep, and set the attributes that depend on it."""
        kept = self.n_components_ = self._count(spectrum)
        values, total = spectrum.values[:kept], spectrum.total
        self.mean_ = spectrum.mean
        self.components_ = np.ascontiguousarray(spectrum.components[:kept])
        self.explained_variance_ = values
        self.explained_variance_ratio_ = values / total if total > 0 else np.zeros(kept)
        self.singular_values_ = np.sqrt(values * spectrum.degrees)
        left = spectrum.limit - kept
        self.noise_variance_ = max(total - float(values.sum()), 0.0) / left if left > 0 else 0.0

    def _count(self, spectrum: Spectrum) -> int:
        wanted, values = self.n_components, spectrum.values
        if wanted is None:
            return len(values)
        if wanted == "mle":
            if self.n_samples_ < self.n_features_in_:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            return minka_dimension(values, spectrum.weight)
        if isinstance(wanted, Integral):
            if int(wanted) > len(values):
                sizes = f"min(n_samples, n_features)={len(values)}"
                raise ValueError(f"n_components={wanted} must be from 0 to {sizes} with svd_solver={self.svd_solver!r}")
            return int(wanted)
        shares = np.cumsum(values) / values.sum()
        return min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(values))

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
