"""What a fitted model of factors says of rows: scores, densities, missing cells, draws, criteria.

Rows are mean + W z + noise with z ~ N(0, I), so all of it follows from the posterior of z given the cells that are
there (`unveil.projections.factors.kernels`), one pass on the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.base import engine_for
from unveil.estimation.input import as_source, finite_rows
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.factors.missing import Factors
from unveil.projections.factors.model import FactorParams, NoiseModel, standing


@dataclass(frozen=True)
class Infer:
    """A function of a block, its posterior means and its log-densities, as engines take it."""

    model: Factors
    plan: Any
    finish: Callable[[Block, Floats, Floats], Any]

    def __call__(self, block: Block) -> Any:
        """What `finish` makes of one block."""
        finite_rows(block, missing=True)
        return self.finish(block, *self.model.infer(self.plan, block))


def _scores(block: Block, means: Floats, densities: Floats) -> NDArray[Any]:
    return means.astype(block.rows.dtype, copy=False)


def _densities(block: Block, means: Floats, densities: Floats) -> Floats:
    return densities


def _weighed(block: Block, means: Floats, densities: Floats) -> tuple[float, float]:
    """Log-density and weight, summed."""
    weights = np.ones(len(densities)) if block.weights is None else block.weights
    return float(weights @ densities), float(weights.sum())


@dataclass(frozen=True)
class _Complete:
    """Rows with missing cells at their conditional expectation; cells that are there stay, to the last bit."""

    components: Floats
    mean: Floats

    def __call__(self, block: Block, means: Floats, densities: Floats) -> NDArray[Any]:
        expected = means @ self.components + self.mean
        return np.where(np.isnan(block.rows), expected.astype(block.rows.dtype, copy=False), block.rows)


class FactorDensity(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A density of rows with Gaussian factors, once it is fitted."""

    _noise: ClassVar[NoiseModel]
    engine: Any
    random_state: Any
    n_components_: int
    mean_: Floats

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the parameters."""

    @abstractmethod
    def _shown(self) -> tuple[Floats, Floats]:
        """Loadings (n_features, n_components) and noise variances (n_features,), from the fitted attributes."""

    def _fitted(self) -> tuple[Factors, FactorParams]:
        loadings, noise = self._shown()
        model = Factors(self._noise, self.mean_, np.zeros_like(noise))
        return model, standing(loadings, np.zeros_like(noise), noise)

    def _blocks(self, X: Any, finish: Callable[..., Any], sample_weight: Any = None) -> Iterator[Any]:
        """A function of posterior means and log-densities, block by block, on the engine."""
        check_is_fitted(self)
        source = as_source(self, X, sample_weight, reset=False, missing=True)
        model, params = self._fitted()
        with single_threaded_blas():
            yield from engine_for(self.engine, source).map(Infer(model, model.prepare(params), finish), source)

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores: the posterior mean of z given the cells of each row that are there; 0 where there are none."""
        return np.concatenate(list(self._blocks(X, _scores)))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the scores of the same rows."""
        transformed: NDArray[Any] = self.fit(X, sample_weight=sample_weight).transform(X)
        return transformed

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Rows to be expected at the given scores: mean + W z."""
        check_is_fitted(self)
        scores = check_array(X, dtype=[np.float64, np.float32], ensure_min_features=0)
        if scores.shape[1] != self.n_components_:
            raise ValueError(f"X must have {self.n_components_} columns, one a component, got {scores.shape[1]}")
        return np.asarray(scores @ self._shown()[0].T + self.mean_).astype(scores.dtype, copy=False)

    def impute(self, X: Any) -> NDArray[Any]:
        """`X` with missing cells (NaN) replaced by their expectation given the cells of the row that are there."""
        check_is_fitted(self)
        return np.concatenate(list(self._blocks(X, _Complete(self._shown()[0].T, self.mean_))))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row: of the cells that are there, and so 0 where there are none."""
        return np.concatenate(list(self._blocks(X, _densities)))

    def _sums(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Log-likelihood and weight of all rows."""
        log_likelihood, weight = np.sum(list(self._blocks(X, _weighed, sample_weight)), axis=0)
        return float(log_likelihood), float(weight)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows."""
        log_likelihood, weight = self._sums(X, sample_weight)
        return log_likelihood / weight

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-likelihood + parameters * log n."""
        log_likelihood, weight = self._sums(X, sample_weight)
        return -2.0 * log_likelihood + self._n_parameters() * float(np.log(weight))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-likelihood + 2 * parameters."""
        return -2.0 * self._sums(X, sample_weight)[0] + 2.0 * self._n_parameters()

    def _n_parameters(self) -> int:
        return self._n_parameters_of(self.n_components_, len(self.mean_))

    def _n_parameters_of(self, count: int, n_columns: int) -> int:
        """Means, loadings up to rotation, noise."""
        loadings = n_columns * count - count * (count - 1) // 2
        return n_columns + loadings + self._noise.n_parameters(n_columns)

    def sample(self, n_samples: int = 1) -> Floats:
        """Rows drawn from the model, (n_samples, n_features)."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
        random = check_random_state(self.random_state)
        loadings, noise = self._shown()
        scores = random.normal(size=(n_samples, loadings.shape[1]))
        drawn: Floats = scores @ loadings.T + random.normal(size=(n_samples, len(noise))) * np.sqrt(noise) + self.mean_
        return drawn

    def get_covariance(self) -> Floats:
        """Covariance of a row under the model: W W' + noise."""
        check_is_fitted(self)
        loadings, noise = self._shown()
        return np.asarray(loadings @ loadings.T + np.diag(noise))

    def get_precision(self) -> Floats:
        """Inverse of the covariance, by a matrix of the size of the components (Woodbury)."""
        check_is_fitted(self)
        loadings, noise = self._shown()
        slopes = loadings / noise[:, None]
        inner = np.eye(loadings.shape[1]) + slopes.T @ loadings
        return np.asarray(np.diag(1.0 / noise) - slopes @ linalg.solve(inner, slopes.T, assume_a="pos"))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
