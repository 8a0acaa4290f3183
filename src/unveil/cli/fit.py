"""``unveil fit``: a model from a table to a file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from enum import Enum
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import typer

from unveil.cli.errors import INTERRUPTED, say
from unveil.cli.options import Columns, Data, Json, Seed, Threads, Weight, names_in, protect, use_threads


class Kind(NamedTuple):
    """A model as the command line knows it: its class, and which of its parameters each option sets."""

    estimator: str
    options: Mapping[str, str]


class ModelName(Enum):
    """The models, by the words that choose them."""

    PCA = "pca"
    K_MEANS = "kmeans"
    GAUSSIAN_MIXTURE = "gaussian-mixture"
    BERNOULLI_MIXTURE = "bernoulli-mixture"


class Covariance(Enum):
    """Shapes of the covariances of a Gaussian mixture."""

    FULL = "full"
    TIED = "tied"
    DIAGONAL = "diag"
    SPHERICAL = "spherical"


ITERATES = {"seed": "random_state", "max_iter": "max_iter", "tol": "tol", "n_init": "n_init"}
MIXES = ITERATES | {"components": "n_components"}
KINDS = {
    ModelName.PCA: Kind("PCA", {"components": "n_components"}),
    ModelName.K_MEANS: Kind("KMeans", ITERATES | {"components": "n_clusters"}),
    ModelName.GAUSSIAN_MIXTURE: Kind("GaussianMixture", MIXES | {"covariance": "covariance_type"}),
    ModelName.BERNOULLI_MIXTURE: Kind("BernoulliMixture", MIXES),
}


def fit(
    model: Annotated[ModelName, typer.Argument(metavar="MODEL", help="What to fit.", show_default=False)],
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")],
    components: Annotated[
        int | None,
        typer.Option("--components", "-k", min=1, help="Number of components or clusters.", show_default=False),
    ] = None,
    covariance: Annotated[
        Covariance | None, typer.Option(help="Shape of the covariances (gaussian-mixture).", show_default=False)
    ] = None,
    columns: Columns = None,
    weight: Weight = None,
    seed: Seed = 0,
    threads: Threads = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="Most passes over the data.", show_default=False)] = None,
    tol: Annotated[
        float | None, typer.Option(min=0, help="Change at which the fit has converged.", show_default=False)
    ] = None,
    n_init: Annotated[
        int | None, typer.Option(min=1, help="Starts to try; the best is kept.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit MODEL to DATA and write it to a file.

    Ctrl-C while it fits keeps the best so far: the model is saved, a line says so, and the exit code is 130. Earlier
    than the end of the first pass there is nothing to keep, and nothing is written.
    """
    import unveil

    use_threads(threads)
    chosen: dict[str, Any] = {"components": components, "covariance": covariance and covariance.value}
    chosen |= {"max_iter": max_iter, "tol": tol, "n_init": n_init}
    estimator = getattr(unveil, KINDS[model].estimator)(**_parameters(model, chosen, seed))
    table = unveil.scan(data, columns=names_in(columns), weight=weight)
    protect(output, table.files)
    began = perf_counter()
    interrupted = _run(estimator, table, data)
    estimator.save(output)
    if interrupted:
        say(f"interrupted after {len(estimator.history_)} passes; the best so far is saved to {output}")
    _tell(estimator, table, output, perf_counter() - began, as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _parameters(model: ModelName, chosen: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters of the estimator, from the options that were given."""
    options = KINDS[model].options
    given = {name: value for name, value in chosen.items() if value is not None}
    for name in given:
        if name not in options:
            takers = ", ".join(other.value for other, kind in KINDS.items() if name in kind.options)
            raise ValueError(f"--{name.replace('_', '-')} is not an option of {model.value}; it is one of {takers}")
    given |= {"seed": seed} if "seed" in options else {}
    return {options[name]: value for name, value in given.items()}


def _run(estimator: Any, table: Any, data: str) -> bool:
    """Fit, showing progress. Was it interrupted?"""
    from unveil.cli.progress import progress
    from unveil.core.result import Status

    with progress(f"{type(estimator).__name__} on {data}") as bar, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+: interrupted")  # said once the file is there
        bar.attach(estimator)
        estimator.fit(table)
    if not hasattr(estimator, "history_") or estimator.history_.status is not Status.INTERRUPTED:
        return False
    if not estimator.history_:
        raise KeyboardInterrupt
    return True


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
