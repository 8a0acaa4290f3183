"""How many clusters `unveil.select` finds in tables without groups and in tables with them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import unveil
from benchmarks.table import duration, markdown
from benchmarks.trust.report import Report, share
from benchmarks.trust.tables import Key, Table, power_tables, size_tables

MOST_CLAIMED = 0.05  # share of all tables without groups in which groups may be said to be real
MOST_OF_A_KIND = 0.15  # of one kind and size: 3 of 20
LEAST_RIGHT = 0.9  # share of the tables of a design, those that a Bayes rule finds clear, with the right number


class Answer(NamedTuple):
    """What `select` says about a table."""

    key: Key
    truth: int
    clear: bool
    clusters: int | None
    real: str
    seconds: float

    @property
    def claimed(self) -> bool:
        """Whether it says that there is more than one cluster, and that they are real."""
        return self.clusters is not None and self.clusters > 1 and self.real == "yes"

    @property
    def right(self) -> bool:
        return self.clusters == self.truth


def ask(table: Table) -> Answer:
    """Select among mixtures with nothing set but the range."""
    name = "GaussianMixture" if table.design is None else table.design.estimator
    model = getattr(unveil, name)(random_state=0)
    rows, began = table.rows, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of single fits among those compared
        selection = unveil.select(model, rows, {"n_components": range(1, table.most + 1)})
        clusters, real = selection.n_clusters, selection.verdicts()["real"]
    return Answer(table.key, table.truth, table.clear, clusters, real, time.perf_counter() - began)


def size(answers: Sequence[Answer]) -> Report:
    """How often groups are claimed that are not there."""
    kinds = list(dict.fromkeys((answer.key.kind, answer.key.n) for answer in answers))
    rows, missed = [], []
    for kind, n in kinds:
        mine = [answer for answer in answers if (answer.key.kind, answer.key.n) == (kind, n)]
        claimed = sum(answer.claimed for answer in mine)
        several = sum((answer.clusters or 1) > 1 for answer in mine)
        rows.append([kind, str(n), share(claimed, len(mine)), str(several), _mean_time(mine)])
        if claimed > MOST_OF_A_KIND * len(mine):
            missed.append(f"{kind}, {n} rows: groups are claimed in {claimed} of {len(mine)}; 3 of 20 may be")
    claimed = sum(answer.claimed for answer in answers)
    rows.append(["all", "", share(claimed, len(answers)), str(sum((a.clusters or 1) > 1 for a in answers)), ""])
    if claimed > MOST_CLAIMED * len(answers):
        missed.insert(0, f"groups are claimed in {share(claimed, len(answers))} of tables without any; 5% may be")
    head = ("table without groups", "rows", "said to be real", "more than one cluster", "time")
    return Report("Size: groups that are not there", markdown(head, rows), tuple(missed))


def power(answers: Sequence[Answer]) -> Report:
    """How often the number of groups is right, where it can be."""
    rows, missed = [], []
    for kind in dict.fromkeys(answer.key.kind for answer in answers):
        mine = [answer for answer in answers if answer.key.kind == kind]
        clear = [answer for answer in mine if answer.clear]
        right = sum(answer.right for answer in clear)
        sure = sum(answer.right and answer.claimed for answer in clear)
        found = ", ".join(str(answer.clusters) for answer in clear if not answer.right)
        rows.append([kind, share(right, len(clear)), str(sure), found, _mean_time(mine)])
        if right < LEAST_RIGHT * len(clear):
            missed.append(f"{kind}: the number is right in {share(right, len(clear))}; 90% is asked for")
    clear = [answer for answer in answers if answer.clear]
    right, sure = sum(answer.right for answer in clear), sum(answer.right and answer.claimed for answer in clear)
    rows.append(["all", share(right, len(clear)), str(sure), "", ""])
    head = ("table with groups", "right number", "and said to be real", "wrong ones", "time")
    return Report("Power: groups that are there", markdown(head, rows), tuple(missed))


def _mean_time(answers: Sequence[Answer]) -> str:
    return duration(sum(answer.seconds for answer in answers) / len(answers))


def size_slice() -> Iterable[Table]:
    """What of it runs in `make test`: a small table of every kind."""
    return (table for table in size_tables(1) if table.key.n == min(t.key.n for t in size_tables(1)))


def power_slice() -> Iterable[Table]:
    """Likewise: one table of every second design."""
    return [*power_tables(1)][::2]
