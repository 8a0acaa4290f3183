"""From any file, frame or array to what a model takes, with the role of every column said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unveil.tables.prepared import Prepared, frame_of
from unveil.tables.recipe import Recipe, recipe_column
from unveil.tables.roles.calendar import calendar_of
from unveil.tables.roles.guess import Wishes, assign_roles
from unveil.tables.roles.names import says_time
from unveil.tables.roles.role import ColumnRole, column_name, role_word
from unveil.tables.survey import ColumnSurvey, survey
from unveil.tables.table import Table, open_table

IN_ORDER = 0.95  # share of the steps of a date that go one way, for it to be the order of the rows
MOSTLY = 0.8  # share of its values that differ


def prepare(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | str = (),
    roles: Mapping[str, str] | None = None,
    label: str | None = None,
    time: str | bool | None = None,
    weights: str | None = None,
    reading: Any = None,
) -> Prepared:
    """A table ready for a model.

    Parameters
    ----------
    data : path, list of paths, "-", scan, frame or array
        Frames are those of pandas, polars or Arrow; "-" is standard input. Columns of an array are x0, x1, ...
    columns : list of str, optional
        Columns to look at, besides those that are named below. By default all.
    drop : list of str
        Columns to leave out of the model.
    roles : mapping of str to str, optional
        What columns are, where a guess would be wrong: ``{"Pclass": "category", "PassengerId": "id"}``. No sentinels
        are looked for in a column whose role is named.
    label, weights : str, optional
        A column to compare with what is found, and one that says how often each row counts; neither is modelled.
    time : str or False, optional
        The column that gives the order of rows in time. By default guessed; False for none.
    reading : ReadingOptions, optional
        How files are read, where a guess would be wrong.

    Returns
    -------
    Prepared
        Columns by role, the modelled ones as a frame, and the recipe by which another table is taken the same way.

    Examples
    --------
    >>> from unveil.tables import prepare
    >>> ready = prepare({"id": range(40), "size": [1.5, 2.25] * 20, "kind": ["a", "b", "b", "c"] * 10})
    >>> [(role.name, role.role) for role in ready.roles]
    [('id', 'identifier'), ('size', 'category'), ('kind', 'category')]
    """
    named = [*(roles or {}), label, time, weights, *([drop] if isinstance(drop, str) else drop)]
    table = open_table(data, None if columns is None else [*_listed(columns), *map(str, named)], reading)
    table = replace(table, names=_looked_at(table, columns, named))
    weights = table.weight if weights is None else weights
    wishes = _wishes(table, drop, roles, label, time, weights)
    seen = survey(table, wishes.said)
    found = assign_roles(table, seen, wishes)
    recipe = _recipe(table, seen, found, wishes)
    frame, _ = frame_of(recipe, table)
    ready = Prepared(table, seen, found, recipe, frame)
    _ = ready.weights, ready.time  # what is wrong with them is said here
    return ready


def _listed(columns: Sequence[str]) -> list[str]:
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names, got the string {columns!r}")
    return list(columns)


def _looked_at(table: Table, columns: Sequence[str] | None, named: Sequence[Any]) -> tuple[str, ...]:
    """The columns that the user wants looked at, in the order of the table."""
    if columns is None:
        return table.names
    known = table.available or table.names
    wanted = {column_name(name, known, "columns") for name in columns} | {name for name in named if name in known}
    return tuple(name for name in table.names if name in wanted)


def _wishes(table: Table, drop: Sequence[str] | str, roles: Any, label: Any, time: Any, weights: Any) -> Wishes:
    """What the user said, names and words checked."""
    names = table.available or table.names
    said = {column_name(name, names, "roles"): role_word(word, str(name)) for name, word in (roles or {}).items()}
    dropped = [drop] if isinstance(drop, str) else drop
    said |= {column_name(name, names, "drop"): "dropped" for name in dropped}
    single = {}
    for argument, given in (
        ("label", label),
        ("time", None if time in ("", None, False, True) else time),
        ("weights", weights),
    ):
        single[argument] = _single(argument, given, said, names)
    taken = [name for name in single.values() if name is not None]
    if len(set(taken)) < len(taken):
        raise ValueError(f"label, time and weights must be different columns, got {', '.join(map(repr, taken))}")
    rest = {name: word for name, word in said.items() if name not in taken}
    return Wishes(rest, **single, guess_time=time is not False and single["time"] is None)


def _single(argument: str, given: Any, roles: Mapping[str, str], names: Sequence[str]) -> str | None:
    """The column that is the label, the time or the weights, by its argument or by its role."""
    by_role = [name for name, word in roles.items() if word == argument]
    chosen = ([] if given in (None, "") else [column_name(given, names, argument)]) + by_role
    if len(set(chosen)) > 1:
        raise ValueError(f"{argument} must be one column, got {', '.join(map(repr, dict.fromkeys(chosen)))}")
    return chosen[0] if chosen else None


def _recipe(table: Table, seen: tuple[ColumnSurvey, ...], roles: tuple[ColumnRole, ...], wishes: Wishes) -> Recipe:
    identifiers = sorted(
        (role.name for role in roles if role.role == "identifier"),
        key=lambda name: _naming(next(one for one in seen if one.name == name)),
    )
    time = wishes.time or (_time_of(table, seen, roles, wishes) if wishes.guess_time else None)
    columns = tuple(map(recipe_column, roles))
    return Recipe(columns, table.reading, wishes.label, time, wishes.weights, identifiers=tuple(identifiers))


def _naming(seen: ColumnSurvey) -> tuple[bool, bool]:
    """How well a column names rows, the best first: each value once, words rather than numbers."""
    return seen.distinct < seen.n, seen.word not in ("text", "category")


def _time_of(table: Table, seen: tuple[ColumnSurvey, ...], roles: tuple[ColumnRole, ...], wishes: Wishes) -> str | None:
    """The date that gives the order of the rows, the first of several that do, or a count of rows that says time."""
    pairs = list(zip(seen, roles, strict=True))
    dates = [one for one, role in pairs if role.role == "date" and _gives_order(one)]
    counters = [one for one, role in pairs if role.role == "row number" and one.step and says_time(one.name)]
    parts = () if dates else calendar_of(table, {one.name: one for one in seen}, wishes.said)
    return next(iter((*(one.name for one in dates), *parts, *(one.name for one in counters))), None)


def _gives_order(seen: ColumnSurvey) -> bool:
    if seen.present < 0.9 * seen.n or seen.present < 3:
        return False
    return max(seen.rising, seen.falling) >= IN_ORDER * MOSTLY and seen.distinct >= MOSTLY * seen.present
