"""``unveil predict``: what a model says of each row of a table, written as the rows stream by."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from unveil.cli.options import Data, Threads, argument, option, protect, use_threads


def predict(
    model: Annotated[str, argument(metavar="MODEL", help="A model file.")],
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file; - is CSV on stdout.")
    ] = "-",
    sequence: Annotated[
        str | None, option(metavar="NAME", help="Column that names the sequence of a row (hidden Markov models).")
    ] = None,
    threads: Threads = None,
) -> None:
    """Say of each row of DATA what MODEL makes of it.

    K-means: the cluster and the distance to its centre. Mixtures: the likeliest component, the probability of each, and
    the log-density. Projections: the scores pc1, pc2 and so on (factor1, source1 for factors and sources), the place on
    a curve or map. Discriminants: the class, and the probability of each. Hidden Markov models: the state on the
    likeliest path, and the probability of each. Grammars: the best tree of each line and log-probabilities. Columns
    are found by name where the model and the table have names.
    """
    from sklearn.utils import get_tags

    import unveil
    from unveil.cli import output as outputs
    from unveil.cli.progress import progress

    use_threads(threads)
    outputs.writer_of(output)  # an error now for a kind of table that is not written
    estimator = unveil.load(model)
    table, lengths = _opened(estimator, data, sequence)
    if output != outputs.STDOUT:
        protect(output, [model, *table.files])
    answer = _answers(estimator, lengths)
    title = f"{type(estimator).__name__} on {data}"
    with progress(title) as bar, outputs.table(output) as write, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns were chosen by name
        whole = hasattr(estimator, "transmat_") or hasattr(estimator, "grammar_")
        for rows in [table] if whole else _batches(table, get_tags(estimator).input_tags.allow_nan):
            write(answer(rows))
            bar.advance(rows.n_rows)


def _opened(estimator: Any, data: str, sequence: str | None) -> tuple[Any, Any]:
    """The table or the sentences that the model takes, and the lengths of sequences."""
    if sequence is not None and not hasattr(estimator, "transmat_"):
        raise ValueError(f"--sequence is of hidden Markov models; the model is a {type(estimator).__name__}")
    if hasattr(estimator, "grammar_"):
        from unveil.cli.sequences import read_sentences

        return read_sentences(data), None
    table = (_words_of if hasattr(estimator, "categories_") else _columns_of)(estimator, data)
    if not hasattr(estimator, "transmat_"):
        return table, None
    from unveil.cli.sequences import sequenced

    return sequenced(table, data, sequence)


def _columns_of(estimator: Any, data: str) -> Any:
    """A scan of the columns that the model was fitted on."""
    import unveil
    from unveil.sources import DataError

    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    if not names:
        return unveil.scan(data)
    try:
        return unveil.scan(data, columns=names)
    except DataError:
        every = unveil.scan(data)
        if every.names is None:  # npy files have no names: go by position
            return every
        found = {name for name, _ in every.schema()}
        missing = [name for name in names if name not in found]
        if missing:
            raise ValueError(f"{data}: columns of the model that are missing: {', '.join(missing)}") from None
        raise


def _words_of(estimator: Any, data: str) -> Any:
    """The columns that a model of words or of mixed columns was fitted on, read whole."""
    from unveil.cli.frame import read_frame

    return read_frame(data, [str(name) for name in getattr(estimator, "feature_names_in_", ())] or None)


def _batches(table: Any, missing: bool, together: int = 16) -> Iterator[Any]:
    """The rows, so many whole partitions at a time, so that each is cut as in the table.

    Sixteen are enough to keep all threads busy, and little enough to stream.
    """
    import numpy as np

    from unveil.core.partition import partition_rows

    if hasattr(table, "batches"):
        yield from table.batches(together * partition_rows(table.n_columns))
        return
    from unveil.estimation.input import refuse_nonfinite
    from unveil.sources import ArraySource

    blocks = table.read()
    while batch := [block.rows for block in islice(blocks, together)]:
        rows = np.concatenate(batch)
        if not np.all(np.isfinite(rows)):
            refuse_nonfinite(table, missing)
        yield ArraySource(rows, names=table.names)


def _answers(estimator: Any, lengths: Any = None) -> Callable[[Any], dict[str, Any]]:
    """Columns that the model has to say of some rows, by what it can do."""
    if hasattr(estimator, "transmat_"):
        return lambda rows: _states(estimator, rows, lengths)
    for mark, answer in ANSWERS.items():
        if hasattr(estimator, mark):
            return lambda rows: answer(estimator, rows)
    return lambda rows: _scores(estimator, rows)


def _mixture(estimator: Any, rows: Any) -> dict[str, Any]:
    chances = estimator.predict_proba(rows)
    by_component = {f"probability_{k}": column for k, column in enumerate(chances.T)}
    return {"cluster": estimator.predict(rows), **by_component, "log_density": estimator.score_samples(rows)}


def _states(estimator: Any, rows: Any, lengths: Any) -> dict[str, Any]:
    chances = estimator.predict_proba(rows, lengths)
    by_state = {f"probability_{k}": column for k, column in enumerate(chances.T)}
    return {"state": estimator.predict(rows, lengths), **by_state}


def _trees(estimator: Any, sentences: Any) -> dict[str, Any]:
    import numpy as np

    parsed = estimator.parse(sentences)
    trees = np.array(["" if best.tree is None else str(best.tree) for best in parsed], dtype=object)
    best = np.array([best.log_probability for best in parsed])
    return {"log_probability": estimator.score_samples(sentences), "tree": trees, "log_probability_of_tree": best}


def _clusters(estimator: Any, rows: Any) -> dict[str, Any]:
    import numpy as np

    labels = estimator.predict(rows)
    return {"cluster": labels, "distance": estimator.transform(rows)[np.arange(len(labels)), labels]}


def _classes(estimator: Any, rows: Any) -> dict[str, Any]:
    chances = estimator.predict_proba(rows)
    by_class = {f"probability_{name}": column for name, column in zip(estimator.classes_, chances.T, strict=True)}
    return {"class": estimator.predict(rows), **by_class}


def _map(estimator: Any, rows: Any) -> dict[str, Any]:
    return _numbered("map", estimator.transform(rows)) | {"log_density": estimator.score_samples(rows)}


def _curve(estimator: Any, rows: Any) -> dict[str, Any]:
    return {"coordinate": estimator.transform(rows)[:, 0], "distance": estimator.distance(rows)}


def _scores(estimator: Any, rows: Any) -> dict[str, Any]:
    word = {"FactorAnalysis": "factor", "ICA": "source"}.get(type(estimator).__name__, "pc")
    return _numbered(word, estimator.transform(rows))


def _numbered(word: str, columns: Any) -> dict[str, Any]:
    return {f"{word}{number}": column for number, column in enumerate(columns.T, start=1)}


ANSWERS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "grammar_": _trees,
    "classes_": _classes,
    "lattice_": _map,
    "predict_proba": _mixture,
    "n_clusters": _clusters,
    "points_": _curve,
}
"""What a model has to say, by the attribute that marks its kind; the first that it has counts."""
