"""Threads are lent where a pass has one block, and only for the pass."""

from __future__ import annotations

import threading

import numpy as np

from unveil.core.idle_threads import lending, share
from unveil.core.protocols import Block, Memo
from unveil.core.statistics import Statistics
from unveil.engines import Threads
from unveil.sources import ArraySource, Sequences


def wait_for_two(barrier: threading.Barrier) -> str:
    barrier.wait(timeout=30)  # passes only if two threads are here at once
    return threading.current_thread().name


def together(block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    names = share(wait_for_two, [threading.Barrier(1)] * 1)
    barrier = threading.Barrier(2)
    names = share(wait_for_two, [barrier, barrier])
    return Statistics(threads=len(set(names))), None


def alone(block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    return Statistics(threads=len(set(share(lambda _: threading.current_thread().name, range(8))))), None


def test_a_single_block_gets_all_threads() -> None:
    statistics, _ = Threads(2).map_reduce(together, ArraySource(np.ones((10, 1))), None)
    assert float(statistics["threads"]) == 2


def test_several_blocks_share_nothing() -> None:
    source = Sequences(ArraySource(np.ones((10, 1))), [5, 5], enough=1)
    statistics, _ = Threads(2).map_reduce(alone, source, None)
    assert float(statistics["threads"]) == 2  # one for each block


def test_one_thread_shares_with_itself() -> None:
    statistics, _ = Threads(1).map_reduce(alone, ArraySource(np.ones((10, 1))), None)
    assert float(statistics["threads"]) == 1


def test_what_is_lent_is_given_back() -> None:
    used = []
    with lending(lambda function, items: used.append(1) or map(function, items)):  # type: ignore[func-returns-value]
        assert share(abs, [-1]) == [1]
    assert share(abs, [-2]) == [2]
    assert used == [1]
