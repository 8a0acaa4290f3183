"""Are the clusters of K-means, kernel K-means and K-medoids real? By the criteria that `select` has, and by valleys.

Any cloud can be cut into K pieces. Clusters are there if rows are nearer to their own than rows spread evenly would be
(silhouette), if the cost falls below what it is without clusters (gap), if the same ones come back from other rows
(stability), and if the density is lower between two of them than within (`valley`, along the line between the centres).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Answer, Case, nameless, quietly
from unveil.judgement.criteria.dissimilarity import has_metric, is_kmeans, metric_of
from unveil.judgement.criteria.silhouette import CHANCE_LEAD, NO_STRUCTURE, strength
from unveil.judgement.criteria.stability import STABLE_JACCARD
from unveil.judgement.criteria.study import Study
from unveil.judgement.real.even import even_rows
from unveil.judgement.real.linkage import linked
from unveil.judgement.real.null import one_hump_rows
from unveil.judgement.real.valley import valley_between
from unveil.judgement.real.words import STABLE, RealFinding, said

FEWEST = 8  # rows of a cluster: fewer have no density to speak of
SETS = 8  # tables without clusters, and tables drawn anew; ten times as many where it is thorough
NULL_SETS = 9  # tables with one mode,
NULL_SHARE = 0.2  # of which no more than one may have clusters
PURPOSE = 4  # of random numbers: unlike those that others draw


def examine_partition(case: Case) -> Answer:
    """Are the clusters of a partition real?"""
    study = Study(case.model, case.X, _weights(case.sample_weight), SETS * (10 if case.thorough else 1))
    labels = study.labels(case.model)
    if len(np.unique(labels)) < 2:
        return Answer((RealFinding("clusters", "note", "one cluster: there is nothing to tell apart", 1.0),))
    votes = [
        vote
        for vote in (_silhouette(case.model, study), _gap(case.model, study), _stability(case.model, study))
        if vote
    ]
    valleys = list(_valleys(case, study, labels))
    return Answer(tuple(_weighed([*valleys, *votes])))


def _weights(given: Any) -> Floats | None:
    return None if given is None else np.asarray(given, dtype=np.float64)


def _weighed(found: list[Finding]) -> Iterator[Finding]:
    """All findings, and that there are no clusters where most speak against them and no valley tells any apart."""
    doubts = [finding for finding in found if finding.severity == "doubt"]
    apart = any(finding.name == "valley" for finding in found)
    if len(doubts) > len(found) / 2.0 and not apart:
        names = " and ".join(finding.name for finding in doubts)
        message = f"by {names}, rows without clusters would look the same"
        yield RealFinding("clusters", "warning", message, kind="null", remedy="take the rows for one group")
    yield from found


def _silhouette(model: Any, study: Study) -> Finding | None:
    if not has_metric(model):
        return None
    value, even = study.silhouette(model), study.even_silhouette(model)
    if value is None:
        return None
    weak = value <= NO_STRUCTURE or (even is not None and value < even + CHANCE_LEAD)
    less = "" if even is None else f", where evenly spread rows have {even:.2f}"
    message = f"the mean silhouette is {value:.2f} ({strength(value)}){less}"
    return RealFinding("silhouette", "doubt" if weak else "fine", message, value, kind="overlap" if weak else "")


def _gap(model: Any, study: Study) -> Finding | None:
    rows = study.rows
    if not (rows.dense and is_kmeans(model)):
        return None
    middle = rows.weights @ rows.values / rows.weights.sum()
    cost = float(rows.weights @ np.square(rows.values - middle).sum(axis=1)) * rows.total / float(rows.weights.sum())
    one, own = study.references.gap(1, middle[None], cost / rows.scale), study.gap(model)
    if one is None or own is None:
        return None
    gains = own.value - one.value
    message = f"against rows without clusters the log of the cost falls by {gains:.2f} more than that of one cluster"
    weak = gains <= own.error
    return RealFinding("gap", "doubt" if weak else "fine", message, gains, kind="null" if weak else "")


def _stability(model: Any, study: Study) -> Finding | None:
    found = study.stability(model)
    if found is None:
        return None
    worst, value = int(np.argmin(found.jaccard)), float(found.jaccard.min())
    message = f"cluster {worst} comes back from rows drawn anew with a Jaccard index of {value:.2f}"
    stable = f"{message}: {'highly ' if value >= STABLE_JACCARD else ''}stable"
    weak = value < STABLE
    return RealFinding(
        "stability", "doubt" if weak else "fine", message if weak else stable, value, kind="unstable" if weak else ""
    )


def _valleys(case: Case, study: Study, labels: NDArray[np.integer]) -> Iterator[Finding]:
    """Which clusters the density tells apart, where rows are points."""
    values = study.rows.values
    if not study.rows.dense or "precomputed" in (metric_of(case.model), case.model.get_params().get("kernel")):
        return
    rows, chosen = even_rows(values, None, np.arange(values.shape[1]), case.random(PURPOSE))
    bends = not has_metric(case.model)
    count, large = _count_apart(None, rows, labels[chosen])
    if bends and count == 1:  # groups that no line in the plane tells apart may be apart in the space of the kernel
        count, large = _count_apart(nameless(case.model), rows, labels[chosen])
        if count > 1:
            yield _null(case, study, count)
    yield _apart(count, large, len(np.unique(labels)))


def _apart(count: int, large: int, k: int) -> Finding:
    """What follows of so many clusters that are apart, of `large` that have rows enough to tell, of `k`."""
    if count == 1:
        message = f"the rows of {said(k, 'cluster')} form one: there is no valley between them"
        return RealFinding("valley", "warning", message, 1.0, kind="one_mode", remedy="take them for one group")
    if count < large:
        message = f"only {count} of {said(k, 'cluster')} are apart: the others have no valley between them"
        return RealFinding("valley", "doubt", message, float(count), kind="merged", remedy=f"try n_clusters={count}")
    message = f"{said(count, 'cluster')} are apart: the density is lower between them"
    return RealFinding("valley", "fine", message, float(count))


def _null(case: Case, study: Study, count: int) -> Finding:
    """Whether as many clusters are found apart in rows with one mode: a kernel may bend one hump into several."""
    found = []
    for rows in one_hump_rows(study.rows.values, case.random(PURPOSE, 1), NULL_SETS):
        model = quietly(clone(case.model).set_params(random_state=0).fit, rows)
        found.append(_count_apart(model, rows, np.asarray(model.labels_))[0])
    share = float(np.mean(np.array(found) >= count))
    message = f"in {share:.0%} of tables with the same margins and correlations but one mode as many clusters are apart"
    if share > NULL_SHARE:
        return RealFinding("null", "warning", message, share, remedy="take the rows for one group")
    return RealFinding("null", "fine", message, share)


def _count_apart(model: Any, rows: Floats, labels: NDArray[np.integer]) -> tuple[int, int]:
    """How many clusters there are with valleys between them, and how many have rows enough to tell.

    Lines are those between the means of the rows, or where there is a `model` with a kernel, in its space.
    """
    sizes = np.bincount(labels, minlength=int(labels.max()) + 1)
    large = np.flatnonzero(sizes >= FEWEST)
    links = {}
    for one, other in combinations(large.tolist(), 2):
        second = labels[chosen := np.flatnonzero((labels == one) | (labels == other))] == other
        line = (
            _line_of_means(rows[chosen], second) if model is None else _line_of_kernel(model, rows[chosen], one, other)
        )
        links[one, other] = valley_between(line, second)
    return max(len(linked(links, np.ones(len(sizes)), large)), 1), len(large)


def _line_of_kernel(model: Any, rows: Floats, one: int, other: int) -> Floats:
    """Where rows lie between the centres of two clusters in the space of a kernel: a projection on their line."""
    distances = np.asarray(model.transform(rows), dtype=np.float64)
    return np.asarray(distances[:, one] ** 2 - distances[:, other] ** 2)


def _line_of_means(rows: Floats, second: NDArray[np.bool_]) -> Floats:
    """The same along the line between the means of two groups of rows."""
    return np.asarray(rows @ (rows[second].mean(axis=0) - rows[~second].mean(axis=0)))
