"""``unveil models``: the models by what they are for, one line each."""

from __future__ import annotations

import json

import typer

from unveil.cli.models import GROUPS, Kind, listed
from unveil.cli.options import Json


def models(as_json: Json = False) -> None:
    """List the models that unveil fit and unveil select take, by what they are for.

    Behind each: the class of the library, and what it takes besides numbers (holes are missing cells).
    """
    if as_json:
        typer.echo(json.dumps([_plain(name.value, name.kind) for group in listed().values() for name in group]))
        return
    widest = max(len(name.value) for group in listed().values() for name in group)
    for group, names in listed().items():
        typer.secho(f"{group.capitalize()} ({GROUPS[group]})", bold=True)
        for name in names:
            typer.echo(f"  {name.value:{widest}}  {name.kind.line}{_takes(name.kind)}")


def _takes(kind: Kind) -> str:
    taken = [word for word, has in (("holes", kind.holes), ("words", kind.words), ("sentences", kind.text)) if has]
    return f" [{kind.estimator}{'; takes ' + ', '.join(taken) if taken else ''}]"


def _plain(word: str, kind: Kind) -> dict[str, object]:
    return {
        "model": word,
        "class": kind.estimator,
        "group": kind.group,
        "line": kind.line,
        "missing_cells": kind.holes,
        "words": kind.words,
        "options": sorted(kind.options),
    }
