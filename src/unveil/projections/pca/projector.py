"""What can be done with a fitted plane: the way onto it, the way back, what is lost, and how likely rows are.

With mean m, standard deviations s (1 where columns are not scaled), weights w (1 where there are none) and components
U, which are orthonormal in the metric diag(w), U diag(w) U' = 1:

    scores = ((x - m) / s * w) U',    reconstruction = m + s * (scores U),    loadings = U' sqrt(variances).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.estimation.base import engine_for
from unveil.estimation.input import as_source
from unveil.projections.pca.routes import ColumnMetric
from unveil.projections.pca.rows import as_rows, decomposed, projected
from unveil.projections.pca.weighted import scores_of
from unveil.projections.projection import Projection


class PrincipalPlane(Projection):
    """A plane with `mean_`, `components_`, `explained_variance_` and `noise_variance_`; abstract.

    `scale_` and `feature_weight_` are None where there are none.
    """

    _card_from = "unveil.projections.shown:principal_card"

    whiten: bool
    mean_: Floats
    scale_: Floats | None
    feature_weight_: Floats | None
    components_: Floats
    explained_variance_: Floats
    noise_variance_: float
    n_features_in_: int

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores: coordinates of the rows along the components, (n_samples, n_components).

        Rows may be an array, frame, sparse matrix, scan or Dask array, here and below.
        """
        check_is_fitted(self)
        source = as_rows(self, X, reset=False)
        basis = self._vectors().T if self._is_plain() else (self._vectors() * self._gains()).T
        fill = partial(projected, self.mean_, basis / self._deviations() if self.whiten else basis)
        return self._filled(fill, source, basis.shape[1], dtype=source.dtype)

    def scores(self, X: Any, cell_weight: Any = None) -> NDArray[Any]:
        """Scores of rows whose cells count by weights, or are missing: weighted least squares on the components.

        They are (n_samples, n_components).

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
            NaN means missing.
        cell_weight : array-like, scan or Dask array of shape (n_samples, n_features), optional
            None counts every cell that is there.
        """
        check_is_fitted(self)
        source = as_source(self, X, reset=False, missing=True)
        if not self._is_plain():
            raise ValueError("scores does not go together with scale or feature_weight")
        found = scores_of(source, cell_weight, self.components_, self.mean_, engine_for(self.engine, source))
        return found / self._deviations() if self.whiten else found

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Rows (n_samples, n_features) at the given scores: the way back, up to the reconstruction error.

        A column of no weight comes out as its regression on the scores.
        """
        check_is_fitted(self)
        scores = np.asarray(X)
        basis = self.components_ * self._deviations()[:, None] if self.whiten else self.components_
        return scores @ (basis if self.scale_ is None else basis * self.scale_) + self.mean_

    def reconstruction_error(self, X: Any) -> Floats:
        """Squared distance of each row from the plane, in the metric of the fit (scaled, weighted), (n_samples,)."""
        return self._decomposed(X, np.zeros(len(self._checked().components_)))[0]

    def _decomposed(self, X: Any, precisions: Floats) -> tuple[Floats, Floats]:
        source = as_rows(self, X, reset=False)
        parts = self._map(partial(decomposed, self.mean_, self._gains(), self._vectors(), precisions), source)
        return np.concatenate([off for off, _ in parts]), np.concatenate([along for _, along in parts])

    @property
    def loadings_(self) -> Floats:
        """Covariance of each column (over its scale) with each component at unit variance: (features, components)."""
        return self._checked().components_.T * np.sqrt(self.explained_variance_)

    def get_covariance(self) -> Floats:
        """Covariance of the columns under the model: components, plus noise in all other directions."""
        vectors, gains = self._checked()._vectors(), self._modelled_gains()
        excess = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (vectors.T * excess) @ vectors + self.noise_variance_ * np.eye(self.n_features_in_)
        return covariance / np.outer(gains, gains)

    def get_precision(self) -> Floats:
        """Inverse of the covariance."""
        return np.asarray(linalg.inv(self.get_covariance(), check_finite=False))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row under the probabilistic model (Tipping & Bishop 1999)."""
        gains, noise = self._checked()._modelled_gains(), self.noise_variance_
        variances = np.maximum(self.explained_variance_, noise)
        others = self.n_features_in_ - len(variances)
        if not np.all(variances > 0) or (others and not noise > 0):
            raise ValueError("the rows have no density: their covariance is singular; ask for fewer n_components")
        spread = np.sum(np.log(variances)) + (others * np.log(noise) if others else 0.0)
        constant = 2.0 * np.sum(np.log(gains)) - spread - self.n_features_in_ * np.log(2.0 * np.pi)
        off, along = self._decomposed(X, 1.0 / variances)
        return np.asarray(0.5 * (constant - along - (off / noise if others else 0.0)))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def _checked(self) -> PrincipalPlane:
        check_is_fitted(self)
        return self

    def _is_plain(self) -> bool:
        """Whether columns are taken as they are."""
        return self.scale_ is None and self.feature_weight_ is None

    def _gains(self) -> Floats:
        """What columns are multiplied by before anything is measured."""
        return ColumnMetric(weights=self.feature_weight_).gains(self.scale_, len(self.mean_))

    def _modelled_gains(self) -> Floats:
        """The same, if the model says something of every column."""
        gains = self._gains()
        if not np.all(gains):
            raise ValueError("columns with a feature_weight of zero have no density; leave them out of X")
        return gains

    def _vectors(self) -> Floats:
        """Components, orthonormal in the space of columns times gains."""
        return self.components_ if self.feature_weight_ is None else self.components_ * np.sqrt(self.feature_weight_)

    def _deviations(self) -> Floats:
        """Standard deviation along each component; the largest where there is but rounding, not to blow that up."""
        largest = float(self.explained_variance_.max(initial=0.0))
        known = self.explained_variance_ > 8.0 * np.finfo(np.float64).eps * len(self.mean_) * largest
        return np.sqrt(np.where(known, self.explained_variance_, largest or 1.0))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])
