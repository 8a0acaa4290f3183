"""What the table says about made-up scores."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import FASTEST, OURS, Case, Entry
from benchmarks.race import Score
from benchmarks.table import RACE_HEAD, duration, markdown, race_rows
from benchmarks.tasks.pca import Pca

SLOW, FAST, GONE = Entry("slow", "x"), Entry("fast", "x"), Entry("gone", "x")
CASE = Case("a case", Pca(10, 2), (SLOW, FAST, GONE), {"slow": 20, FASTEST: 8})


def scored(entry: Entry, seconds: float, quality: float) -> Score:
    return Score(entry, seconds=seconds, quality=np.array([quality]))


def test_rows_mark_the_fastest_and_judge_each_target_by_the_peer_it_names() -> None:
    missing = Score(GONE, trouble="not available: ImportError: none")
    scores = [scored(OURS, 1.0, 2.0), scored(SLOW, 30.0, 2.0), scored(FAST, 5.0, 2.1), missing]
    slow, fast, gone = race_rows(CASE, scores)
    assert slow[1:5] == ["slow", "30 s whole fit", "1 s whole fit", "30.00"]
    assert slow[5].startswith("yes: variances 2, differ by 0e+00")
    assert slow[6:] == ["20x slow", "yes"]
    assert fast[1] == "fast *"
    assert fast[5].startswith("NO: ")
    assert fast[6:] == ["8x the fastest peer", "no"]
    assert gone[1:3] == ["gone", "not available: ImportError: none"]


def test_both_targets_when_the_named_peer_is_the_fastest() -> None:
    rows = list(race_rows(CASE, [scored(OURS, 1.0, 2.0), scored(SLOW, 10.0, 2.0), scored(FAST, 11.0, 2.0)]))
    assert rows[0][6:] == ["20x slow; 8x the fastest peer", "no; yes"]


def test_markdown_lines_are_equally_long() -> None:
    lines = markdown(RACE_HEAD, list(race_rows(CASE, [scored(OURS, 1.0, 2.0), scored(SLOW, 10.0, 2.0)]))).split("\n")
    assert len(lines) == 3
    assert len({len(line) for line in lines}) == 1


def test_targets_below_one_read_as_shares() -> None:
    case = Case("a case", Pca(10, 2), (SLOW,), {"slow": 1 / 6})
    (row,) = race_rows(case, [scored(OURS, 5.0, 2.0), scored(SLOW, 1.0, 2.0)])
    assert row[6:] == ["1/6 of slow", "yes"]


def test_duration() -> None:
    assert [duration(seconds) for seconds in (120.0, 1.5, 0.25, 0.0004)] == ["120 s", "1.5 s", "250 ms", "0.4 ms"]
