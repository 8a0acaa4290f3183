"""How long until something happens: imports, the first fit ever, and what a small fit costs.

Processes are timed from outside, interpreter included. The first fit runs with an empty folder for compiled
kernels, so it pays for all compilation. The first use of every estimator, with its defaults, is timed from inside,
after the imports (`startup_child.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.startup_child import USES
from benchmarks.table import duration

HEAD = ("what", "time", "asked", "reached")
FIRST_HEAD = ("estimator", "rows", "first fit and answers, cold cache", "asked")
FIRST_SHAPES = ((150, 4, 3), (20_000, 8, 3))  # rows, columns, groups
MANY_GROUPS = {"KMeans": ((20_000, 8, 50),)}  # it has a way of its own to many
ASKED_SECONDS = {150: 2.5, 20_000: 4.0}  # of a first fit of so many rows, or of as many as there may be

ROWS = "import numpy; X = numpy.random.default_rng(0).standard_normal((20000, 8))"
FIRST_FITS = {
    "mixture": f"{ROWS}; from unveil import GaussianMixture as M; M(8, random_state=0, tol=1).fit(X)",
    "K-means, few clusters": f"{ROWS}; from unveil import KMeans as M; M(3, random_state=0).fit(X)",
    "K-means, many clusters": f"{ROWS}; from unveil import KMeans as M; M(64, random_state=0).fit(X)",
    "PCA": f"{ROWS}; from unveil import PCA as M; M().fit(X)",
}


@dataclass(frozen=True)
class Wait:
    """Something that people wait for."""

    name: str
    seconds: Callable[[], float]  # measures once
    asked: float
    times: int = 5

    def best(self) -> float:
        """The shortest of several."""
        return min(self.seconds() for _ in range(self.times))


def process(*command: str, **environment: str) -> float:
    """Seconds from starting a process to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | environment)
    return time.perf_counter() - began


def importing() -> float:
    """A process that imports unveil."""
    return process(sys.executable, "-c", "import unveil")


def helping() -> float:
    """The command line's help."""
    return process(str(Path(sys.executable).with_name("unveil")), "--help")


def first_fit(code: str) -> float:
    """A process that fits once and finds no compiled kernels."""
    with tempfile.TemporaryDirectory(prefix="unveil-cold-") as cold:
        return process(sys.executable, "-W", "ignore", "-c", code, NUMBA_CACHE_DIR=cold)


def first_use(name: str, n_rows: int, n_columns: int, n_groups: int) -> float:
    """The fit and what it says of its rows, in a process that finds no compiled kernels."""
    command = [sys.executable, "-m", "benchmarks.startup_child", name, str(n_rows), str(n_columns), str(n_groups)]
    with tempfile.TemporaryDirectory(prefix="unveil-cold-") as cold:
        environment = os.environ | {"NUMBA_CACHE_DIR": cold}
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return float(answer.stdout)


def first_use_rows(only: Sequence[str], quick: bool, say: Callable[[str], None]) -> list[list[str]]:
    """The table of first uses, of all estimators unless some are named; a quick one has the small tables only."""
    rows = []
    for name, use in USES.items():
        shapes = (*FIRST_SHAPES, *MANY_GROUPS.get(name, ()))[: 1 if quick else None]
        for n_rows, n_columns, n_groups in shapes if not only or name in only else ():
            count = min(n_rows, use.most_rows)
            words = f"{count:,} x {n_columns}, K {n_groups}"
            say(f"first use: {name}, {words}")
            took = duration(first_use(name, count, n_columns, n_groups))
            rows.append([name, words, took, duration(ASKED_SECONDS[n_rows])])
    return rows


def small_fit(name: str, *arguments: int) -> float:
    """A fit on iris in this process, after one that does not count."""
    from sklearn.datasets import load_iris

    import unveil

    rows, estimator = load_iris(return_X_y=True)[0], getattr(unveil, name)
    options = {} if name == "PCA" else {"random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator(*arguments, **options).fit(rows)
        began = time.perf_counter()
        estimator(*arguments, **options).fit(rows)
        return time.perf_counter() - began


WAITS = (
    Wait("import unveil (whole process)", importing, 0.2),
    Wait("unveil --help (whole process)", helping, 0.5),
    *(
        Wait(f"first fit, cold cache: {name} (whole process)", lambda code=code: first_fit(code), 8.0, 2)  # type: ignore[misc]
        for name, code in FIRST_FITS.items()
    ),
    Wait("warm fit on iris: mixture, 3 components", lambda: small_fit("GaussianMixture", 3), 0.05, 20),
    Wait("warm fit on iris: K-means, 3 clusters", lambda: small_fit("KMeans", 3), 0.05, 20),
    Wait("warm fit on iris: PCA", lambda: small_fit("PCA"), 0.05, 20),
)
