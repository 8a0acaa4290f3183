"""A table opened for a fit: read, its columns in roles, those that the model takes, and what is said of all that.

`unveil.tables.prepare` guesses what columns are; a model takes those of its kind. A column that is named by
``--columns`` is taken for what the model takes, whatever the guess: that is how yes/no enters a Gaussian.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unveil.cli.models import ModelName
from unveil.cli.rows.sequences import lengths_of, read_sentences
from unveil.sources import ArraySource, DataError
from unveil.tables import Prepared, Recipe, Table, open_table, prepare

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions
    from unveil.tables import ColumnRole

STREAMED = 1 << 30  # bytes of files beyond which a table of numbers is streamed, and its roles guessed by a sample
SAMPLED = 200_000  # rows of that sample: the first
FITTING: Mapping[str, tuple[str, ...]] = {
    "number": ("number",),
    "count": ("count",),
    "yes/no": ("yes/no",),
    "category": ("category", "yes/no"),
    "any": ("number", "count", "yes/no", "category"),
}
"""Kinds of columns that go into a model unasked, by what it takes."""


class Asked(NamedTuple):
    """What a user says of a table."""

    data: str
    columns: list[str] | None = None
    drop: list[str] | None = None
    roles: Mapping[str, str] = {}
    weight: str | None = None
    sequence: str | None = None
    label: str | None = None
    reading: ReadingOptions | None = None


@dataclass(frozen=True)
class Opened:
    """What a model is fitted to."""

    X: Any
    names: tuple[str, ...] | None
    n_rows: int
    files: tuple[Path, ...] = ()
    kinds: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # columns, each with its role
    weights: Any = None
    lengths: Any = None
    labels: Any = None
    recipe: Recipe | None = None

    @property
    def beside(self) -> dict[str, Any]:
        """What `fit` and `select` take besides the rows."""
        extra = {} if self.weights is None else {"sample_weight": self.weights}
        return extra if self.lengths is None else extra | {"lengths": self.lengths}

    def marked(self, estimator: Any) -> Any:
        """The estimator with the names of its columns and the recipe by which other tables are read."""
        if self.names is not None and not hasattr(estimator, "feature_names_in_"):
            estimator.feature_names_in_ = np.array(self.names, dtype=object)  # scikit-learn knows frames of others only
        if self.recipe is not None:
            estimator.recipe_ = self.recipe.to_dict()
        return estimator


def opened_for(model: ModelName, asked: Asked) -> Opened:
    """The table that a model is to be fitted to."""
    if model.kind.text:
        given = {"--columns": asked.columns, "--drop": asked.drop, "--roles": asked.roles, "--weight": asked.weight}
        wrong = [name for name, value in given.items() if value]
        if wrong:
            raise ValueError(f"{' and '.join(wrong)}: no option of {model.value}, which reads sentences")
        lines = read_sentences(asked.data)
        return Opened(lines, None, len(lines), lines.files)
    if model.kind.takes == "number" and not asked.sequence and file_bytes(asked.data) > STREAMED:
        from unveil.cli.rows.streamed import streamed

        return streamed(model, asked)
    return of_table(model, asked, open_table(asked.data, options=asked.reading))


def of_table(model: ModelName, asked: Asked, table: Table) -> Opened:
    """A table that was read, with the columns that the model takes."""
    ready = chosen(model, asked, table)
    holes = {} if model.kind.holes else first_holes(ready)
    if holes:
        raise DataError(refused_holes(model, holes))
    X, names = rows_for(model, ready), ready.names
    keys = None if asked.sequence is None else ready.words(asked.sequence)
    lengths = None if keys is None else lengths_of(keys.tolist(), str(asked.sequence))
    return Opened(
        X,
        names,
        ready.rows_read,
        files_of(asked.data),
        ready.kinds,
        (*ready.table.said, *infinities(ready)),
        tuple(f"{role.name} ({role.role})" for role in ready.roles if role.name not in names),
        ready.weights,
        lengths,
        _labels(ready),
        replace(ready.recipe, sequence=asked.sequence),
    )


def chosen(model: ModelName, asked: Asked, table: Table) -> Prepared:
    """The table with the columns that the model takes modelled, and no others."""
    aside = {name: role for name, role in ((asked.sequence, "identifier"),) if name is not None}
    said = {**asked.roles, **aside}
    how: dict[str, Any] = {"drop": asked.drop or (), "label": asked.label, "weights": asked.weight, "time": False}
    ready = prepare(table, roles=said, **how)
    wanted = [role.name for role in ready.roles if role.kind in FITTING[model.kind.takes]]
    if asked.columns is not None:
        wanted = asked_columns(ready, asked)
    elif model.kind.takes == "count":
        wanted = [role.name for role in ready.roles if _counts(ready, role)]
    told = {name: _told(ready, name, model) for name in wanted if name not in said}
    told = {name: role for name, role in told.items() if role}
    if told:
        ready = prepare(table, roles={**said, **told}, **how)
    if not wanted:
        raise DataError(nothing_to_model(model, ready))
    return only(ready, wanted)


def asked_columns(ready: Prepared, asked: Asked) -> list[str]:
    """The columns that were named, checked."""
    from unveil.tables.roles.role import column_name

    names = [column_name(name, ready.table.names, "--columns") for name in asked.columns or ()]
    twice = [name for name in names if names.count(name) > 1 or name in (asked.weight, asked.label, asked.sequence)]
    if twice:
        raise DataError(f"--columns: {twice[0]!r} is named more than once, or has another part to play")
    return names


def _told(ready: Prepared, name: str, model: ModelName) -> str:
    """What a column that was named is to be taken for, where that is not what was guessed."""
    role, takes = ready.role(name), model.kind.takes
    if role.kind in FITTING[takes]:
        return ""
    if takes != "any":
        return takes
    kind = ready.table.column(name).type
    words = pa.types.is_dictionary(kind) or pa.types.is_boolean(kind)
    return "category" if words else "number"


def _counts(ready: Prepared, role: ColumnRole) -> bool:
    """Does a column hold 0, 1, 2, ... that could be counts?"""
    if role.kind not in ("number", "count") and role.role != "ordered category":
        return False
    seen = next(one for one in ready.survey if one.name == role.name)
    return bool(seen.whole) and seen.low >= 0


def only(ready: Prepared, wanted: list[str]) -> Prepared:
    """The same with some of the columns modelled, in the order in which they were asked for."""
    by_name = {column.name: column for column in ready.recipe.columns}
    rest = [column._replace(kind="", transform="") for name, column in by_name.items() if name not in wanted]
    recipe = replace(ready.recipe, columns=(*(by_name[name] for name in wanted), *rest))
    return replace(ready, recipe=recipe, frame=ready.frame.select(wanted))


def rows_for(model: ModelName, ready: Prepared) -> Any:
    """The rows as the model takes them: numbers (with NaN), or columns of several kinds."""
    if model.kind.words:
        return ready.frame
    columns = [column.to_numpy(zero_copy_only=False).astype(np.float64) for column in ready.frame.columns]
    return ArraySource(np.column_stack(columns), names=ready.names)


def files_of(data: str) -> tuple[Path, ...]:
    """The files that are read; none for standard input."""
    from unveil.sources.files.paths import find_files

    return () if data == "-" else find_files(data)


def file_bytes(data: str) -> int:
    """How much there is to read."""
    return sum(os.path.getsize(file) for file in files_of(data))


def _labels(ready: Prepared) -> Any:
    """The class of each row, where a column says it."""
    if ready.label is None:
        return None
    values = ready.label.values
    missing = [row for row, value in enumerate(values) if value is None]
    if missing:
        raise DataError(f"--label: column {ready.label.name!r} is empty in row {missing[0] + 1:,}")
    return values.astype(str)


def infinities(ready: Prepared) -> tuple[str, ...]:
    """Cells that are no numbers although they are written as such: they count as missing, and that is said."""
    found = []
    for name in ready.names:
        cells = ready.table.column(name)
        endless = pc.sum(pc.is_inf(cells)).as_py() if pa.types.is_floating(cells.type) else 0
        if endless:
            row = int(np.argmax(np.isinf(cells.to_numpy()))) + 1
            found.append(f"column {name!r}: {endless:,} infinite, taken as missing (row {row:,} first)")
    return tuple(found)


def nothing_to_model(model: ModelName, ready: Prepared) -> str:
    """Why a table has nothing for a model."""
    found = ", ".join(f"{role.name} ({role.role})" for role in ready.roles[:10])
    takes = {"any": "numbers, counts, yes/no or words", "category": "words that repeat"}
    wanted = takes.get(model.kind.takes, f"{model.kind.takes}s" if model.kind.takes != "yes/no" else "yes/no")
    return (
        f"{ready.table.title}: no column of {wanted} for {model.value}; columns are {found}. "
        "--columns takes some all the same, --roles says what they are"
    )


def first_holes(ready: Prepared) -> dict[str, int]:
    """The first row with a missing cell, from 1, by column."""
    found = {}
    for name in ready.names:
        column = ready.frame.column(name)
        if column.null_count:
            found[name] = int(np.argmax(np.asarray(column.is_null()))) + 1
    return found


def refused_holes(model: ModelName, holes: Mapping[str, int]) -> str:
    """Which missing cell a model does not take, and which models would."""
    name, row = next(iter(holes.items()))
    others = [other for other in ModelName if other.kind.holes and other.kind.chained == model.kind.chained]
    near = [other.value for other in others if other.kind.takes in (model.kind.takes, "any")]
    more = f" and {len(holes) - 1} more column{'' if len(holes) == 2 else 's'}" if len(holes) > 1 else ""
    return (
        f"{model.value} does not take missing cells (column {name!r}, row {row:,}{more}); these do: {', '.join(near)}"
    )
