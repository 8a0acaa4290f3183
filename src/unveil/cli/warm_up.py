"""``unveil warm-up``: compile ahead what first fits would wait for.

Each model is fitted to made-up tables (`unveil.cli.rows.made_up`), small and large, in double and single precision, and
asked what it says of their rows: so all kernels are compiled that an ordinary fit meets, and kept where those of every
run are (`unveil.numerics.code_cache`). Fits end after a few passes, since it is not for what they find.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from unveil.cli.errors import printable, say
from unveil.cli.models import ModelName
from unveil.cli.options import argument

if TYPE_CHECKING:
    from unveil.numerics.code_cache import KernelCache

NOT_KEPT = 1  # exit code: of no use to the next process
PASSES = 3  # of a fit: enough for what happens between passes and at the end to take part
PLANE = 2  # components, besides the default, of what projects
COMMON_COVARIANCES = ("diag", "tied", "spherical")  # besides the default: scikit-learn's words
VERBS = ("predict", "predict_proba", "transform", "score_samples", "parse")


class Warmed(NamedTuple):
    """What a warm-up is at."""

    words: str
    done: int
    total: int


def warm_up(
    models: Annotated[
        list[ModelName] | None, argument(metavar="MODEL", help="Models that are to be ready; all by default.")
    ] = None,
) -> None:
    """Compile ahead what the first fit of each MODEL would wait for.

    For images and test machines: what is compiled is kept where NUMBA_CACHE_DIR says, or else beside the installed
    package, and later processes find it there, even where they can only read. The exit code is 1 if it cannot be kept.
    """
    from unveil.cli.progress import progress
    from unveil.numerics import code_cache, softmax  # the latter has kernels, and kernels look for their folder

    _check_folder(softmax.soft_assign._cache)  # type: ignore[attr-defined]
    chosen, began = list(dict.fromkeys(models or ModelName)), perf_counter()
    with progress("Warm-up") as bar, _unjudged():
        for number, model in enumerate(chosen):
            bar.step(Warmed(model.value, number, len(chosen)))
            _use(model)
    _tell(len(chosen), code_cache.made, perf_counter() - began)


def _check_folder(kept: KernelCache) -> None:
    """Leave if compiled code is kept nowhere, or elsewhere than it should be."""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    if not getattr(kept, "can_keep", False):
        say("error: no folder for compiled code can be written; NUMBA_CACHE_DIR may name one that can")
    elif wanted and not _is_below(wanted, kept.cache_path):
        say(f"error: {wanted}, which NUMBA_CACHE_DIR names for compiled code, cannot be written")
    else:
        return
    raise typer.Exit(NOT_KEPT)


def _is_below(above: str, path: str) -> bool:
    above, path = os.path.realpath(above), os.path.realpath(path)
    return os.path.commonpath([above, path]) == above


@contextmanager
def _unjudged() -> Iterator[None]:
    """Fits that end after a few passes are not what they should be, and need not be."""
    logger = logging.getLogger("unveil")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _use(model: ModelName) -> None:
    """Fit a model to all its tables and ask it what it can say."""
    import unveil
    from unveil.cli.rows.made_up import shapes_for, tables_for

    make = getattr(unveil, model.kind.estimator)
    for settings in _settings(model):
        for shape in shapes_for(model.kind.estimator):
            for rows, further in tables_for(model.kind, shape):
                _ask(make(**settings, **_size(model, shape.groups)).fit(rows, **further), rows)


def _settings(model: ModelName) -> Iterator[dict[str, Any]]:
    """Parameters of the fits: the defaults, and what is often chosen in their place."""
    options = model.kind.options
    usual = {options[name]: value for name, value in (("seed", 0), ("max_iter", PASSES)) if name in options}
    yield usual
    yield from (usual | {options["covariance"]: word} for word in COMMON_COVARIANCES if "covariance" in options)
    if not _size(model, PLANE) and "components" in options:
        yield usual | {options["components"]: PLANE}


def _size(model: ModelName, groups: int) -> dict[str, int]:
    """The number of groups, for models that have groups."""
    options = model.kind.options
    name = options.get("components", "n_components")
    return {name: groups} if name != "n_components" or "start" in options else {}  # some have components, but no groups


def _ask(fitted: Any, rows: Any) -> None:
    """What a fitted model says of many rows, and of one."""
    for verb in VERBS:
        for some in (rows, rows[:1]) if hasattr(fitted, verb) else ():
            getattr(fitted, verb)(some)


def _tell(models: int, made: list[KernelCache], seconds: float) -> None:
    """What was done, how long it took and where it lies."""
    kept, lost = sum(cache.kept for cache in made), sum(cache.lost for cache in made)
    folder = os.path.commonpath({cache.cache_path for cache in made})
    number = f"{models} models are" if models > 1 else "1 model is"
    typer.echo(f"{number} ready: {kept:,} kernels compiled in {seconds:.1f} s, kept in {printable(folder)}")
    if lost:
        say(f"error: {lost:,} kernels could not be kept in {folder}; is there room on the disk?")
        raise typer.Exit(NOT_KEPT)
