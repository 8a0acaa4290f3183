"""Progress on stderr while a user waits at a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

    from unveil.core.result import State


class Quiet:
    """Progress that nobody sees."""

    def watching(self, model: Any) -> AbstractContextManager[None]:
        """A context that shows the passes of a fit of `model`."""
        return nullcontext()

    def advance(self, count: int) -> None:
        """Add to the count of rows."""

    def step(self, news: Any) -> None:
        """Show what a report is at: words, steps done and their total."""

    def tried(self, grid: Mapping[str, Sized]) -> Callable[[dict[str, Any]], None]:
        """What shows the fits of a comparison as they are done."""
        return lambda row: None


class Shown(Quiet):
    """A line with a bar, the passes or rows so far and the time."""

    def __init__(self, progress: Progress, title: str) -> None:
        self.progress = progress
        self.task = progress.add_task(title, total=None, detail="")
        self.starts = 0
        self.bounds: dict[int, float] = {}  # per row, of climbs that may run side by side
        self.rows = 0
        self.limit: int | None = None

    def watching(self, model: Any) -> AbstractContextManager[None]:
        """A context that shows the passes of a fit of `model`."""
        import unveil

        self.limit = getattr(model, "max_iter", None)
        return unveil.watch(self._passed)

    def advance(self, count: int) -> None:
        """Add to the count of rows."""
        self.rows += count
        self.progress.update(self.task, detail=f"{self.rows:,} rows")

    def step(self, news: Any) -> None:
        """Show what a report is at: words, steps done and their total."""
        self.progress.update(self.task, total=news.total, completed=news.done, detail=news.words)

    def tried(self, grid: Mapping[str, Sized]) -> Callable[[dict[str, Any]], None]:
        """What shows the fits of a comparison as they are done."""
        total, done = prod(len(values) for values in grid.values()), count(1)

        def show(row: dict[str, Any]) -> None:
            number = next(done)
            self.progress.update(self.task, total=total, completed=number, detail=f"{number} of {total} fits")

        return show

    def _passed(self, state: State) -> None:
        self.starts += state.iteration == 1
        per_row = state.record.free_energy / float(state.statistics["weight"])
        if state.climb:
            self.bounds[state.climb] = per_row
        start = f"start {self.starts}, " if self.starts > 1 else ""
        detail = f"{start}pass {state.iteration:,}, bound per row {per_row:.6g}"
        if len(self.bounds) > 1:
            best = max(self.bounds.values())
            detail = f"{len(self.bounds)} starts, pass {state.iteration:,}, best bound per row {best:.6g}"
        self.progress.update(self.task, total=self.limit, completed=state.iteration, detail=detail)


@contextmanager
def progress(title: str) -> Iterator[Quiet]:
    """Progress under `title`, gone when the work is done."""
    if not sys.stderr.isatty():
        yield Quiet()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=24))
    tail = (TextColumn("{task.fields[detail]}", markup=False), TimeElapsedColumn())
    with Progress(*columns, *tail, console=Console(stderr=True), transient=True) as bars:
        yield Shown(bars, title)
