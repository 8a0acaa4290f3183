"""The role of every column: the user's word, or a guess that is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from unveil.tables.roles.alerts import alerts_of
from unveil.tables.roles.calendar import calendar_of
from unveil.tables.roles.copies import copies_among
from unveil.tables.roles.given import given_role
from unveil.tables.roles.numbers import guess_number
from unveil.tables.roles.role import ColumnRole, as_role
from unveil.tables.roles.words import guess_words
from unveil.tables.survey import ColumnSurvey
from unveil.tables.table import Table


class Wishes(NamedTuple):
    """What the user said of columns, names and words checked."""

    roles: Mapping[str, str] = {}  # by column, words of `ROLES`
    label: str | None = None
    time: str | None = None
    weights: str | None = None
    guess_time: bool = True

    @property
    def said(self) -> frozenset[str]:
        """Columns whose role the user named."""
        named = (self.label, self.time, self.weights)
        return frozenset(self.roles) | frozenset(name for name in named if name is not None)


def assign_roles(table: Table, surveys: tuple[ColumnSurvey, ...], wishes: Wishes) -> tuple[ColumnRole, ...]:
    """The role of every column, in their order."""
    seen = {one.name: one for one in surveys}
    roles = {name: _role(one, wishes, table) for name, one in seen.items()}
    copies = copies_among(table, seen, roles, wishes.said)
    for name in (parts := calendar_of(table, seen, wishes.said) if wishes.guess_time else ()):
        roles[name] = as_role(name, "date", f"{' and '.join(parts)} say together when, and rise from row to row")
    for name, (other, why) in copies.items():
        roles[name] = as_role(name, "near-copy", why)._replace(copy_of=other)
    return tuple(_finished(role, seen[name])._replace(unit=table.units.get(name, "")) for name, role in roles.items())


def _role(seen: ColumnSurvey, wishes: Wishes, table: Table) -> ColumnRole:
    for role, name in (("label", wishes.label), ("time", wishes.time), ("weights", wishes.weights)):
        if seen.name == name:
            return as_role(seen.name, role, f"you said that it is the {role}")
    if seen.name in wishes.roles:
        return given_role(wishes.roles[seen.name], seen, table)
    return guess(seen)


def guess(seen: ColumnSurvey) -> ColumnRole:
    """What a column is, by what was seen of it."""
    if seen.word == "other":
        return as_role(seen.name, "free text", "its cells are lists or other things that no model takes")
    if not seen.present:
        return as_role(seen.name, "constant", "all of its cells are missing")
    if seen.distinct == 1:
        gaps = ", but for missing cells" if seen.present < seen.n else ""
        return as_role(seen.name, "constant", f"all of its cells are {_shown(seen.top[0][0])}{gaps}")
    if seen.word == "date":
        return as_role(seen.name, "date", f"dates from {seen.first} to {seen.last}")
    if seen.word == "yes/no":
        return as_role(seen.name, "yes/no", "truth values", ("false", "true"))
    return guess_words(seen) if seen.word in ("text", "category") else guess_number(seen)


def _shown(value: object) -> str:
    return f"{value!r}" if isinstance(value, str) else f"{value}"


def _finished(role: ColumnRole, seen: ColumnSurvey) -> ColumnRole:
    """With alerts and sentinels."""
    sentinels = tuple(value for value, _ in seen.sentinels)
    return role._replace(alerts=(*alerts_of(seen, role), *role.alerts), sentinels=sentinels)
