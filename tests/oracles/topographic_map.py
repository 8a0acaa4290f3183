"""GTM as it is written in the paper, row by row and cell by cell, in plain NumPy: slow, and easy to believe."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp


def log_joint(X, means, variance):
    """log p(x, point), (rows, points), over the cells that are there."""
    out = np.empty((len(X), len(means)))
    for n, row in enumerate(X):
        seen = ~np.isnan(row)
        away = row[seen] - means[:, seen]
        out[n] = -0.5 * np.sum(away**2, axis=1) / variance - 0.5 * seen.sum() * np.log(2 * np.pi * variance)
    return out - np.log(len(means))


def em_step(X, basis, precision, coefficients, variance, weights=None):
    """One pass of EM: the log-likelihood before it, and the parameters after it."""
    weights = np.ones(len(X)) if weights is None else weights
    joint = log_joint(X, basis @ coefficients, variance)
    total = logsumexp(joint, axis=1)
    shares = np.exp(joint - total[:, None]) * weights[:, None]
    fresh = np.empty_like(coefficients)
    for column in range(X.shape[1]):
        seen = ~np.isnan(X[:, column])
        responsibility = shares[seen].sum(axis=0)
        left = basis.T @ np.diag(responsibility) @ basis + variance * np.diag(precision)
        fresh[:, column] = np.linalg.solve(left, basis.T @ (shares[seen].T @ X[seen, column]))
    means, squares, cells = basis @ fresh, 0.0, 0.0
    for row, share, weight in zip(X, shares, weights, strict=True):
        seen = ~np.isnan(row)
        squares += np.sum(share * np.sum((row[seen] - means[:, seen]) ** 2, axis=1))
        cells += weight * seen.sum()
    return float(weights @ total), fresh, squares / cells


def log_prior(precision, coefficients):
    """Of the functions that have one."""
    proper = precision > 0
    terms = np.log(precision[proper] / (2 * np.pi))[:, None] - precision[proper, None] * coefficients[proper] ** 2
    return 0.5 * float(terms.sum())
