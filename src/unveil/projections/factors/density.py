"""What a fitted model of factors says of rows: scores, densities, missing cells, draws, criteria.

Rows are mean + W z + noise with z ~ N(0, I), so all of it follows from the posterior of z given the cells that are
there (`unveil.projections.factors.kernels`), one pass on the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows
from unveil.estimation.kept import Kept
from unveil.estimation.plain_rows import as_floats
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.missing_patterns import has_missing
from unveil.numerics.tiles import numpy_tile_rows
from unveil.projections.factors.missing import Factors
from unveil.projections.factors.model import NoiseModel, standing
from unveil.projections.lines import centred
from unveil.projections.projection import Projection


class FactorPosterior(NamedTuple):
    """The posterior of the scores of rows, and their density, under some loadings and noise.

    Rows that lack no cell share the covariance G^-1 = (I + W' V^-1 W)^-1 of their scores, so that all of it is a few
    products, and no kernel is needed.
    """

    model: Factors
    loadings: Floats  # (d, q)
    noise: Floats  # (d,)
    mean: Floats  # (d,)
    slopes: Floats  # (d, q): E[z | x] = (x - mean) slopes
    constant: float  # of -2 log p: what all rows have in common

    @staticmethod
    def of(noise_model: NoiseModel, loadings: Floats, noise: Floats, mean: Floats) -> FactorPosterior:
        """That of a fitted model."""
        scaled = loadings / noise[:, None]
        inner = np.eye(loadings.shape[1]) + scaled.T @ loadings
        constant = len(noise) * LOG_TWO_PI + float(np.sum(np.log(noise))) + float(np.linalg.slogdet(inner)[1])
        model = Factors(noise_model, mean, np.zeros_like(noise))
        slopes = np.ascontiguousarray(np.linalg.solve(inner, scaled.T).T)
        return FactorPosterior(model, loadings, noise, mean, slopes, constant)

    def inferred(self, block: Block, dense: bool, out: Floats | None = None) -> tuple[Floats, Floats]:
        """Means of the scores of a block, in `out` if there is room, and its log-densities, if `dense`."""
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.isfinite(np.add.reduce(block.rows, axis=None, dtype=np.float64))  # then no cell is missing
        if not whole and has_missing(finite_rows(block, missing=True)):
            plan = self.model.prepare(standing(self.loadings, np.zeros_like(self.noise), self.noise))
            return self.model.infer(plan, block)
        means = np.empty((len(block.rows), self.loadings.shape[1])) if out is None else out
        densities = np.empty(len(block.rows) * dense)
        size, back = numpy_tile_rows(2 * sum(self.loadings.shape)), np.ascontiguousarray(self.loadings.T)
        for first in range(0, len(means), size):
            rows, z = centred(block.rows[first : first + size], self.mean), means[first : first + size]
            np.matmul(rows, self.slopes, out=z)
            if dense:
                rows -= z @ back  # what is left is formed before it is squared, so that nothing cancels
                squares = np.square(rows) @ (1.0 / self.noise) + np.einsum("ij,ij->i", z, z)
                densities[first : first + size] = -0.5 * (squares + self.constant)
        return means, densities


def _scores(posterior: FactorPosterior, block: Block, out: NDArray[Any]) -> None:
    room = out if out.dtype == np.float64 else None
    means = posterior.inferred(block, dense=False, out=room)[0]
    if means is not out:
        out[:] = means


def _densities(posterior: FactorPosterior, block: Block, out: NDArray[Any]) -> None:
    out[:] = posterior.inferred(block, dense=True)[1]


def _weighed(posterior: FactorPosterior, block: Block) -> tuple[float, float]:
    """Log-density and weight, summed."""
    _, densities = posterior.inferred(block, dense=True)
    weights = np.ones(len(densities)) if block.weights is None else block.weights
    return float(weights @ densities), float(weights.sum())


def _completed(posterior: FactorPosterior, block: Block, out: NDArray[Any]) -> None:
    """Rows with missing cells at their conditional expectation; cells that are there stay, to the last bit."""
    expected = posterior.inferred(block, dense=False)[0] @ posterior.loadings.T + posterior.mean
    out[:] = np.where(np.isnan(block.rows), expected.astype(block.rows.dtype, copy=False), block.rows)


class FactorDensity(Projection, ABC):
    """A density of rows with Gaussian factors, once it is fitted."""

    _noise: ClassVar[NoiseModel]
    random_state: Any
    n_components_: int
    mean_: Floats

    @abstractmethod
    def _shown(self) -> tuple[Floats, Floats]:
        """Loadings (n_features, n_components) and noise variances (n_features,), from the fitted attributes."""

    def _posterior(self) -> FactorPosterior:
        return kept_posterior(self)

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores: the posterior mean of z given the cells of each row that are there; 0 where there are none."""
        source = self._fitted_rows(X)
        return self._filled(partial(_scores, self._posterior()), source, self.n_components_, dtype=source.dtype)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Rows to be expected at the given scores: mean + W z."""
        check_is_fitted(self)
        scores = as_floats(X, min_columns=0)
        if scores.shape[1] != self.n_components_:
            raise ValueError(f"X must have {self.n_components_} columns, one a component, got {scores.shape[1]}")
        return np.asarray(scores @ self._shown()[0].T + self.mean_).astype(scores.dtype, copy=False)

    def impute(self, X: Any) -> NDArray[Any]:
        """`X` with missing cells (NaN) replaced by their expectation given the cells of the row that are there."""
        source = self._fitted_rows(X)
        return self._filled(partial(_completed, self._posterior()), source, source.n_columns, dtype=source.dtype)

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row: of the cells that are there, and so 0 where there are none."""
        source = self._fitted_rows(X)
        return self._filled(partial(_densities, self._posterior()), source)

    def _sums(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Log-likelihood and weight of all rows."""
        source = self._fitted_rows(X, sample_weight)
        log_likelihood, weight = np.sum(self._map(partial(_weighed, self._posterior()), source), axis=0)
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


def _described(estimator: FactorDensity) -> FactorPosterior:
    return FactorPosterior.of(estimator._noise, *estimator._shown(), estimator.mean_)


kept_posterior: Kept[FactorPosterior] = Kept(_described)
