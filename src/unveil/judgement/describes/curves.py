"""Do rows follow a curve or a sheet, or would a Gaussian cloud be described as well?

A principal curve (Hastie and Stuetzle, Principal curves, 1989) leaves squared distances; so does the first principal
component. The curve gains (d - 1)/2 log(line / curve) nats a row, and a topographic map (Bishop, Svensen and Williams,
GTM: the generative topographic mapping, 1998) what its log-density is above that of probabilistic PCA. Both gain on
anything, since they bend. So the same is fitted to Gaussian rows of the same covariance: what follows a curve gains
more than any of these. A map has a density, too: see `likelihoods`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import kruskal
from sklearn.base import clone

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Answer, Case, nameless
from unveil.judgement.describes.likelihoods import likelihoods
from unveil.judgement.describes.rows import Seen, covariance, seen_rows
from unveil.judgement.describes.words import LEVEL, MATTERS, said

PURPOSE = 18  # of the random numbers drawn here
FEWEST_ROWS = 30
MOST_ROWS = 1024  # that curves are fitted to again
CLOUDS = 4  # Gaussian tables that the same is fitted to
BEYOND = 3.0  # standard deviations of their gains that the rows must be above the mean
STRETCHES = 8  # of a curve, whose distances are compared
LONG = 4.0  # times the second variance: a cloud that a line describes
UNEVEN = 3.0  # ratio of the distances of two stretches that is worth a doubt

Gain = Callable[[Any, Floats], float]


def examine_curve(case: Case) -> Answer:
    """Against clouds, and stretch by stretch."""
    seen = seen_rows(case)
    if len(seen.rows) < FEWEST_ROWS or seen.rows.shape[1] < 2:
        return Answer((said("description", "note", "too few rows or columns to tell whether they follow a curve"),))
    findings = _against_clouds(case, seen, gain_of_curve, "PCA(1)", "curve", "line")
    distances = np.asarray(nameless(case.model).distance(seen.rows)) ** 2
    return Answer((*findings, *_stretches(distances, np.asarray(nameless(case.model).transform(seen.rows)).ravel())))


def examine_map(case: Case) -> Answer:
    """Against clouds, and whether rows are as likely as those of the map's own."""
    seen = seen_rows(case)
    if len(seen.rows) < FEWEST_ROWS or seen.rows.shape[1] <= case.model.lattice_.shape[1]:
        return Answer((said("description", "note", "too few rows or columns to tell whether they follow a sheet"),))
    bent = _against_clouds(case, seen, gain_of_map, "ProbabilisticPCA", "sheet", "plane")
    return Answer((*bent, likelihoods(case, seen)))


def gain_of_curve(model: Any, rows: Floats) -> float:
    """Nats a row over the first principal component."""
    off = float(np.mean(np.asarray(model.distance(rows)) ** 2))
    line = float(np.linalg.eigvalsh(np.cov(rows.T, ddof=0))[:-1].sum())
    return 0.5 * (rows.shape[1] - 1) * float(np.log(line / max(off, 1e-300)))


def gain_of_map(model: Any, rows: Floats) -> float:
    """Nats a row over probabilistic PCA of as many directions."""
    from unveil.projections.factors.probabilistic_pca import ProbabilisticPCA

    linear = ProbabilisticPCA(model.lattice_.shape[1]).fit(rows)
    return float(np.mean(model.score_samples(rows)) - linear.score(rows))


def _against_clouds(case: Case, seen: Seen, gain: Gain, linear: str, bent: str, straight: str) -> list[Finding]:
    """Whether bending gains more than it does on Gaussian rows."""
    own = gain(nameless(case.model), seen.rows)
    matrix = covariance(seen)
    clouds = np.array([_gain_on_cloud(case, seen, matrix, gain, number) for number in range(CLOUDS)])
    limit = float(clouds.mean() + BEYOND * clouds.std(ddof=1))
    if own > limit:
        return [said("line", "fine", f"the {bent} gains {own:.2g} nats a row over a {straight}", own)]
    values = np.linalg.eigvalsh(matrix)
    cloud = values[-1] < LONG * values[-2] if bent == "curve" else own < -MATTERS
    words = f"the {bent} gains {own:.2g} nats a row over a {straight}, and as much on a Gaussian cloud"
    remedy = f"try {linear}" + (", or GaussianMixture" if cloud else "")
    return [said("residual" if cloud else "line", "warning" if cloud else "doubt", words, own, remedy)]


def _gain_on_cloud(case: Case, seen: Seen, matrix: Floats, gain: Gain, number: int) -> float:
    random = case.random(PURPOSE, number)
    rows = random.multivariate_normal(np.zeros(len(matrix)), matrix, min(len(seen.rows), MOST_ROWS), method="eigh")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said of a fit that nobody asked for
        return gain(clone(case.model).fit(rows), rows)


def _stretches(distances: Floats, places: Floats) -> list[Finding]:
    """Whether rows spread about the curve as far all along it."""
    groups = np.array_split(distances[np.argsort(places, kind="stable")], STRETCHES)
    if len(groups[0]) < 5 or np.ptp(distances) == 0:
        return []
    p_value, means = float(kruskal(*groups).pvalue), np.array([group.mean() for group in groups])
    ratio = float(np.sqrt(means.max() / max(float(means.min()), 1e-300)))
    if p_value > LEVEL or ratio < UNEVEN:
        return [said("spread", "fine", "rows spread about the curve evenly along it", ratio)]
    place = int(np.argmax(means))
    words = f"rows spread {ratio:.2g} times as far from the curve in its eighth part {place} as where they are nearest"
    return [said("spread", "doubt", words, ratio, "let it bend more: degrees_of_freedom")]
