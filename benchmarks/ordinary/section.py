"""The part as text: the summary of all estimators first, then the tables of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.ordinary import summary
from benchmarks.ordinary.grid import Grid
from benchmarks.ordinary.measure import Survey, survey
from benchmarks.ordinary.report import METHODS_HEAD, fit_rows, fits_head, method_rows, write_cells
from benchmarks.ordinary.subjects import SUBJECTS
from benchmarks.ordinary.turns import Pace
from benchmarks.race import Say
from benchmarks.table import markdown

NAMES = tuple(subject.name for subject in SUBJECTS)
KINDS = tuple(
    dict.fromkeys(kind.name for subject in SUBJECTS for kind in (*subject.limits.kinds, *subject.limits.held_out))
)


def section(only: Sequence[str], grid: Grid, pace: Pace, cells: Path | None, say: Say) -> str:
    """Measure and tell; every cell also goes to a file, where one is named."""
    chosen = [subject for subject in SUBJECTS if not only or subject.name in only]
    surveys: list[Survey] = []
    for subject in chosen:
        surveys.append(survey(subject, grid, pace, say))
        if cells is not None:
            write_cells(cells, surveys)  # again and again: a long run may be cut short
    surveys = [found for found in surveys if found.cells]
    title = "ordinary, held out" if grid.held_out else "ordinary"
    rows = [row for found in surveys for row in summary.summary_rows(found)]
    tables = [text for found in surveys for text in _tables(found)]
    return "\n\n".join([f"## {title}", markdown(summary.HEAD, rows), *tables]) + "\n"


def _tables(found: Survey) -> Iterator[str]:
    """Fits, methods, and what there is to say."""
    yield f"### {found.subject.name}"
    yield from (f"{label} is not available: {reason}" for label, reason in found.absent.items())
    if rows := [*fit_rows(found)]:
        yield markdown(fits_head(found), rows)
    if methods := [*method_rows(found)]:
        yield markdown(METHODS_HEAD, methods)
    if lines := summary.troubles(found):
        yield "\n".join(f"- {line}" for line in lines)
