"""The thread that reads ahead: order, errors, and that it goes when nobody reads."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Generator

import pytest

from unveil.sources.files.ahead import read_ahead


class Stream:
    """Counts up, and remembers how far it came and whether it was closed."""

    def __init__(self, last: int, error: BaseException | None = None) -> None:
        self.last, self.error = last, error
        self.made = 0
        self.closed = threading.Event()

    def __call__(self) -> Generator[int, None, None]:
        try:
            for number in range(self.last):
                self.made += 1
                yield number
            if self.error is not None:
                raise self.error
        finally:
            self.closed.set()


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "unveil-read-ahead"]


def test_all_in_order_and_the_thread_is_gone() -> None:
    stream = Stream(100)
    assert list(read_ahead(stream)) == list(range(100))
    assert stream.closed.is_set()
    assert readers() == []


def test_no_more_than_depth_ahead() -> None:
    stream = Stream(100)
    items = read_ahead(stream, depth=3)
    for taken, _ in enumerate(items, start=1):
        assert stream.made <= taken + 3


@pytest.mark.parametrize("error", [ValueError("bad cell"), KeyboardInterrupt()])
def test_errors_arrive_after_what_came_before_them(error: BaseException) -> None:
    items = read_ahead(Stream(2, error))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(type(error)):
        next(items)
    assert readers() == []


def test_an_error_before_the_first_item() -> None:
    def broken() -> Generator[int, None, None]:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(read_ahead(broken))


def _close(items: Generator[int, None, None]) -> None:
    items.close()


def _throw(items: Generator[int, None, None]) -> None:
    with pytest.raises(KeyboardInterrupt):
        items.throw(KeyboardInterrupt())


def _drop_in_a_cycle(items: Generator[int, None, None]) -> None:
    cycle: list[object] = [items]
    cycle.append(cycle)
    del items


@pytest.mark.parametrize("leave", [_close, _throw, _drop_in_a_cycle])
def test_leaving_early(leave: Callable[[Generator[int, None, None]], None]) -> None:
    stream = Stream(10**9)
    items = read_ahead(stream)
    assert next(items) == 0
    leave(items)  # type: ignore[arg-type]
    del items
    gc.collect()
    assert stream.closed.wait(5)
    assert readers() == []


def test_never_started_never_a_thread() -> None:
    read_ahead(Stream(3))
    assert readers() == []
