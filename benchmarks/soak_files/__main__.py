"""Workers side by side, each restarted after a crash; a table at the end. Exit code 1 where anything is wrong."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

MODELS = Path(__file__).parents[2] / "tests" / "data" / "models" / "0.1-format-2"
GOOD = ("refused", "equal", "other", "the same file")
STARTING = 600.0  # seconds that a child may take to compile and use all models
SILENT = 60.0  # seconds after which a file counts as hanging


def results(first: int, step: int, count: int, folder: Path) -> Iterator[list[str]]:
    """Number, example, mutation, seal and outcome of every file of a worker."""
    while first < count:
        last = None
        for line in _lines(first, step, count, folder):
            number, _, rest = line.partition("\t")
            last = int(number)
            yield [number, *(rest.split("\t") if rest else ["?", "?", "?", "crash, or hang in compiled code"])]
        if last is None:
            raise RuntimeError("a child ended before its first file")
        first = last + step


def _lines(first: int, step: int, count: int, folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.soak_files.child", str(folder), *map(str, (first, step, count))]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    patience = STARTING
    while True:
        timer = Timer(patience, child.kill)
        timer.start()
        line = child.stdout.readline()
        timer.cancel()
        if not line:
            child.wait()
            return
        patience = SILENT
        yield line.rstrip("\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, tell."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak_files", description="mutated model files in use")
    parser.add_argument("--files", type=int, default=100_000, help="how many, 100,000 by default")
    parser.add_argument("--first", type=int, default=0, help="number of the first: the same numbers are the same files")
    parser.add_argument("--workers", type=int, default=2, help="processes side by side, 2 by default")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the models, and of what they are asked")
    options = parser.parse_args(arguments)
    table, bad = Counter[tuple[str, str]](), []
    end, step = options.first + options.files, options.workers
    spans = [(options.first + worker, step, end, options.models) for worker in range(step)]
    with ThreadPoolExecutor(step) as pool:
        for rows in pool.map(lambda span: list(results(*span)), spans):
            for number, example, kind, seal, outcome in rows:
                said = outcome if outcome in GOOD else outcome.partition(":")[0]
                table[seal, said] += 1
                if outcome not in GOOD or (seal == "old" and outcome not in ("refused", "the same file")):
                    bad.append(f"{number}\t{example}\t{kind}\t{seal}\t{outcome}")
    print(*bad, sep="\n")
    for (seal, said), many in sorted(table.items()):
        print(f"digest {seal:5} {said:34} {many:8d}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
