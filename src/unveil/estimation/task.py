"""A whole fit as a task of a checkpoint: what it is of, in words that tell it from any other.

With no checkpoint open this costs a look at a context variable. Options that change no bit (the engine, the log) are no
part of it: a fit may be resumed on other threads, or on a cluster.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from unveil.core.checkpoint import Notebook, notebook

FREE = frozenset({"engine", "verbose", "verbose_interval", "copy_x"})  # parameters that change no bit
SHORT_WORD = 60  # letters of a value that is shown as it is
UNSURE = ("...", " at 0x", "array(")  # in what an object says of itself: it may not say all
SHORT_PRINT = 12  # letters of a fingerprint that messages show


def fit_task(estimator: Any, **given: Any) -> AbstractContextManager[None]:
    """The fit of an estimator to what it is given; a task of its own unless it is part of another."""
    kept = notebook()
    if kept is None or kept.within:
        return nullcontext()
    return kept.task(identity_of(kept, estimator, given))


def named_task(what: str, estimator: Any, **given: Any) -> AbstractContextManager[None]:
    """The same for other work: a comparison, a report."""
    kept = notebook()
    if kept is None or kept.within:
        return nullcontext()
    return kept.task({"task": what} | identity_of(kept, estimator, given))


class Named(str):
    """A word that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def identity_of(kept: Notebook, estimator: Any, given: dict[str, Any]) -> dict[str, str]:
    """Class, parameters and data, each in words."""
    own = {} if estimator is None else {"estimator": Named(type(estimator).__name__), **_parameters(estimator)}
    if getattr(estimator, "warm_start", False):
        own["fit to go on from"] = getattr(getattr(estimator, "_stream", None), "params", None)
    kept.prints.forget()
    there = {name: value for name, value in given.items() if value is not None}
    return {name: in_words(kept, value) for name, value in (own | there).items()}


def _parameters(estimator: Any) -> dict[str, Any]:
    found = estimator.get_params(deep=False)
    return {name: value for name, value in found.items() if name not in FREE}


def in_words(kept: Notebook, value: Any) -> str:
    """What a value is; where it is long, its kind and its fingerprint."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        word = repr(value.item() if isinstance(value, np.generic) else value)
        if len(word) <= SHORT_WORD:
            return word
    kind = type(value).__name__
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return kind  # what it draws first is kept
    try:
        mark = kept.prints.of(value)[:SHORT_PRINT]
    except (TypeError, RecursionError):
        return kind
    word = repr(value) if isinstance(value, list | tuple | dict | range) or is_dataclass(value) else ""
    if 0 < len(word) <= SHORT_WORD and not any(mark in word for mark in UNSURE):
        return word
    size = " x ".join(map(str, value.shape)) if isinstance(getattr(value, "shape", None), tuple) else ""
    size = size or (f"{len(value)} entries" if hasattr(value, "__len__") else "")
    dtype = getattr(value, "dtype", "")
    return " ".join(filter(None, (kind, str(dtype), size, f"[{mark}]")))
