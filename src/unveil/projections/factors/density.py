"""What a fitted model of factors says of rows: scores, densities, missing cells, draws, criteria.

Rows are mean + W z + noise with z ~ N(0, I), so all of it follows from the posterior of z given the cells that are
there (`unveil.projections.factors.kernels`), one pass on the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows
from unveil.projections.factors.missing import Factors
from unveil.projections.factors.model import NoiseModel, standing
from unveil.projections.projection import Projection


def _inferred(model: Factors, plan: Any, finish: Callable[[Block, Floats, Floats], Any], block: Block) -> Any:
    """What `finish` makes of a block, its posterior means and its log-densities."""
    finite_rows(block, missing=True)
    return finish(block, *model.infer(plan, block))


def _scores(block: Block, means: Floats, densities: Floats) -> NDArray[Any]:
    return means.astype(block.rows.dtype, copy=False)


def _densities(block: Block, means: Floats, densities: Floats) -> Floats:
    return densities


def _weighed(block: Block, means: Floats, densities: Floats) -> tuple[float, float]:
    """Log-density and weight, summed."""
    weights = np.ones(len(densities)) if block.weights is None else block.weights
    return float(weights @ densities), float(weights.sum())


def _completed(components: Floats, mean: Floats, block: Block, means: Floats, densities: Floats) -> NDArray[Any]:
    """Rows with missing cells at their conditional expectation; cells that are there stay, to the last bit."""
    expected = means @ components + mean
    return np.where(np.isnan(block.rows), expected.astype(block.rows.dtype, copy=False), block.rows)


class FactorDensity(Projection, ABC):
    """A density of rows with Gaussian factors, once it is fitted."""

    _noise: ClassVar[NoiseModel]
    random_state: Any
    n_components_: int
    mean_: Floats

    @abstractmethod
    def _shown(self) -> tuple[Floats, Floats]:
        """Loadings (n_features, n_components) and noise variances (n_features,), from the fitted attributes."""

    def _blocks(self, X: Any, finish: Callable[..., Any], sample_weight: Any = None) -> list[Any]:
        """A function of posterior means and log-densities, block by block."""
        source, (loadings, noise) = self._fitted_rows(X, sample_weight), self._shown()
        model = Factors(self._noise, self.mean_, np.zeros_like(noise))
        plan = model.prepare(standing(loadings, np.zeros_like(noise), noise))
        return self._map(partial(_inferred, model, plan, finish), source)

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores: the posterior mean of z given the cells of each row that are there; 0 where there are none."""
        return np.concatenate(self._blocks(X, _scores))

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
        return np.concatenate(self._blocks(X, partial(_completed, self._shown()[0].T, self.mean_)))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row: of the cells that are there, and so 0 where there are none."""
        return np.concatenate(self._blocks(X, _densities))

    def _sums(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Log-likelihood and weight of all rows."""
        log_likelihood, weight = np.sum(self._blocks(X, _weighed, sample_weight), axis=0)
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
