"""A role that the user named, checked against what the column holds."""

from __future__ import annotations

import pyarrow.compute as pc

from unveil.sources.errors import DataError
from unveil.tables.arrow import levels_of_words
from unveil.tables.roles.ladders import ladder_of
from unveil.tables.roles.names import tokens
from unveil.tables.roles.role import ROLES, ColumnRole, as_role
from unveil.tables.roles.words import joined_levels, no_and_yes
from unveil.tables.shaping import numbers_of_cells, words_of_cells
from unveil.tables.survey import ColumnSurvey
from unveil.tables.table import Table

SAID = "you said so"


def given_role(role: str, seen: ColumnSurvey, table: Table) -> ColumnRole:
    """A column in the role that the user named; a `DataError` where it cannot have it."""
    if not ROLES[role]:
        return as_role(seen.name, role, SAID)
    if not seen.present:
        raise DataError(f"roles: column {seen.name!r} cannot be a {role}: all of its cells are missing")
    if role in ("number", "count"):
        return _numeric(role, seen, table)
    if role == "yes/no":
        return _truths(seen, table)
    levels = _listed(seen, table)
    if role == "category" or seen.distinct > len(levels.top):
        return joined_levels(as_role(seen.name, "category", SAID), levels)
    values = [str(value) for value in sorted(value for value, _ in levels.top)]
    return as_role(seen.name, role, SAID, ladder_of(values, tokens(seen.name)) or values)


def _numeric(role: str, seen: ColumnSurvey, table: Table) -> ColumnRole:
    cells = numbers_of_cells(table.cells(seen.name), ())
    present = cells[cells == cells]
    if len(present) < 0.5 * (seen.n - seen.missing):
        raise DataError(f"roles: column {seen.name!r} cannot be a {role}: most of its cells are no numbers")
    if role == "count" and not bool((present >= 0).all() and (present % 1 == 0).all()):
        raise DataError(f"roles: column {seen.name!r} cannot be a count: it holds more than 0, 1, 2, ...")
    return as_role(seen.name, role, SAID)


def _truths(seen: ColumnSurvey, table: Table) -> ColumnRole:
    values = sorted(map(str, levels_of_words(words_of_cells(table.cells(seen.name))).to_pylist()))
    if len(values) > 2:
        raise DataError(f"roles: column {seen.name!r} cannot be yes/no: it has {len(values):,} different values")
    return as_role(seen.name, "yes/no", SAID, no_and_yes(values) or tuple(values))


def _listed(seen: ColumnSurvey, table: Table) -> ColumnSurvey:
    """The survey with values as the words that they become, numbers in their order."""
    if seen.word in ("text", "category", "integer"):
        return seen
    counted = pc.value_counts(words_of_cells(table.cells(seen.name)).chunk(0).drop_null())
    pairs = [(one["values"], one["counts"]) for one in counted.to_pylist()]
    top = tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
    return seen._replace(top=top[:60], distinct=len(top))
