"""What changed between an old table and a new one, as plain data and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from unveil.reporting.comparison.columns import ColumnChange, column_changes
from unveil.reporting.comparison.drift import CERTAIN
from unveil.reporting.comparison.groups import GroupShare, Misfits
from unveil.reporting.comparison.held_against import held_against
from unveil.reporting.study.settings import Settings
from unveil.sources.files.reading import ReadingOptions
from unveil.tables.preparation import prepare
from unveil.tables.table import open_table


@final
@dataclass(frozen=True)
class Comparison:
    """The outcome of `compare`.

    Attributes
    ----------
    titles, rows : pairs
        Names and numbers of rows of the two tables.
    columns : tuple of ColumnChange
        What became of each column that both have; those that `drifted` first.
    came, went : tuples of str
        Columns of the new table alone, and of the old one alone.
    groups : tuple of GroupShare
        Groups of the old table and their shares in both; empty where there is one group, or none could be looked for.
    described : tuple of str
        What sets each group apart.
    misfits : Misfits or None
        Rows of the new table that no longer fit the old one.
    row_names : tuple of str
        Identifiers of those rows, where the table has a column of them.
    remarks : tuple of str
        What could not be compared, and why.
    """

    titles: tuple[str, str]
    rows: tuple[int, int]
    columns: tuple[ColumnChange, ...]
    came: tuple[str, ...]
    went: tuple[str, ...]
    groups: tuple[GroupShare, ...]
    described: tuple[str, ...]
    misfits: Misfits | None
    row_names: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def drifted(self) -> tuple[ColumnChange, ...]:
        """Columns that changed by more than chance and enough to speak of."""
        return tuple(column for column in self.columns if column.drifted)

    @property
    def too_many_misfits(self) -> bool:
        """Do more rows no longer fit than by chance?"""
        return self.misfits is not None and self.misfits.p < CERTAIN

    @property
    def words(self) -> tuple[str, ...]:
        """What changed, a sentence each; the first says whether anything did."""
        grown = [one for one in self.groups if one.changed]
        changed = bool(self.drifted or self.came or self.went or grown or self.too_many_misfits)
        said = ["The tables differ." if changed else "Nothing changed beyond chance."]
        said += [
            f"{_count(len(self.drifted), 'column')} of {len(self.columns)} drifted: {_names(self.drifted)}."
        ] * bool(self.drifted)
        said += [f"Columns that are new: {', '.join(self.came)}."] * bool(self.came)
        said += [f"Columns that are gone: {', '.join(self.went)}."] * bool(self.went)
        said += [_group_said(one) for one in grown]
        return (*said, *self._fit_said(), *self.remarks)

    def _fit_said(self) -> list[str]:
        if self.misfits is None:
            return []
        count, expected = len(self.misfits.rows), self.misfits.expected
        more = "more than by chance" if self.too_many_misfits else "which may be chance"
        verb = "fits" if count == 1 else "fit"
        return [
            f"{_count(count, 'row')} of the new table no longer {verb} the old one ({expected:.2g} expected), {more}."
        ]

    def __str__(self) -> str:
        return "\n".join(self.words)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        fit = self.misfits
        return {
            "old": {"title": self.titles[0], "rows": self.rows[0]},
            "new": {"title": self.titles[1], "rows": self.rows[1]},
            "words": list(self.words),
            "columns": [column._asdict() | {"drifted": column.drifted} for column in self.columns],
            "columns_came": list(self.came),
            "columns_went": list(self.went),
            "groups": [
                group._asdict() | {"changed": group.changed, "described": words}
                for group, words in zip(self.groups, self.described, strict=True)
            ],
            "misfits": None
            if fit is None
            else {
                "expected": fit.expected,
                "p": fit.p,
                "threshold": fit.threshold,
                "rows": fit.rows.tolist(),
                "log_density": fit.log_density.tolist(),
                "row_names": list(self.row_names),
            },
        }


def compare(
    old: Any,
    new: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] | None = None,
    max_components: int = 9,
    seed: int = 0,
) -> Comparison:
    """What changed from the table `old` to the table `new`: columns, groups, and rows that no longer fit.

    Parameters
    ----------
    old, new : path, frame or array
        The two tables.
    columns, drop, roles
        As in `unveil.report`, for both tables.
    encoding, separator, decimal, header, missing
        How text files are to be read, where the guess is wrong; as in `unveil.scan`.
    max_components : int, default=9
        Largest number of components of the mixture of the old table.
    seed : int, default=0
        Seed of all randomness.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import compare
    >>> random = np.random.default_rng(0)
    >>> old, new = random.normal(size=(300, 2)), random.normal(size=(300, 2)) + [0, 1]
    >>> print(compare(old, new, max_components=2))
    The tables differ.
    1 column of 2 drifted: x1 (large).
    1 row of the new table no longer fits the old one (1 expected), which may be chance.
    The old table is one group, so there are no shares of groups to compare.
    """
    reading = ReadingOptions(encoding, separator, decimal, header, None if missing is None else tuple(missing))
    drop = [drop] if isinstance(drop, str) else drop
    table = open_table(new, options=reading)
    then = prepare(old, columns=columns, drop=drop, roles=roles, reading=reading)
    there = {name: word for name, word in (roles or {}).items() if name in table.names}
    now = prepare(table, roles=there)
    asked = [name for name in then.table.names if name not in drop]
    changes = [one for one in column_changes(then, now) if one.name in asked]
    came = [name for name in table.names if name not in then.table.names and columns is None]
    held = held_against(then, table, Settings(max_components, seed))
    return Comparison(
        titles=(then.table.title, now.table.title),
        rows=(then.table.n_rows, now.table.n_rows),
        columns=tuple(sorted(changes, key=lambda change: (not change.drifted, -change.effect * change.drifted))),
        came=tuple(came),
        went=tuple(name for name in asked if name not in table.names),
        **held._asdict(),
    )


def _group_said(one: GroupShare) -> str:
    verb = "grew" if one.low > 0 else "shrank"
    change = f"from {100 * one.share_then:.3g}% to {100 * one.share_now:.3g}% of rows"
    return f"Group {one.group + 1} {verb} {change} (a change of {100 * one.low:+.2g} to {100 * one.high:+.2g} points)."


def _count(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def _names(columns: Sequence[ColumnChange]) -> str:
    shown = [f"{column.name} ({'another kind' if column.size == 'kind' else column.size})" for column in columns[:8]]
    return ", ".join(shown + [f"{len(columns) - 8} more"] * (len(columns) > 8))
