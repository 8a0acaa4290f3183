"""Do factors describe the rows: are their covariances those of the model, and are the rows normal?

Of n rows of p columns with covariance S and the model's C,

    F = log det C - log det S + trace(S C^-1) - p,        n' F ~ chi2(df),   n' = n - 1 - (2p + 5)/6 - 2k/3

if C has k factors and noise of each column's own, with df = ((p - k)^2 - p - k) / 2 (Bartlett, A note on multiplying
factors, 1951; Lawley and Maxwell, Factor analysis as a statistical method, 1971); with noise of one variance for all,
df = (p - k + 2)(p - k - 1) / 2. F / 2 is what a row loses, in nats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.eigenvalues import beyond_chance, separation, spectrum_of
from unveil.judgement.describes.normality import normality
from unveil.judgement.describes.rows import Seen, covariance, seen_rows
from unveil.judgement.describes.words import said, severity_of

ROWS_A_COLUMN = 3  # at least, for the chi-square to hold


def examine_factors(case: Case) -> Answer:
    """Covariances, then normality, then whether the factors are told apart from noise, or from shuffled columns."""
    seen = seen_rows(case)
    n, p = seen.rows.shape
    if n < max(ROWS_A_COLUMN * p, 20):
        return Answer((said("description", "note", "too few complete rows to tell whether factors describe them"),))
    shared = np.ndim(case.model.noise_variance_) == 0
    findings = covariance_fit(case.model, seen, shared)
    findings += normality(case, seen.rows, seen.weights, "rows")
    spectrum = spectrum_of(case.model, seen, scaled=not shared)
    findings += separation(spectrum) if shared else beyond_chance(case, seen, spectrum)
    return Answer(tuple(findings))


def model_covariance(model: Any) -> Floats:
    """W W' and the noise."""
    return np.asarray(model.get_covariance())


def covariance_fit(model: Any, seen: Seen, shared: bool) -> list[Finding]:
    """Whether the covariances of the rows are those of the model."""
    p, k = seen.rows.shape[1], len(model.components_)
    degrees = (p - k + 2) * (p - k - 1) / 2 if shared else ((p - k) ** 2 - p - k) / 2
    sample = covariance(seen)
    sign, log_own = np.linalg.slogdet(sample)
    if degrees <= 0 or sign <= 0:
        return []
    assumed = model_covariance(model)
    figure = np.linalg.slogdet(assumed)[1] - log_own + np.trace(np.linalg.solve(assumed, sample)) - p
    rows = seen.effective
    p_value = float(chi2.sf(max((rows - 1 - (2 * p + 5) / 6 - 2 * k / 3) * figure, 0.0), degrees))
    by_chance = (degrees + np.sqrt(2.0 * degrees)) / rows  # a standard deviation above the mean
    effect = max(0.5 * (float(figure) - by_chance), 0.0)
    severity = severity_of(2.0 * p_value, effect)  # one of two tests, the other being that of normality
    if severity == "fine":
        return [said("covariances", "fine", f"{k} factors explain the covariances of the rows", p_value)]
    message = f"{k} factors leave covariances unexplained: {effect:.2g} nats a row are lost"
    remedy = "try FactorAnalysis, or more components" if shared else "try more components"
    return [said("covariances", severity, message, effect, remedy)]
