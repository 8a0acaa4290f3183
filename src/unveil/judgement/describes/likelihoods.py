"""Are rows as likely under a map as rows that it draws itself?

Of a model's own rows a tenth lie below the first tenth of their log-densities, and so on. The shares p of the table's
rows between such limits, against the model's q, lose sum p log(p / q) nats a row: never more than the densities
themselves do (Kullback and Leibler, On information and sufficiency, 1951), and 2 n times as much is about chi-square
where the model is true (Wilks, 1938). Rows that are less likely than nearly all of the model's are its tails.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Case, nameless
from unveil.judgement.describes.rows import Seen
from unveil.judgement.describes.words import said, severity_of

PURPOSE = 19  # of the random numbers drawn here
OWN_ROWS = 20_000  # that the model draws, so that its shares are known to a percent of themselves
LIMITS = (0.002, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # shares of its rows below each
TOO_MANY = 1.5  # times the least likely rows of the map: those are tails
EXPECTED = 1.0  # rows at least below the first limit: enough for the chi-square where only one expects so few


def likelihoods(case: Case, seen: Seen) -> Finding:
    """Whether log-densities of the rows are distributed as those of rows of the map."""
    n, model = seen.effective, nameless(case.model)
    below = [share for share in LIMITS if share * n >= EXPECTED]
    limits = np.quantile(model.score_samples(_own_rows(case)), below)
    places = np.searchsorted(limits, model.score_samples(seen.rows))
    p = np.bincount(places, seen.weights, len(below) + 1) / seen.weights.sum()
    q = np.diff([0.0, *below, 1.0])
    lost = float(np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0])))
    by_chance = (len(below) + np.sqrt(2.0 * len(below))) / (2.0 * n)  # a standard deviation above the mean
    p_value, effect = float(chi2.sf(2.0 * n * lost, len(below))), max(lost - float(by_chance), 0.0)
    severity = severity_of(p_value, effect)
    if severity == "fine":
        return said("shape", "fine", "rows are as likely as those that the map draws", p_value)
    return _misfit(severity, effect, p, q)


def _misfit(severity: str, effect: float, p: Floats, q: Floats) -> Finding:
    """In the tails, where there are far more of the least likely rows than there should be."""
    lost = f"{effect:.2g} nats a row are lost"
    if p[0] > TOO_MANY * q[0]:
        message = f"{p[0]:.1%} of the rows are as unlikely as {q[0]:.1%} of those that the map draws: {lost}"
        return said("tails", severity, message, effect, "leave far rows out, or try StudentMixture")
    message = f"rows are not as likely as those that the map draws: {lost}"
    return said("shape", severity, message, effect, "let it bend more, or try GaussianMixture")


def _own_rows(case: Case) -> Floats:
    """Rows that the map draws."""
    random, model = case.random(PURPOSE), case.model
    centres = np.asarray(model.means_)[random.integers(len(model.means_), size=OWN_ROWS)]
    return np.asarray(centres + np.sqrt(model.noise_variance_) * random.standard_normal(centres.shape))
