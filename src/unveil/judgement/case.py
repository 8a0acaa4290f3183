"""What is examined: a fitted model, the rows it was fitted to, and what a question may cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unveil.certificate import Finding, FitWarning
from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.estimation.columns import column_number

LOOKED_AT = 4096  # rows of a large table that are looked at; ten times as many where it is thorough


@dataclass(frozen=True)
class Case:
    """One examination.

    Parameters
    ----------
    model : estimator
        Fitted; it is not changed.
    X : array, frame, scan or list of sequences
        As `fit` took it.
    y, lengths, sample_weight
        Likewise; None where there are none.
    thorough : bool
        Whether ten times the work may be done.
    seed : int
        Of all that is drawn.
    """

    model: Any
    X: Any
    y: Any = None
    lengths: Any = None
    sample_weight: Any = None
    thorough: bool = False
    seed: int = 0

    @property
    def most_rows(self) -> int:
        """Rows that are looked at, at most."""
        return LOOKED_AT * (10 if self.thorough else 1)

    def random(self, *purpose: int) -> np.random.Generator:
        """Random numbers for a purpose, the same whatever else is examined."""
        return np.random.default_rng([self.seed, *purpose])

    def once(self, name: str, make: Callable[[Case], Any]) -> Any:
        """What `make` makes of the case; whoever asks for it by the same name later gets the same."""
        kept: dict[str, Any] = self.__dict__.setdefault("_kept", {})
        if name not in kept:
            kept[name] = make(self)
        return kept[name]

    @cached_property
    def rows(self) -> tuple[Floats, Floats | None]:
        """Rows of a table that are looked at, as the model sees them (NaN where a cell is missing), and weights."""
        from unveil.judgement.rows import looked_at

        return looked_at(self.model, self.X, self.sample_weight, self.most_rows, self.seed)


class Answer(NamedTuple):
    """What is to be said to a question."""

    findings: tuple[Finding, ...] = ()
    clusters: tuple[int, ...] | None = None  # of each component, where that was asked


def quietly(fit: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """A fit to see what would be: what it warns of is said of nothing that anybody asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **named)


def nameless(model: Any) -> Any:
    """The same fitted model, which does not miss the names of columns where it is shown bare rows."""
    bare = copy(model)
    families = getattr(model, "families", None)
    if isinstance(families, Mapping):  # columns that are named there would no longer be found
        bare.families = {column_number(model, name): family for name, family in families.items()}
    bare.__dict__.pop("feature_names_in_", None)
    return bare


Examiner = Callable[[Case], Answer]
