"""Reading ahead: a thread makes the next few items while the caller works on this one.

The thread waits for a free slot before it makes an item, so no more than `depth` finished ones wait. However the
caller leaves (to the end, by an exception, by closing or dropping the iterator), the thread is told and joined.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _End(NamedTuple):
    """The last thing in the queue: what stopped the producer, if anything did."""

    error: BaseException | None


class _Link(NamedTuple):
    """What the two threads share."""

    items: SimpleQueue[Any]
    slots: threading.Semaphore
    stop: threading.Event


def read_ahead(make: Callable[[], Generator[T, None, None]], depth: int = 2) -> Iterator[T]:
    """Items of ``make()``, made by a thread that keeps at most `depth` of them waiting."""
    link = _Link(SimpleQueue(), threading.Semaphore(depth), threading.Event())
    thread = threading.Thread(target=_produce, args=(make, link), name="unveil-read-ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := link.items.get(), _End):
            link.slots.release()
            yield item
            del item  # else the block would live on while the next one is awaited
        if item.error is not None:
            raise item.error
    finally:
        link.stop.set()
        link.slots.release()
        # An iterator that is dropped in a cycle may be finalised by any thread, even by the producer itself.
        if thread is not threading.current_thread():
            thread.join()


def _produce(make: Callable[[], Generator[T, None, None]], link: _Link) -> None:
    """Body of the thread: everything, errors included, goes through the queue."""
    error: BaseException | None = None
    try:
        stream = make()
        try:
            while not _stopped(link):
                link.items.put(next(stream))
        except StopIteration:
            error = None
        finally:
            stream.close()
    except BaseException as caught:  # the consumer raises it, whatever it is
        error = caught
    link.items.put(_End(error))


def _stopped(link: _Link) -> bool:
    """Wait for a free slot; True when the consumer has left."""
    link.slots.acquire()
    return link.stop.is_set()
