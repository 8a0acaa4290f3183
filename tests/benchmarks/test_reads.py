"""Reads of a file are counted over whole searches, which find the same both ways."""

from __future__ import annotations

from benchmarks.reads import HEAD, QUICK, Search


def test_one_search_reads_less_and_finds_the_same() -> None:
    apart, together = Search(2, n_columns=4, most_components=2, max_iter=3).rows(lambda line: None)
    assert len(apart) == len(together) == len(HEAD)
    assert apart[1:4] == ["62,500", "8", "8"]
    assert together[3] == "1"
    assert float(together[4]) < float(apart[4]) / 3
    assert apart[-1] == together[-1] == "yes"
    assert QUICK[0].n_rows == 62_500
