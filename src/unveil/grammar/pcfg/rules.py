"""Rules by name, priors on them, what becomes of those that end near nothing, and what a certificate says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.certificate import Finding
from unveil.core.arrays import Floats, Indices, Mask
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.grammar import Grammar, Nonterminal, Rule
from unveil.grammar.language.consistency import finite_mass
from unveil.grammar.language.notation import read_rule
from unveil.grammar.language.rules import normalised
from unveil.grammar.pcfg.expectations import Derivation
from unveil.grammar.pcfg.model import GrammarModel, GrammarParams
from unveil.sources.sequences import Sequences

REVIVED_SHARE = 1e-3  # share of a parent given to rules of probability 0 that trees use or a prior wants
FEW_WORDS_PER_PARAMETER = 5.0  # the usual rule of thumb
ONE_WORD = 1.0  # per parameter: with fewer, some probabilities are of rules that were never needed


def numbers_named(grammar: Grammar, key: Any, argument: str, gone: Sequence[Rule] = ()) -> Indices:
    """Numbers of the rules that `key` stands for: a rule, its text, or a parent. Those that are `gone` have none.

    >>> from unveil.grammar import read_grammar
    >>> grammar = read_grammar("S -> S S [0.3] | 'a' [0.7]")
    >>> [numbers_named(grammar, key, "fixed").tolist() for key in ("S", "S -> S S", "S  ->  'a'")]
    [[0, 1], [0], [1]]
    """
    wanted = _named(key)
    found = [number for number, rule in enumerate(grammar.rules) if wanted in (rule.parent, rule)]
    if not found and not any(wanted in (rule.parent, rule) for rule in gone):
        example = str(grammar.rules[0])
        raise ValueError(f"{argument} must name rules of the grammar, such as {example!r}, or parents; got {key!s:.80}")
    return np.array(found, dtype=np.intp)


def _named(key: Any) -> Rule | Nonterminal | None:
    """What a key stands for, be it a rule or a parent of the grammar or not."""
    if not isinstance(key, str):
        return key if isinstance(key, Rule | Nonterminal) else None
    try:
        return read_rule(key)
    except ValueError:
        return Nonterminal(key.strip())


def concentration_of(grammar: Grammar, prior: Any, gone: Sequence[Rule] = ()) -> Floats | float:
    """Parameters of the Dirichlet priors; what is said of a rule goes before what is said of its parent."""
    if prior is None:
        return 1.0
    if not isinstance(prior, Mapping):
        return float(prior)
    found = np.ones(grammar.n_rules)
    named = [(numbers_named(grammar, key, "rule_prior", gone), key, value) for key, value in prior.items()]
    for numbers, key, value in sorted(named, key=lambda item: -len(item[0])):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
            raise ValueError(f"rule_prior must hold numbers above 0, got {value!r} for {key!s:.80}")
        found[numbers] = float(value)
    return found


def pruned(grammar: Grammar, threshold: float, free: Mask | None = None) -> tuple[Grammar, Indices]:
    """The grammar without rules below `threshold`, and the old numbers of those that stay.

    Only `free` rules go, and only they share what those had. Every parent keeps its likeliest; parents that cannot be
    reached any more go.
    """
    everything, parents, probabilities = np.arange(grammar.n_rules), grammar.parents, grammar.probabilities
    if threshold <= 0:
        return grammar, everything
    free = np.ones(grammar.n_rules, dtype=bool) if free is None else free
    highest = np.zeros(len(grammar.nonterminals))
    np.maximum.at(highest, parents[free], probabilities[free])
    high = probabilities >= np.minimum(threshold, highest[parents])
    before, after = (np.bincount(parents, weights=np.where(free & some, probabilities, 0.0)) for some in (True, high))
    shares = np.where(
        free, probabilities * np.divide(before, after, out=np.ones_like(after), where=after > 0)[parents], probabilities
    )
    kept = np.flatnonzero(high | ~free)
    smaller = normalised(grammar.start, [grammar.rules[n] for n in kept], shares[kept]).pruned(0.0)
    if smaller.n_rules == grammar.n_rules:
        return grammar, everything
    return smaller, np.array([grammar.numbers[rule] for rule in smaller.rules], dtype=np.intp)


def revived(probabilities: Floats, parents: Indices, wanted: Mask, share: float, free: Mask | None = None) -> Floats:
    """Probabilities with those that are 0 and `wanted` raised: to a `share` of what their parent's free rules have."""
    free = np.ones(len(parents), dtype=bool) if free is None else free
    lost = wanted & free & (probabilities == 0)
    if not lost.any():
        return probabilities
    counts = np.bincount(parents, weights=lost)[parents]
    mass = np.bincount(parents, weights=np.where(free, probabilities, 0.0))[parents]
    others = probabilities * np.where(free & (counts > 0), 1.0 - share, 1.0)
    return np.where(lost, share * mass / np.maximum(counts, 1.0), others)


