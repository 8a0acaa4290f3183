"""A child of the soak: mutates, opens and uses files by number, and writes a line for each, the outcome at its end.

``python -m benchmarks.soak_files.child FOLDER FIRST STEP COUNT``: files FIRST, FIRST + STEP, ... of all. The process is
held to so many megabytes above what it takes once every model was used; a line without outcome is a crash.
"""

from __future__ import annotations

import logging
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import unveil
from benchmarks.soak_files.mutations import mutant
from benchmarks.soak_files.use import questions, used
from unveil.storage.file import ModelFileError

MEGABYTES = 300  # above what the process takes, which holds all that is compiled
SECONDS = 2.0
LONGEST = 110  # characters of an error


class Hang(BaseException):
    """It took too long; no `except Exception` may catch it."""


def run(folder: str, first: str, step: str, count: str) -> None:
    """All files of this child."""
    paths = sorted(Path(folder).glob("*.unveil"))
    known = {path: (path.read_bytes(), *questions(path)) for path in paths}
    before = {path: used(unveil.load(path), *known[path][1:]) for path in paths}
    _hold_memory()
    signal.signal(signal.SIGALRM, _stop)
    with tempfile.TemporaryDirectory() as home:
        for number in range(int(first), int(count), int(step)):
            path = paths[number % len(paths)]
            print(number, end="\t", flush=True)
            print(outcome(Path(home, path.name), *known[path], number, before[path]), flush=True)


def outcome(place: Path, data: bytes, asked: Any, batch: Any, number: int, before: str) -> str:
    """What became of one file: example, mutation, seal, outcome; what took long is tried once more."""
    made = mutant(data, number)
    about = f"{place.stem}\t{made.kind}\t{'anew' if made.sealed else 'old'}"
    if made.data == data:
        return f"{about}\tthe same file"
    place.write_bytes(made.data)
    began = time.perf_counter()
    found = _one(place, asked, batch, before)
    if time.perf_counter() - began > SECONDS and not found.startswith("hang"):  # a kernel may have been compiled
        began = time.perf_counter()
        found = _one(place, asked, batch, before)
        found = found if time.perf_counter() - began <= SECONDS else "slow"
    return f"{about}\t{found}"


def _one(place: Path, asked: Any, batch: Any, before: str) -> str:
    signal.setitimer(signal.ITIMER_REAL, 10 * SECONDS)
    try:
        return _opened_and_used(place, asked, batch, before)
    except Hang:
        return "hang"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _opened_and_used(place: Path, asked: Any, batch: Any, before: str) -> str:
    try:
        model = unveil.load(place)
    except ModelFileError:
        return "refused"
    except Exception as error:
        return _said("load", error)
    try:
        return "equal" if used(model, asked, batch) == before else "other"
    except Exception as error:
        return _said("use", error)


def _said(when: str, error: BaseException) -> str:
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    line = "" if where is None else f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}"
    words = " ".join(str(error).split())[:LONGEST]
    return f"{when}: {type(error).__name__}: {words} [{line}]"


def _stop(number: int, frame: Any) -> None:
    raise Hang


def _hold_memory() -> None:
    """No more address space than there is now, and some."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEGABYTES * (1 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    logging.getLogger("unveil").setLevel(logging.CRITICAL)
    run(*sys.argv[1:])
