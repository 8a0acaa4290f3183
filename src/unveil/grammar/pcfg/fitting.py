"""How a grammar is fitted: what it starts from, which sentences it sees, the climb, and what that leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.certificate import Certificate, Finding, examine
from unveil.core.arrays import Floats
from unveil.core.loop import BoundChange, ExpectationStep, Parts, best_of, check_allowed, fit
from unveil.core.protocols import Schedule
from unveil.core.result import Fit, Status
from unveil.estimation.base import Estimator, engine_for, warn_of
from unveil.estimation.partial_fit import Stream, resumable
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES, resolve
from unveil.estimation.stationarity import stationarity
from unveil.expectations import Exact
from unveil.grammar import Grammar, Rule, normal_form, read_grammar
from unveil.grammar.pcfg.block_functions import LogProbabilities
from unveil.grammar.pcfg.input import Reader, Sentence, lost_sentence, some_of
from unveil.grammar.pcfg.model import GrammarModel, GrammarParams
from unveil.grammar.pcfg.rules import begun, concentration_of, findings_of, numbers_named, pruned, taken
from unveil.grammar.pcfg.starts import (
    FEW_PASSES,
    SAMPLE_WORDS,
    SHORT_RUNS,
    Symbols,
    canonical,
    first_grammar,
    short_runs,
)
from unveil.schedules import LBFGS, Ascent, Batch, Gradient
from unveil.sources.sequences import Sequences

FLOOR = 1e-8  # of a rule's probability while sentences come batch by batch: what one did without, the next may need


class Climbing(Estimator):
    """Mixin of the estimator: the steps of a fit."""

    grammar: Grammar | str | None
    start: str | None
    n_nonterminals: int | None
    nonterminals: Sequence[str] | None
    n_preterminals: int | None
    preterminals: Sequence[str] | None
    tol: float
    max_iter: int
    n_init: int
    rule_prior: Any
    fixed: Any
    prune: float
    impossible: str
    engine: Any
    schedule: Any
    expectation: Any

    grammar_: Grammar
    random_seed_: int
    word_counts_: Floats
    skipped_: NDArray[np.intp]
    pruned_rules_: tuple[Rule, ...]

    # -- where it starts -----------------------------------------------------------------------------------------------

    def _given(self) -> Grammar | None:
        """The grammar that the user gave."""
        if self.grammar is None:
            return None
        for name in ("n_nonterminals", "nonterminals", "n_preterminals", "preterminals", "start"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} is for a grammar that is not given, got {getattr(self, name)!r:.80} besides one"
                )
        return read_grammar(self.grammar) if isinstance(self.grammar, str) else self.grammar

    def _first_grammar(
        self, sentences: list[Sentence], weights: Floats | None, recalled: Grammar | None
    ) -> tuple[Grammar, Symbols | None]:
        """The grammar to start from, and, where it is random, the symbols that it is made of."""
        given = self._given()
        if recalled is not None and (given is None or set(given.rules) >= set(recalled.rules)):
            return recalled, None
        self.pruned_rules_ = ()
        if given is not None:
            return given, None
        sizes = (self.n_nonterminals, self.nonterminals, self.n_preterminals, self.preterminals)
        return first_grammar(sentences, weights, self.start, sizes, self.random_seed_)

    def _model(self, grammar: Grammar, floor: float = 0.0) -> GrammarModel:
        """The model of a grammar's rules, with the prior and what is fixed."""
        schedule = resolve("schedule", self.schedule, SCHEDULES, "sweep")
        concentration = concentration_of(grammar, self.rule_prior, self.pruned_rules_)
        if np.any(np.asarray(concentration) < 1.0) and isinstance(schedule, Gradient | Ascent | LBFGS):
            kind = schedule.name
            raise ValueError(f"rule_prior below 1 has no gradient where rules vanish: schedule {kind} needs 1 or more")
        free = np.ones(grammar.n_rules, dtype=bool)
        for key in () if self.fixed is None else self.fixed:
            free[numbers_named(grammar, key, "fixed", self.pruned_rules_)] = False
        floor = floor if schedule.monotone else FLOOR
        return GrammarModel(normal_form(grammar), grammar.parents, concentration, None if free.all() else free, floor)

    def _source(
        self, grammar: Grammar, model: GrammarModel, sentences: list[Sentence], weights: Floats | None
    ) -> Sequences:
        """The sentences, of which those that cannot be derived are named or left out."""
        reader = Reader(grammar, model.form)
        source = reader.source(sentences, weights)
        begin = model.begin(begun(model, grammar.probabilities, source))
        step = LogProbabilities(model, model.prepare(begin))
        found = np.concatenate(list(engine_for(self.engine, source).map(step, source)))
        counted = np.ones(len(sentences)) if weights is None else weights
        lost = np.flatnonzero(~np.isfinite(found) & (counted > 0))
        self.skipped_ = lost
        if not len(lost):
            return source
        if self.impossible == "error":
            raise ValueError(lost_sentence(reader, sentences, lost))
        kept = np.where(np.isin(np.arange(len(sentences)), lost), 0.0, counted)
        if not kept.sum() > 0:
            raise ValueError(f"no sentence of X can be derived: {lost_sentence(reader, sentences, lost)}")
        return reader.source(sentences, kept)

    # -- the climb -----------------------------------------------------------------------------------------------------

    def _parts(self, model: GrammarModel, source: Sequences, **changes: Any) -> Parts:
        schedule: Schedule = resolve("schedule", self.schedule, SCHEDULES, "sweep")
        parts = Parts(
            model,
            source,
            resolve("expectation", self.expectation, EXPECTATIONS, "responsibilities"),
            schedule,
            engine_for(self.engine, source),
            BoundChange(self.tol),
            self.max_iter,
            self.random_seed_,
            self._callbacks_for(source),
        )
        return replace(parts, **changes)

    def _climb(self, model: GrammarModel, source: Sequences, grammar: Grammar, symbols: Symbols | None) -> Fit:
        """All starts, each to its end; the best of them."""
        parts = self._parts(model, source)
        check_allowed(parts)  # before any start is run
        begin = self._starts(model, source, grammar, symbols)
        outcome = best_of(partial(fit, parts, params) for params in begin)
        return outcome if symbols is None else outcome.noting("tried", SHORT_RUNS * self.n_init)

    def _starts(
        self, model: GrammarModel, source: Sequences, grammar: Grammar, symbols: Symbols | None
    ) -> Iterator[GrammarParams]:
        """First parameters, one set per start: the best of short runs where they are random."""
        if symbols is None:
            yield model.begin(begun(model, grammar.probabilities, source))
            return
        few = self._parts(
            model,
            some_of(source, SAMPLE_WORDS),
            expectation=Exact(),
            schedule=Batch(),
            max_iter=min(FEW_PASSES, self.max_iter),
            callbacks=(),
        )
        yield from short_runs(few, symbols, grammar, self.n_init)

    def _stream_of(
        self, model: GrammarModel, source: Sequences, grammar: Grammar, symbols: Symbols | None, fresh: bool
    ) -> Stream:
        """Where a batch of sentences begins: at a start, or at `grammar`, where the last one ended."""
        if fresh:
            return Stream(np.zeros(0), next(self._starts(model, source, grammar, symbols)), np.arange(0))
        return replace(self._stream, params=replace(self._stream.params, probabilities=grammar.probabilities))

    # -- what a fit leaves behind --------------------------------------------------------------------------------------

    def _figures(self, model: GrammarModel, source: Sequences, outcome: Fit) -> Mapping[str, float]:
        """What the certificate says of the end of a fit; where q was not the posterior, a pass of it is run."""
        if not outcome.history:
            return {}
        parts = self._parts(model, source)
        if isinstance(parts.schedule, Batch) and parts.expectation.posterior:
            return {"stationarity": stationarity(model, outcome.entered, outcome.statistics)}
        step = ExpectationStep(model, model.prepare(outcome.params), Exact(), parts.seed, 0)
        statistics, _ = parts.engine.map_reduce(step, source, None)
        return {"stationarity": stationarity(model, outcome.params, statistics)}

    def _settle(self, grammar: Grammar, symbols: Symbols | None, outcome: Fit) -> Fit:
        """Order, prune and adopt the outcome of a fit."""
        found = grammar.with_probabilities(outcome.params.probabilities)
        if symbols is not None and outcome.history:
            found, order = canonical(found, outcome.statistics["counts"], symbols.named or self._names_rules())
            outcome = taken(outcome, found, order)
        kept, order = pruned(found, self.prune, self._model(found).free)
        outcome = outcome if kept is found else taken(outcome, kept, order)
        self.pruned_rules_ += tuple(rule for rule in found.rules if rule not in kept.numbers)
        times = dict(zip(grammar.words, self.word_counts_, strict=True))
        self.word_counts_ = np.array([times[word] for word in kept.words])
        self._adopt(kept, resumable(outcome, np.zeros(0), np.arange(0)))
        return outcome

    def _names_rules(self) -> bool:
        """Whether the user speaks of rules by name, so that symbols must keep theirs."""
        return self.fixed is not None or isinstance(self.rule_prior, Mapping)

    def _adopt(self, grammar: Grammar, stream: Stream) -> None:
        """Set the fitted attributes."""
        self._stream = stream
        self.grammar_ = grammar.with_probabilities(stream.params.probabilities)
        counts = stream.latest.get("counts")
        self.counts_ = np.zeros(grammar.n_rules) if counts is None else np.array(counts)
        history = stream.history
        self.lower_bounds_ = [record.objective / record.weight for record in history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf

    def _set_outcome(
        self, outcome: Fit, findings: Sequence[Finding], figures: Mapping[str, float] | None = None
    ) -> None:
        """The history, the certificate, and warnings where the fit is not fine."""
        self.history_ = outcome.history
        self.converged_ = outcome.status is Status.CONVERGED
        self.n_iter_ = len(outcome.history)
        examined = examine(outcome.history, None, self._excuse(), figures) if len(outcome.history) or findings else None
        self.certificate_ = Certificate((*(() if examined is None else examined.findings), *findings))
        warn_of(self, self.certificate_.findings, depth=3)

    def _n_parameters(self) -> int:
        """Free parameters, for AIC and BIC: rules that are not ruled out, less one for each parent."""
        return self._model(self.grammar_).n_parameters(self.grammar_.probabilities)

    def _findings(self) -> list[Finding]:
        """What is particular to grammars."""
        words, dropped = float(self.word_counts_.sum()), len(self.pruned_rules_)
        return findings_of(self.grammar_, self.counts_, self.skipped_, dropped, self._n_parameters(), words)

    def _excuse(self) -> str | None:
        return "rules are kept above a floor" if self.history_.events.get("floored") else None
