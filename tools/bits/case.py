"""A case: a name and what is to be done, in parts, each of which makes a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from tools.bits.use import in_full

Parts = Iterator[tuple[str, Callable[[], Any]]]
Use = Callable[..., Parts]

SCHEDULES = ("batch", "incremental", "stepwise", "gradient", "ascent", "lbfgs", "squarem")
EXPECTATIONS = ("exact", "hard", "sampled", "sparse", "annealed")
STRUCTURES = (
    *("full", "tied", "diag", "spherical", "EII", "VII", "EEI", "VEI", "EVI", "VVI"),
    *("EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"),
)


class Case(NamedTuple):
    """Something to be done; the parts are made one after the other."""

    name: str
    run: Callable[[], Parts]


def seeded(model: Any) -> Any:
    """With a seed: a fit that is given none draws one, and keeps it."""
    if model.get_params().get("random_state", 0) is None:
        model.set_params(random_state=0)
    return model


def fit(name: str, model: Any, X: Any, *arguments: Any, use: Use = in_full, on: Any = None, **given: Any) -> Case:
    """Fit `model` to `X`, and use it on the same rows, or on `on`."""
    seeded(model)

    def run() -> Parts:
        yield "fit", lambda: model.fit(X, *arguments, **given)
        yield from use(model, X if on is None else on, **{key: given[key] for key in given.keys() & {"lengths"}})

    return Case(f"{type(model).__name__}/{name}", run)


def feed(name: str, model: Any, batches: list[Any], use: Use = in_full, **given: Any) -> Case:
    """Batch by batch with `partial_fit`, and used on the first."""
    seeded(model)

    def run() -> Parts:
        for number, batch in enumerate(batches):
            yield f"batch {number}", partial(_fed, model, _tuple(batch), given)
        yield from use(model, _tuple(batches[0])[0])

    return Case(f"{type(model).__name__}/{name}", run)


def _fed(model: Any, batch: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """`partial_fit` is looked up late: that there is none may be what the case is about."""
    return model.partial_fit(*batch, **given)


def crossed(**axes: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """All combinations of words, with their names: "algorithm=elkan,init=random"; an axis may map words to values."""
    tables = [axis if isinstance(axis, Mapping) else {str(value): value for value in axis} for axis in axes.values()]
    for words in product(*tables):
        chosen = {name: table[word] for name, table, word in zip(axes, tables, words, strict=True)}
        yield ",".join(f"{name}={word}" for name, word in zip(axes, words, strict=True)), chosen


def grid(make: Callable[..., Any], X: Any, label: str = "", use: Use = in_full, **given: Any) -> Iterator[Case]:
    """Every schedule with every expectation."""
    for name, parts in crossed(schedule=SCHEDULES, expectation=EXPECTATIONS):
        yield fit(f"grid{label}/{name}", make(**parts), X, use=use, **given)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
