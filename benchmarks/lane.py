"""One contender in a process of its own, told what to do through a pipe.

Libraries bring thread pools that would get into each other's way in one process. Only the fit itself is timed.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import re
import time
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

SETTLE = 0.3  # seconds until the threads of the one before have stopped spinning
PATIENCE = 600.0  # seconds until a fit is given up


class UnavailableError(RuntimeError):
    """A contender that cannot take part, and why."""


class Lane:
    """A contender at work on one task."""

    def __init__(self, module: str, task: str, options: Mapping[str, Any], data: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, module, task, dict(options), data), daemon=True)
        self._process.start()
        theirs.close()

    def ready(self) -> None:
        """Wait until it has loaded its library and the data."""
        self._receive()

    def run(self, order: Any, settle: float = SETTLE) -> tuple[float, dict[str, Any]]:
        """Fit once, for so many iterations or as the order says; seconds, and the arrays that were found."""
        time.sleep(settle)
        self._pipe.send(order)
        answer: tuple[float, dict[str, Any]] = self._receive()
        return answer

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()

    def _receive(self) -> Any:
        try:
            if not self._pipe.poll(PATIENCE):
                raise UnavailableError(f"no answer in {PATIENCE:.0f} s")
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(5.0)
            raise UnavailableError(f"its process died with exit code {self._process.exitcode}") from None
        if isinstance(answer, str):
            raise UnavailableError(answer)
        return answer


def _serve(pipe: Connection, module: str, task: str, options: dict[str, Any], data: Path) -> None:
    """The other end: load, then one fit per message, until the pipe is closed."""
    warnings.simplefilter("ignore")  # that a fit stops at its limit is meant
    try:
        arrays = {file.stem: np.load(file) for file in sorted(data.glob("*.npy"))}
        run = getattr(importlib.import_module(f"benchmarks.contenders.{module}"), task)(arrays, **options)
        pipe.send(True)
        while True:
            order = pipe.recv()
            gc.collect()
            began = time.perf_counter()
            found = run(order)
            pipe.send((time.perf_counter() - began, dict(found)))
    except (EOFError, KeyboardInterrupt):
        return
    except BaseException as error:  # whatever a library does when it does not fit the machine
        pipe.send(reason(error))


def reason(error: BaseException) -> str:
    """An error on one short line, without the paths of this machine.

    >>> reason(ImportError("no libx.so in /usr/lib/deep, sorry"))
    'ImportError: no libx.so in ..., sorry'
    """
    first = re.sub(r"(?:/[\w.+-]+)+", "...", str(error).strip().split("\n")[0])
    return f"{type(error).__name__}: {first}"[:160]
