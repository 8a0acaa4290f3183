"""How a grammar is fitted: what it starts from, which sentences it sees, the climb, and what becomes of its end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from unveil.core.arrays import Floats, Indices, Mask
from unveil.core.loop import Parts
from unveil.core.protocols import Schedule
from unveil.core.result import Fit
from unveil.estimation.base import engine_for
from unveil.estimation.scaffold import Task, end_of, stationarity
from unveil.expectations import Exact
from unveil.grammar import Grammar, Rule, normal_form, read_grammar
from unveil.grammar.pcfg.expectations import log_probabilities
from unveil.grammar.pcfg.input import Reader, Sentence, lost_sentence, some_of
from unveil.grammar.pcfg.model import GrammarModel, GrammarParams
from unveil.grammar.pcfg.rules import begun, concentration_of, numbers_named, pruned, taken
from unveil.grammar.pcfg.starts import (
    SHORT_RUN_PASSES,
    SHORT_RUN_WORDS,
    SHORT_RUNS,
    Symbols,
    canonical,
    short_runs,
)
from unveil.schedules import LBFGS, Ascent, Batch, Gradient
from unveil.sources.sequences import Sequences

RULE_FLOOR = 1e-8  # of a probability while sentences come batch by batch: what one did without, the next may need


# -- where it starts ---------------------------------------------------------------------------------------------------


def given_grammar(grammar: Grammar | str | None, others: Mapping[str, Any]) -> Grammar | None:
    """The grammar that the user gave; `others` are arguments that say what one is like that was not given."""
    if grammar is None:
        return None
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name} is for a grammar that is not given, got {value!r:.80} besides one")
    return read_grammar(grammar) if isinstance(grammar, str) else grammar


def free_rules(grammar: Grammar, fixed: Collection[Any] | None, gone: tuple[Rule, ...]) -> Mask:
    """Which rules are not fixed, by name; rules that are `gone` may be named too."""
    free = np.ones(grammar.n_rules, dtype=bool)
    for key in () if fixed is None else fixed:
        free[numbers_named(grammar, key, "fixed", gone)] = False
    return free


def model_of(
    grammar: Grammar, rule_prior: Any, fixed: Collection[Any] | None, gone: tuple[Rule, ...], schedule: Schedule
) -> GrammarModel:
    """The model of a grammar's rules, with the prior and what is fixed by name; `gone` are rules dropped before."""
    concentration = concentration_of(grammar, rule_prior, gone)
    if np.any(np.asarray(concentration) < 1.0) and isinstance(schedule, Gradient | Ascent | LBFGS):
        kind = schedule.name
        raise ValueError(f"rule_prior below 1 has no gradient where rules vanish: schedule {kind} needs 1 or more")
    free, floor = free_rules(grammar, fixed, gone), 0.0 if schedule.monotone else RULE_FLOOR
    return GrammarModel(normal_form(grammar), grammar.parents, concentration, None if free.all() else free, floor)


def derivable(
    model: GrammarModel,
    grammar: Grammar,
    sentences: list[Sentence],
    weights: Floats | None,
    engine: Any,
    skips: bool,
) -> tuple[Sequences, Indices]:
    """The sentences, those that cannot be derived at weight 0, and their numbers; unless `skips` an error names one."""
    reader = Reader(grammar, model.form)
    source = reader.source(sentences, weights)
    begin = model.begin(begun(model, grammar.probabilities, source))
    step = partial(log_probabilities, model.prepare(begin))
    found = np.concatenate(list(engine_for(engine, source).map(step, source)))
    counted = np.ones(len(sentences)) if weights is None else weights
    lost = np.flatnonzero(~np.isfinite(found) & (counted > 0))
    if not len(lost):
        return source, lost
    if not skips:
        raise ValueError(lost_sentence(reader, sentences, lost))
    kept = np.where(np.isin(np.arange(len(sentences)), lost), 0.0, counted)
    if not kept.sum() > 0:
        raise ValueError(f"no sentence of X can be derived: {lost_sentence(reader, sentences, lost)}")
    return reader.source(sentences, kept), lost


# -- the climb ---------------------------------------------------------------------------------------------------------


def starts(parts: Parts, grammar: Grammar, symbols: Symbols | None, n_init: int) -> Iterator[GrammarParams]:
    """First parameters, one set per start: the best of short runs where they are random."""
    model: Any = parts.model
    source: Any = parts.source
    if symbols is None:
        yield model.begin(begun(model, grammar.probabilities, source))
        return
    few = replace(
        parts,
        source=some_of(source, SHORT_RUN_WORDS),
        expectation=Exact(),
        schedule=Batch(),
        max_iter=min(SHORT_RUN_PASSES, parts.max_iter),
        callbacks=(),
    )
    yield from short_runs(few, symbols, grammar, n_init)


def task_of(parts: Parts, grammar: Grammar, symbols: Symbols | None, n_init: int) -> Task:
    """All starts, each to be run to its end."""
    tried = 0 if symbols is None else SHORT_RUNS * n_init
    return Task(parts, starts(parts, grammar, symbols, n_init), sound=lambda outcome: True, tried=lambda: tried)


def figures(parts: Parts, outcome: Fit) -> Mapping[str, float]:
    """What the certificate says of the end of a fit."""
    return {"stationarity": stationarity(parts.model, *end_of(parts, outcome))} if outcome.history else {}


# -- its end -----------------------------------------------------------------------------------------------------------


def ordered(grammar: Grammar, outcome: Fit, symbols: Symbols | None, named: bool) -> tuple[Grammar, Fit]:
    """The grammar with the probabilities of an outcome; a random one by falling use, names following unless `named`."""
    found = grammar.with_probabilities(outcome.params.probabilities)
    if symbols is None or not outcome.history:
        return found, outcome
    found, order = canonical(found, outcome.statistics["counts"], symbols.named or named)
    return found, taken(outcome, found, order)


def without_rare_rules(
    grammar: Grammar, outcome: Fit, threshold: float, free: Mask | None
) -> tuple[Grammar, Fit, tuple[Rule, ...]]:
    """Grammar and outcome without the rules that end below a threshold, and these rules."""
    kept, order = pruned(grammar, threshold, free)
    outcome = outcome if kept is grammar else taken(outcome, kept, order)
    return kept, outcome, tuple(rule for rule in grammar.rules if rule not in kept.numbers)
