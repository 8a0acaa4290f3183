"""The prior of a Gaussian mixture: what the user gave, and the rest from the data (Fraley & Raftery 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from unveil.core.protocols import Source
from unveil.estimators.starts import filled
from unveil.estimators.table import frame_of, sample_of
from unveil.families.priors import NormalInverseWishart

SHRINKAGE = 0.01  # rows that the prior's mean counts for


def prior_of(
    source: Source, n_components: int, strength: float | None, mean: Any, dof: float | None, scale: Any
) -> NormalInverseWishart:
    """The prior, in the coordinates of the data."""
    n_columns = source.n_columns
    centre = frame_of(source) if mean is None else _shaped("mean_prior", mean, (n_columns,))
    matrix = _spread(source, n_components) if scale is None else _shaped("covariance_prior", scale, (n_columns,) * 2)
    if np.linalg.eigvalsh(matrix).min() <= 0:
        raise ValueError("covariance_prior must be positive definite, got a matrix with an eigenvalue that is not")
    degrees = n_columns + 2.0 if dof is None else float(dof)
    if degrees <= n_columns - 1:
        raise ValueError(f"degrees_of_freedom_prior must be above {n_columns - 1} (columns - 1), got {degrees:g}")
    return NormalInverseWishart(centre, SHRINKAGE if strength is None else float(strength), matrix, degrees)


def _spread(source: Source, n_components: int) -> np.ndarray:
    """Covariance of a sample of the rows, shared out among the components."""
    rows, weights = sample_of(source, 0, n_components, missing=True)
    rows = filled(np.asarray(rows, dtype=np.float64), np.nanmean(rows, axis=0))
    covariance = np.atleast_2d(np.cov(rows, rowvar=False, aweights=weights, ddof=0))
    lowest = np.diag(np.maximum(1e-9 * np.diagonal(covariance), 1e-12))  # a constant column has no spread of its own
    return (covariance + lowest) / n_components ** (2.0 / source.n_columns)


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array: np.ndarray = check_array(value, dtype=np.float64, ensure_2d=False, input_name=name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array
