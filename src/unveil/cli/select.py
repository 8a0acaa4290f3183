"""``unveil select``: how many groups, and of which shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.errors import interruption, printable, was_interrupted
from unveil.cli.models import ModelName, chosen, named, named_so_far, parameters
from unveil.cli.options import (
    Checkpoint,
    Columns,
    Data,
    Drop,
    Force,
    Json,
    MemoryLimit,
    Roles,
    Seed,
    Sequence,
    Threads,
    Weight,
    argument,
    is_begun,
    names_in,
    option,
    pairs_in,
    protect,
    reads_tables,
    resuming,
    use_memory,
    use_threads,
)

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions

MOST_SIZES = 200  # numbers of groups that a range may stand for: more are a slip of the finger


@reads_tables
def select(
    model: Annotated[
        ModelName,
        argument(
            metavar="MODEL",
            parser=named,
            autocompletion=named_so_far,
            help="What to compare; unveil models lists them.",
        ),
    ],
    data: Data,
    components: Annotated[
        str, option("--components", "-k", metavar="A-B", help="Numbers to try, as 1-9 (the default) or 2,4,8.")
    ] = "1-9",
    covariance: Annotated[
        str | None,
        option(metavar="A,B,...", help="Covariances to try, as full,diag; mclust is all fourteen."),
    ] = None,
    criterion: Annotated[
        str, option(metavar="WORD", help="What decides: bic, aic, icl, held_out; for clusters votes, gap and so on.")
    ] = "auto",
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the best model to a file.")
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    roles: Roles = None,
    weight: Weight = None,
    sequence: Sequence = None,
    n_init: Annotated[int | None, option(metavar="N", min=1, help="Starts to try for each; the best is kept.")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    checkpoint: Checkpoint = None,
    force: Force = False,
    as_json: Json = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Fit MODEL to DATA with every number of groups asked for, and say which is best and how sure that is.

    The table has a line for each fit, the best marked. Below it: the verdict in words, how many groups there are (none
    is an answer, and so is "not clear"), and whether the best is sound, describes DATA and has real groups.

    Ctrl-C ends the comparison: the best so far is told and saved, and the exit code is 130. With --checkpoint the same
    command goes on where it was, whatever ended it.
    """
    import unveil
    from unveil.cli.progress import progress
    from unveil.cli.rows.opened import Asked, files_of, opened_for
    from unveil.estimation.task import named_task

    use_threads(threads)
    use_memory(memory_limit)
    grid = _grid(model, components, covariance)
    settled = parameters(model, {"n_init": n_init}, seed)
    asked = Asked(data, names_in(columns), names_in(drop, "--drop"), pairs_in(roles, "--roles"), weight, sequence)
    inputs = [data] if model.kind.text else files_of(data)
    if output is not None:
        protect(output, inputs, force or is_begun(checkpoint))
    opened = opened_for(model, asked._replace(reading=reading))
    estimator = getattr(unveil, model.kind.estimator)(**settled)
    asked_for = {"output": output, "grid": grid, "criterion": criterion, "X": opened.X, **opened.beside}
    with resuming(checkpoint, inputs), named_task("select", estimator, **asked_for):
        with progress(f"{model.value} on {data}") as bar:
            outcome = unveil.select(
                estimator, opened.X, grid, criterion=criterion, callbacks=[bar.tried(grid)], **opened.beside
            )
        best = opened.marked(outcome.best_estimator_)
        best.certificate_ = outcome.certificate
        if output is not None:
            best.save(output)
    _tell(outcome, opened, output, as_json)
    if was_interrupted():
        raise typer.Exit(interruption())


def _grid(model: ModelName, components: str, covariance: str | None) -> dict[str, list[Any]]:
    """What is tried, by parameter."""
    options = model.kind.options
    if "components" not in options:
        raise ValueError(f"{model.value} has no number of components to choose")
    grid: dict[str, list[Any]] = {options["components"]: sizes_in(components)}
    if covariance is not None:
        if "covariance" not in options:
            takers = ", ".join(other.value for other in ModelName if "covariance" in other.kind.options)
            raise ValueError(f"--covariance is not an option of {model.value}; it is one of {takers}")
        grid[options["covariance"]] = structures_in(covariance)
    return grid


