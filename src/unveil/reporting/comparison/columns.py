"""Column by column: what it was taken for, what is missing, which categories came and went, how far values moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unveil.core.arrays import Floats
from unveil.reporting.comparison.drift import CERTAIN, Shift, corrected, counts_apart, numbers_apart, size_word

LISTED = 5  # categories that came or went which are named
NOT_COMPARED = {"identifier", "row number", "free text", "date"}  # every row has its own, or they move on by nature
ASIDE = 0.25  # of the share that moved: by how much values must lie on one side for "higher" or "lower"


class ColumnCells(NamedTuple):
    """The cells of a column that are there, as numbers or as rows of each word, and how many are missing."""

    numbers: Floats | None
    counts: Mapping[str, int]
    missing: int
    rows: int

    @property
    def share_missing(self) -> float:
        """The share of rows without a cell."""
        return self.missing / max(self.rows, 1)


class ColumnChange(NamedTuple):
    """What became of a column: `effect` is the share of rows that moved, `certain` whether that is beyond chance."""

    name: str
    role_then: str
    role_now: str
    missing_then: float
    missing_now: float
    effect: float
    p: float  # of its values or its holes, whichever is less by chance, corrected for the number of columns
    certain: bool
    size: str  # none, small, clear, large; or "kind" where values cannot be compared
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]
    words: str

    @property
    def drifted(self) -> bool:
        """Is there more than chance, and enough to speak of?"""
        return self.size != "none"


class _Compared(NamedTuple):
    """A column before the chances of all columns are known."""

    role_then: Any
    role_now: Any
    then: ColumnCells
    now: ColumnCells
    values: Shift | None  # None where there is nothing to compare
    holes: Shift


def column_changes(old: Any, new: Any) -> tuple[ColumnChange, ...]:
    """What became of each column that both tables have, in the order of the old one."""
    now = {role.name: role for role in new.roles}
    pairs = [(role, now[role.name]) for role in old.roles if role.name in now]
    found = [_compared(then, _cells(old, then), later, _cells(new, later)) for then, later in pairs]
    chances = corrected([shift.p for one in found for shift in (one.values, one.holes) if shift is not None])
    rest = iter(chances)
    changes = []
    for one in found:
        of_values = next(rest) if one.values is not None else 1.0
        changes.append(_change(one, of_values, next(rest)))
    return tuple(changes)


def _cells(prepared: Any, role: Any) -> ColumnCells:
    """The cells of a column; sentinels count as missing."""
    cells = prepared.table.column(role.name)
    n = len(cells)
    if pa.types.is_floating(cells.type) or pa.types.is_integer(cells.type):
        values = pc.drop_null(cells).to_numpy().astype(np.float64)
        values = values[np.isfinite(values) & ~np.isin(values, role.sentinels)]
        if role.kind in ("category", "yes/no") or role.role == "constant":
            return ColumnCells(None, _counted([f"{value:g}" for value in values]), n - len(values), n)
        return ColumnCells(values, {}, n - len(values), n)
    counted = {str(one["values"]): int(one["counts"]) for one in pc.value_counts(cells).to_pylist()}
    missing = cells.null_count
    return ColumnCells(None, {word: count for word, count in counted.items() if word != "None"}, missing, n)


def _counted(words: list[str]) -> dict[str, int]:
    values, counts = np.unique(np.array(words, dtype=object).astype(str), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _compared(role_then: Any, then: ColumnCells, role_now: Any, now: ColumnCells) -> _Compared:
    table = np.array([[one.missing, one.rows - one.missing] for one in (then, now)])
    return _Compared(role_then, role_now, then, now, _values(role_then, role_now, then, now), counts_apart(table))


def _values(role_then: Any, role_now: Any, then: ColumnCells, now: ColumnCells) -> Shift | None:
    if {role_then.role, role_now.role} & NOT_COMPARED or then.missing == then.rows or now.missing == now.rows:
        return None
    if then.numbers is not None and now.numbers is not None:
        return numbers_apart(then.numbers, now.numbers)
    if then.numbers is None and now.numbers is None:
        words = sorted({*then.counts, *now.counts})
        return counts_apart(np.array([[one.counts.get(word, 0) for word in words] for one in (then, now)]))
    return None


def _change(one: _Compared, p_values: float, p_holes: float) -> ColumnChange:
    """What is said of a column, once it is known how surely it moved."""
    then, now = one.then, one.now
    moved = one.values is not None and p_values < CERTAIN and size_word(one.values.effect) != "none"
    holes = p_holes < CERTAIN and size_word(one.holes.effect) != "none"
    kind = _is_of_another_kind(one)
    appeared, vanished = _listed(now.counts, then.counts), _listed(then.counts, now.counts)
    other = one.role_then.role != one.role_now.role
    parts = [f"was taken for {one.role_then.role}, is now for {one.role_now.role}"] if other else []
    effect = max(one.values.effect if one.values is not None and moved else 0.0, one.holes.effect if holes else 0.0)
    if one.values is not None and moved:
        parts += [_moved(one, one.values)]
    if holes:
        parts += [f"missing in {_percent(then.share_missing)} of rows, now in {_percent(now.share_missing)}"]
    if not {one.role_then.role, one.role_now.role} & NOT_COMPARED:
        parts += [f"new: {', '.join(appeared)}"] if appeared else []
        parts += [f"gone: {', '.join(vanished)}"] if vanished else []
    largest = max(one.holes.effect, one.values.effect if one.values is not None else 0.0)
    if not (moved or holes) and size_word(largest) in ("clear", "large"):
        parts += ["what moved may be chance: too few rows to tell"]
    return ColumnChange(
        one.role_then.name,
        one.role_then.role,
        one.role_now.role,
        then.share_missing,
        now.share_missing,
        largest,
        min(p_values, p_holes),
        moved or holes,
        "kind" if kind else size_word(effect) if moved or holes else "none",
        appeared,
        vanished,
        "; ".join(parts),
    )


def _is_of_another_kind(one: _Compared) -> bool:
    """Is it something else now: words in place of numbers, or all cells the same where they were not?"""
    apart = (one.then.numbers is None) != (one.now.numbers is None)
    return apart or (one.role_then.role == "constant") != (one.role_now.role == "constant")


def _listed(here: Mapping[str, int], there: Mapping[str, int]) -> tuple[str, ...]:
    """Categories of one table that the other has not, the most frequent first; a few of them."""
    only = sorted((word for word in here if word not in there), key=lambda word: (-here[word], word))
    more = [f"and {len(only) - LISTED} more"] if len(only) > LISTED else []
    return (*(f"{word} ({here[word]:,} row{'' if here[word] == 1 else 's'})" for word in only[:LISTED]), *more)


def _moved(one: _Compared, shift: Shift) -> str:
    """Where values went."""
    if one.then.numbers is not None and one.now.numbers is not None:
        before, after = (
            np.quantile(one.then.numbers, [0.25, 0.5, 0.75]),
            np.quantile(one.now.numbers, [0.25, 0.5, 0.75]),
        )
        if abs(shift.higher - 0.5) >= ASIDE * shift.effect:
            side = "higher" if shift.higher > 0.5 else "lower"
            return f"{side}: median {_number(before[1])}, now {_number(after[1])}"
        wider = "wider" if after[2] - after[0] > before[2] - before[0] else "narrower"
        middle = f"the middle half was {_number(before[0])} to {_number(before[2])}"
        return f"{wider}: {middle}, now {_number(after[0])} to {_number(after[2])}"
    shares = {
        word: (one.then.counts.get(word, 0) / sum(one.then.counts.values()), count / sum(one.now.counts.values()))
        for word, count in {**dict.fromkeys(one.then.counts, 0), **one.now.counts}.items()
    }
    word = max(shares, key=lambda word: (abs(shares[word][1] - shares[word][0]), word))
    return f"{word}: {_percent(shares[word][0])} of rows, now {_percent(shares[word][1])}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
