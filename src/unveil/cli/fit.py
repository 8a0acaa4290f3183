"""``unveil fit``: a model from a table to a file."""

from __future__ import annotations

import json
import warnings
from time import perf_counter
from typing import Annotated, Any

import typer

from unveil.cli.errors import INTERRUPTED, say
from unveil.cli.models import STARTS, ModelName, check_label, check_sequence, chosen, parameters
from unveil.cli.options import (
    Columns,
    Data,
    Json,
    Seed,
    Threads,
    Weight,
    argument,
    names_in,
    option,
    protect,
    use_threads,
)
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES


def fit(
    model: Annotated[ModelName, argument(metavar="MODEL", help="What to fit.")],
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")],
    components: Annotated[
        int | None, option("--components", "-k", min=1, help="Number of components or clusters.")
    ] = None,
    covariance: Annotated[
        str | None,
        option(metavar="SHAPE", help="Covariances: full, tied, diag, spherical, or mclust's letters from EII to VVV."),
    ] = None,
    columns: Columns = None,
    kinds: Annotated[
        str | None,
        option(
            metavar="A=KIND,...",
            help="What columns are, where their types mislead (mixed-mixture): number, count, yes/no, category.",
        ),
    ] = None,
    label: Annotated[
        str | None, option(metavar="NAME", help="Column with the class of each row (discriminant).")
    ] = None,
    sequence: Annotated[
        str | None,
        option(
            metavar="NAME",
            help="Column that names the sequence a row belongs to (hidden Markov models); without it all rows are one.",
        ),
    ] = None,
    grammar: Annotated[
        str | None, option(metavar="FILE", help="Rules in nltk's notation to start from (grammar).")
    ] = None,
    weight: Weight = None,
    seed: Seed = 0,
    threads: Threads = None,
    max_iter: Annotated[int | None, option(min=1, help="Most passes over the data.")] = None,
    tol: Annotated[float | None, option(min=0, help="Change at which the fit has converged.")] = None,
    n_init: Annotated[int | None, option(min=1, help="Starts to try; the best is kept.")] = None,
    start: Annotated[str | None, option(metavar="WORD", help=f"Where a mixture starts: {', '.join(STARTS)}.")] = None,
    schedule: Annotated[
        str | None, option(metavar="WORD", help=f"When parameters move: {', '.join(SCHEDULES)}.")
    ] = None,
    expectation: Annotated[
        str | None, option(metavar="WORD", help=f"How rows are shared out: {', '.join(EXPECTATIONS)}.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit MODEL to DATA, write it to a file, and say whether it is sound, describes DATA and has real groups.

    Mixtures take missing cells, except student-mixture; so do probabilistic-pca, factor-analysis and topographic-map.
    The mixtures called categorical and mixed also read columns of words.

    Hidden Markov models (gaussian-hmm and so on) take the rows as steps in time, missing steps and cells too; a grammar
    takes a text file with a sentence a line.

    Ctrl-C while it fits keeps the best so far: the model is saved, a line says so, and the exit code is 130. Earlier
    than the end of the first pass there is nothing to keep, and nothing is written.
    """
    import unveil

    use_threads(threads)
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
    table, lengths = _opened(model, data, names_in(columns), weight, sequence)
    if kinds is not None:
        settled["families"] = _families(table, kinds)
    estimator = getattr(unveil, model.kind.estimator)(**settled)
    protect(output, table.files)
    began = perf_counter()
    interrupted = _run(estimator, table, data, label, lengths)
    estimator.save(output)
    if interrupted:
        say(f"interrupted after {len(estimator.history_)} passes; the best so far is saved to {output}")
    seconds = perf_counter() - began
    if not interrupted:
        _examine(estimator, table, label, lengths)
        estimator.save(output)  # again, with the verdicts: the model is safe while they are looked for
    _tell(estimator, table, output, seconds, as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _opened(
    model: ModelName, data: str, columns: list[str] | None, weight: str | None, sequence: str | None
) -> tuple[Any, Any]:
    """The table, a scan of its numbers or all columns for models that take words, and lengths of its sequences."""
    import unveil

    kind = model.kind
    if kind.text:
        if columns is not None or weight is not None:
            raise ValueError(f"--columns and --weight are not options of {model.value}, which reads sentences")
        from unveil.cli.sequences import read_sentences

        return read_sentences(data), None
    if not kind.words:
        table = unveil.scan(data, columns=columns, weight=weight)
    else:
        from unveil.cli.frame import read_frame

        table = read_frame(data, columns, weight)
    if not kind.chained:
        return table, None
    from unveil.cli.sequences import sequenced

    return sequenced(table, data, sequence)


def _grammar(path: str) -> str:
    """The text of a file of rules, checked."""
    from unveil.cli.sequences import read_text
    from unveil.grammar import read_grammar
    from unveil.sources import DataError

    text = read_text(path)
    try:
        read_grammar(text)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return text


def _families(table: Any, kinds: str) -> list[tuple[str, list[int]]]:
    """What columns are taken for where their types mislead, as the user has it."""
    names = list(table.names or [f"x{number}" for number in range(table.n_columns)])
    found = []
    for pair in names_in(kinds, "--kinds") or []:
        name, _, kind = pair.rpartition("=")
        if name not in names:
            taken = f"COLUMN=KIND with commas between them, where columns are {', '.join(names[:10])}"
            raise ValueError(f"--kinds must be {taken}; got {pair!r}")
        found.append((str(chosen("kinds", kind)), [names.index(name)]))
    return found


def _run(estimator: Any, table: Any, data: str, label: str | None, lengths: Any) -> bool:
    """Fit, showing progress. Was it interrupted?"""
    import numpy as np

    from unveil.cli.progress import progress
    from unveil.core.result import Status

    with progress(f"{type(estimator).__name__} on {data}") as bar, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+: interrupted")  # said once the file is there
        weights = getattr(table, "weights", None)  # a scan brings its own along
        extra = {} if weights is None else {"sample_weight": weights}
        extra |= {} if lengths is None else {"lengths": lengths}
        with bar.watching(estimator):
            estimator.fit(table, label, **extra)
    if table.names is not None and label is None and not hasattr(estimator, "feature_names_in_"):
        estimator.feature_names_in_ = np.array(table.names, dtype=object)  # scikit-learn knows frames of others only
    if not hasattr(estimator, "history_") or estimator.history_.status is not Status.INTERRUPTED:
        return False
    if not estimator.history_:
        raise KeyboardInterrupt
    return True


def _examine(estimator: Any, table: Any, label: str | None, lengths: Any) -> None:
    """Put the three verdicts and their reasons in place of what the fit said of itself, for the file to keep."""
    import numpy as np

    from unveil.judgement.examine import examine

    weights = getattr(table, "weights", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that are made to compare with are none of the user's
        found = examine(estimator, table, label, lengths=lengths, sample_weight=weights)
    estimator.certificate_ = found
    if found.clusters is not None:
        estimator.clusters_ = np.array(found.clusters, dtype=np.intp)


def _tell(estimator: Any, table: Any, output: str, seconds: float, as_json: bool) -> None:
    """What was fitted, to what, and where it is."""
    from unveil.cli.summary import show_page, summary

    facts: dict[str, Any] = {"rows": table.n_rows, "skipped": list(table.skipped), "seconds": round(seconds, 3)}
    if as_json:
        typer.echo(json.dumps({"output": output, **facts, **summary(estimator)}, allow_nan=False))
        return
    names = ", ".join(table.names or ()) or f"{table.n_columns:,} columns"
    said = {"saved to": output, "rows": f"{table.n_rows:,}", "columns": names}
    said |= {"left out": ", ".join(table.skipped)} if table.skipped else {}
    show_page(said | {"seconds": f"{seconds:.2f}"}, estimator, type(estimator).__name__)
