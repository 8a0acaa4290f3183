"""``unveil sample``: rows, sequences or sentences drawn from a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp, expm1
from typing import Annotated, Any

from unveil.cli.counting import from_one
from unveil.cli.options import Force, Model, Output, Seed, option, protect


def sample(
    model: Model,
    count: Annotated[int, option("--number", "-n", metavar="N", min=1, help="How many to draw; 100 by default.")] = 100,
    output: Output = "-",
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Draw rows from MODEL: a table like the one that it was fitted to, made up.

    Mixtures also say which component a row came from, hidden Markov models the state (the rows are one sequence), maps
    the point of the lattice; all counted from 1. Grammars draw sentences, with their trees. K-means, PCA and others
    that are no density have nothing to draw from.
    """
    import unveil
    from unveil.cli import output as outputs

    outputs.writer_of(output)
    estimator = unveil.load(model)
    if not hasattr(estimator, "sample"):
        raise ValueError(f"{type(estimator).__name__} is no density, so there is nothing to draw from")
    if output != outputs.STDOUT:
        protect(output, [model], force)
    drawn = estimator.set_params(random_state=seed).sample(count)
    with outputs.table(output) as write:
        write(_columns(estimator, drawn))


def _columns(estimator: Any, drawn: Any) -> dict[str, Any]:
    """What was drawn, by the names of the model's columns, and where it came from."""
    import numpy as np

    if hasattr(estimator, "grammar_"):
        sentences, trees = drawn
        return {"sentence": [" ".join(words) for words in sentences], "tree": [str(tree) for tree in trees]}
    rows, origin = drawn if isinstance(drawn, tuple) else (drawn, None)
    rows = np.asarray(rows)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    names = names or [f"x{number}" for number in range(rows.shape[1])]
    taken = {column["name"]: column for column in getattr(estimator, "recipe_", {}).get("columns", ())}
    columns = {name: _as_written(rows[:, place], taken.get(name, {})) for place, name in enumerate(names)}
    return columns if origin is None else columns | {_origin(estimator): from_one(origin)}


BACK: Mapping[str, Callable[[float], float]] = {"log": exp, "log1p": expm1, "sqrt": lambda root: root * root}
"""From what a number was turned into for the model back to the number."""


def _as_written(cells: Any, column: Mapping[str, Any]) -> list[Any]:
    """A column as the table had it: words for yes and no, numbers without the transform that the model took."""
    found = cells.tolist()
    if column.get("kind") == "yes/no" and len(column.get("levels", ())) == 2:
        return [column["levels"][int(cell)] for cell in found]
    if column.get("transform") in BACK:
        return [BACK[column["transform"]](cell) for cell in found]
    return found


def _origin(estimator: Any) -> str:
    """What the hidden part of a draw is called."""
    marks = {"transmat_": "state", "lattice_": "point"}
    return next((word for mark, word in marks.items() if hasattr(estimator, mark)), "component")
