"""What the page calls the parts of a mixture: groups where every component is one, components otherwise, from 1 on.

Models count components, clusters and columns from 0; readers of a page count from 1 and know columns by their names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from unveil.certificate import Certificate
from unveil.plot.labels import plain
from unveil.selection.judged import Judged

_NUMBERED = re.compile(r"\b(component|cluster|column)(?: (\d+)|s (\d+(?:(?:, | and )\d+)*))")


class PageNaming(NamedTuple):
    """Names of components, clusters and columns."""

    clusters: tuple[int, ...]  # of each component
    grouped: bool  # are the clusters taken for groups?
    columns: tuple[str, ...]

    @property
    def apart(self) -> bool:
        """Is every component a group of its own?"""
        return self.grouped and len(set(self.clusters)) == len(self.clusters)

    @property
    def noun(self) -> str:
        """What a component is called."""
        return "group" if self.apart else "component"

    @property
    def merged(self) -> list[tuple[int, list[int]]]:
        """Clusters of several components where there are several clusters, each with its components."""
        every = {cluster: self.members(cluster) for cluster in sorted(set(self.clusters))}
        return [(cluster, members) for cluster, members in every.items() if 1 < len(members) < len(self.clusters)]

    def members(self, cluster: int) -> list[int]:
        """Components of a cluster."""
        return [component for component, home in enumerate(self.clusters) if home == cluster]

    def component(self, number: int) -> str:
        """A component by its name.

        >>> PageNaming((0, 1), True, ()).component(1), PageNaming((0, 0), True, ()).component(1)
        ('group 2', 'component 2')
        """
        return f"{self.noun} {number + 1}"

    def cluster(self, number: int) -> str:
        """A cluster by its name; clusters are counted in the order of their first components."""
        order = list(dict.fromkeys(self.clusters))
        place = order.index(number) if number in order else number
        return f"{'group' if self.grouped else 'cluster'} {place + 1}"

    def column(self, number: int) -> str:
        """A column by its name."""
        return f"column {plain(self.columns[number]) if number < len(self.columns) else number}"

    def say(self, message: str) -> str:
        """What a model says, in the names of the page.

        >>> naming = PageNaming((0, 1, 0), True, ("height",))
        >>> naming.say("components 0 and 2 are one cluster"), naming.say("component 0 in column 0")
        ('components 1 and 3 are one group', 'component 1 in column height')
        >>> naming.say("3 components form 2 clusters")
        '3 components form 2 groups'
        """
        said = _NUMBERED.sub(self._renamed, message)
        return re.sub(r"\bcluster(s?)\b", r"group\1", said) if self.grouped else said

    def certificate(self, found: Certificate) -> Certificate:
        """A certificate in the names of the page."""
        said = (replace(one, message=self.say(one.message), remedy=self.say(one.remedy)) for one in found.findings)
        return Certificate(tuple(said), clusters=found.clusters)

    def _renamed(self, found: re.Match[str]) -> str:
        kind, one, several = found.groups()
        name = {"component": self.component, "cluster": self.cluster, "column": self.column}[kind]
        if one is not None:
            return name(int(one))
        names = [name(int(number)) for number in re.findall(r"\d+", several)]
        noun = names[0].split(" ", 1)[0]
        values = iter(each.split(" ", 1)[1] for each in names)
        return f"{noun}s " + re.sub(r"\d+", lambda _: next(values), several)


def naming_of(judged: Judged, k: int, columns: tuple[str, ...]) -> PageNaming:
    """Components are groups where these are real, and where the mixture has the say in how many there are."""
    clusters = judged.certificate.clusters or (0,) * k
    real = judged.certificate.verdicts["real"] == "yes"
    return PageNaming(clusters, real and len(set(clusters)) == judged.n_clusters, columns)
