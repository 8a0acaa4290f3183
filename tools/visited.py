"""Which files of the package run in a fit or a prediction: what a reader has to open to follow it.

    python tools/visited.py [-v]

prints a count for each task, and with -v the files and the functions that ran in them. Imports are done before, and so
is a first run of the same task: what is loaded late or compiled once does not count.
"""

from __future__ import annotations

import argparse
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import unveil
from unveil import GaussianHMM, GaussianMixture, KMeans

ROOT = str(Path(unveil.__file__).parent)
Visited = dict[str, list[str]]


def visited(task: Callable[[], Any]) -> Visited:
    """Functions of the package that run in a task, by file, in the order in which they are first called."""
    task()
    seen: Visited = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            functions = seen.setdefault(str(Path(code.co_filename).relative_to(ROOT)), [])
            if code.co_qualname not in functions:
                functions.append(code.co_qualname)

    threading.setprofile(note)  # for threads that a task starts; those of a pool that is there already go unseen
    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return seen


def tasks() -> dict[str, Callable[[], Any]]:
    """What is counted, on a table of 500 rows and 4 columns."""
    X = np.random.default_rng(0).normal(size=(500, 4))
    fitted = KMeans(3, random_state=0).fit(X)
    return {
        "GaussianMixture.fit": lambda: GaussianMixture(3, random_state=0).fit(X),
        "GaussianHMM.fit": lambda: GaussianHMM(3, random_state=0).fit(X),
        "KMeans.predict": lambda: fitted.predict(X),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Files of the package that a task visits.")
    parser.add_argument("-v", "--verbose", action="store_true", help="list files and functions")
    verbose = parser.parse_args().verbose
    warnings.simplefilter("ignore")
    for name, task in tasks().items():
        seen = visited(task)
        lines = [f"  {file}: {', '.join(functions)}" for file, functions in seen.items()] if verbose else []
        sys.stdout.write("\n".join([f"{name}: {len(seen)} files", *lines, ""]))


if __name__ == "__main__":
    main()
