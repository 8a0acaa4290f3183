"""JSON records, one to a line or all in one array, written as text: a row each, a column for every key.

Records are decoded one at a time from a stream. Two passes are made, since the last record may have a key of its own.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any

from unveil.sources.errors import DataError
from unveil.sources.files.text.stream import TextFile, unpacked

CHUNK = 1 << 20  # letters read at a time
LONGEST_RECORD = 1 << 26
_BETWEEN = " \t\r\n,"


def write_records(source: Path, target: Path) -> str:
    """Write the records of `source` as comma-separated text to `target`; says how it was read."""
    names: dict[str, None] = {}
    for record in _rows(source):
        names.update(dict.fromkeys(record))
    if not names:
        raise DataError(f'{source}: no JSON record with any key; expected objects such as {{"a": 1}}')
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(list(names))
        writer.writerows([_cell(record.get(name)) for name in names] for record in _rows(source))
    return "Read as JSON records, a row each."


def _cell(value: Any) -> str:
    """A value as text from which it is read again."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)  # numbers to the last bit, true and false, and what is nested as it stands


def _rows(source: Path) -> Iterator[dict[str, Any]]:
    """The records; where there is but one, those within it, or the rows of the columns that it holds."""
    records = _records(source)
    first = list(islice(records, 2))
    yield from _within(first[0]) if len(first) == 1 else chain(first, records)


def _within(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What a lone record holds: a list of records under some key, columns of one length, rows by name, or itself."""
    lists = [value for value in record.values() if isinstance(value, list)]
    tables = [value for value in lists if value and all(isinstance(one, dict) for one in value)]
    if len(tables) == 1:
        return tables[0]
    if (rows := _split(record)) is not None:
        return rows
    if lists and len(lists) == len(record) and len({len(value) for value in lists}) == 1 and len(lists[0]) > 1:
        return [dict(zip(record, row, strict=True)) for row in zip(*lists, strict=True)]
    return _by_name(record) or [record]


def _split(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Names of columns, names of rows and rows as lists, as pandas writes with orient="split"."""
    names, rows = record.get("columns"), record.get("data")
    if not (
        isinstance(names, list) and isinstance(rows, list) and record.keys() <= {"columns", "index", "data", "name"}
    ):
        return None
    if not rows or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    found = [dict(zip(map(str, names), row, strict=True)) for row in rows]
    index = record.get("index")
    return _indexed(found, index) if isinstance(index, list) and len(index) == len(found) else found


def _by_name(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Columns whose cells are named by rows, as pandas writes by default, or rows whose cells are named by columns."""
    inner = list(record.values())
    if not inner or not all(isinstance(one, dict) and one and one.keys() == inner[0].keys() for one in inner):
        return None
    rows, columns = _are_places(inner[0]), _are_places(record)
    if rows or (not columns and 2 <= len(record) <= len(inner[0])):
        return _indexed([{name: record[name][row] for name in record} for row in inner[0]], list(inner[0]))
    return _indexed(inner, list(record)) if columns or len(record) >= 2 else None


def _are_places(names: Iterable[str]) -> bool:
    """Are these all whole numbers, as rows without names are called?"""
    return all(name.isdigit() for name in names)


def _indexed(rows: list[dict[str, Any]], index: list[Any]) -> list[dict[str, Any]]:
    """Rows with their names as another column, unless these only count on."""
    if [str(name) for name in index] == [str(number) for number in range(len(rows))]:
        return rows
    key = "index" if "index" not in rows[0] else "index of rows"
    return [{key: name} | row for name, row in zip(index, rows, strict=True)]


def _records(source: Path) -> Iterator[dict[str, Any]]:
    decoder, text, number = json.JSONDecoder(), "", 0
    with TextIOWrapper(unpacked(TextFile(source, source)), encoding="utf-8-sig") as stream:
        opened = False
        while True:
            text = text.lstrip(_BETWEEN)
            if not opened and text.startswith("["):
                text, opened = text[1:].lstrip(_BETWEEN), True
            if opened and text.startswith("]"):
                return
            found, stop = _decoded(decoder, text)
            if found is None:
                more = stream.read(CHUNK)
                if not more and not text:
                    return
                if not more or len(text) > LONGEST_RECORD:
                    raise DataError(f"{source}: record {number + 1:,} is not a JSON object: {text[:40]!r}")
                text += more
                continue
            number += 1
            if not isinstance(found, dict):
                raise DataError(f"{source}: record {number:,} is {type(found).__name__}, expected an object with keys")
            yield found
            text = text[stop:]


def _decoded(decoder: json.JSONDecoder, text: str) -> tuple[Any, int]:
    """The first value of `text` and where it ends; None where it is cut."""
    try:
        return decoder.raw_decode(text)
    except json.JSONDecodeError:
        return None, 0
