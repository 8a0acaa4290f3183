"""What the table says about made-up scores."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import FASTEST, OURS, Case, Entry
from benchmarks.race import Score
from benchmarks.table import RACE_HEAD, duration, markdown, mean_line, race_rows
from benchmarks.tasks.medoids import Medoids
from benchmarks.tasks.pca import Pca

SLOW, FAST, GONE = Entry("slow", "x"), Entry("fast", "x"), Entry("gone", "x")
CASE = Case("a case", Pca(10, 2), (SLOW, FAST, GONE), {"slow": 20, FASTEST: 8})


def scored(entry: Entry, seconds: float, quality: float) -> Score:
    return Score(entry, seconds=seconds, quality=np.array([quality]), rounds=3)


def test_rows_mark_the_fastest_and_judge_each_target_by_the_peer_it_names() -> None:
    missing = Score(GONE, trouble="not available: ImportError: none")
    scores = [scored(OURS, 1.0, 2.0), scored(SLOW, 30.0, 2.0), scored(FAST, 5.0, 2.1), missing]
    slow, fast, gone = race_rows(CASE, scores)
    assert slow[1:6] == ["slow", "30 s whole fit", "1 s whole fit", "3 of 3", "30.00"]
    assert slow[6].startswith("yes: variances 2, differ by 0e+00")
    assert slow[7:] == ["20x slow", "yes"]
    assert fast[1] == "fast *"
    assert fast[6].startswith("NO: ")
    assert fast[7:] == ["8x the fastest peer", "no"]
    assert gone[1:3] == ["gone", "not available: ImportError: none"]


def test_both_targets_when_the_named_peer_is_the_fastest() -> None:
    rows = list(race_rows(CASE, [scored(OURS, 1.0, 2.0), scored(SLOW, 10.0, 2.0), scored(FAST, 11.0, 2.0)]))
    assert rows[0][7:] == ["20x slow; 8x the fastest peer", "no; yes"]


def test_markdown_lines_are_equally_long() -> None:
    lines = markdown(RACE_HEAD, list(race_rows(CASE, [scored(OURS, 1.0, 2.0), scored(SLOW, 10.0, 2.0)]))).split("\n")
    assert len(lines) == 3
    assert len({len(line) for line in lines}) == 1


def test_targets_below_one_read_as_shares() -> None:
    case = Case("a case", Pca(10, 2), (SLOW,), {"slow": 1 / 6})
    (row,) = race_rows(case, [scored(OURS, 5.0, 2.0), scored(SLOW, 1.0, 2.0)])
    assert row[7:] == ["1/6 of slow", "yes"]


def test_duration() -> None:
    assert [duration(seconds) for seconds in (120.0, 1.5, 0.25, 0.0004)] == ["120 s", "1.5 s", "250 ms", "0.4 ms"]


def test_searches_are_judged_from_one_side_with_both_costs() -> None:
    case = Case("a case", Medoids(10, 2, 2), (SLOW,), {})
    costs = {90.0: "no worse: loss 90, peer's 100", 100.0: "no worse", 100.1: "WORSE: loss 100.1, peer's 100"}
    for ours, words in costs.items():
        (row,) = race_rows(case, [scored(OURS, 1.0, ours), scored(SLOW, 1.0, 100.0)])
        assert row[6].startswith(words)


def test_mean_is_geometric_and_over_the_fastest_peers() -> None:
    races = [[scored(OURS, 1.0, 0.0), scored(SLOW, 9.0, 0.0), scored(FAST, peer, 0.0)] for peer in (1.0, 4.0)]
    assert mean_line(races, 2).endswith("over 2 cases, against the fastest peer of each: 2.00; asked 2x: reached")
    assert mean_line(races, 2.1).endswith("asked 2.1x: not reached")


def test_no_mean_where_a_case_has_no_ratio() -> None:
    alone = [scored(OURS, 1.0, 0.0), Score(GONE, trouble="not available")]
    assert "1 of 2 cases have no ratio" in mean_line([alone, [scored(OURS, 1.0, 0.0), scored(FAST, 3.0, 0.0)]], 2)