def structures_in(given: str) -> list[str]:
    """Shapes of covariances in a list; "mclust" stands for all that it has."""
    from unveil.estimation.registry import STRUCTURES

    if given.lower() == "mclust":
        return [word for word in STRUCTURES if word.isupper()]
    return [str(chosen("covariance", word)) for word in names_in(given, "--covariance") or ()]


def sizes_in(text: str) -> list[int]:
    """Numbers in a list with commas, in which 2-5 stands for all from 2 to 5.

    >>> sizes_in("1-3,8")
    [1, 2, 3, 8]
    """
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise ValueError(f"-k must be numbers as in 1-9 or 2,4,8, got {text!r}")
        found += range(int(low), int(high if dash else low) + 1)
    if not found or min(found) < 1 or len(found) > MOST_SIZES:
        raise ValueError(f"-k must stand for 1 to {MOST_SIZES} numbers from 1 on, got {text!r}")
    return sorted(set(found))


def _tell(outcome: Any, opened: Any, output: str | None, as_json: bool) -> None:
    """The table, the verdict, and where the best is."""
    if as_json:
        typer.echo(json.dumps(_plain(outcome, opened, output), allow_nan=False))
        return
    from rich.console import Console

    for words in opened.said:
        typer.echo(printable(words))
    Console(highlight=False).print(_table(outcome))
    lines = [outcome.verdict(), outcome.certificate.verdict if outcome.certificate.findings else ""]
    lines += [f"The best is in {output}" if output is not None else ""]
    typer.echo("\n".join(printable(line) for line in lines if line))


def _plain(outcome: Any, opened: Any, output: str | None) -> dict[str, Any]:
    """The same for machines."""
    from unveil.cli.summary import plain

    return {
        "rows": opened.n_rows,
        "columns": list(opened.names or ()) or None,
        "criterion": outcome.criterion,
        "best": plain(outcome.best_params_),
        "n_components": outcome.n_components,
        "n_clusters": outcome.n_clusters,
        "decisive": outcome.decisive,
        "verdict": outcome.verdict(),
        "verdicts": outcome.verdicts(),
        "alternatives": plain(outcome.alternatives),
        "table": plain(outcome.table),
        "output": output,
    }


def _table(outcome: Any) -> Any:
    """A line for each fit, the best marked; columns that say nothing are left out."""
    from rich.table import Table

    rows = [{**row, "note": row["error"] or row["degenerate"] or _unfinished(row)} for row in outcome.table]
    asked = [name for name in (*outcome.grid, *SHOWN, "note") if name in rows[0]]
    names = [name for name in asked if any(row[name] not in (None, "") for row in rows)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in names:
        table.add_column(HEADINGS.get(name, name.replace("_", " ")), justify="left" if name in LEFT else "right")
    for place, row in enumerate(rows):
        best = place == outcome.best_index_
        table.add_row("*" if best else "", *(_cell(row[name]) for name in names), style="bold green" if best else "")
    return table


HEADINGS = {"n_components": "k", "n_clusters": "k", "n_nonterminals": "symbols", "covariance_type": "covariance"}
HEADINGS |= {"bic": "BIC", "aic": "AIC", "icl": "ICL", "log_likelihood": "log-likelihood"}
LEFT = ("covariance_type", "note")
SHOWN = (
    "votes",
    "inertia",
    "elbow",
    "silhouette",
    "gap",
    "stability",
    "bic",
    "aic",
    "icl",
    "held_out",
    "log_likelihood",
)
"""Criteria that a terminal has room for; --json has what else was measured."""


def _unfinished(row: dict[str, Any]) -> str:
    return "not converged" if row["converged"] is False else ""


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"
    return "" if value is None else printable(str(value))
