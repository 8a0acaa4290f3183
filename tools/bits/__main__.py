"""Run the cases and write or compare their lines."""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from tools.bits import chains, clusters, compared, corners, grammars, mixtures, planes, routes
from tools.bits.case import Case
from tools.bits.digest import attributes, digest

MODULES = (planes, clusters, mixtures, chains, grammars, corners, routes, compared)
REFUSALS = (ValueError, TypeError, AttributeError, NotImplementedError)


def main() -> int:
    """The command: 1 if lines differ from those of an earlier run."""
    parser = argparse.ArgumentParser(prog="python -m tools.bits", description="Hashes of every answer.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="cases whose name begins like this")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where lines go, instead of the screen")
    parser.add_argument("--against", type=Path, metavar="FILE", help="an earlier output to compare with")
    parser.add_argument("--detail", action="store_true", help="a line for each fitted attribute too")
    parser.add_argument("--why", action="store_true", help="say on the error stream why something was refused")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    lines = dict(sorted(_lines(chosen.only, chosen.detail, chosen.why)))
    text = "".join(f"{name}\t{value}\n" for name, value in lines.items())
    if chosen.output:
        chosen.output.write_text(text)
    elif not chosen.against:
        sys.stdout.write(text)
    return _compared(lines, chosen.against, chosen.only) if chosen.against else 0


def cases() -> Iterator[Case]:
    """All of them."""
    for module in MODULES:
        yield from module.cases()


def _lines(only: str, detail: bool, why: bool) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    with routes.cluster():
        for case in cases():
            if case.name in seen:
                raise RuntimeError(f"two cases are called {case.name}")
            seen.add(case.name)
            if case.name.startswith(only):
                yield from _of(case, detail, why)


def _of(case: Case, detail: bool, why: bool) -> Iterator[tuple[str, str]]:
    """Lines of a case, up to the first fit that is refused."""
    for part, call in _parts(case):
        name = f"{case.name}/{part}"
        value, outcome = _tried(call)
        if why and outcome:
            print(f"{name}: {outcome} {value}", file=sys.stderr)
        if outcome:
            yield name, outcome
            if part.startswith(("fit", "batch")):
                return
            continue
        yield name, digest(value)
        if part.startswith(("fit", "batch")) and isinstance(value, BaseEstimator):
            yield from _more(name, value, detail)


def _parts(case: Case) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The parts of a case; where making them fails, one last that says so."""
    try:
        yield from case.run()
    except Exception as error:
        failed = error

        def again() -> Any:
            raise failed

        yield "the rest", again


def _more(name: str, model: Any, detail: bool) -> Iterator[tuple[str, str]]:
    """What a certificate says in words, apart from its figures, and attributes one by one."""
    if hasattr(model, "certificate_"):
        yield f"{name} in words", digest(str(model.certificate_))
    if detail:
        yield from ((f"{name} {key}", digest(value)) for key, value in attributes(model).items())


def _tried(call: Callable[[], Any]) -> tuple[Any, str]:
    """A value and nothing, or an exception and what is said of it."""
    try:
        value = call()
        digest(value)  # what has no hash is an error too
    except REFUSALS as error:
        return error, f"refused:{type(error).__name__}"
    except Exception as error:
        return error, f"error:{type(error).__name__}"
    return value, ""


def _compared(lines: dict[str, str], path: Path, only: str) -> int:
    """1 if lines differ, are missing or new, which are printed."""
    pairs = (line.rsplit("\t", 1) for line in path.read_text().splitlines())
    before = {name: value for name, value in pairs if name.startswith(only)}
    names = sorted(before.keys() | lines.keys())
    changed = [name for name in names if before.get(name) != lines.get(name)]
    for name in changed:
        print(f"{name}\t{before.get(name, 'new')} -> {lines.get(name, 'missing')}")
    print(f"{len(changed)} of {len(names)} lines differ", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
