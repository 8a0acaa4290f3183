"""A fitted chain: the model that the attributes of an estimator describe, made ready once.

What it does (decode, smooth, filter, forecast, draw, fill in) are functions of it and of sequences, in files by
subject. They run on the engine by blocks of whole sequences; results are the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from unveil.chains.fitted.as_mixture import StateEmissions
from unveil.chains.fitted.attributes import check_emissions
from unveil.chains.fitted.belief import digest
from unveil.chains.model.model import HiddenMarkov, MarkovParams, MarkovPlan
from unveil.core.arrays import Floats
from unveil.core.drive import answer_to
from unveil.core.protocols import Ask, Asking
from unveil.core.steps import OfEachBlock
from unveil.estimation.base import engine_for
from unveil.estimation.kept import Kept
from unveil.estimation.looks import looked
from unveil.estimation.plain_rows import AT_HAND, PlainRows
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.sequences import Sequences

BLOCK_ROWS = 1 << 14  # a pass without statistics to keep is mostly the handing out of work, so its blocks are large
SHOWN = ("n_features_in_", "feature_names_in_", "kinds_", "categories_")  # what a mixture knows of its columns too
STANDING = ("converged_", "n_iter_", "history_", "certificate_", "lower_bound_")  # and has of its fit


@dataclass(frozen=True, eq=False)
class FittedChain:
    """A hidden Markov model with its parameters in place."""

    model: HiddenMarkov  # as it suits a few rows
    plan: MarkovPlan  # what every block needs of the parameters
    name: str  # a digest of the parameters: the same for the same numbers
    engine: Any  # to run on, or a word for one
    emissions: StateEmissions  # of the states, and how rows are shown
    plain: PlainRows | None = None  # arrays that it takes without a closer look

    @classmethod
    def of(
        cls,
        estimator: Any,
        model: HiddenMarkov,
        params: MarkovParams,
        rows_out: Callable[[Floats], Any],
        plain: PlainRows | None = None,
    ) -> FittedChain:
        """Of an estimator whose attributes describe a model and parameters; `rows_out` shows rows as its user knows."""
        check_emissions(model, params, covars=hasattr(estimator, "covariances_"))
        with single_threaded_blas():
            plan = model.prepare(model.recentre(params))
        known = {name: getattr(estimator, name) for name in (*SHOWN, *STANDING) if hasattr(estimator, name)}
        emissions = StateEmissions(model.family, plan.params.emissions, model.shift, known, rows_out)
        return cls(model.suited_to(1), plan, digest(plan.params, model.shift), estimator.engine, emissions, plain)

    def each(self, sequences: Sequences, step: Callable[..., Any], **settings: Any) -> Iterator[Any]:
        """`step` of every block of sequences, in order, on the engine."""
        if sequences.n_rows <= BLOCK_ROWS and sequences.in_one_piece and self.engine in AT_HAND:
            with single_threaded_blas():  # no work is handed out
                yield step(self.model.suited_to(sequences.n_rows), self.plan, **settings)(next(sequences.read()))
            return
        source = _in_large_blocks(sequences)
        with single_threaded_blas():
            function = step(self.model.suited_to(source.n_rows), self.plan, **settings)
            yield from engine_for(self.engine, source).map(function, source)

    def asking(self, sequences: Sequences, step: Callable[..., Any]) -> Asking[tuple[Any, ...]]:
        """The same, asked for along with what others ask of the sequences."""
        source = _in_large_blocks(sequences)
        function = step(self.model.suited_to(source.n_rows), self.plan)
        return (yield from answer_to(Ask(engine_for(self.engine, source), source, OfEachBlock(function))))


def _in_large_blocks(sequences: Sequences) -> Sequences:
    """The sequences as they are looked at once; the same again for chains that are compared side by side."""
    parts = sequences.source, sequences.lengths, sequences.sequence_weights, sequences.marks
    return looked("large blocks", sequences, lambda: Sequences(*parts, BLOCK_ROWS))


def kept_chains(make: Callable[[Any], FittedChain]) -> Kept[FittedChain]:
    """The chain that `make` makes of each estimator, until an attribute changes that it depends on."""
    return Kept(make, apart=("algorithm",), same=("engine", *STANDING))


def whole_number(argument: str, value: Any, least: int) -> int:
    """`value` as an integer of at least `least`, or an error that says so."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{argument} must be an integer of at least {least}, got {value!r}")
    return int(value)
