"""What all projections share: rows become coordinates, block by block, in the precision of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unveil.core.protocols import Source
from unveil.estimation.base import Estimator, engine_for
from unveil.estimation.input import rows_in
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.passes import Fill, filled, mapped


class Projection(Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator that turns rows into coordinates; abstract."""

    engine: Any

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the coordinates of the same rows."""
        transformed: NDArray[Any] = self.fit(X, y, sample_weight=sample_weight).transform(X)
        return transformed

    def _fitted_rows(self, X: Any, sample_weight: Any = None) -> Source:
        """Rows for a model that must be fitted; whether they are finite, whoever reads them has to look."""
        check_is_fitted(self)
        return rows_in(self, X, sample_weight, reset=False, missing=self._takes_missing)

    def _map(self, function: Any, source: Source) -> list[Any]:
        """A function of every block, on the engine."""
        with single_threaded_blas():
            return mapped(engine_for(self.engine, source), function, source)

    def _filled(self, fill: Fill, source: Source, *width: int, dtype: Any = np.float64) -> NDArray[Any]:
        """What `fill` writes of every block, on the engine, (n_rows, *width)."""
        with single_threaded_blas():
            return filled(engine_for(self.engine, source), fill, source, width, dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
