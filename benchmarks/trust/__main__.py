"""Run the tables of trust; the exit code is 1 where something that is asked for is missed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import duration
from benchmarks.trust import catalogues, columns, field, kinds, numbers, peers
from benchmarks.trust.report import Report, write
from benchmarks.trust.tables import power_tables, size_tables

PARTS = ("planted", "healthy", "size", "power", "kinds", "peers")
PEERS_PAGE = Path(__file__).with_name("PEERS.md")


def _part(word: str) -> str:
    if word not in PARTS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(PARTS)}; got {word!r}")
    return word


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    parser.add_argument("parts", nargs="*", type=_part, help=f"of {', '.join(PARTS)}; all where none is named")
    parser.add_argument("--third", action="store_true", help="what `make test` runs of them")
    parser.add_argument("--seeds", type=int, default=20, help="tables of each kind, for size, power, kinds and peers")
    parser.add_argument("--write", type=Path, help="a page whose tables are replaced")
    return parser.parse_args(words)


def reports(options: argparse.Namespace) -> Iterator[Report]:
    """One part after the other."""
    asked = options.parts or PARTS
    if "planted" in asked:
        yield catalogues.planted(options.third)
    if "healthy" in asked:
        yield catalogues.healthy(options.third)
    answers: list[numbers.Answer] = []
    if "size" in asked:
        tables = numbers.size_slice() if options.third else size_tables(options.seeds)
        answers += map(numbers.ask, tables)
        yield numbers.size(answers)
    if "power" in asked:
        tables = numbers.power_slice() if options.third else power_tables(options.seeds)
        clustered = [*map(numbers.ask, tables)]
        answers += clustered
        yield numbers.power(clustered)
    if "kinds" in asked:
        chosen = (
            kinds.third() if options.third else kinds.keys([*columns.PLANTED, *columns.STRUCTURELESS], options.seeds)
        )
        yield kinds.report([*map(kinds.ask, chosen)])
    if "peers" in asked:
        known = peers.survey(options.seeds) if options.parts else peers.answers()
        PEERS_PAGE.write_text(field.page(known), encoding="utf-8")
        yield field.against(known, answers)


def main(words: list[str]) -> int:
    options, made = parsed(words), []
    began = time.perf_counter()
    for report in reports(options):
        print(report, f"{duration(time.perf_counter() - began)} so far\n", sep="\n", flush=True)
        made.append(report)
    if options.write is not None:
        write(options.write, made)
    return int(any(report.missed for report in made))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
