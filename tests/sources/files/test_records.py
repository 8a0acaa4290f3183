"""JSON in the shapes that pandas writes, and under names of text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unveil.sources.files.reading import open_reading


def read(path: Path) -> dict[str, list[Any]]:
    (batch,) = open_reading(path).batches()
    return dict(batch.to_pydict())


TABLE = {"a": [1, 2, 3], "b": ["x", None, "z"]}
ROWS = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
LISTS = [list(row.values()) for row in ROWS]
NAMES = ["r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("shape", "want"),
    [
        ({"columns": ["a", "b"], "index": [0, 1, 2], "data": LISTS}, TABLE),
        ({"columns": ["a", "b"], "index": NAMES, "data": LISTS}, {"index": NAMES} | TABLE),
        ({name: {str(j): cell for j, cell in enumerate(cells)} for name, cells in TABLE.items()}, TABLE),
        ({name: dict(zip(NAMES, cells, strict=True)) for name, cells in TABLE.items()}, {"index": NAMES} | TABLE),
        ({str(j): row for j, row in enumerate(ROWS)}, TABLE),  # by rows
        (dict(zip(NAMES, ROWS, strict=True)), {"index": NAMES} | TABLE),
        ({"a": {"0": 5, "1": 6}}, {"a": [5, 6]}),
        ({"result": {"x": 1, "y": 2}}, {"result": ['{"x": 1, "y": 2}']}),  # one record
    ],
)
def test_shapes_of_pandas(tmp_path: Path, shape: dict[str, Any], want: dict[str, Any]) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps(shape))
    assert read(file) == want


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.tsv"])
def test_json_lines_named_as_text(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("\n".join(json.dumps(row) for row in ROWS))
    assert read(file) == TABLE


def test_cells_of_json_are_a_table(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('{"a":1},5\n{"a":2},6\n')
    assert read(file) == {"x1": ['{"a":1}', '{"a":2}'], "x2": [5, 6]}
