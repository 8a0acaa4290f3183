"""Climbs over a small table of sequences: the loop of `unveil.core.loop` for plain EM, a pass in three compiled calls.

Parameters are one vector (starts, transitions, then what the family makes of its own), so that a pass takes and leaves
plain arrays: the emissions score all rows, `unveil.chains.kernels.small_sweep` runs through the chains, the emissions
add up. How a table is climbed follows from its shape alone. Where a pass meets anything that is not plain, the climb is
begun anew in the general way, which knows what to do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.coded_sweep import LENT, CodedRoom, first_codes, sweep_codes
from unveil.chains.kernels.small_sweep import SweepRoom, sweep_small
from unveil.chains.leaps import TableLeaps
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.chains.model.probability_table import START_COUNTS
from unveil.core.arrays import Floats
from unveil.core.loop import Callback, Parts, fit, told_of_interrupt
from unveil.core.once import cached_property
from unveil.core.protocols import Block
from unveil.core.result import Fit, History, Record, State, Status
from unveil.core.snapshots import album, one_after_the_other
from unveil.core.statistics import Statistics
from unveil.core.stopping import passes_ahead
from unveil.estimation.input import FiniteGuard
from unveil.estimation.looks import looked
from unveil.expectations import Exact
from unveil.families.small.states import CodedColumn, SmallStates
from unveil.schedules import Batch
from unveil.schedules.adaptive import Adaptive, Pace
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences

NO_SCORES = np.empty((0, 0))  # of codes, which are looked up
MOST_WORK = 1 << 21  # rows times states times statistics, and pairs of states: where threads and vectors begin to pay
FEW_STATES = 12  # up to which plain loops keep up
LONG_WAY = 200.0  # passes ahead: leaps take the place of most of them, and a pass in the general way of about ten


def is_small(model: HiddenMarkov, n_rows: int) -> bool:
    """Whether a table of so many rows is small."""
    k = model.n_components
    work = n_rows * k * max(model.family.n_statistics(len(model.shift)), k)
    return k <= FEW_STATES and work <= MOST_WORK


def climb_over(model: HiddenMarkov, parts: Parts) -> Callable[[Parts, MarkovParams], Fit]:
    """How a climb over the sequences of `parts` is run: by whole passes where the table is small and all is plain."""
    plain = isinstance(parts.schedule, Batch | Adaptive) and isinstance(parts.expectation, Exact)
    if not (plain and is_small(model, parts.source.n_rows)):
        return fit
    blocks = looked("blocks", parts.source, lambda: list(parts.source.read()))
    table = small_chain(model, blocks)
    return fit if table is None else SmallChainClimb(table, _at_hand(parts.source, blocks))


def _at_hand(source: Any, blocks: Sequence[Block]) -> Any:
    """Sequences whose rows were all read anyway, so that no file is read again where a climb goes the general way."""
    if getattr(source, "random_access", False):
        return source
    rows = ArraySource(np.concatenate([block.rows for block in blocks]), None, source.names)
    return Sequences(rows, source.lengths, source.sequence_weights, source.marks)


def small_chain(model: HiddenMarkov, blocks: Sequence[Block]) -> SmallChain | None:
    """The rows of all blocks in the frame; None where cells are missing, or steps have weights."""
    if any(block.weights is not None for block in blocks):
        return None
    table = blocks[0].rows if len(blocks) == 1 else np.concatenate([block.rows for block in blocks])
    rows = np.asarray(table, dtype=np.float64) - model.shift
    states = model.family.small_states(rows) if np.all(np.isfinite(rows)) else None
    if states is None:
        return None
    lengths = np.concatenate([[len(block.rows)] if block.lengths is None else block.lengths for block in blocks])
    counts = [1 if block.lengths is None else len(block.lengths) for block in blocks]
    pairs = zip(blocks, counts, strict=True)
    weights = [np.ones(n) if block.sequence_weights is None else block.sequence_weights for block, n in pairs]
    return SmallChain.of(model, states, rows, lengths, np.concatenate(weights))


@dataclass(frozen=True, eq=False)
class SmallChain:
    """Sequences at hand, with room for a pass."""

    model: HiddenMarkov
    states: SmallStates
    bounds: NDArray[np.intp]  # first rows of the sequences, and the end of the last
    weights: Floats  # of the sequences
    log_base: float  # what no parameter touches
    scores: Floats  # (k, rows)
    room: SweepRoom
    codes: CodedRoom | None = None  # of rows that are codes, which take a pass in one piece

    @classmethod
    def of(
        cls, model: HiddenMarkov, states: SmallStates, rows: Floats, lengths: NDArray[np.intp], weights: Floats
    ) -> SmallChain:
        """Of rows in the frame."""
        n, k = len(rows), model.n_components
        base = model.family.log_base(np.ascontiguousarray(rows.T))
        log_base = 0.0 if base is None else float(base @ np.repeat(weights, lengths))
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        if states.coded is None:
            return cls(model, states, bounds, weights, log_base, np.empty((k, n)), SweepRoom.of(k, n))
        room = CodedRoom.of(states.coded.codes, bounds, weights, k, states.coded.levels)
        return cls(model, states, bounds, weights, log_base, NO_SCORES, SweepRoom.of(k, 0), room)

    @property
    def weight(self) -> float:
        """Of all steps."""
        return float(self.weights @ np.diff(self.bounds))

    def vector(self, params: MarkovParams) -> Floats:
        """Starts, transitions, emissions."""
        return np.concatenate([params.start, params.transition.ravel(), self.states.vector(params.emissions)])

    def params(self, vector: Floats) -> MarkovParams:
        """The way back."""
        k, cut = self.model.n_components, self._cut
        start, transition = vector[:k].copy(), vector[k:cut].reshape(k, k).copy()
        return MarkovParams(start, transition, self.states.params(vector[cut:]))

    @cached_property
    def _cut(self) -> int:
        """Where emissions begin."""
        k = self.model.n_components
        return k + k * k

    def n_sums(self) -> int:
        """How many sums a pass leaves."""
        return self._cut + self.states.n_sums(self.model.n_components)

    def first(self, shares: Floats) -> Floats | None:
        """A vector from first states (k, rows); every state is lent a little of all steps, or some had no spread."""
        model, k, cut = self.model, self.model.n_components, self._cut
        if self.codes is not None and self._is_free:
            return self._first_codes(shares)
        lent = np.ascontiguousarray((1.0 - LENT) * shares + LENT / k)
        lengths = np.diff(self.bounds)
        own = lent if np.all(self.weights == 1.0) else lent * np.repeat(self.weights, lengths)
        counts = own[:, :-1] @ shares[:, 1:].T
        ends = self.bounds[1:-1] - 1  # no step leads from one sequence to the next
        counts -= own[:, ends] @ shares[:, ends + 1].T
        tables = (model.start_rule, own[:, self.bounds[:-1]].sum(axis=1)), (model.transition_rule, counts)
        sums = np.empty(self.n_sums() - cut)
        chain = [rule.first(seen).ravel() for rule, seen in tables]
        emissions = np.zeros(self.states.size(k))
        mended = self.states.maximise(np.zeros_like(emissions), own, emissions, sums)
        return None if mended < 0 else np.concatenate([*chain, emissions])

    def stands(self, sums: Floats) -> bool:
        """Whether every state stands for more steps than it takes to know it."""
        k, cut = self.model.n_components, self._cut
        visits = sums[:k] + sums[k:cut].reshape(k, k).sum(axis=0)
        return bool(visits.min() > self.model.family.least_rows(len(self.model.shift)))

    def spiked(self, vector: Floats) -> bool:
        """Whether a state has, in some direction, little more spread than was added to it."""
        return self.states.spiked(vector[self._cut :])

    def sweep(self, vector: Floats, fresh: Floats, sums: Floats) -> tuple[float, int]:
        """Log-likelihood at `vector`, NaN where this is not plain, and how many states were mended by its M step."""
        bound, mended = self._swept(vector, fresh, sums)
        if not math.isfinite(bound):
            return np.nan, 0
        if self._is_free:
            return bound + self.log_base, mended
        k, cut, model = self.model.n_components, self._cut, self.model
        chain, counts, shares = vector[:cut], sums[:cut], fresh[:cut]
        if self._moves_freely and self._extra_of_rows > 0.0:
            pulled = (counts + self._extra).reshape(1 + k, k)
            shares[:] = (pulled / pulled.sum(axis=1, keepdims=True)).ravel()
            return bound + self.log_base, mended
        shares[:k] = model.start_rule.maximise(counts[:k], chain[:k])
        shares[k:] = model.transition_rule.maximise(counts[k:].reshape(k, k), chain[k:].reshape(k, k)).ravel()
        return bound + self.log_base, mended

    def _swept(self, vector: Floats, fresh: Floats, sums: Floats) -> tuple[float, int]:
        """A pass for tables of probabilities that move as they like."""
        if self.codes is not None:
            codes, _, lowest = self._coded
            found = sweep_codes(codes, self.bounds, self.weights, vector, lowest, sums, fresh, self.codes)
            pulled = self.states.pulled(sums[self._cut :], fresh[self._cut :]) if math.isfinite(found[0]) else None
            return found if pulled is None else (found[0], pulled)
        cut, states = self._cut, self.states
        if not states.score(vector[cut:], self.scores):
            return np.nan, 0
        chain, counts, shares = vector[:cut], sums[:cut], fresh[:cut]
        bound = sweep_small(self.scores, self.bounds, self.weights, chain, counts, shares, self.room)
        mended = states.maximise(vector[cut:], self.scores, fresh[cut:], sums[cut:]) if math.isfinite(bound) else -1
        return (np.nan, 0) if mended < 0 else (bound, mended)

    def leaps(self) -> TableLeaps | None:
        """Leaps between its passes, where all is tables of probabilities that move as they like."""
        k, coded = self.model.n_components, self.states.coded
        return None if coded is None or not self._moves_freely else TableLeaps(((1, k), (k, k), (k, coded.levels)))

    def log_prior(self, vector: Floats) -> float:
        """Of all parameters; 0 without one."""
        emissions = self.states.log_prior(vector[self._cut :])
        if self._is_flat:
            return emissions
        entries, extra = self._pulled_entries
        with np.errstate(divide="ignore"):
            return emissions + self._constant + float(extra @ np.log(vector[entries]))

    @cached_property
    def _is_free(self) -> bool:
        """Whether starts and transitions move as they like, and nothing pulls at them."""
        return self._moves_freely and self._is_flat

    @cached_property
    def _moves_freely(self) -> bool:
        """Whether starts and transitions move as they like."""
        return self.model.start_rule.plain and self.model.transition_rule.plain

    @cached_property
    def _is_flat(self) -> bool:
        """Whether no prior pulls at them."""
        return not self._extra.any()

    @cached_property
    def _extra(self) -> Floats:
        """Pseudo-counts of starts and transitions, where they move."""
        k, model = self.model.n_components, self.model
        tables = model.start_rule.pseudo_counts((1, k)), model.transition_rule.pseudo_counts((k, k))
        return np.concatenate([table.ravel() for table in tables])

    @cached_property
    def _extra_of_rows(self) -> float:
        """The least that a row of either table has of them."""
        k = self.model.n_components
        return float(self._extra.reshape(1 + k, k).sum(axis=1).min())

    @cached_property
    def _pulled_entries(self) -> tuple[NDArray[np.intp], Floats]:
        """Entries that have some, and how many."""
        entries = np.flatnonzero(self._extra)
        return entries, self._extra[entries]

    @cached_property
    def _constant(self) -> float:
        """What the log-densities of their priors are where all logarithms of probabilities are 0."""
        k, model = self.model.n_components, self.model
        return model.start_rule.log_prior(np.ones(k)) + model.transition_rule.log_prior(np.ones((k, k)))

    def _first_codes(self, shares: Floats) -> Floats | None:
        """A vector from first states, of codes."""
        codes, _, lowest = self._coded
        k, sums = self.model.n_components, np.empty(self.n_sums())
        fresh = np.empty(self._cut + self.states.size(k))
        found = first_codes(codes, self.bounds, self.weights, shares, START_COUNTS, lowest, sums, fresh)
        return None if found < 0 else fresh

    @cached_property
    def _coded(self) -> CodedColumn:
        """The column of codes, where there are any."""
        assert self.states.coded is not None
        return self.states.coded

    def uses(self, sums: Floats) -> Floats:
        """Of each row of the tables: the starts, then how often each state is left, and visited."""
        k, cut = self.model.n_components, self._cut
        visits = sums[cut:].reshape(k, -1)[:, 0]
        return np.concatenate([[sums[:k].sum()], sums[k:cut].reshape(k, k).sum(axis=1), visits])

    def statistics(self, vector: Floats, sums: Floats, record: Record) -> Statistics:
        """The sums of a pass at `vector`, as the general way has them."""
        k, cut = self.model.n_components, self._cut
        emissions = self.states.params(vector[cut:])
        return Statistics(
            weight=record.weight,
            log_likelihood=record.log_likelihood,
            free_energy=record.free_energy,
            starts=sums[:k].copy(),
            transitions=sums[k:cut].reshape(k, k).copy(),
            moments=self.states.moments(vector[cut:], sums[cut:], emissions),
        )


def is_slow(parts: Parts, records: Sequence[Record]) -> bool:
    """Whether so many passes are ahead that the general way, which leaps, gets there sooner."""
    if not isinstance(parts.schedule, Adaptive) or not len(records) < parts.max_iter:
        return False
    enough = parts.schedule.goal.enough(records[-1].weight)
    return passes_ahead([record.objective for record in records[-4:]], enough) > LONG_WAY


def continued(before: History, outcome: Fit) -> Fit:
    """A climb that went on from where another had come, as one."""
    past, then = before.records[-1].seconds, outcome.history
    later = tuple(record._replace(seconds=record.seconds + past) for record in then)
    events: Counter[str] = Counter(before.events)
    events.update(then.events)
    history = replace(
        then,
        records=before.records + later,
        events=dict(events),
        passes=before.passes + then.passes,
        snapshots=one_after_the_other(before.snapshots, len(before), then.snapshots),
    )
    return replace(outcome, history=history)


@dataclass(frozen=True)
class SmallChainClimb:
    """Climbs over `table`; in the general way where that does not do."""

    table: SmallChain
    source: Any = None  # the sequences, where they are not to be read again

    def __call__(self, parts: Parts, start: MarkovParams) -> Fit:
        """As `unveil.core.loop.fit`."""
        parts = parts if self.source is None else replace(parts, source=self.source)
        return self.plain(parts, start) or fit(parts, start)

    def plain(self, parts: Parts, start: MarkovParams) -> Fit | None:
        """The climb; None where a pass was not plain."""
        table, weight, began = self.table, self.table.weight, perf_counter()
        watching = [one for one in parts.callbacks if not isinstance(one, FiniteGuard)]
        vector = entered = table.vector(start)
        sums = np.empty(table.n_sums())
        records: list[Record] = []
        status, floored, slow, passes = Status.MAX_ITER, 0, False, 0
        goal = parts.schedule.goal if isinstance(parts.schedule, Adaptive) else None
        leaps, pace, reached = None if goal is None else table.leaps(), Pace(), vector
        kept = album()
        try:
            while len(records) < parts.max_iter:
                fresh, passes = np.empty_like(vector), passes + 1
                bound, mended = table.sweep(vector, fresh, sums)
                height = bound + table.log_prior(vector)
                if leaps is not None and leaps.plain is not None and not height >= records[-1].objective:
                    vector = leaps.back()
                    continue
                if not math.isfinite(height):
                    return None
                entered, reached, floored = vector, fresh, floored + mended
                if kept is not None:
                    kept.add(len(records), entered)
                records.append(Record(bound, bound, height, weight, perf_counter() - began))
                if watching:
                    self._show(watching, records, entered, fresh, sums)
                if leaps is not None and goal is not None:
                    pace = pace.after(height, goal.enough(weight))
                if pace.is_plain and parts.stop.settled(records):  # type: ignore[attr-defined]
                    status = Status.CONVERGED
                    break
                slow = leaps is None and is_slow(parts, records)
                if slow:
                    break
                vector = fresh
                if leaps is not None:
                    vector = leaps.after(entered, fresh, partial(table.uses, sums)) if pace.leaps else leaps.rest(fresh)
        except KeyboardInterrupt:
            status = told_of_interrupt(len(records))
        if not records:
            return Fit(start, Statistics(), History(status=status), start)
        events = {"floored": floored} if floored else {}
        if leaps is not None and leaps.taken_back:
            events["taken_back"] = leaps.taken_back
        before, after = table.params(entered), table.params(reached)
        seen = () if kept is None else kept.ended(len(records), after, table.params)
        history = History(tuple(records), events, status, True, (), passes, seen)
        if slow:
            return continued(history, fit(replace(parts, max_iter=parts.max_iter - len(records)), after))
        return Fit(after, table.statistics(entered, sums, records[-1]), history, before)

    def _show(
        self, watching: Sequence[Callback], records: Sequence[Record], entered: Floats, vector: Floats, sums: Floats
    ) -> None:
        statistics = self.table.statistics(entered, sums, records[-1])
        for callback in watching:
            callback(State(len(records), self.table.params(vector), statistics, records[-1], records))
