"""What a model file's values are checked against: the declaration of their estimator, read in order.

An estimator declares its attributes in `_declares` (`unveil.core.declared` is the language), and is then made ready for
use as far as no rows are needed. What that cannot tell of a stream, an M step from its statistics does: it must lead to
parameters that are as declared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unveil.core.declared import (
    FINITE,
    LARGEST,
    AllOf,
    Declaration,
    Declared,
    Extent,
    Law,
    ListOf,
    MayLack,
    NumbersOf,
    OrNone,
    RecordOf,
    Size,
    Tried,
    Words,
    at_least_zero,
    bounds,
    check,
    counts,
    distinct,
    numbers,
    truth,
)
from unveil.core.result import History
from unveil.core.statistics import Statistics
from unveil.schedules.stepwise import Running

if TYPE_CHECKING:
    from unveil.estimation.scaffold import Stream

SEED = counts(below=1 << 31)


def check_loaded(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Raise a ValueError where parameters or attributes of an estimator are not such as a fit takes and leaves."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator._validate_params()
        check(estimator._declares(), attributes)
        with np.errstate(over="raise", divide="raise", invalid="raise"):  # what would warn in use
            estimator._make_ready()


def common(estimator: Any) -> Declaration:
    """Attributes that estimators of any kind have."""
    from unveil.certificate import Certificate

    yield "n_features_in_", Size("columns")
    yield "feature_names_in_", MayLack(Words("columns"))
    yield "random_seed_", MayLack(SEED)
    ended = {"converged_": truth(), "n_iter_": counts()}  # one does not come without the other
    told = any(name in vars(estimator) for name in ("history_", *ended))
    yield from ended.items() if told else ((name, MayLack(one)) for name, one in ended.items())
    yield "history_", MayLack(History.declared())
    yield "certificate_", MayLack(Certificate.declared())
    yield "lower_bounds_", MayLack(ListOf(bounds()))
    yield "lower_bound_", MayLack(bounds())
    yield "recipe_", MayLack(Tried(_recipe))


def _recipe(stored: Any) -> None:
    from unveil.tables.recipe import Recipe

    Recipe.from_dict(stored)


def statistics(**sums: Declared) -> RecordOf:
    """Sums over rows, with the bounds that all of them have."""
    return RecordOf(
        Statistics, {"weight": at_least_zero(), "log_likelihood": bounds(), "free_energy": bounds(), **sums}
    )


def sums(*extents: Extent, **rules: Any) -> NumbersOf:
    """An array of sums, perhaps of squares."""
    return numbers(*extents, **{"low": -FINITE, "high": FINITE, **rules})


NOTHING = RecordOf(dict, {})


class StreamOf(NamedTuple):
    """What the stream of a model must be, by what is particular to it."""

    params: Declared
    told: Declared  # the running statistics
    n_shift: int
    n_order: int
    moved: Callable[[Stream], Any] | None = None  # an M step from its statistics, whose parameters must be as declared
    given: Declared = NOTHING
    frame: tuple[Law, ...] = ()  # laws of the shift
    reach: float = LARGEST  # of the shift

    def declared(self) -> Declared:
        """All of it."""
        from unveil.estimation.scaffold import Stream

        running = OrNone(RecordOf(Running, {"updates": Size("updates"), "statistics": self.told}))
        shift = numbers(self.n_shift, low=-self.reach, high=self.reach, laws=self.frame)
        order = counts(self.n_order, below=max(self.n_order, 1), laws=(distinct,))
        rest = {"seen": at_least_zero(high=FINITE), "latest": RecordOf(Statistics, None), "given": self.given}
        held = {"shift": shift, "params": self.params, "order": order, "history": History.declared()}
        return AllOf((RecordOf(Stream, {**held, "running": running, **rest}), Tried(self._go_on)))

    def _go_on(self, stream: Stream) -> None:
        if self.moved is not None and stream.running is not None and stream.seen > 0:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                params = self.moved(stream)
            self.params.check(params, "what follows from its statistics", {})
