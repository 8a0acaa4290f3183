"""``unveil predict``: what a model says of each row of a table, written as the rows stream by."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from unveil.cli.errors import say
from unveil.cli.options import (
    Data,
    Force,
    MemoryLimit,
    Model,
    Output,
    Sequence,
    Threads,
    protect,
    reads_tables,
    use_memory,
    use_threads,
)
from unveil.cli.rows.answers import Answer, answers_of, groups_said

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions


@reads_tables
def predict(
    model: Model,
    data: Data,
    output: Output = "-",
    sequence: Sequence = None,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    force: Force = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Say of each row of DATA what MODEL makes of it.

    First the row number (from 1) and columns that identify a row. Then, of K-means: the cluster and the distance to
    its centre. Mixtures: the cluster, the component, the probability of the cluster and of each component, the
    log-density. Projections: the scores pc1, pc2 and so on (factor1, source1 for factors and sources), the place on a
    curve or map. Discriminants: the class, and the probability of each. Hidden Markov models: the state on the
    likeliest path, and the probability of each. Grammars: the best tree of each line and log-probabilities.

    DATA is read as the table was that MODEL was fitted to: the same marks, columns, categories and sequences.
    Clusters, components and states count from 1, as the groups of a report do. The cluster of a mixture is 1 for all
    rows where there are no groups, and empty where that is not clear; the component is there in any case.
    """
    use_memory(memory_limit)
    write_answers(model, data, output, answers_of, sequence, threads, force, reading, notes=groups_said)


def write_answers(
    model: str,
    data: str,
    output: str,
    answer_of: Callable[[Any], Answer],
    sequence: str | None,
    threads: int | None,
    force: bool,
    reading: ReadingOptions,
    notes: Callable[[Any], Iterable[str]] = lambda estimator: (),
) -> None:
    """Ask a model of all rows, and write what it says; `notes` are what is to be known of it besides."""
    import unveil
    from unveil.cli import output as outputs
    from unveil.cli.progress import progress
    from unveil.cli.rows.again import opened_again

    use_threads(threads)
    outputs.writer_of(output)  # an error now for a kind of table that is not written
    estimator = unveil.load(model)
    answer = answer_of(estimator)
    table = opened_again(estimator, data, sequence, reading)
    if output != outputs.STDOUT:
        protect(output, [model, *table.files], force)
    for words in (*table.said, *notes(estimator)):
        say(words)
    title = f"{type(estimator).__name__} on {data}"
    with progress(title) as bar, outputs.table(output) as write, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns were chosen by name
        for keys, rows, count in table.batches():
            write(keys | answer(rows, table.beside))
            bar.advance(count)
