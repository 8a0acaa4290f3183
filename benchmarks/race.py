"""A case from start to end: contenders take turns, round after round, and each is credited with its best times."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import OURS, Case, Entry
from benchmarks.lane import Lane, UnavailableError
from benchmarks.tasks.base import Arrays

Say = Callable[[str], None]


@dataclass
class Score:
    """How one contender did."""

    entry: Entry
    best: dict[int, float] = field(default_factory=dict)  # seconds at each number of iterations
    solution: Arrays = field(default_factory=dict)
    seconds: float = np.inf  # the time that counts
    quality: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    trouble: str = ""  # why it has no result
    rounds: int = 0  # in which it took part
    rests: bool = False  # sits out the rounds to come

    @property
    def passes(self) -> int | None:
        """Iterations that the last fit took, where that is not given."""
        return int(self.solution["passes"]) if "passes" in self.solution else None


def race(case: Case, say: Say) -> list[Score]:
    """Scores of unveil, which comes first, and of its peers."""
    arrays = case.task.arrays()
    scores = [Score(entry) for entry in (OURS, *case.peers)]
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="unveil-bench-")))
        for name, array in arrays.items():
            np.save(data / f"{name}.npy", array)
        lanes = [_enter(stack, case, score, data, say) for score in scores]
        for number in range(case.rounds):
            say(f"{case.name}: round {number + 1} of {case.rounds}")
            for score, lane in zip(scores, lanes, strict=True):
                _turn(case, score, lane, scores[0])
            _rest(case, scores[1:])
    for score in scores:
        if not score.trouble:
            score.seconds = case.task.seconds(score.best)
            score.quality = case.task.quality(arrays, score.solution)
        if score.seconds <= 0:  # a longer fit that seemed faster than a short one: something else was running
            score.trouble, score.seconds = "no result: times too noisy, run again when nothing else runs", np.inf
    return scores


def _enter(stack: ExitStack, case: Case, score: Score, data: Path, say: Say) -> Lane:
    """Start a contender and let it warm up: libraries load, pools start, kernels compile."""
    say(f"{case.name}: {score.entry.label} warms up")
    lane = Lane(score.entry.module, case.task.word, score.entry.options, data)
    stack.enter_context(closing(lane))
    try:
        lane.ready()
        lane.run(min(case.warm_up, *case.task.steps))
    except UnavailableError as trouble:
        score.trouble = f"not available: {trouble}"
    return lane


def _turn(case: Case, score: Score, lane: Lane, ours: Score) -> None:
    """One round of one contender."""
    if score.trouble or score.rests:
        return
    try:
        for steps in case.task.steps:
            asked = ours.passes if score.entry.follows and ours.passes else steps
            seconds, score.solution = lane.run(asked)
            score.best[steps] = min(seconds, score.best.get(steps, np.inf))
        score.rounds += 1
    except UnavailableError as trouble:
        score.trouble = f"not available: {trouble}"


def _rest(case: Case, peers: list[Score]) -> None:
    """Send peers that are far behind the fastest of them to rest, unless one is itself what a target is set by."""
    times = {id(peer): case.task.seconds(peer.best) for peer in peers if not peer.trouble}
    limit = case.drop * min(times.values(), default=np.inf)
    for peer in peers:
        peer.rests = times.get(id(peer), 0.0) > limit > 0 and peer.entry.label not in case.asked
