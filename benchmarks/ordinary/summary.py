"""What comes out for an estimator: the mean ratio, the worst one, and how often its fits are good enough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.ordinary.measure import FIT, Measured, Survey

HEAD = (
    "estimator",
    "what",
    "peer",
    "ratios",
    "geometric mean",
    "smallest",
    "where",
    "mark reached",
    "spurious",
)


def ratio(cell: Measured, peer: str, what: str) -> float:
    """The peer's time over unveil's; not a number where one of them has none."""
    times = [outcome.seconds.get(what, np.inf) for outcome in (cell.peers.get(peer), cell.ours) if outcome]
    return times[0] / times[1] if len(times) == 2 and np.all(np.isfinite(times)) else np.nan


def geometric_mean(ratios: list[float]) -> float:
    """Of those that are numbers.

    >>> round(geometric_mean([1.0, 4.0, float("nan")]), 9)
    2.0
    """
    sound = [one for one in ratios if np.isfinite(one)]
    return float(np.exp(np.mean(np.log(sound)))) if sound else np.nan


def summary_rows(survey: Survey) -> Iterator[list[str]]:
    """A row for each peer and each thing that was timed."""
    for peer in survey.subject.peers:
        label = peer.label
        if label in survey.absent:
            yield [survey.subject.name, FIT, label, "", "", "", f"not available: {survey.absent[label]}", "", ""]
            continue
        for what in dict.fromkeys(what for cell in survey.cells for what in cell.ours.seconds):
            found = {str(cell.cell): ratio(cell, label, what) for cell in survey.cells}
            sound = {where: one for where, one in found.items() if np.isfinite(one)}
            if sound:
                where = min(sound, key=sound.__getitem__)
                numbers = [str(len(sound)), f"{geometric_mean([*sound.values()]):.2f}", f"{sound[where]:.2f}", where]
                quality = _quality(survey, label) if what == FIT else ["", ""]
                yield [survey.subject.name, what, label, *numbers, *quality]


def _quality(survey: Survey, label: str) -> list[str]:
    """Shares of the cells, of all in which the peer was asked: failures count."""
    cells = [cell for cell in survey.cells if label in cell.peers]
    reached = f"{sum(cell.reached(label) for cell in cells)} of {len(cells)}"
    artefacts = f"{sum(cell.spurious is not None for cell in cells)} of {len(cells)}" if survey.subject.marked else ""
    return [reached, artefacts]


def troubles(survey: Survey) -> list[str]:
    """What went wrong, cell by cell; and what the guard says of unveil's fits."""
    lines = []
    for cell in survey.cells:
        for label, outcome in {"unveil": cell.ours, **cell.peers}.items():
            if outcome.trouble:
                lines.append(f"{cell.cell}: {label} failed: {outcome.trouble}")
        if cell.spurious is not None:
            lines.append(f"{cell.cell}: the guard calls unveil's fit spurious: {cell.spurious}")
    return lines
