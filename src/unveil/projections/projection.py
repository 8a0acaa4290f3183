"""What all projections share: rows become coordinates, block by block, in the precision of the rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unveil.core.protocols import Source
from unveil.estimation.base import Estimator, engine_for
from unveil.estimation.input import as_source
from unveil.numerics.blas import single_threaded_blas


class Projection(Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator that turns rows into coordinates; abstract."""

    engine: Any

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the coordinates of the same rows."""
        transformed: NDArray[Any] = self.fit(X, y, sample_weight=sample_weight).transform(X)
        return transformed

    def _fitted_rows(self, X: Any, sample_weight: Any = None) -> Source:
        """Checked rows for a model that must be fitted."""
        check_is_fitted(self)
        return as_source(self, X, sample_weight, reset=False, missing=self._takes_missing)

    def _map(self, function: Any, source: Source) -> list[Any]:
        """A function of every block, on the engine."""
        with single_threaded_blas():
            return list(engine_for(self.engine, source).map(function, source))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
