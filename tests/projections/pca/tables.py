"""Tables that PCA is tried on, and what is compared of two fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SOLVERS = ("covariance_eigh", "full", "arpack", "randomized", "auto")
FITTED = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_")


def table(n_rows: int = 300, d: int = 6) -> Floats:
    random = np.random.default_rng(2)
    return random.normal(size=(n_rows, d)) @ random.normal(size=(d, d)) + np.arange(d) * 10


def wide(n_rows: int = 400, d: int = 60, seed: int = 3) -> Floats:
    """Variances that fall quickly, so that every route finds all digits."""
    random = np.random.default_rng(seed)
    turned = np.linalg.qr(random.normal(size=(d, d)))[0]
    return (random.normal(size=(n_rows, d)) * 3.0 * 0.6 ** np.arange(d)) @ turned + 5.0


def alike(one: Any, other: Any, atol: float = 1e-8) -> None:
    for name in (*FITTED, "noise_variance_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=atol, err_msg=name)


def bits(model: Any) -> tuple[bytes, ...]:
    return tuple(np.ascontiguousarray(getattr(model, name)).tobytes() for name in FITTED)
