"""``unveil fit``: a model from a table to a file."""

from __future__ import annotations

import json
import warnings
from contextlib import AbstractContextManager
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.errors import interruption, say
from unveil.cli.models import (
    STARTS,
    ModelName,
    check_label,
    check_sequence,
    chosen,
    did_you_mean,
    named,
    named_so_far,
    parameters,
)
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
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions

OWN = "by default the model's own"


@reads_tables
def fit(
    model: Annotated[
        ModelName,
        argument(
            metavar="MODEL", parser=named, autocompletion=named_so_far, help="What to fit; unveil models lists them."
        ),
    ],
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")],
    components: Annotated[
        int | None,
        option(
            "--components",
            "-k",
            metavar="N",
            min=1,
            help="Number of components or clusters; without it the model's own, which is said. unveil select finds it.",
        ),
    ] = None,
    covariance: Annotated[
        str | None,
        option(metavar="SHAPE", help="Covariances: full, tied, diag, spherical, or mclust's letters from EII to VVV."),
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    roles: Roles = None,
    kinds: Annotated[
        str | None,
        option(
            metavar="A=KIND,...",
            help="What mixed models take columns for, if not for their role: number, count, yes/no, category, "
            "waiting time.",
        ),
    ] = None,
    label: Annotated[
        str | None, option(metavar="NAME", help="Column with the class of each row (discriminant).")
    ] = None,
    sequence: Sequence = None,
    grammar: Annotated[
        str | None, option(metavar="FILE", help="Rules in nltk's notation to start from (grammar).")
    ] = None,
    weight: Weight = None,
    seed: Seed = 0,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    max_iter: Annotated[int | None, option(metavar="N", min=1, help=f"Most passes over the data; {OWN}.")] = None,
    tol: Annotated[
        float | None, option(metavar="X", min=0, help=f"Change at which the fit has converged; {OWN}.")
    ] = None,
    n_init: Annotated[int | None, option(metavar="N", min=1, help=f"Starts to try; the best is kept; {OWN}.")] = None,
    start: Annotated[
        str | None, option(metavar="WORD", help=f"Where a mixture starts: {', '.join(STARTS)}; {OWN}.")
    ] = None,
    schedule: Annotated[
        str | None, option(metavar="WORD", help=f"When parameters move: {', '.join(SCHEDULES)}; {OWN}.")
    ] = None,
    expectation: Annotated[
        str | None, option(metavar="WORD", help=f"How rows are shared out: {', '.join(EXPECTATIONS)}; {OWN}.")
    ] = None,
    checkpoint: Checkpoint = None,
    force: Force = False,
    as_json: Json = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Fit MODEL to DATA, write it to a file, and say whether it is sound, describes DATA and has real groups.

    Columns are taken by their roles: identifiers, row numbers, constants, copies and free text are not modelled, and a
    model takes columns of its kind (numbers, counts, yes/no, words; mixed models all of them) unless --columns names
    others. The file keeps how DATA was read, so that unveil predict reads a new file the same way.

    Hidden Markov models (gaussian-hmm and so on) take the rows as steps in time; a grammar takes a text file with a
    sentence a line. Most models take missing cells: unveil models says which.

    Ctrl-C while it fits keeps the best so far: the model is saved, a line says so, and the exit code is 130. So does
    SIGTERM, with 143. Earlier than the end of the first pass there is nothing to keep, and nothing is written. With
    --checkpoint the same command goes on where it was, whatever ended it, to the same bits.
    """
    import unveil
    from unveil.cli.rows.opened import Asked, files_of, opened_for

    use_threads(threads)
    use_memory(memory_limit)
    given: dict[str, Any] = {
        "components": components,
        "covariance": chosen("covariance", covariance),
        "kinds": kinds,
        "grammar": grammar,
    }
    given |= {"max_iter": max_iter, "tol": tol, "n_init": n_init, "start": chosen("start", start)}
    given |= {"schedule": chosen("schedule", schedule), "expectation": chosen("expectation", expectation)}
    settled = parameters(model, given, seed)
    check_label(model, label)
    check_sequence(model, sequence)
    if grammar is not None:
        settled["grammar"] = _grammar(grammar)
    inputs = [data] if model.kind.text else files_of(data)
    protect(output, inputs, force or is_begun(checkpoint))
    wished = Asked(data, names_in(columns), names_in(drop, "--drop"), pairs_in(roles, "--roles"), weight, sequence)
    opened = opened_for(model, wished._replace(label=label, reading=reading))
    if "kinds" in model.kind.options:
        settled["families"] = _families(opened, kinds)
    estimator = getattr(unveil, model.kind.estimator)(**settled)
    _announce(model, estimator, components)
    began = perf_counter()
    with resuming(checkpoint, inputs), _task(estimator, opened, output):
        interrupted = _run(estimator, opened, data)
        opened.marked(estimator).save(output)
    if interrupted:
        say(f"interrupted after {len(estimator.history_)} passes; the best so far is saved to {output}")
    seconds = perf_counter() - began
    if not interrupted:
        interrupted = not _examined(estimator, opened, output)
    _tell(estimator, opened, output, seconds, as_json)
    if interrupted:
        raise typer.Exit(interruption())


def _task(estimator: Any, opened: Any, output: str) -> AbstractContextManager[None]:
    """What a checkpoint is of: the fit, and where it is saved, since the same command may replace that."""
    from unveil.estimation.task import named_task

    return named_task("fit", estimator, output=output, X=opened.X, y=opened.labels, **opened.beside)


def _announce(model: ModelName, estimator: Any, components: int | None) -> None:
    """The number of components, where that is a default nobody chose."""
    size = estimator.get_params().get(model.kind.options.get("components", ""))
    if components is None and isinstance(size, int):
        noun = {"n_clusters": "cluster"}.get(model.kind.options["components"], "component")
        chooser = f"; unveil select {model.value} compares numbers of them" if model.kind.group != "projections" else ""
        say(f"-k was not given: {size} {noun}{'' if size == 1 else 's'}{chooser}")


def _grammar(path: str) -> str:
    """The text of a file of rules, checked."""
    from unveil.cli.rows.sequences import read_text
    from unveil.grammar import read_grammar
    from unveil.sources import DataError

    text = read_text(path)
    try:
        read_grammar(text)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return text


def _families(opened: Any, kinds: str | None) -> list[tuple[str, list[int]]]:
    """What columns are taken for: their roles, where the user does not say otherwise."""
    taken = dict(zip(opened.names, opened.kinds, strict=True))
    for name, kind in pairs_in(kinds, "--kinds").items():
        if name not in taken:
            near = did_you_mean(name, {one.lower(): one for one in taken})
            raise ValueError(f"--kinds: no column {name!r} is modelled; there are {', '.join(list(taken)[:10])}{near}")
        taken[name] = str(chosen("kinds", kind))
    return [(kind, [place]) for place, kind in enumerate(taken.values())]


def _run(estimator: Any, opened: Any, data: str) -> bool:
    """Fit, showing progress. Was it interrupted?"""
    from unveil.cli.progress import progress
    from unveil.core.result import Status

    with progress(f"{type(estimator).__name__} on {data}") as bar, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+: interrupted")  # said once the file is there
        with bar.watching(estimator):
            estimator.fit(opened.X, opened.labels, **opened.beside)
    if not hasattr(estimator, "history_") or estimator.history_.status is not Status.INTERRUPTED:
        return False
    if not estimator.history_:
        raise KeyboardInterrupt
    return True


def _examined(estimator: Any, opened: Any, output: str) -> bool:
    """Examine the model, and save it again with the verdicts; it is safe while they are looked for. Was that done?"""
    try:
        _examine(estimator, opened)
    except KeyboardInterrupt:
        say(f"interrupted; the model is saved to {output}, but was not examined")
        return False
    estimator.save(output)
    return True


def _examine(estimator: Any, opened: Any) -> None:
    """Put the three verdicts and their reasons in place of what the fit said of itself, for the file to keep."""
    import numpy as np

    from unveil.judgement.examine import examine

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that are made to compare with are none of the user's
        found = examine(estimator, opened.X, opened.labels, lengths=opened.lengths, sample_weight=opened.weights)
    estimator.certificate_ = found
    if found.clusters is not None:
        estimator.clusters_ = np.array(found.clusters, dtype=np.intp)


def _tell(estimator: Any, opened: Any, output: str, seconds: float, as_json: bool) -> None:
    """What was fitted, to what, and where it is."""
    from unveil.cli.summary import show_page, summary

    facts: dict[str, Any] = {"rows": opened.n_rows, "skipped": list(opened.left_out), "said": list(opened.said)}
    facts |= {"seconds": round(seconds, 3)}
    if as_json:
        typer.echo(json.dumps({"output": output, **facts, **summary(estimator)}, allow_nan=False))
        return
    said = {"saved to": output, "rows": f"{opened.n_rows:,}"}
    said |= {"read": " ".join(opened.said)} if opened.said else {}
    said |= {"columns": ", ".join(opened.names)} if opened.names else {}
    said |= {"left out": ", ".join(opened.left_out)} if opened.left_out else {}
    show_page(said | {"seconds": f"{seconds:.2f}"}, estimator, type(estimator).__name__)
