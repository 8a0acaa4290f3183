"""Power and size of the answer to tables of words, counts, yes/no and holes, as the report asks them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import unveil
from benchmarks.table import markdown
from benchmarks.trust.columns import PLANTED, SEEDS, SIZES, STRUCTURELESS, Table, drawn
from benchmarks.trust.report import Report, share

STARTS = 5  # of a model, as the report has it
MOST = 6  # components that are tried
MOST_CLAIMED = 0.02  # share of the tables without groups in which these may be said to be real


class Key(NamedTuple):
    """Which table it is."""

    name: str
    n: int
    seed: int


class Answer(NamedTuple):
    """What `select` says about a table."""

    key: Key
    truth: int
    components: int
    clusters: int | None
    real: str

    @property
    def claimed(self) -> bool:
        """Whether groups are said to be real."""
        return self.real == "yes" and (self.clusters or 1) > 1


def model_of(table: Table) -> Any:
    """What the report compares for such columns."""
    settings: dict[str, Any] = {"n_init": STARTS, "random_state": 0}
    if set(table.kinds) <= {"category", "yes/no"}:
        return unveil.CategoricalMixture(**settings)
    return unveil.MixedMixture(families=dict(enumerate(table.kinds)), **settings)


def ask(key: Key) -> Answer:
    """Select among mixtures of 1 to `MOST` components."""
    table = drawn(key.name, key.seed, key.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of single fits among those compared
        found = unveil.select(model_of(table), table.rows, {"n_components": range(1, MOST + 1)})
        real = found.verdicts()["real"]
    return Answer(key, table.truth, int(found.best_params_["n_components"]), found.n_clusters, real)


def keys(names: Iterable[str], seeds: int = SEEDS) -> Iterator[Key]:
    """All tables of some designs."""
    return (Key(name, n, seed) for n in SIZES for name in names for seed in range(seeds))


def third() -> list[Key]:
    """What runs in `make test`: clear groups among few rows, and tables whose columns depend on each other."""
    clear = [Key(name, SIZES[0], 0) for name in PLANTED if name.startswith(("mixed", "counts")) and "clear" in name]
    return clear + [Key(name, SIZES[0], 0) for name in STRUCTURELESS if "factor" in name or "sparse" in name]


def report(answers: Sequence[Answer]) -> Report:
    """How often the number is right, and how often groups are claimed that are not there."""
    planted = [answer for answer in answers if answer.truth > 1]
    others = [answer for answer in answers if answer.truth == 1]
    claimed = sum(answer.claimed for answer in others)
    head = ("table with groups", "rows", "components", "groups", "called real")
    power = markdown(head, _lines(planted, _power))
    size = markdown(("table without groups", "rows", "said to be real"), _lines(others, _size))
    missed = [f"groups are claimed in {share(claimed, len(others))} of tables without any; 2% may be"]
    few = claimed <= max(MOST_CLAIMED * len(others), 1)
    return Report("Words, counts, yes/no and holes", f"{power}\n\n{size}", () if few else tuple(missed))


def _lines(answers: Sequence[Answer], told: Callable[[Sequence[Answer]], list[str]]) -> list[list[str]]:
    """A line for each design and size, and one for all of a size."""
    lines = []
    for n in dict.fromkeys(answer.key.n for answer in answers):
        own = [answer for answer in answers if answer.key.n == n]
        for name in dict.fromkeys(answer.key.name for answer in own):
            lines.append([name, str(n), *told([answer for answer in own if answer.key.name == name])])
        lines.append(["all", str(n), *told(own)])
    return lines


def _power(answers: Sequence[Answer]) -> list[str]:
    counted = sum(answer.components == answer.truth for answer in answers)
    right = [answer for answer in answers if answer.clusters == answer.truth]
    return [share(counted, len(answers)), share(len(right), len(answers)), str(sum(one.claimed for one in right))]


def _size(answers: Sequence[Answer]) -> list[str]:
    return [share(sum(answer.claimed for answer in answers), len(answers))]
