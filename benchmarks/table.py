"""Tables of text: Markdown that is also aligned, so that one text serves the screen and the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.cases import FASTEST, Case
from benchmarks.race import Score
from benchmarks.tasks.base import difference

RACE_HEAD = ("case", "peer", "peer's time", "unveil's time", "rounds", "ratio", "same result", "asked", "reached")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned Markdown table.

    >>> print(markdown(["a", "long"], [["one", "2"]]))
    | a   | long |
    |-----|------|
    | one | 2    |
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def duration(seconds: float) -> str:
    """Seconds as people read them.

    >>> duration(12.3456), duration(0.0123456), duration(0.00034)
    ('12.3 s', '12.3 ms', '0.34 ms')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def race_rows(case: Case, scores: Sequence[Score]) -> Iterator[list[str]]:
    """A row per peer; the fastest is marked with a star."""
    ours, peers = scores[0], scores[1:]
    fastest = min(peers, key=lambda score: score.seconds)
    for peer in peers:
        label = f"{peer.entry.label} *" if peer is fastest and not peer.trouble else peer.entry.label
        trouble = ours.trouble or peer.trouble
        if trouble:
            yield [case.name, label, trouble, *[""] * (len(RACE_HEAD) - 3)]
            continue
        ratio = peer.seconds / ours.seconds
        asked = _asked(case, peer, peer is fastest)
        reached = ["yes" if ratio >= factor else "no" for factor in asked.values()]
        times = [f"{_timed(score)} {case.task.unit}" for score in (peer, ours)]
        words = [_words(factor, whom) for whom, factor in asked.items()]
        counts = [f"{peer.rounds} of {case.rounds}", f"{ratio:.2f}", _same(case, ours, peer)]
        yield [case.name, label, *times, *counts, "; ".join(words), "; ".join(reached)]


def mean_line(races: Sequence[Sequence[Score]], asked: float) -> str:
    """The geometric mean of the ratios to the fastest peer, over all cases that have one."""
    ratios = [min(peer.seconds for peer in peers) / ours.seconds for ours, *peers in races]
    sound = [ratio for ratio in ratios if 0 < ratio < np.inf]
    if len(sound) < len(ratios):
        return f"Geometric mean: no result, {len(ratios) - len(sound)} of {len(ratios)} cases have no ratio"
    mean = float(np.exp(np.mean(np.log(sound))))
    reached = "reached" if mean >= asked else "not reached"
    return f"Geometric mean over {len(sound)} cases, against {FASTEST} of each: {mean:.2f}; asked {asked:g}x: {reached}"


def _asked(case: Case, peer: Score, is_fastest: bool) -> dict[str, float]:
    """The targets that this peer is the measure of."""
    mine = {FASTEST} if is_fastest else set()
    return {whom: factor for whom, factor in case.asked.items() if whom in mine | {peer.entry.label}}


def _words(factor: float, whom: str) -> str:
    """A target as people say it.

    >>> _words(10, "somebody"), _words(1 / 6, "itself")
    ('10x somebody', '1/6 of itself')
    """
    return f"{factor:g}x {whom}" if factor >= 1 else f"1/{1 / factor:g} of {whom}"


def _timed(score: Score) -> str:
    passes = "" if score.passes is None else f" ({score.passes} it.)"
    return duration(score.seconds) + passes


def _same(case: Case, ours: Score, peer: Score) -> str:
    """Whether both found the same, and by how much they differ."""
    if case.task.searches:
        return _no_worse(case, ours, peer)
    apart = difference(ours.quality, peer.quality)
    if not np.isfinite(apart):
        return f"NO: {case.task.figure} not finite"
    verdict = "yes" if apart <= peer.entry.agrees else "NO"
    return f"{verdict}: {case.task.figure} {ours.quality[0]:.7g}, differ by {apart:.0e}"


def _no_worse(case: Case, ours: Score, peer: Score) -> str:
    """Where searches may end in different places: both costs, and whether ours is within what is allowed."""
    mine, theirs = float(ours.quality[0]), float(peer.quality[0])
    verdict = "no worse" if mine <= theirs * (1.0 + peer.entry.agrees) else "WORSE"
    return f"{verdict}: {case.task.figure} {mine:.7g}, peer's {theirs:.7g}"
