"""The prior that keeps Gaussian components from degenerating.

Of it the user gives as much as they like, and the rest comes from the data (Fraley & Raftery 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.estimation.input import frame_of
from unveil.families.priors import NormalInverseWishart

SHRINKAGE = 0.01  # rows that the prior's mean counts for


def prior_of(
    source: Source, n_components: int, strength: float | None, mean: Any, dof: float | None, scale: Any
) -> NormalInverseWishart:
    """The prior, in the coordinates of the data."""
    n_columns = source.n_columns
    centre = _middle(source) if mean is None else _shaped("mean_prior", mean, (n_columns,))
    matrix = _spread(source, n_components) if scale is None else _shaped("covariance_prior", scale, (n_columns,) * 2)
    if np.linalg.eigvalsh(matrix).min() <= 0:
        raise ValueError("covariance_prior must be positive definite, got a matrix with an eigenvalue that is not")
    degrees = n_columns + 2.0 if dof is None else float(dof)
    if degrees <= n_columns - 1:
        raise ValueError(f"degrees_of_freedom_prior must be above {n_columns - 1} (columns - 1), got {degrees:g}")
    return NormalInverseWishart(centre, SHRINKAGE if strength is None else float(strength), matrix, degrees)


def _middle(source: Source) -> Floats:
    """Mean of each column over the cells that are there, with the weights of the rows."""
    shift = frame_of(source)
    counts, sums = np.zeros_like(shift), np.zeros_like(shift)
    for block in source.read():
        there, weights = ~np.isnan(block.rows), _weights(block)
        counts += weights @ there
        sums += weights @ np.where(there, block.rows - shift, 0.0)
    return shift + sums / counts


def _spread(source: Source, n_components: int) -> Floats:
    """Covariance of the rows, means in place of missing cells, shared out among the components."""
    middle, products, total = _middle(source), np.zeros((source.n_columns,) * 2), 0.0
    for block in source.read():
        away, weights = np.where(np.isnan(block.rows), 0.0, block.rows - middle), _weights(block)
        products += (away * weights[:, None]).T @ away
        total += float(weights.sum())
    covariance = products / total
    lowest = np.diag(np.maximum(1e-9 * np.diagonal(covariance), 1e-12))  # a constant column has no spread of its own
    shared: Floats = (covariance + lowest) / n_components ** (2.0 / source.n_columns)
    return shared


def _weights(block: Block) -> Floats:
    return np.ones(len(block.rows)) if block.weights is None else block.weights


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    array: Floats = check_array(value, dtype=np.float64, ensure_2d=False, input_name=name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array
