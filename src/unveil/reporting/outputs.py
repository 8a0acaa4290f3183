"""What comes with a page: the rows with their groups, the model, and the summary as data, in a folder.

In `rows.csv` (or `rows.parquet`) every row of the table keeps its columns and gets `group` and `component`, counted
from 1 as on the page, the `probability` of its group, and `outlier_score`: -log10 of the share of rows that should be
less likely. Cells of rows that were not modelled are empty, and so is `group` where it is not clear how many there are.

A folder with a `summary.json` of ours is ours: what an earlier report wrote there is replaced. Files of these names in
any other folder are somebody's, and are replaced by force only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from unveil.core.arrays import Array
from unveil.reporting.study.analysis import Analysis
from unveil.storage.atomic import checked_target, replacing

ROW_FORMATS = ("csv", "parquet")
SUMMARY = "summary.json"
ADDED = ("group", "component", "probability", "outlier_score")


def prepared_folder(folder: str | os.PathLike[str], rows: str, force: bool = False) -> list[Path]:
    """The files that are to be written, in the order of their names, in a folder that is made where it is not there.

    An error where one of them is there and is not ours to replace; better asked before hours of work than after.
    """
    if rows not in ROW_FORMATS:
        raise ValueError(f"rows_format must be one of {', '.join(ROW_FORMATS)}; got {rows!r}")
    place = Path(os.path.expanduser(folder))
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(f"{folder}: is a file, and a folder for outputs is to be there")
    place.mkdir(parents=True, exist_ok=True)
    targets = [place / "model.unveil", place / f"rows.{rows}", place / SUMMARY]
    there = [path.name for path in targets if checked_target(path).exists()]
    if there and not force and not _is_ours(place):
        found = f"{folder}: has {' and '.join(there)} already, not written by unveil report"
        raise FileExistsError(f"{found}; --force (in Python force=True) replaces such files")
    return targets


def _is_ours(place: Path) -> bool:
    """Whether an earlier report wrote its summary into a folder."""
    try:
        found = json.loads((place / SUMMARY).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"schema", "unveil"} <= found.keys()


def write_outputs(analysis: Analysis, summary: dict[str, Any], written: list[Path]) -> None:
    """Write all of it to the files of a prepared folder."""
    rows = written[1].suffix.removeprefix(".")
    analysis.model.save(written[0])
    with replacing(written[1]) as temporary:
        write_rows(analysis, temporary, rows)
    with replacing(written[2]) as temporary:
        temporary.write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_rows(analysis: Analysis, path: Path, form: str) -> None:
    """Every row of the table with what was found of it."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    added = placements(analysis)
    writer: Any = None
    start = 0
    try:
        for batch in analysis.prepared.table.batches():
            piece = pa.Table.from_batches([batch])
            for name, cells in added.items():
                piece = piece.append_column(_free(name, piece.column_names), cells.slice(start, len(batch)))
            start += len(batch)
            if form == "csv":
                piece = _writable(piece)
            if writer is None:
                make = pyarrow.csv.CSVWriter if form == "csv" else pyarrow.parquet.ParquetWriter
                writer = make(str(path), piece.schema)
            writer.write_table(piece)
    finally:
        if writer is not None:
            writer.close()


def placements(analysis: Analysis) -> dict[str, Any]:
    """The columns that are added, for every row of the table."""
    import pyarrow as pa

    where, placed = analysis.rows.places, analysis.placed
    n = analysis.prepared.table.n_rows
    unknown = np.ones(n, dtype=bool)
    unknown[where] = False

    def spread(values: Array, known: bool = True) -> Any:
        whole = np.zeros(n, dtype=values.dtype)
        whole[where] = values
        return pa.array(whole, mask=unknown if known else np.ones(n, dtype=bool))

    clear = analysis.grouped or analysis.found.judged.n_clusters == 1
    group = placed.group + 1 if analysis.grouped else np.ones_like(placed.group)
    scores = np.full(len(where), np.nan) if analysis.outliers is None else analysis.outliers.scores
    whole = clear and not analysis.grouped  # a single group, which all rows are in
    probability = np.ones_like(placed.probability) if whole else placed.probability
    found = (spread(group, clear), spread(placed.component + 1), spread(probability), spread(scores))
    return dict(zip(ADDED, found, strict=True))


def _free(name: str, taken: list[str]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "_"
    return name


def _writable(piece: Any) -> Any:
    """Columns as text tables can hold them: words instead of dictionaries."""
    import pyarrow as pa

    for j, field in enumerate(piece.schema):
        if pa.types.is_dictionary(field.type):
            piece = piece.set_column(j, field.name, piece.column(j).cast(field.type.value_type))
    return piece