def begun(model: GrammarModel, probabilities: Floats, source: Sequences) -> Floats:
    """Probabilities to start from: what trees use or a prior wants is not ruled out."""
    used = np.zeros(len(probabilities), dtype=bool)
    for mark in source.marks or ():
        if isinstance(mark, Derivation):
            used[mark.rules] = True
    wanted = used | (np.broadcast_to(np.asarray(model.concentration) != 1.0, used.shape))
    return revived(probabilities, model.parents, wanted, REVIVED_SHARE, model.free)


def taken(outcome: Fit, grammar: Grammar, order: NDArray[np.intp]) -> Fit:
    """The outcome for some of the rules, in an order of their own; `grammar` holds them."""
    if not outcome.history:
        uses = np.ones(len(grammar.nonterminals))
        return replace(outcome, params=GrammarParams(grammar.probabilities, uses), entered=None)
    counts = outcome.statistics["counts"][order]
    uses = np.bincount(grammar.parents, weights=counts) / float(outcome.statistics["weight"])
    statistics = Statistics(**(dict(outcome.statistics) | {"counts": counts}))
    return replace(outcome, params=GrammarParams(grammar.probabilities, uses), statistics=statistics, entered=None)


# -- findings ----------------------------------------------------------------------------------------------------------


def findings_of(
    grammar: Grammar,
    counts: Floats,
    skipped: Indices,
    dropped: int,
    n_parameters: int,
    n_words: float,
    offered: int = 0,
) -> list[Finding]:
    """Do trees end, which sentences and rules had no part, is there enough text?

    `offered` are the parameters that the fit began with; those of rules that it ruled out are not free any more.
    """
    findings = [consistency(grammar), *unused(grammar, counts)]
    if dropped:
        findings.append(Finding("pruned", "note", f"rules that were dropped: {dropped}", float(dropped)))
    if len(skipped):
        message = (
            f"sentences that the grammar cannot derive, left out: {len(skipped)}; the first is number {skipped[0]}"
        )
        findings.append(Finding("impossible", "note", message, float(len(skipped))))
    return [*findings, *words_per_parameter(n_parameters, n_words, offered)]


def consistency(grammar: Grammar) -> Finding:
    """Whether trees end."""
    if grammar.is_consistent:
        return Finding("consistency", "fine", "derivations end: the probabilities of all sentences sum to 1", 1.0)
    mass = finite_mass(grammar)
    message = f"derivations may go on for ever: the probabilities of all sentences sum to {mass:.3g}, less than 1"
    return Finding("consistency", "warning", message, mass, remedy="give rules that recur less probability")


def unused(grammar: Grammar, counts: Floats) -> Iterator[Finding]:
    """Rules and symbols that no tree has."""
    if not counts.any():
        return
    lost = int(np.count_nonzero(counts <= 0))
    if not lost:
        yield Finding("unused", "fine", "every rule is used by some tree", 0.0)
        return
    totals = np.bincount(grammar.parents, weights=counts)
    unused_symbols = [symbol.name for symbol, total in zip(grammar.nonterminals, totals, strict=True) if total <= 0]
    which = (
        f"; of {', '.join(unused_symbols[:5])}{' ...' if len(unused_symbols) > 5 else ''} there is none at all"
        if unused_symbols
        else ""
    )
    yield Finding("unused", "note", f"rules that no tree uses: {lost} of {len(counts)}{which}", float(lost))


def words_per_parameter(n_parameters: int, n_words: float, offered: int = 0) -> Iterator[Finding]:
    """Whether there is enough text for so many rules, and was for as many as it chose them from."""
    if n_parameters == 0:
        return
    ratio = n_words / n_parameters
    words, changes = f"{ratio:.3g} words per free parameter", "expect rules to change with the text"
    severity, message, remedy = "fine", words, ""
    if n_words < ONE_WORD * max(offered, n_parameters):
        chosen = f", and {n_words / offered:.2g} for each that the fit began with" if offered > n_parameters else ""
        severity, message, remedy = (
            "doubt",
            f"only {words}{chosen}: {changes}",
            "ask for fewer symbols, or give a grammar",
        )
    elif ratio < FEW_WORDS_PER_PARAMETER:
        severity, message = "note", f"only {words}: {changes}"
    yield Finding("words_per_parameter", severity, message, ratio, kind="rows_per_parameter", remedy=remedy)
