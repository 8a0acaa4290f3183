"""Are the sources of an ICA independent, and other than Gaussian?

Sources of an ICA are uncorrelated by construction; what may be left is that they are large together. Ranks of |s_i| and
|s_j| of independent sources have a correlation r with sqrt(n - 1) r standard normal (Hotelling and Pabst 1936), of all
pairs the largest counts (Bonferroni). -log(1 - r^2) / 2 is what a row loses. Gaussian sources cannot be told from each
other (Comon, Independent component analysis, a new concept?, 1994).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, rankdata

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.rows import seen_rows
from unveil.judgement.describes.words import said, severity_of

FEWEST_ROWS = 30


def examine_ica(case: Case) -> Answer:
    """Dependence of the sources, and how many are Gaussian."""
    seen = seen_rows(case)
    if len(seen.rows) < FEWEST_ROWS:
        return Answer((said("description", "note", "too few complete rows to tell whether sources are independent"),))
    sources = (seen.rows - case.model.mean_) @ case.model.components_.T
    return Answer((*_gaussian(np.asarray(case.model.gaussian_)), *dependence(sources)))


def _gaussian(gaussian: Floats) -> list[Finding]:
    count = int(np.sum(gaussian))
    if count < 2:
        return [said("gaussian", "fine", "at most one source is Gaussian", float(count))]
    words = (
        f"{count} of {len(gaussian)} sources are Gaussian as far as can be told: which directions they are is chance"
    )
    severity = "warning" if count == len(gaussian) else "doubt"
    return [
        said("gaussian", severity, words, float(count), f"try n_components={max(len(gaussian) - count, 1)}, or PCA")
    ]


def dependence(sources: Floats) -> list[Finding]:
    """Whether sources are large together."""
    n, k = sources.shape
    if k < 2:
        return []
    ranks = np.apply_along_axis(rankdata, 0, np.abs(sources - sources.mean(axis=0)))
    correlations = np.corrcoef(ranks.T)
    np.fill_diagonal(correlations, 0.0)
    one, other = np.unravel_index(int(np.argmax(np.abs(correlations))), correlations.shape)
    largest = abs(float(correlations[one, other]))
    p_value = min(1.0, float(norm.sf(largest * np.sqrt(n - 1.0))) * k * (k - 1))
    effect = -0.5 * float(np.log1p(-min(largest**2, 1.0 - 1e-12)))
    severity = severity_of(p_value, effect)
    if severity == "fine":
        return [said("dependence", "fine", "no two sources are large together", largest)]
    first, second = sorted((int(one), int(other)))
    together = "large together" if correlations[one, other] > 0 else "large in turn"
    words = f"sources {first} and {second} are {together}: {effect:.2g} nats a row are lost"
    return [said("dependence", severity, words, effect, "the rows are no mixture of independent sources: try PCA")]
