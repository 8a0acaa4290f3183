"""How a table was read and what its columns were taken for, so that another is taken the same way.

A recipe is plain data: a model keeps it as `recipe_`, and a model file carries it. It may come from a stranger's file,
so nothing of it is used before it was checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, final

from unveil.tables.roles.role import ROLES, ColumnRole, column_name
from unveil.tables.shaping import TRANSFORMS, Form

if TYPE_CHECKING:
    from unveil.tables.prepared import Prepared

VERSION = 1
MOST = 100_000  # columns, or levels of one


class ColumnRecipe(NamedTuple):
    """What one column is taken for."""

    name: str
    role: str
    kind: str = ""
    levels: tuple[str, ...] = ()
    rest: str = ""
    sentinels: tuple[float, ...] = ()
    unit: str = ""
    transform: str = ""

    @property
    def form(self) -> Form:
        """What its cells become."""
        return Form(self.kind, self.levels, self.rest, self.sentinels, self.transform)


@final
@dataclass(frozen=True)
class Recipe:
    """From a file or frame to the columns that a model takes."""

    columns: tuple[ColumnRecipe, ...]
    reading: dict[str, Any] | None = None  # of files: marks, words for nothing, types
    label: str | None = None
    time: str | None = None
    weights: str | None = None
    sequence: str | None = None
    identifiers: tuple[str, ...] = ()

    @property
    def modelled(self) -> tuple[ColumnRecipe, ...]:
        """Columns that the model takes, in their order."""
        return tuple(column for column in self.columns if column.kind)

    def apply(self, data: Any) -> Prepared:
        """Another table, read and taken the same way.

        Values that were not there before are missing, and counted in `unknown`; a column that is not there is an error.
        """
        from unveil.tables.prepared import prepared_by
        from unveil.tables.table import open_table

        return prepared_by(self, open_table(data, recipe=self.reading))

    def with_transforms(self, transforms: Mapping[str, str]) -> Recipe:
        """The same, with a function of some columns of numbers in their place: "log", "log1p", "sqrt", or "" for none.

        Examples
        --------
        >>> from unveil.tables import prepare
        >>> recipe = prepare([[1.5, 2.0], [2.5, 8.0], [7.1, 9.5]]).recipe
        >>> recipe.with_transforms({"x0": "log"}).columns[0].transform
        'log'
        """
        numbers = [column.name for column in self.columns if column.kind == "number"]
        for name, word in transforms.items():
            column_name(name, numbers, "transforms of columns of numbers")
            if word not in TRANSFORMS:
                raise ValueError(f"the transform of {name!r} must be one of {list(TRANSFORMS)}, got {word!r}")
        columns = (one._replace(transform=transforms.get(one.name, one.transform)) for one in self.columns)
        return replace(self, columns=tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        columns = [
            {name: list(value) if isinstance(value, tuple) else value for name, value in column._asdict().items()}
            for column in self.columns
        ]
        rest = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"version": VERSION, **rest, "columns": columns, "identifiers": list(self.identifiers)}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Recipe:
        """The recipe that `to_dict` was asked of. ValueError for what it cannot have written."""
        _check_keys(stored, {"version", *(one.name for one in fields(Recipe))}, "a recipe")
        if stored["version"] != VERSION:
            raise ValueError(f"a recipe of version {stored['version']!r} is not known; this unveil knows {VERSION}")
        columns = tuple(map(_column_from, _list(stored["columns"], "columns")))
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            raise ValueError("a recipe must name each column once")
        named = {key: _one_of(stored[key], (None, *names), key) for key in ("label", "time", "weights", "sequence")}
        identifiers = tuple(_one_of(name, names, "identifiers") for name in _list(stored["identifiers"], "identifiers"))
        reading = stored["reading"]
        if reading is not None and not isinstance(reading, dict):
            raise ValueError(f"reading must be a dictionary or None, got {reading!r:.60}")
        return Recipe(columns, reading, **named, identifiers=identifiers)


def recipe_column(role: ColumnRole) -> ColumnRecipe:
    """What a column in a role is taken for."""
    return ColumnRecipe(role.name, role.role, role.kind, role.levels, role.rest, role.sentinels, role.unit)


# -- what is taken from a file -----------------------------------------------------------------------------------------


def _column_from(stored: Any) -> ColumnRecipe:
    _check_keys(stored, set(ColumnRecipe._fields), "a column of a recipe")
    column = ColumnRecipe(**{name: _CHECKS[name](stored[name], name) for name in ColumnRecipe._fields})
    if column.kind not in ("", ROLES[column.role]):
        raise ValueError(f"a column whose role is {column.role!r} cannot be taken for a {column.kind}")
    if len(set(column.levels)) < len(column.levels) or (column.rest and column.rest not in column.levels):
        raise ValueError(f"levels of column {column.name!r} must differ, and the one for the rest be among them")
    if column.kind == "yes/no" and len(column.levels) > 2:
        raise ValueError(f"column {column.name!r} is yes/no, and cannot have {len(column.levels)} levels")
    if column.transform and column.kind != "number":
        raise ValueError(f"column {column.name!r} is no number, and cannot have a transform")
    return column


def _check_keys(stored: Any, expected: set[str], what: str) -> None:
    if not isinstance(stored, Mapping) or set(stored) != expected:
        raise ValueError(f"{what} must have the keys {', '.join(sorted(expected))}, got {str(stored)[:80]}")


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)) or len(value) > MOST:
        raise ValueError(f"{name} must be a list of at most {MOST:,}, got {str(value)[:60]}")
    return list(value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word, got {value!r:.60}")
    return value


def _texts(value: Any, name: str) -> tuple[str, ...]:
    return tuple(_text(one, name) for one in _list(value, name))


def _numbers(value: Any, name: str) -> tuple[float, ...]:
    numbers = _list(value, name)
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) and math.isfinite(one) for one in numbers):
        raise ValueError(f"{name} must be numbers, got {str(value)[:60]}")
    return tuple(map(float, numbers))


def _one_of(value: Any, known: Any, name: str) -> Any:
    if not isinstance(value, (str, type(None))) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, list(known)[:20]))}, got {value!r:.60}")
    return value


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "name": _text,
    "role": lambda value, name: _one_of(value, tuple(ROLES), name),
    "kind": lambda value, name: _one_of(value, ("", "number", "count", "yes/no", "category"), name),
    "levels": _texts,
    "rest": _text,
    "sentinels": _numbers,
    "unit": _text,
    "transform": lambda value, name: _one_of(value, tuple(TRANSFORMS), name),
}
