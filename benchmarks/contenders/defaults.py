"""Any class with `fit`, made with nothing set but its size and its seed: whole fits, and what is asked of them.

One process goes through many tables: an `Order` loads one, and those that follow are about it.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contenders.interface import Arrays, Order, Work


class Recipe(NamedTuple):
    """How a model is made, fitted and read."""

    path: str  # "module:Class"
    learnt: Mapping[str, str]  # names that the judge knows, to attributes
    fixed: Mapping[str, Any]  # arguments without which it would be another model than unveil's
    size: str | None  # the array that is the first argument
    given: Mapping[str, str]  # further arguments of `fit`, to arrays
    seeded: bool  # takes random_state


def whole(arrays: Arrays, **recipe: Any) -> Work:
    """The class of the recipe; there is no table before the first order."""
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it says there what others say by warnings
    return _Whole(Recipe(**recipe))


class _Whole:
    """A table, and the last model that was fitted to it."""

    def __init__(self, recipe: Recipe) -> None:
        module, name = recipe.path.split(":")
        self._recipe, self._class = recipe, getattr(importlib.import_module(module), name)
        self._arrays: Arrays = {}
        self._model: Any = None

    def __call__(self, order: Order) -> Arrays:
        """Do what is ordered."""
        if order.verb == "load":
            self._arrays, self._model = loaded(order), None
            return {}
        return self._fit(order) if order.verb == "fit" else self._ask(order)

    def _fit(self, order: Order) -> Arrays:
        rows = self._arrays["rows"]
        further = {argument: self._arrays[name] for argument, name in self._recipe.given.items()}
        for _ in range(order.calls):
            self._model = self._made().fit(rows, **further)
        return {name: np.asarray(getattr(self._model, attribute)) for name, attribute in self._recipe.learnt.items()}

    def _ask(self, order: Order) -> Arrays:
        rows, method = self._arrays["rows"][: 1 if order.one else None], getattr(self._model, order.verb)
        further = {"lengths": self._arrays["lengths"]} if "lengths" in self._arrays and not order.one else {}
        for _ in range(order.calls):
            found = method(rows, **further)
        return {"found": np.asarray(found)} if order.keep else {}

    def _made(self) -> Any:
        recipe = self._recipe
        size = () if recipe.size is None else (int(self._arrays[recipe.size]),)
        seed = {"random_state": int(self._arrays["seed"])} if recipe.seeded else {}
        return self._class(*size, **seed, **recipe.fixed)


def loaded(order: Order) -> Arrays:
    """The arrays of the table that is ordered."""
    assert order.folder is not None
    return {file.stem: np.load(file) for file in sorted(order.folder.glob("*.npy"))}
