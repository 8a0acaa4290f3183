"""How people count: groups, components and states from 1, as on a page and in its ``rows.csv``. Python counts from 0.

Whatever a verb prints or writes for people goes through here; ``--json`` of ``fit`` and ``show`` has the attributes of
the estimator as Python has them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.certificate import Certificate

_STATES = re.compile(r"\bstate (\d+)")
COUNTED = {"clusters_": "cluster of each component", "medoid_indices_": "rows that are medoids"}
"""Attributes that hold numbers of something, and what they are called when they count from 1."""


def from_one(numbers: Any) -> Any:
    """Numbers of groups, components, states or rows as people count them."""
    import numpy as np

    return np.asarray(numbers) + 1


def homes(clusters: Any) -> Any:
    """The cluster of each component, from 1 in the order of first components, as groups are counted on a page.

    >>> homes([2, 0, 2]).tolist()
    [1, 2, 1]
    """
    order = list(dict.fromkeys(list(clusters)))
    return from_one([order.index(cluster) for cluster in clusters])


def said(message: str, clusters: tuple[int, ...] = (), columns: tuple[str, ...] = ()) -> str:
    """What the library says of components, clusters and states, counted from 1; columns by their names.

    >>> said("components 0 and 2 are one cluster"), said("state 0 is not told from state 1")
    ('components 1 and 3 are one cluster', 'state 1 is not told from state 2')
    """
    from unveil.reporting.naming import PageNaming

    told = PageNaming(clusters, False, columns).say(message)
    return _STATES.sub(lambda found: f"state {int(found[1]) + 1}", told)


def certificate_of(estimator: Any) -> Certificate:
    """The certificate of an estimator, as `said` has it."""
    from dataclasses import replace

    from unveil.certificate import Certificate

    found = estimator.certificate_
    clusters = tuple(found.clusters or ())
    columns = tuple(str(name) for name in getattr(estimator, "feature_names_in_", ()))
    told = (
        replace(one, message=said(one.message, clusters, columns), remedy=said(one.remedy, clusters, columns))
        for one in found.findings
    )
    return Certificate(tuple(told), clusters=found.clusters)
