"""Does a clustering by distances describe the rows? It takes columns to be of one unit and clusters to be round.

Scale: K-means minimises the sum of the variances of the columns, so that one in small units (and so of large numbers)
decides alone. Within clusters its standard deviation is then still far above those of the others, though the clusters
cut it in slices: times the number of clusters it is what it was. Where the same clusters come out of columns of equal
variance nothing is lost (Milligan and Cooper, A study of standardization of variables in cluster analysis, 1988).

Shape: a round cluster has a covariance c I. What it loses against one with axes of its own, in nats a row,

    1/2 [ d log(trace S / d) - log det S ] - (d (d + 1) / 2 - 1) log(n) / (2 n),

is set against two columns, for which it is 0.5 at axes of 3 : 1 and 0.75 at 4 : 1.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from unveil.certificate import Finding
from unveil.core.arrays import Floats, Indices
from unveil.estimation.degenerate import degeneracy, steps_of
from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.rows import Seen, seen_rows
from unveil.judgement.describes.words import column_name, said

ROUND_METRICS = ("euclidean", "sqeuclidean", "l2", "manhattan", "cityblock", "l1")  # in which units count
FEWEST_ROWS = 20  # of a cluster whose shape is looked at, and of all
SHARE = 0.8  # of the variance of all columns that one must have to decide alone
OUTWEIGHS = 10.0  # times as wide as the others, slices counted: it decides alone
LEANS = 5.0  # the same: it has more say than it should
WITHIN = 3.0  # times as wide as the others within clusters: it is not groups that make it wide
SAME = 0.9  # adjusted Rand index of clusters that are the same for all purposes
LONG, LONGISH = 0.7, 0.3  # nats a row and pair of columns: axes of about 4 : 1 and 2.3 : 1
MIXTURE_ROWS = 2048  # that a mixture is fitted to
ROWS_A_PARAMETER = 5  # rows for each cluster and column, at least, to fit it
SURE_GAIN = 10.0  # nats: very strong evidence
CERTAIN = 0.95  # mean probability of the likeliest component: groups, and not slices
SIMILAR, OTHERS = 0.8, 0.5  # adjusted Rand index below which clusters are others: doubtful, and surely
UNEQUAL, UNEQUALISH = 8.0, 4.0  # ratio of the radii of two clusters


def examine_clusters(case: Case) -> Answer:
    """Scale of the columns and shape of the clusters."""
    model = case.model
    if getattr(model, "metric", "euclidean") not in ROUND_METRICS or getattr(model, "kernel", "rbf") == "precomputed":
        return Answer((said("description", "note", "distances that are given have no columns to look at"),))
    seen = seen_rows(case)
    if len(seen.rows) < FEWEST_ROWS or seen.rows.shape[1] == 0:
        return Answer((said("description", "note", f"fewer than {FEWEST_ROWS} complete rows say nothing of clusters"),))
    labels = labels_of(model, seen)
    findings = scale_of(case, seen, labels)
    if not findings and not hasattr(model, "kernel"):  # a kernel makes clusters of any shape
        findings = shape_of(seen, labels) or cut_across(case, seen, labels)
    return Answer(tuple(findings) or (said("description", "fine", "columns are of one scale, and clusters are round"),))


def labels_of(model: Any, seen: Seen) -> Indices:
    """The cluster of each row."""
    labels = getattr(model, "labels_", None)
    if labels is not None and len(labels) == seen.n_rows:
        return np.asarray(labels)[seen.places]
    return np.asarray(np.argmin(cdist(seen.rows, model.cluster_centers_), axis=1))


def _within(seen: Seen, labels: Indices) -> Floats:
    """Standard deviation of each column within clusters."""
    left = np.empty_like(seen.rows)
    for label in np.unique(labels):
        own = labels == label
        left[own] = seen.rows[own] - np.average(seen.rows[own], axis=0, weights=seen.weights[own])
    return np.asarray(np.sqrt(np.average(left**2, axis=0, weights=seen.weights)))


def scale_of(case: Case, seen: Seen, labels: Indices) -> list[Finding]:
    """Whether one column decides by its unit."""
    if seen.rows.shape[1] < 2:
        return []
    spread = np.sqrt(np.average((seen.rows - seen.rows.mean(axis=0)) ** 2, axis=0, weights=seen.weights))
    column = int(np.argmax(spread))
    within = _within(seen, labels)
    others = np.delete(within, column)
    usual = float(np.median(others[others > 0])) if np.any(others > 0) else 0.0
    share = spread[column] ** 2 / max(float(np.sum(spread**2)), 1e-300)
    ratio = within[column] / usual if usual > 0 else 0.0
    sliced = ratio * len(np.unique(labels))
    if share < SHARE or ratio < WITHIN or sliced < LEANS:
        return []
    same = _agreement(case, seen, spread, labels)
    severity = "note" if same >= SAME else "warning" if sliced >= OUTWEIGHS else "doubt"
    name = column_name(case.model, column)
    message = f"{name} has {share:.1%} of the variance by its unit and decides alone (scaled columns agree: {same:.2f})"
    return [said("scale", severity, message, float(ratio), "scale the columns, to unit variance say")]


def _agreement(case: Case, seen: Seen, spread: Floats, labels: Indices) -> float:
    """With the clusters of columns of unit variance."""
    from sklearn.metrics import adjusted_rand_score

    from unveil.clusters.kmeans.kmeans import KMeans

    unit = np.where(spread > 0, spread, 1.0)
    again = KMeans(len(np.unique(labels)), random_state=case.seed).fit(seen.rows / unit, sample_weight=seen.weights)
    return float(adjusted_rand_score(labels, again.labels_))


def shape_of(seen: Seen, labels: Indices) -> list[Finding]:
    """Whether clusters are round, and of one size."""
    names, counts = np.unique(labels, return_counts=True)
    large = names[counts >= max(FEWEST_ROWS, 3 * seen.rows.shape[1])]
    if not len(large):
        return []
    losses, radii = zip(*(_roundness(seen.rows[labels == label]) for label in large), strict=True)
    shares = np.array([np.sum(labels == label) for label in large]) / len(labels)
    loss = float(shares @ np.array(losses) / shares.sum())
    found = []
    if loss >= LONGISH:
        worst = int(large[int(np.argmax(losses))])
        message = f"clusters are long, cluster {worst} most: {loss:.2g} nats a row and pair of columns are lost"
        found.append(said("shape", "warning" if loss >= LONG else "doubt", message, loss, "try GaussianMixture"))
    ratio = max(radii) / max(min(radii), 1e-300)
    if ratio >= UNEQUALISH:
        message = f"clusters {large[int(np.argmax(radii))]} and {large[int(np.argmin(radii))]} differ in spread"
        words = f"{message} by a factor of {ratio:.2g}"
        found.append(said("spread", "warning" if ratio >= UNEQUAL else "doubt", words, ratio, "try GaussianMixture"))
    return found


def cut_across(case: Case, seen: Seen, labels: Indices) -> list[Finding]:
    """Whether clusters cut long groups to round pieces: a mixture with axes of its own finds others, and is sure."""
    from sklearn.metrics import adjusted_rand_score

    from unveil.mixtures.gaussian import GaussianMixture

    k, rows = len(np.unique(labels)), seen.rows[:MIXTURE_ROWS]
    n, d = rows.shape
    if k < 2 or d < 2 or n < ROWS_A_PARAMETER * k * d or np.any(rows.std(axis=0) == 0):
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said of a fit that nobody asked for
        mixture = GaussianMixture(k, random_state=case.seed).fit(rows)
    if degeneracy(mixture, steps_of(rows)) is not None:  # it sits on rows that are equal, and says nothing of groups
        return []
    certain = float(mixture.predict_proba(rows).max(axis=1).mean())
    same = float(adjusted_rand_score(labels[:n], mixture.predict(rows)))
    gain = 0.5 * (_half_bic_of_balls(rows, labels[:n]) * 2.0 - mixture.bic(rows))
    if gain < SURE_GAIN or certain < CERTAIN or same >= SIMILAR:
        return []
    words = f"clusters cut across long groups (agreement with groups of any shape {same:.2f})"
    remedy = f"GaussianMixture would gain {gain:.3g} nats"
    return [said("shape", "warning" if same < OTHERS else "doubt", words, same, remedy)]


def _half_bic_of_balls(rows: Floats, labels: Indices) -> float:
    """Half the BIC of round components of one size about the centres of the clusters."""
    n, d = rows.shape
    names, places = np.unique(labels, return_inverse=True)
    shares = np.bincount(places) / n
    centres = np.stack([rows[places == place].mean(axis=0) for place in range(len(names))])
    squares = cdist(rows, centres, "sqeuclidean")
    variance = float(np.mean(squares[np.arange(n), places])) / d
    log_joint = np.log(shares) - 0.5 * squares / variance - 0.5 * d * np.log(2.0 * np.pi * variance)
    peak = log_joint.max(axis=1)
    total = float(np.sum(peak + np.log(np.exp(log_joint - peak[:, None]).sum(axis=1))))
    return 0.5 * (len(names) * (d + 1)) * float(np.log(n)) - total


def _roundness(rows: Floats) -> tuple[float, float]:
    """What a round cluster loses a row and pair of columns, and its radius."""
    n, d = rows.shape
    values = np.maximum(np.linalg.eigvalsh(np.cov(rows.T, ddof=0).reshape(d, d)), 1e-300)
    radius = float(np.sqrt(values.mean()))
    if d == 1 or radius == 0:
        return 0.0, radius
    values = np.maximum(values, 1e-6 * values.max())  # a constant column is no axis
    gain = 0.5 * (d * np.log(values.mean()) - np.log(values).sum())
    price = (d * (d + 1) / 2 - 1) * np.log(n) / (2 * n)
    return max(float(gain - price), 0.0) * 2.0 / d, radius
