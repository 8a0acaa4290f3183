"""Run the command on a table as a user would, and read what it left behind."""

from __future__ import annotations

import csv
import json
import re
import time
import warnings
from html import unescape
from pathlib import Path
from typing import Any, NoReturn

from pyarrow import parquet

from benchmarks.tables.case import Case, Made
from benchmarks.tables.judge import Output

GROUP_NAMES = ("group", "cluster")  # of the column of groups in the rows file


def reported(case: Case, made: Made, folder: Path) -> Output:
    """``unveil report FILE --outputs FOLDER -o FOLDER/report.html``, in this process, which saves the imports."""
    from typer.testing import CliRunner

    from unveil.cli.app import app

    page = folder / "report.html"
    words = ["report", str(made.path), "--outputs", str(folder), "-o", str(page), *case.flags]
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the command turns them into lines; tests would make errors of them
        result = CliRunner().invoke(app, words, prog_name="unveil")
    seconds = time.perf_counter() - began
    said = result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        said += f"\nTraceback: {type(result.exception).__name__}: {result.exception}"
    if result.exit_code != 0:
        return Output(result.exit_code, said, seconds=seconds)
    return left_behind(folder, page, said, seconds)


def left_behind(folder: Path, page: Path, said: str, seconds: float) -> Output:
    """The summary, the page and the rows."""
    summary, trouble = _summary(folder / "summary.json")
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    size = page.stat().st_size if page.exists() else 0
    rows = _rows(folder)
    groups = next((rows[name] for name in GROUP_NAMES if name in rows), None) if rows else None
    n_rows = len(next(iter(rows.values()))) if rows else None
    return Output(0, said, summary, visible(text), size, groups, n_rows, trouble, seconds)


def visible(page: str) -> str:
    """What a reader sees of a page: no scripts, no styles, no marks.

    >>> visible("<style>b {}</style><p>two <b>groups</b> &amp; more</p><script>1</script>")
    'two groups & more'
    """
    without = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", page)
    return " ".join(unescape(re.sub(r"(?s)<[^>]*>", " ", without)).split())


def _summary(path: Path) -> tuple[dict[str, Any] | None, str]:
    """JSON by the letter: NaN and Infinity are not in it."""
    if not path.exists():
        return None, "no summary.json was written"
    try:
        read = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except ValueError as error:
        return None, f"summary.json is no JSON: {error}"
    return (read, "") if isinstance(read, dict) else (None, "summary.json holds no object")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"it has {word}")


def _rows(folder: Path) -> dict[str, list[Any]] | None:
    """Columns of the rows file, Parquet or CSV; of text as it stands, since cells need not fit their columns."""
    if (folder / "rows.parquet").exists():
        return dict(parquet.read_table(folder / "rows.parquet").to_pydict())
    if not (folder / "rows.csv").exists():
        return None
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as stream:
        names, *rows = csv.reader(stream)
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
