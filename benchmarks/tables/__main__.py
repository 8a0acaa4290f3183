"""Run the tables; the exit code is 1 where something is wrong."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from benchmarks.table import duration, markdown
from benchmarks.tables import held_out
from benchmarks.tables.case import Case, Skipped
from benchmarks.tables.catalogue import chosen
from benchmarks.tables.judge import Output, Verdict, judged
from benchmarks.tables.run import reported

HEAD = ("table", "what is special", "roles right", "facts right", "time", "page", "verdict")


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("part", nargs="?", choices=["all", "held-out"], default="all", help="held-out: drawn anew")
    parser.add_argument("--only", metavar="NAME", action="append", help="one table; may be given again")
    parser.add_argument("--third", action="store_true", help="what `make test` runs of them")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep tables and reports here, in a folder each")
    parser.add_argument("--seed", type=int, default=0, help="of the first table that is held out")
    parser.add_argument("--count", type=int, default=20, help="of tables that are held out")
    return parser.parse_args(words)


def cases(options: argparse.Namespace) -> list[Case]:
    if options.part == "held-out":
        drawn = held_out.drawn(options.seed, options.count)
        return [case for case in drawn if not options.only or case.name in options.only]
    names = options.only or [None]
    return [case for name in names for case in chosen(name, options.third)]


def checked(case: Case, folder: Path) -> tuple[Verdict, Output]:
    """Write the table, run the command, compare."""
    made = case.write(folder)
    outputs = folder / "out"
    shutil.rmtree(outputs, ignore_errors=True)  # of an earlier run
    outputs.mkdir()
    output = reported(case, made, outputs)
    return judged(case, output, made.labels), output


def row(case: Case, verdict: Verdict, output: Output) -> list[str]:
    return [
        case.name,
        case.special,
        f"{verdict.columns_right} of {verdict.columns}",
        f"{verdict.facts_right} of {verdict.facts}",
        duration(output.seconds),
        f"{output.page_bytes / 1e6:.2f} MB",
        "right" if verdict.right else "WRONG",
    ]


def run(tables: Iterable[Case], folder: Path) -> int:
    """One after the other, with what is wrong as soon as it is known; then the table of all."""
    rows, wrong = [], 0
    for case in tables:
        try:
            verdict, output = checked(case, folder / case.name)
        except Skipped as why:
            print(f"{case.name}: skipped: {why}", flush=True)
            rows.append([case.name, case.special, "", "", "", "", f"skipped: {why}"])
            continue
        rows.append(row(case, verdict, output))
        wrong += not verdict.right
        print(f"{case.name}: {rows[-1][-1]} ({rows[-1][4]})", *verdict.wrong, sep="\n    ", flush=True)
    print("", markdown(HEAD, rows), "", f"{len(rows) - wrong} of {len(rows)} right or skipped, {wrong} wrong", sep="\n")
    return int(wrong > 0 or not rows)


def main(words: list[str]) -> int:
    options = parsed(words)
    place: AbstractContextManager[str | Path] = (
        nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory()
    )
    with place as folder:
        return run(cases(options), Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
