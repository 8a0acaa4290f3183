"""Tables of numbers that are larger than memory: roles by the first rows, the rows themselves as they stream by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from unveil.cli.models import ModelName
from unveil.cli.rows.again import TOGETHER, Batch, NewRows, numbered
from unveil.cli.rows.opened import SAMPLED, Asked, Opened, chosen, files_of
from unveil.estimation.input import refuse_nonfinite
from unveil.sources import ArraySource
from unveil.sources.files.reading import ReadingOptions, open_reading
from unveil.tables import Recipe, Table


def first_rows(data: str, reading: ReadingOptions | None, recipe: dict[str, Any] | None = None) -> Table:
    """A table of the first rows of a large one, read as the whole will be."""
    opened = open_reading(data, reading or ReadingOptions(), recipe)
    kept, rows = [], 0
    for batch in opened.batches():
        kept.append(batch)
        rows += batch.num_rows
        if rows >= SAMPLED:
            break
    raw = pa.Table.from_batches(kept).slice(0, SAMPLED)
    return Table(
        title=opened.title,
        path=data,
        names=tuple(raw.column_names),
        said=opened.said,
        raw=raw,
        bad=opened.bad,
        reading=opened.recipe(),
        units=opened.units,
        available=opened.names,
    )


def streamed(model: ModelName, asked: Asked) -> Opened:
    """The columns of numbers of a large table, as a scan."""
    import unveil

    ready = chosen(model, asked, first_rows(asked.data, asked.reading))
    how = (asked.reading or ReadingOptions())._asdict()
    X = unveil.scan(asked.data, columns=list(ready.names), weight=asked.weight, **how)
    said = (*ready.table.said, f"roles of columns go by the first {ready.rows_read:,} rows")
    left = tuple(f"{role.name} ({role.role})" for role in ready.roles if role.name not in ready.names)
    recipe = replace(ready.recipe, sequence=None)
    labels = asked.label  # by name: the scan reads the column itself
    return Opened(X, ready.names, X.n_rows, files_of(asked.data), ready.kinds, said, left, labels=labels, recipe=recipe)


def streamed_again(estimator: Any, recipe: Recipe | None, data: str, reading: ReadingOptions) -> NewRows:
    """The rows of a large table for a fitted model of numbers, with the columns that name them."""
    import unveil

    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())] or None
    scan = unveil.scan(data, columns=names, **reading._asdict())
    marks, identifiers = (None, ()) if recipe is None else (recipe.reading, recipe.identifiers)
    aside = open_reading(data, reading, marks)
    known = [name for name in identifiers if name in aside.names]

    def batches() -> Iterator[Batch]:
        blocks, cells, start = scan.read(), _Cells(aside.batches(known) if known else iter(())), 0
        while batch := [block.rows for block in islice(blocks, TOGETHER)]:
            rows = np.concatenate(batch)
            if not np.all(np.isfinite(rows)):
                refuse_nonfinite(ArraySource(rows, names=scan.names), _takes_holes(estimator))
            named = cells.next(len(rows)) if known else {}
            yield numbered(start, start + len(rows)) | named, ArraySource(rows, names=scan.names), len(rows)
            start += len(rows)

    return NewRows(files_of(data), (), {}, batches)


def _takes_holes(estimator: Any) -> bool:
    from sklearn.utils import get_tags

    return bool(get_tags(estimator).input_tags.allow_nan)


class _Cells:
    """Columns that are read in batches of their own, handed out by so many rows."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.batches, self.left = batches, pa.table({})

    def next(self, rows: int) -> dict[str, Any]:
        """The next rows of each column."""
        kept = [self.left] if self.left.num_columns else []
        have = sum(one.num_rows for one in kept)
        while have < rows:
            kept.append(pa.Table.from_batches([next(self.batches)]))
            have += kept[-1].num_rows
        joined = pa.concat_tables(kept, promote_options="permissive").unify_dictionaries()
        self.left = joined.slice(rows)
        return {name: _plain(joined.column(name).slice(0, rows)) for name in joined.column_names}


def _plain(cells: Any) -> Any:
    return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
