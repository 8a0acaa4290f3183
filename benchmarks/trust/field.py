"""Size and power of peers, and of unveil on the same tables: is one better on one and no worse on the other?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.table import markdown
from benchmarks.trust.numbers import Answer
from benchmarks.trust.peers import PEERS, RULES, Numbers
from benchmarks.trust.report import Report, share
from benchmarks.trust.tables import POWER, SIZE, Key, Table

PAGE_HEAD = """# Peers on the tables of size and power

Made by `python -m benchmarks.trust peers` of the answers in `peers.csv`, which mclust 6.0.0 and scikit-learn 1.9.1
gave. Words are given to scikit-learn as indicators, one for each value; mclust does not take them. A peer that gives no
answer (mclust's models all fail on some ties) has found no groups. *Right* is counted where a Bayes rule would put 97%
of the rows into their own group; [docs/trust.md](../../docs/trust.md) says what is in the tables.
"""


class Standing(NamedTuple):
    """Of one who answers: groups claimed among tables without any, right numbers among clear tables with groups."""

    claimed: int
    structureless: int
    right: int
    clear: int

    @property
    def size(self) -> float:
        return self.claimed / max(self.structureless, 1)

    @property
    def power(self) -> float:
        return self.right / max(self.clear, 1)

    def beats(self, other: Standing) -> bool:
        """Better on one of the two and no worse on the other."""
        better = self.size < other.size or self.power > other.power
        return better and self.size <= other.size and self.power >= other.power


def facts(keys: Sequence[Key]) -> dict[Key, tuple[int, bool]]:
    """How many clusters there are in each table, and whether a Bayes rule would find them."""
    return {key: (Table(key).truth, Table(key).clear) for key in keys}


def standing(peer: str, known: Mapping[Key, Numbers], truths: Mapping[Key, tuple[int, bool]]) -> Standing:
    """Of a peer, over the tables that it takes; where it gives no answer it has found one cluster."""
    asked = [key for key in known if not (key.part == POWER and known[key].get(peer) is None)]
    size = [key for key in asked if key.part == SIZE]
    clear = [key for key in asked if key.part == POWER and truths[key][1]]
    claimed = sum((known[key].get(peer) or 1) > 1 for key in size)
    right = sum(known[key].get(peer) == truths[key][0] for key in clear)
    return Standing(claimed, len(size), right, len(clear))


def ours(answers: Sequence[Answer], keys: Sequence[Key]) -> Standing:
    """Of unveil over some of the tables: a group counts as claimed where it is said to be real."""
    wanted = set(keys)
    mine = [answer for answer in answers if answer.key in wanted]
    size = [answer for answer in mine if answer.key.part == SIZE]
    clear = [answer for answer in mine if answer.key.part == POWER and answer.clear]
    return Standing(sum(a.claimed for a in size), len(size), sum(a.right for a in clear), len(clear))


def against(known: Mapping[Key, Numbers], answers: Sequence[Answer] = ()) -> Report:
    """A row for each peer; beside it unveil on the same tables, where it was asked about them."""
    truths, rows, missed = facts([*known]), [], []
    for peer in PEERS:
        theirs = standing(peer, known, truths)
        row = [peer, share(theirs.claimed, theirs.structureless), share(theirs.right, theirs.clear)]
        if answers:
            mine = ours(answers, [key for key in known if key.part == SIZE or known[key].get(peer) is not None])
            row += [share(mine.claimed, mine.structureless), share(mine.right, mine.clear)]
            if theirs.beats(mine):
                missed.append(f"{peer} is better than unveil on one of size and power and no worse on the other")
        rows.append(row)
    head = ["peer", "groups claimed where there are none", "right number where it is clear"]
    head += ["unveil: claimed", "unveil: right"] if answers else []
    return Report("Against the field", markdown(head, rows), tuple(missed))


def page(known: Mapping[Key, Numbers]) -> str:
    """What the peers answer, by itself."""
    rules = markdown(("peer", "number of clusters"), [*map(list, RULES.items())])
    return f"{PAGE_HEAD}\n{rules}\n\n{against(known).text}\n\n{by_kind(known)}\n"


def by_kind(known: Mapping[Key, Numbers]) -> str:
    """Two tables, a row for each kind of data and a column for each peer."""
    truths = facts([*known])
    kinds: dict[tuple[str, str, int], list[Key]] = {}
    for key in known:
        kinds.setdefault((key.part, key.kind, key.n), []).append(key)
    texts = []
    for part, said in ((SIZE, "claimed, of"), (POWER, "right, of")):
        rows = []
        for (_, kind, n), keys in (item for item in kinds.items() if item[0][0] == part):
            clear = [key for key in keys if truths[key][1]]
            rows.append([kind, str(n), str(len(clear)), *(_count(part, peer, clear, known, truths) for peer in PEERS)])
        texts.append(markdown(("table", "rows", said, *PEERS), sorted(rows, key=lambda row: int(row[1]))))
    return "\n\n".join(texts)


def _count(
    part: str, peer: str, keys: Sequence[Key], known: Mapping[Key, Numbers], truths: Mapping[Key, tuple[int, bool]]
) -> str:
    if part == SIZE:
        return str(sum((known[key].get(peer) or 1) > 1 for key in keys))
    if all(known[key].get(peer) is None for key in keys):
        return "-"
    return str(sum(known[key].get(peer) == truths[key][0] for key in keys))
