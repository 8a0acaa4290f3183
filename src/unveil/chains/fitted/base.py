"""What all methods of a fitted chain stand on: its parts, and a function of every block of sequences on the engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_is_fitted

from unveil.chains.fitted.attributes import Planned, planned
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.arrays import Floats
from unveil.estimation.base import engine_for
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.sequences import Sequences

ENOUGH = 1 << 14  # rows of a block


class ChainBase:
    """What estimators of chains give their methods."""

    engine: Any
    random_state: Any

    @abstractmethod
    def _sequences(
        self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None, *, reset: bool
    ) -> Sequences:
        """What the user hands in, checked, as sequences."""

    @abstractmethod
    def _fitted(self) -> tuple[HiddenMarkov, MarkovParams]:
        """The model that the fitted attributes describe, and its parameters."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Free parameters."""

    def _rows_out(self, rows: Floats) -> Any:
        """Rows as the user knows them."""
        return rows

    def _planned(self) -> Planned:
        """The model, what every block needs of its parameters, and a name for these."""
        check_is_fitted(self)
        return planned(self, self._fitted)

    def _each(
        self,
        X: Any,
        lengths: Any,
        step: Callable[..., Any],
        *,
        sample_weight: Any = None,
        sequence_weight: Any = None,
        **settings: Any,
    ) -> Iterator[Any]:
        """`step` of every block of sequences, in order, on the engine."""
        model, plan, _ = self._planned()
        source = _coarser(self._sequences(X, lengths, sample_weight, sequence_weight, reset=False))
        with single_threaded_blas():
            function = step(model.suited_to(source.n_rows), plan, **settings)
            yield from engine_for(self.engine, source).map(function, source)


def _coarser(source: Sequences) -> Sequences:
    """The same sequences in larger blocks: one pass without statistics to keep is mostly the handing out of work."""
    return Sequences(source.source, source.lengths, source.sequence_weights, source.marks, ENOUGH)


def whole_number(argument: str, value: Any, least: int) -> int:
    """`value` as an integer of at least `least`, or an error that says so."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{argument} must be an integer of at least {least}, got {value!r}")
    return int(value)
