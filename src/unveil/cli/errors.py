"""How the command line says what went wrong: one line on stderr, exit code 2, a traceback only for who asks for it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unveil.sources.errors import one_line

FAILED = 2  # exit code, as shells have it for wrong use
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
ENDED = 143  # 128 + SIGTERM
UNREAD = 1  # whoever read our output has left
EXIT_CODES = {
    0: "done",
    UNREAD: "the reader of the output left early, or warm-up could not keep its work",
    FAILED: "wrong use, data or files",
    INTERRUPTED: "interrupted (Ctrl-C)",
    ENDED: "ended from outside (SIGTERM)",
}
"""What a run leaves to its shell."""
LONGEST_LINE = 600  # characters: a message from elsewhere may be a page
EXPECTED = (ValueError, OSError, ImportError, MemoryError, OverflowError)


def say(message: str) -> None:
    """One printable line on stderr."""
    sys.stderr.write(f"unveil: {printable(message)}\n")
    sys.stderr.flush()


def printable(text: str) -> str:
    """`text` on one line of bearable length, without what could steer a terminal."""
    return one_line(text, LONGEST_LINE)


_came: list[int] = []  # Ctrl-C and SIGTERM so far: the library may have answered one with the best so far, and gone on


@contextmanager
def signals_noted() -> Iterator[None]:
    """SIGTERM, with which machines end a process, is answered as Ctrl-C is: no file is left half-written."""

    def note(number: int, frame: Any) -> None:
        _came.append(number)
        raise KeyboardInterrupt

    _came.clear()
    ours = threading.current_thread() is threading.main_thread()  # which alone may say so
    wanted = [one for one in (signal.SIGINT, signal.SIGTERM) if ours and signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, note) for one in wanted}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def was_interrupted() -> bool:
    """Did Ctrl-C or SIGTERM come?"""
    return bool(_came)


def interruption() -> int:
    """The exit code that shells expect of what Ctrl-C or SIGTERM ended."""
    return ENDED if signal.SIGTERM in _came else INTERRUPTED


@contextmanager
def on_one_line() -> Iterator[None]:
    """Turn errors into a line and an exit code, warnings and the log into lines."""
    handler = _Lines(logging.WARNING)
    logger = logging.getLogger("unveil")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            yield
    except Exception as error:
        if os.environ.get("UNVEIL_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            _leave_the_pipe()
        say(f"error: {explain(error)}")
        sys.exit(FAILED)
    finally:
        logger.removeHandler(handler)


def explain(error: Exception) -> str:
    """What `error` says, for someone who has not written this program."""
    if hasattr(error, "format_message"):  # a mistake in the arguments, found by typer
        return str(error.format_message())
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, EXPECTED):
        return str(error) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error} (UNVEIL_TRACEBACK=1 shows where)"


class _Lines(logging.Handler):
    """The log, as lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record."""
        say(record.getMessage())


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    from unveil.cli.counting import said

    say(f"warning: {said(str(message))}")


def _leave_the_pipe() -> None:
    """Whoever read our output has seen enough: leave without a word, and without one from the interpreter."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(UNREAD)
