"""Which distribution over the trees of a sentence, as expected uses of the rules and the free energy.

| q over trees | uses of the rules | free energy F = E_q[log p(tree)] + H(q) |
|---|---|---|
| posterior | inside-outside | log p(sentence) |
| best tree | those of the tree | its log-probability |
| draws | averages over the trees drawn | average log-probability + entropy of the shares of the draws |
| power b: q proportional to p ** b | inside-outside with all weights to the power b | (1 - b) E_q[log p] + log Z_b |
| sparse | see `unveil.grammar.pcfg.sparse_em` | |

Chains of unary rules and empty trees are never drawn: given the rest of a tree they are summed over exactly. The empty
sentence has no chart; its trees are those of the start symbol that make nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Indices, Integers
from unveil.core.protocols import Block, Expectation
from unveil.grammar.charts.draws import DrawnTrees, draw_sentences
from unveil.grammar.charts.inside_outside import ChartCounts, expect_sentences, score_sentences
from unveil.grammar.charts.layouts import BestLayout, SumLayout
from unveil.grammar.charts.limits import Masks
from unveil.grammar.charts.trees import best_uses
from unveil.grammar.language.closure import close, rule_counts
from unveil.grammar.language.normal_form import NormalForm, Weights

Random = Callable[[], np.random.Generator]

MOST_DRAWS = 4096  # trees per sentence, at which the noise is below what a fit is asked for
POWER_HALVINGS = 40  # of the way to 1 of a power under which sums over chains do not exist


class TreeSizes(NamedTuple):
    """How trees are drawn and shaken."""

    drawn_words: int = 1 << 18  # words times draws at a time: some tens of megabytes
    shake: float = 0.3  # standard deviation of what is added to log-weights of rules in an infinitely warm world


DEFAULT_TREE_SIZES = TreeSizes()


class GrammarPlan(NamedTuple):
    """A normal form at some probabilities of its rules, ready for all that is done with sentences."""

    form: NormalForm
    weights: Weights
    log_probabilities: Floats  # (n_rules,)
    sums: SumLayout
    best: BestLayout

    @property
    def log_empty(self) -> float:
        """Log-probability of the sentence without words."""
        return float(logs_of(self.sums.closed.null[self.form.start]))


def planned(form: NormalForm, probabilities: Floats, unknown: Floats | None = None) -> GrammarPlan:
    """Weights of the rows, and the sums over all chains of unary and empty rules."""
    weights = form.weights(probabilities)
    sums = SumLayout(close(form, weights), form.n_nonterminals, unknown)
    return GrammarPlan(form, weights, logs_of(probabilities), sums, BestLayout(form, weights, unknown))


def logs_of(probabilities: Floats) -> Floats:
    """Logarithms, of nothing too."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def spent(counts: Floats, logs: Floats) -> float:
    """Sum of counts, or weights, times log-probabilities; what is not used costs nothing, be it impossible."""
    used = counts > 0
    return float(counts[used] @ logs[used])


class Derivation(NamedTuple):
    """The mark of a sentence whose tree is known."""

    rules: Indices  # numbers of the rules that made it
    guessed: Indices  # symbols over words that the grammar has not
    possible: bool = True  # whether there are no others

    def log_probability(self, log_probabilities: Floats, unknown: Floats | None) -> float:
        """Of the tree, at log-probabilities of the rules and weights of symbol -> unknown word."""
        if not self.possible or (len(self.guessed) and unknown is None):
            return -np.inf
        guesses = 0.0 if unknown is None else logs_of(unknown[self.guessed]).sum()
        return float(log_probabilities[self.rules].sum() + guesses)


class Chosen(NamedTuple):
    """What an expectation makes of a block: sums over its sentences, weights included."""

    counts: Floats  # (n_rules,)
    log_likelihood: float
    free_energy: float
    lists: Any = None


@dataclass(frozen=True)
class SentenceMemo:
    """A block of sentences as charts take it: nothing of it depends on the parameters but the lists of sparse EM."""

    weight: float  # words of all sentences, those without any counted as one
    derived: Floats  # (n_rules,): uses of rules in the trees that are known
    codes: Integers  # of the words of all other sentences that have any
    lengths: Indices
    weights: Floats  # one a sentence
    spans: tuple[Any, ...] | None  # their brackets, where there are any
    empties: float  # weight of the sentences without words
    lists: Any = None

    def without_words(self) -> SentenceMemo:
        """The sentences without words alone."""
        none = np.zeros(0, dtype=np.intp)
        return replace(self, codes=none.astype(np.int64), lengths=none, weights=np.zeros(0), spans=None)


