"""Are rows those of a Gaussian? The tests of a mixture of one component, for models that take the rest to be normal."""

from __future__ import annotations

import numpy as np

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.judgement.case import Case
from unveil.judgement.describes.density.calibration import Described
from unveil.judgement.describes.mixtures import Misfit, misfits_of, told
from unveil.judgement.describes.words import said, severity_of
from unveil.mixtures.model.model import Mixture, MixtureParams

MOST_ROWS = 1024  # that are looked at: each draw has as many
ROWS_A_COLUMN = 5  # at least: with fewer the covariance fits whatever there is

FLAT = 1e-10  # eigenvalue of correlations that rounding makes of nothing


def normality(case: Case, rows: Floats, weights: Floats, what: str) -> list[Finding]:
    """Findings on rows that a model takes to be normal; `what` they are called."""
    n, d = rows.shape
    if n < max(ROWS_A_COLUMN * d, 30) or np.any(rows.std(axis=0) <= 0):
        return [said("normality", "note", f"too few rows to tell whether {what} are normal")]
    if is_flat(rows):
        return [said("normality", "note", f"columns depend on each other: whether {what} are normal is not examined")]
    chosen = np.arange(n) if n <= MOST_ROWS else np.sort(case.random(16).choice(n, MOST_ROWS, replace=False))
    described = _one_gaussian(rows[chosen], weights[chosen])
    _, misfits, smallest = misfits_of(case, described, True)
    if not misfits:
        return [said("normality", "fine", f"{what} are normal as far as can be told", smallest)]
    return [_said(case, described, max(misfits, key=lambda one: one.effect), what)]


def is_flat(rows: Floats) -> bool:
    """Whether a column follows from the others but for rounding: such rows have no density."""
    return bool(np.linalg.eigvalsh(np.corrcoef(rows.T).reshape(rows.shape[1], -1))[0] <= FLAT)


def _said(case: Case, described: Described, worst: Misfit, what: str) -> Finding:
    kind, words = told(case.model, described, worst)
    remedy = {"skew": "try logs or powers of skewed columns", "tails": "try PCA(robust=True), or leave far rows out"}
    severity = severity_of(worst.p_value, worst.effect)
    message = f"{what} are not normal: {words}: {worst.effect:.2g} nats a row are lost"
    return said(kind, severity, message, worst.effect, remedy.get(kind, "try a mixture: GaussianMixture"))


def _one_gaussian(rows: Floats, weights: Floats) -> Described:
    """A mixture of one component with the mean and the covariance of the rows."""
    mean = np.average(rows, axis=0, weights=weights)
    matrix = np.cov(rows.T, aweights=weights, ddof=0).reshape(rows.shape[1], -1)
    centre = np.zeros((1, rows.shape[1]))
    params = MixtureParams(np.ones(1), GaussianParams(centre, matrix[None], centre))
    return Described(Mixture(Gaussian(Full(), 0.0), 1, mean), params, rows, weights)
