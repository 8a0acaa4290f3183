"""Workers side by side, each restarted after a crash; a table at the end. Exit code 1 where anything is wrong."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import IO, Any, NamedTuple

MODELS = Path(__file__).parents[2] / "tests" / "data" / "models" / "0.1-format-2"
GOOD = ("refused", "equal", "other", "the same file")
STARTING = 600.0  # seconds that a child may take to compile and use all models
SILENT = 60.0  # seconds after which a file counts as hanging


class Work(NamedTuple):
    """The files of a worker: numbers `first`, `first` + `step`, ... below `end`."""

    first: int
    step: int
    end: int
    folder: Path
    environment: dict[str, str]


def results(work: Work) -> Iterator[list[str]]:
    """Number, example, mutation, seal and outcome of every file of a worker; after a crash it goes on with the next."""
    while work.first < work.end:
        last = None
        for line in _lines(work):
            number, _, rest = line.partition("\t")
            last = int(number)
            yield [number, *(rest.split("\t") if rest else ["?", "?", "?", "crash, or hang in compiled code"])]
        if last is None:
            raise RuntimeError("a child ended before its first file")
        work = work._replace(first=last + work.step)


def _lines(work: Work) -> Iterator[str]:
    """What a child writes; one that is silent for long is killed."""
    numbers = map(str, (work.first, work.step, work.end))
    command = [sys.executable, "-m", "benchmarks.soak_files.child", str(work.folder), *numbers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=work.environment) as child:
        assert child.stdout is not None
        patience = STARTING
        while line := _next(child, child.stdout, patience):
            patience = SILENT
            yield line.rstrip("\n")


def _next(child: subprocess.Popen[str], told: IO[str], patience: float) -> str:
    """The next line; nothing at the end of the child, which comes soon if it is silent for so long."""
    timer = Timer(patience, child.kill)
    timer.start()
    try:
        return told.readline()
    finally:
        timer.cancel()


def soak(options: Any, environment: dict[str, str]) -> list[list[str]]:
    """What became of all files."""
    end, step = options.first + options.files, options.workers
    works = [Work(options.first + one, step, end, options.models, environment) for one in range(step)]
    with ThreadPoolExecutor(step) as pool:
        return [row for rows in pool.map(lambda work: list(results(work)), works) for row in rows]


def wrong(row: Sequence[str]) -> bool:
    """Is an outcome none that should be? Without a digest of its own every changed file is refused."""
    *_, seal, outcome = row
    return outcome not in (GOOD if seal == "anew" else ("refused", "the same file"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, tell."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak_files", description="mutated model files in use")
    parser.add_argument("--files", type=int, default=100_000, help="how many, 100,000 by default")
    parser.add_argument("--first", type=int, default=0, help="number of the first: the same numbers are the same files")
    parser.add_argument("--workers", type=int, default=2, help="processes side by side, 2 by default")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the models, and of what they are asked")
    parser.add_argument("--bounds", action="store_true", help="compile all kernels anew, with every index checked")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="unveil-bounds-") as cache:
        checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache} if options.bounds else {}
        rows = soak(options, {**os.environ, **checked})
    for row in filter(wrong, rows):
        print(*row, sep="\t")
    table = Counter((seal, outcome.partition(":")[0]) for *_, seal, outcome in rows)
    for (seal, outcome), many in sorted(table.items()):
        print(f"digest {seal:5} {outcome:34} {many:8d}")
    return int(any(map(wrong, rows)))


if __name__ == "__main__":
    sys.exit(main())