def remember(form: NormalForm, block: Block) -> SentenceMemo:
    """Sort the sentences of a block: those with a tree, those without a word, and those for charts."""
    lengths = np.asarray(block.lengths, dtype=np.intp)
    weights = np.ones(len(lengths)) if block.sequence_weights is None else np.asarray(block.sequence_weights)
    marks = (None,) * len(lengths) if block.marks is None else block.marks
    derived, known = np.zeros(form.n_rules), np.zeros(len(lengths), dtype=bool)
    for number, mark in enumerate(marks):
        if isinstance(mark, Derivation):
            known[number] = True
            np.add.at(derived, mark.rules, weights[number])
    charted = ~known & (weights > 0) & (lengths > 0)
    spans = tuple(mark for mark, kept in zip(marks, charted, strict=True) if kept)
    return SentenceMemo(
        weight=float(weights @ np.maximum(lengths, 1)),
        derived=derived,
        codes=np.asarray(block.rows[:, 0][np.repeat(charted, lengths)], dtype=np.int64),
        lengths=lengths[charted],
        weights=np.ascontiguousarray(weights[charted], dtype=np.float64),
        spans=None if all(one is None for one in spans) else spans,
        empties=float(weights[~known & (lengths == 0)].sum()),
    )


def choose(plan: GrammarPlan, memo: SentenceMemo, expectation: Expectation, random: Random, sizes: TreeSizes) -> Chosen:
    """The E step of the sentences whose trees are hidden, by what the expectation says of itself."""
    if expectation.active is not None:
        from unveil.grammar.pcfg.sparse_em import within_lists

        return within_lists(plan, memo, expectation)
    if expectation.best:
        return _best(plan, memo)
    if expectation.draws:
        return _drawn(plan, memo, expectation.draws, random, sizes.drawn_words)
    if expectation.power != 1.0:
        return _tempered(plan, memo, expectation.power, sizes.shake, random)
    found = gather(plan, memo)
    return Chosen(found.counts, found.total(memo), found.total(memo))


class Gathered(NamedTuple):
    """Sums over all trees of the sentences of a block, at any weights."""

    counts: Floats  # (n_rules,): expected uses
    logs: Floats  # (sentences,): log of the sum of all trees' weights
    nothing: float  # that of the sentences without words, added up

    def total(self, memo: SentenceMemo) -> float:
        """The log-likelihood, where weights are probabilities."""
        return float(memo.weights @ self.logs) + self.nothing


def gather(plan: GrammarPlan, memo: SentenceMemo, allowed: Masks = None) -> Gathered:
    """Inside-outside over a block; kept to the symbols `allowed` for each span, if that is given."""
    found = expect_sentences(plan.sums, memo.codes, memo.lengths, memo.weights, memo.spans, allowed)
    return Gathered(_rule_counts(plan, found, memo.empties), found.log_likelihoods, _nothing(plan, memo))


def _rule_counts(plan: GrammarPlan, found: ChartCounts | DrawnTrees, empties: float) -> Floats:
    """Expected uses of the grammar's rules, from what charts count."""
    return rule_counts(plan.form, plan.weights, plan.sums.closed, found.binary, found.chains, found.lexical, empties)


def score(plan: GrammarPlan, memo: SentenceMemo) -> float:
    """The log-likelihood alone."""
    found = score_sentences(plan.sums, memo.codes, memo.lengths, memo.spans)
    return float(memo.weights @ found) + _nothing(plan, memo)


