"""Whether groups are real, in words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from unveil.certificate import Finding
from unveil.core.arrays import Floats

if TYPE_CHECKING:
    from unveil.judgement.real.mixtures import Groups

DISSOLVED = 0.5  # Jaccard index below which a cluster is lost, after Hennig (2007),
STABLE = 0.75  # and from which on it comes back
UNSURE = 0.8  # mean probability of the likeliest cluster, below which rows could as well be another's

RealFinding = partial(Finding, question="real")


def only_one() -> Finding:
    """There are no groups to tell apart."""
    return RealFinding("clusters", "note", "one component: there are no groups to tell apart", 1.0)


def findings_of(groups: Groups) -> Iterator[Finding]:
    """How many clusters, how far apart, how stable, how sure."""
    clusters = groups.clusters()
    count = int(clusters.max()) + 1
    yield _number(clusters, count, groups.undecided)
    yield from _merged(clusters)
    if count > 1:
        yield _valleys(groups, clusters)
        yield _stability(groups.refits.stability(clusters))
        yield _certainty(softmax(groups.joint, axis=1), clusters)


def said(count: int, one: str) -> str:
    """A count with its noun."""
    return f"{count} {one}{'' if count == 1 else 's'}"


def _number(clusters: NDArray[np.intp], count: int, undecided: bool) -> Finding:
    k = len(clusters)
    if count == 1 and not undecided:
        message = f"{said(k, 'component')} describe the density; they form one cluster: there is no valley between them"
        remedy = "take them for the shape of one group"
        return RealFinding("clusters", "warning", message, 1.0, kind="one_mode", remedy=remedy)
    formed = f"{said(k, 'component')} form {said(count, 'cluster')}"
    if undecided:
        message = f"{formed}, perhaps more: there is a valley between them that may be luck"
        return RealFinding("clusters", "doubt", message, float(count), kind="one_mode", remedy="more rows would tell")
    return RealFinding("clusters", "fine", formed, float(count))


def _merged(clusters: NDArray[np.intp]) -> Iterator[Finding]:
    """Which components were taken together, and why."""
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        if 1 < len(members) < len(clusters):
            names = f"{', '.join(map(str, members[:-1]))} and {members[-1]}"
            message = f"components {names} are one cluster: the density between them has no valley"
            yield RealFinding(f"merged_{cluster}", "note", message, float(len(members)), kind="merged")


def _valleys(groups: Groups, clusters: NDArray[np.intp]) -> Finding:
    """The shallowest valley between two clusters."""
    across = {pair: valley for pair, valley in groups.links.items() if clusters[pair[0]] != clusters[pair[1]]}
    (one, other), valley = max(across.items(), key=lambda each: (each[1].chance, each[1].depth))
    between = f"between components {one} and {other} the density falls to {valley.depth:.0%} of the lower peak"
    return RealFinding("valley", "fine", f"{between}, by luck with chance {valley.chance:.1g}", valley.chance)


def _stability(found: Floats) -> Finding:
    if np.isnan(found).any():
        return RealFinding("stability", "note", "stability is not known: the fit to a part of the rows failed")
    worst, value = int(np.argmin(found)), float(found.min())
    back = f"cluster {worst} comes back with a Jaccard index of {value:.2f} where a fifth of the rows is left out"
    severity = "fine" if value >= STABLE else "note" if value >= DISSOLVED else "doubt"
    return RealFinding("stability", severity, back, value, kind="stability" if severity != "doubt" else "unstable")


def _certainty(shares: Floats, clusters: NDArray[np.intp]) -> Finding:
    """How sure the cluster of a row is, from the probabilities of its components."""
    each = np.stack([shares[:, clusters == cluster].sum(axis=1) for cluster in np.unique(clusters)])
    sure = float(each.max(axis=0).mean())
    message = f"rows belong to their likeliest cluster with probability {sure:.2f} on average"
    severity = "fine" if sure >= UNSURE else "doubt"
    return RealFinding("certainty", severity, message, sure, kind="overlap" if severity == "doubt" else "certainty")
