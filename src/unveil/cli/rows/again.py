"""A new table for a fitted model, read by the model's recipe; for one without, by the names of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unveil.cli.models import ModelName, model_of
from unveil.cli.rows.opened import STREAMED, file_bytes, files_of, infinities, only, rows_for
from unveil.cli.rows.sequences import lengths_of, read_sentences
from unveil.core.partition import partition_rows
from unveil.sources import ArraySource, DataError
from unveil.tables import Prepared, Recipe, Table, open_table, prepare
from unveil.tables.prepared import prepared_by

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions

TOGETHER = 16  # partitions at a time: enough to keep all threads busy, and little enough to stream
Batch = tuple[dict[str, Any], Any, int]
"""Columns that name rows, the rows, and how many they are."""


@dataclass(frozen=True)
class NewRows:
    """What a model is asked of."""

    files: tuple[Path, ...]
    said: tuple[str, ...]
    beside: dict[str, Any]  # what the model takes beside the rows
    batches: Callable[[], Iterator[Batch]]


def opened_again(estimator: Any, data: str, sequence: str | None, reading: ReadingOptions) -> NewRows:
    """The rows of a new table, as the model takes them."""
    chained = hasattr(estimator, "transmat_")
    if sequence is not None and not chained:
        raise ValueError(f"--sequence is of hidden Markov models; the model is a {type(estimator).__name__}")
    if hasattr(estimator, "grammar_"):
        lines = read_sentences(data)
        return NewRows(lines.files, (), {}, lambda: iter([(numbered(0, len(lines)), lines, len(lines))]))
    model = model_of(estimator)
    recipe = recipe_of(estimator)
    if model.kind.takes == "number" and not chained and _is_plain(recipe) and file_bytes(data) > STREAMED:
        from unveil.cli.rows.streamed import streamed_again

        return streamed_again(estimator, recipe, data, reading)
    ready = _prepared(model, estimator, recipe, open_table(data, options=reading, recipe=_marks(recipe)))
    sequence = sequence or ready.recipe.sequence
    keys = None if sequence is None else plain_cells(ready.table, sequence).to_pylist()
    beside = {"lengths": None if keys is None else lengths_of(keys, str(sequence))} if chained else {}
    whole = _rows(model, estimator, ready)
    names = list(dict.fromkeys([*ready.recipe.identifiers, *([] if sequence is None else [sequence])]))
    return NewRows(files_of(data), _said(ready), beside, lambda: _batches(ready, whole, names, together=chained))


def recipe_of(estimator: Any) -> Recipe | None:
    """The recipe that a model keeps."""
    stored = getattr(estimator, "recipe_", None)
    return None if stored is None else Recipe.from_dict(stored)


def _is_plain(recipe: Recipe | None) -> bool:
    """Are cells taken as they are, so that they may stream by?"""
    return recipe is None or not any(column.transform or column.sentinels for column in recipe.modelled)


def _marks(recipe: Recipe | None) -> dict[str, Any] | None:
    return None if recipe is None else recipe.reading


def _batches(ready: Prepared, whole: Any, names: list[str], together: bool) -> Iterator[Batch]:
    """The rows, so many whole partitions at a time, so that each is cut as in the table."""
    n = ready.rows_read
    step = n if together else TOGETHER * partition_rows(len(ready.names))
    cells = {name: plain_cells(ready.table, name) for name in names if name in ready.table.names}
    for start in range(0, n, step):
        stop = min(start + step, n)
        named = {name: column.slice(start, stop - start) for name, column in cells.items()}
        yield numbered(start, stop) | named, _cut(whole, start, stop), stop - start


def numbered(start: int, stop: int) -> dict[str, Any]:
    """Numbers of rows, from 1."""
    return {"row": np.arange(start + 1, stop + 1)}


def plain_cells(table: Table, name: str) -> Any:
    """A column as it is written again: words as words."""
    from unveil.tables.roles.role import column_name

    cells = table.column(column_name(name, table.names, "--sequence"))
    return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells


def _cut(whole: Any, start: int, stop: int) -> Any:
    """Some rows of what a model takes."""
    if isinstance(whole, ArraySource):
        return ArraySource(whole.rows[start:stop], names=whole.names)
    return whole.slice(start, stop - start)


def _prepared(model: ModelName, estimator: Any, recipe: Recipe | None, table: Table) -> Prepared:
    """The columns that the model takes, by its recipe, its names, or their number."""
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    if names and not set(names) & set(table.names) and _is_unnamed(table):
        if len(table.names) != len(names):
            raise DataError(f"{table.title}: has {len(table.names)} columns, the model takes {len(names)}")
        raw = table.raw.rename_columns(names)  # files without names go by position
        table = replace(table, names=tuple(names), available=tuple(names), raw=raw, _cells={})
    missing = [name for name in names if name not in table.names]
    if missing:
        raise DataError(f"{table.title}: columns of the model that are missing: {', '.join(missing)}")
    if recipe is not None:
        return prepared_by(recipe, table)
    names = names or [name for name in table.names if _is_numeric(table, name)]
    roles = {} if model.kind.words else dict.fromkeys(names, "number")
    ready = prepare(table, roles=roles, time=False)
    return ready if model.kind.words else only(ready, names)


def _is_unnamed(table: Table) -> bool:
    """Did the names of columns come with the table, or are they numbers that stand for names?"""
    return any(
        all(name == f"x{place}" for place, name in enumerate(table.names, first)) for first in (0, 1)
    )  # arrays count from 0, text without names from 1


def _is_numeric(table: Table, name: str) -> bool:
    kind = table.column(name).type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _rows(model: ModelName, estimator: Any, ready: Prepared) -> Any:
    """Rows as the model takes them; an error that names a missing cell where it takes none."""
    from sklearn.utils import get_tags

    if hasattr(estimator, "recipe_") or not model.kind.words:
        if not get_tags(estimator).input_tags.allow_nan:
            _refuse_holes(model, ready)
        return rows_for(model, ready)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ready.table.names)]
    return pa.table({name: plain_cells(ready.table, name) for name in names})  # it knows its values


def _refuse_holes(model: ModelName, ready: Prepared) -> None:
    from unveil.cli.rows.opened import first_holes, refused_holes

    holes = first_holes(ready)
    if holes:
        raise DataError(refused_holes(model, holes))


def _said(ready: Prepared) -> tuple[str, ...]:
    """Values that were not there when the model was fitted."""
    found = [f"{name} ({count:,} cells)" for name, count in ready.unknown.items()]
    unseen = (f"values that the model has not seen are taken as missing: {', '.join(found)}",) if found else ()
    return (*unseen, *infinities(ready))