def log_probabilities(plan: GrammarPlan, block: Block) -> Floats:
    """Log-probability of each sentence of a block; of its tree, where that is known."""
    lengths = np.asarray(block.lengths, dtype=np.intp)
    marks = (None,) * len(lengths) if block.marks is None else block.marks
    spans = None if block.marks is None else tuple(None if isinstance(m, Derivation) else m for m in marks)
    codes = np.asarray(block.rows[:, 0], dtype=np.int64)
    found = np.where(lengths == 0, plan.log_empty, score_sentences(plan.sums, codes, lengths, spans))
    for number, mark in enumerate(marks):
        if isinstance(mark, Derivation):
            found[number] = mark.log_probability(plan.log_probabilities, plan.sums.unknown)
    return np.asarray(found, dtype=np.float64)


def _nothing(plan: GrammarPlan, memo: SentenceMemo) -> float:
    """Log-probability of the sentences without words."""
    return memo.empties * plan.log_empty if memo.empties else 0.0


# -- other distributions than the posterior ----------------------------------------------------------------------------


def _tempered(plan: GrammarPlan, memo: SentenceMemo, power: float, shake: float, random: Random) -> Chosen:
    """Posterior of a warmer world, shaken a little, so that symbols that melted into one can part again.

    With q proportional to the product of weights exp(score) over the rules of a tree, log Z = E_q[score] + H(q).
    """
    log_likelihood = score(plan, memo)
    noise = random().standard_normal(plan.form.n_rules)
    for _ in range(POWER_HALVINGS):
        scores = power * plan.log_probabilities + shake * (1.0 - power) * noise
        try:
            warm = planned(plan.form, np.exp(scores))
            break
        except ValueError:  # trees without end outweigh the others: not as warm as that
            power = 0.5 * (power + 1.0)
    else:
        scores, warm = plan.log_probabilities, plan
    found = gather(warm, memo)
    used = found.counts > 0
    gained = float(found.counts[used] @ (plan.log_probabilities[used] - scores[used]))
    return Chosen(found.counts, log_likelihood, gained + found.total(memo))


def _best(plan: GrammarPlan, memo: SentenceMemo) -> Chosen:
    """All on the likeliest tree of each sentence; of those without words, on the likeliest that makes nothing."""
    spans, lengths, weights = memo.spans, memo.lengths, memo.weights
    if memo.empties:
        lengths, weights = np.append(lengths, 0), np.append(weights, memo.empties)
        spans = None if spans is None else (*spans, None)
    found = best_uses(plan.best, memo.codes, lengths, weights, spans)
    return Chosen(found.counts, score(plan, memo), float(weights @ found.log_probabilities))


def _drawn(plan: GrammarPlan, memo: SentenceMemo, draws: int, random: Random, room: int) -> Chosen:
    """Shares of trees drawn from the posterior: a distribution like any other, so its free energy is a lower bound."""
    draws, total, log_likelihood, free_energy = min(draws, MOST_DRAWS), np.zeros(plan.form.n_rules), 0.0, 0.0
    for part in _portions(memo, max(room // draws, 1)):
        uniforms = random().random((draws, 3 * len(part.codes)))
        found = draw_sentences(plan.sums, part.codes, part.lengths, uniforms, part.weights, part.spans)
        total += _rule_counts(plan, found, 0.0)
        log_likelihood += float(part.weights @ found.log_likelihoods)
        free_energy += float(part.weights @ (found.scores.mean(axis=1) + _entropies(found.same)))
    if memo.empties:  # given that nothing was said, all trees are summed over
        nothing = gather(plan, memo.without_words())
        total += nothing.counts
        log_likelihood, free_energy = log_likelihood + nothing.nothing, free_energy + nothing.nothing
    return Chosen(total, log_likelihood, free_energy)


def _entropies(same: Integers) -> Floats:
    """Entropy of the shares of draws that are the same tree, sentence by sentence."""
    found = np.empty(len(same))
    for number, firsts in enumerate(same):
        shares = np.unique(firsts, return_counts=True)[1] / len(firsts)
        found[number] = -float(shares @ np.log(shares))
    return found


def _portions(memo: SentenceMemo, words: int) -> Iterator[SentenceMemo]:
    """The sentences with words, a few at a time: as many as have `words` words, one at least."""
    ends = np.cumsum(memo.lengths)
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + words, side="right")), first + 1)
        yield replace(
            memo,
            codes=memo.codes[before : ends[last - 1]],
            lengths=memo.lengths[first:last],
            weights=memo.weights[first:last],
            spans=None if memo.spans is None else memo.spans[first:last],
        )
        first = last
