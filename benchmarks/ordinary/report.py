"""Tables of whole fits and of methods: a row for each kind of data, shape and peer, seeds folded into one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.ordinary.measure import FIT, Measured, Survey
from benchmarks.ordinary.summary import geometric_mean, ratio
from benchmarks.table import duration

METHODS_HEAD = ("data", "what", "peer", "peer's time", "unveil's time", "ratio")
CELLS_HEAD = (
    *("estimator", "kind", "rows", "columns", "k", "sequences", "seed", "peer", "what", "unveil_seconds"),
    *("peer_seconds", "ratio", "unveil_value", "peer_value", "unveil_rand", "peer_rand", "mark", "reached", "spurious"),
)


def fits_head(survey: Survey) -> tuple[str, ...]:
    """Names of the columns, with what fits are judged by."""
    judge = survey.subject.judge
    named = (f"unveil's {judge.figure}", "peer's", f"unveil ahead by ({judge.unit})")
    rand = ("unveil's ARI", "peer's ARI") if _has_rand(survey) else ()
    marked = ("ahead of the best sound of ten",) if survey.subject.marked else ()
    return ("data", "peer", "peer's time", "unveil's time", "ratio", *named, *rand, *marked, "mark reached")


def fit_rows(survey: Survey) -> Iterator[list[str]]:
    """Times and ratios are means over the seeds, geometric ones; values too; gains are the worst."""
    for label, cells in _folded(survey):
        judge = survey.subject.judge
        peers = [cell.peers[label] for cell in cells]
        values = [(cell.ours.value, cell.peers[label].value) for cell in cells]
        mine, theirs = (_mean(pair[which] for pair in values) for which in (0, 1))
        row = [cells[0].cell.data, label, _time(peer.seconds[FIT] for peer in peers)]
        row += [_time(cell.ours.seconds[FIT] for cell in cells), _ratio(cells, label, FIT)]
        row += [f"{mine:.6g}", f"{theirs:.6g}", _worst(judge.gain(*pair) for pair in values)]
        if _has_rand(survey):
            row += [f"{_mean(cell.ours.rand for cell in cells):.3f}", f"{_mean(peer.rand for peer in peers):.3f}"]
        if survey.subject.marked:
            marks = [(cell.ours.value, cell.mark.value) for cell in cells if cell.mark is not None]
            row += [_worst(judge.gain(*pair) for pair in marks) if marks else ""]
        yield [*row, f"{sum(cell.reached(label) for cell in cells)} of {len(cells)}"]


def method_rows(survey: Survey) -> Iterator[list[str]]:
    """What is called after a fit, where it was timed."""
    for cell in survey.cells:
        for what in (what for what in cell.ours.seconds if what != FIT):
            for label, peer in cell.peers.items():
                if what in peer.seconds:
                    times = [duration(peer.seconds[what]), duration(cell.ours.seconds[what])]
                    yield [cell.cell.data, what, label, *times, f"{ratio(cell, label, what):.2f}"]


def write_cells(file: Path, surveys: Iterable[Survey]) -> None:
    """Every cell and seed by itself, as a table for other programs."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(CELLS_HEAD)
        for survey in surveys:
            for cell in survey.cells:
                writer.writerows(_lines(cell))


def _lines(cell: Measured) -> Iterator[list[object]]:
    one, ours = cell.cell, cell.ours
    for label, peer in cell.peers.items():
        for what in (what for what in ours.seconds if what in peer.seconds):
            head = [cell.subject.name, one.kind.name, *one.shape, one.sequences, one.seed, label, what]
            times = [ours.seconds[what], peer.seconds[what], ratio(cell, label, what)]
            quality = [ours.value, peer.value, ours.rand, peer.rand, cell.mark.value if cell.mark else ""]
            yield [*head, *times, *quality, int(cell.reached(label)), cell.spurious or ""]


def _folded(survey: Survey) -> Iterator[tuple[str, list[Measured]]]:
    """Cells that differ in the seed only, for each peer that took part in them."""
    for data in dict.fromkeys(cell.cell.data for cell in survey.cells):
        cells = [cell for cell in survey.cells if cell.cell.data == data]
        for label in cells[0].peers:
            yield label, cells


def _has_rand(survey: Survey) -> bool:
    return "predict" in survey.subject.verbs


def _ratio(cells: Sequence[Measured], label: str, what: str) -> str:
    return f"{geometric_mean([ratio(cell, label, what) for cell in cells]):.2f}"


def _time(seconds: Iterable[float]) -> str:
    """As people read it, of those that there are."""
    mean = geometric_mean([*seconds])
    return duration(mean) if np.isfinite(mean) else "failed"


def _mean(values: Iterable[float]) -> float:
    """Of those that are numbers."""
    sound = [value for value in values if np.isfinite(value)]
    return float(np.mean(sound)) if sound else np.nan


def _worst(gains: Iterable[float]) -> str:
    sound = [gain for gain in gains if np.isfinite(gain)]
    return f"{min(sound):+.3g}" if sound else ""
