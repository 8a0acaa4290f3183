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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation
from unveil.grammar.language.closure import Closed, close, rule_counts
from unveil.grammar.language.normal_form import NormalForm, Weights

if TYPE_CHECKING:
    from unveil.grammar.pcfg.model import Plan

Random = Callable[[], np.random.Generator]

SHAKE = 0.3  # standard deviation of what is added to the log-weights of rules in an infinitely warm world
MOST_DRAWS = 4096  # trees per sentence, at which the noise is below what a fit is asked for
ROOM = 1 << 18  # words times draws at a time: some tens of megabytes
TRIES = 40  # halvings of the way to 1 of a power under which sums over chains do not exist


class Derivation(NamedTuple):
    """The mark of a sentence whose tree is known."""

    rules: NDArray[np.intp]  # numbers of the rules that made it
    guessed: NDArray[np.intp]  # symbols over words that the grammar has not
    possible: bool = True  # whether there are no others

    def log_probability(self, log_probabilities: Floats, unknown: Floats | None) -> float:
        """Of the tree, at log-probabilities of the rules and weights of symbol -> unknown word."""
        if not self.possible or (len(self.guessed) and unknown is None):
            return -np.inf
        with np.errstate(divide="ignore"):
            guesses = 0.0 if unknown is None else np.log(unknown[self.guessed]).sum()
        return float(log_probabilities[self.rules].sum() + guesses)


class Chosen(NamedTuple):
    """What an expectation makes of a block: sums over its sentences, weights included."""

    counts: Floats  # (n_rules,)
    log_likelihood: float
    free_energy: float
    lists: Any = None


@dataclass(frozen=True)
class BlockMemo:
    """A block of sentences as charts take it: nothing of it depends on the parameters but the lists of sparse EM."""

    weight: float  # words of all sentences, those without any counted as one
    derived: Floats  # (n_rules,): uses of rules in the trees that are known
    codes: NDArray[np.int64]  # of the words of all other sentences that have any
    lengths: NDArray[np.intp]
    weights: Floats  # one a sentence
    spans: tuple[Any, ...] | None  # their brackets, where there are any
    empties: float  # weight of the sentences without words
    lists: Any = None

    def without_words(self) -> BlockMemo:
        """The sentences without words alone."""
        none = np.zeros(0, dtype=np.intp)
        return replace(self, codes=none.astype(np.int64), lengths=none, weights=np.zeros(0), spans=None)


def remember(form: NormalForm, block: Block) -> BlockMemo:
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
    return BlockMemo(
        weight=float(weights @ np.maximum(lengths, 1)),
        derived=derived,
        codes=np.asarray(block.rows[:, 0][np.repeat(charted, lengths)], dtype=np.int64),
        lengths=lengths[charted],
        weights=np.ascontiguousarray(weights[charted], dtype=np.float64),
        spans=None if all(one is None for one in spans) else spans,
        empties=float(weights[~known & (lengths == 0)].sum()),
    )


def choose(form: NormalForm, plan: Plan, memo: BlockMemo, expectation: Expectation, random: Random) -> Chosen:
    """The E step of the sentences whose trees are hidden, by what the expectation says of itself."""
    if expectation.active is not None:
        from unveil.grammar.pcfg.sparse_em import within_lists

        return within_lists(form, plan, memo, expectation)
    if expectation.best:
        return _best(form, plan, memo)
    if expectation.draws:
        return _drawn(form, plan, memo, expectation.draws, random)
    if expectation.power != 1.0:
        return _tempered(form, plan, memo, expectation.power, random)
    found = gather(form, plan.weights, plan.closed, memo)
    return Chosen(found.counts, found.total(memo), found.total(memo))


class Gathered(NamedTuple):
    """Sums over all trees of the sentences of a block, at any weights."""

    counts: Floats  # (n_rules,): expected uses
    logs: Floats  # (sentences,): log of the sum of all trees' weights
    nothing: float  # that of the sentences without words, added up

    def total(self, memo: BlockMemo) -> float:
        """The log-likelihood, where weights are probabilities."""
        return float(memo.weights @ self.logs) + self.nothing


def gather(form: NormalForm, weights: Weights, closed: Closed, memo: BlockMemo, allowed: Any = None) -> Gathered:
    """Inside-outside over a block; kept to the symbols `allowed` for each span, if that is given."""
    from unveil.grammar.charts.inside_outside import expect_sentences

    found = expect_sentences(
        closed,
        memo.codes,
        memo.lengths,
        memo.weights,
        memo.spans,
        n_nonterminals=form.n_nonterminals,
        allowed=allowed,
    )
    counts = rule_counts(form, weights, closed, found.binary, found.chains, found.lexical, memo.empties)
    return Gathered(counts, found.log_likelihoods, _nothing(memo, closed.null[closed.start]))


def score(form: NormalForm, closed: Closed, memo: BlockMemo) -> float:
    """The log-likelihood alone."""
    from unveil.grammar.charts.inside_outside import score_sentences

    found = score_sentences(closed, memo.codes, memo.lengths, memo.spans, n_nonterminals=form.n_nonterminals)
    return float(memo.weights @ found) + _nothing(memo, closed.null[closed.start])


def log_probabilities(form: NormalForm, plan: Plan, block: Block, unknown: Floats | None = None) -> Floats:
    """Log-probability of each sentence of a block; of its tree, where that is known."""
    from unveil.grammar.charts.inside_outside import score_sentences

    lengths = np.asarray(block.lengths, dtype=np.intp)
    marks = (None,) * len(lengths) if block.marks is None else block.marks
    spans = None if block.marks is None else tuple(None if isinstance(m, Derivation) else m for m in marks)
    codes = np.asarray(block.rows[:, 0], dtype=np.int64)
    found = score_sentences(plan.closed, codes, lengths, spans, unknown=unknown, n_nonterminals=form.n_nonterminals)
    with np.errstate(divide="ignore"):
        found = np.where(lengths == 0, np.log(plan.closed.null[plan.closed.start]), found)
    for number, mark in enumerate(marks):
        if isinstance(mark, Derivation):
            found[number] = mark.log_probability(plan.log_probabilities, unknown)
    return np.asarray(found, dtype=np.float64)


def _nothing(memo: BlockMemo, probability: float) -> float:
    """Log-probability of the sentences without words."""
    if memo.empties == 0.0:
        return 0.0
    return memo.empties * float(np.log(probability)) if probability > 0 else -np.inf


# -- other distributions than the posterior ----------------------------------------------------------------------------


def _tempered(form: NormalForm, plan: Plan, memo: BlockMemo, power: float, random: Random) -> Chosen:
    """Posterior of a warmer world, shaken a little, so that symbols that melted into one can part again.

    With q proportional to the product of weights exp(score) over the rules of a tree, log Z = E_q[score] + H(q).
    """
    log_likelihood = score(form, plan.closed, memo)
    noise = random().standard_normal(form.n_rules)
    for _ in range(TRIES):
        scores = power * plan.log_probabilities + SHAKE * (1.0 - power) * noise
        weights = form.weights(np.exp(scores))
        try:
            closed = close(form, weights)
            break
        except ValueError:  # trees without end outweigh the others: not as warm as that
            power = 0.5 * (power + 1.0)
    else:
        scores, weights, closed = plan.log_probabilities, plan.weights, plan.closed
    found = gather(form, weights, closed, memo)
    used = found.counts > 0
    gained = float(found.counts[used] @ (plan.log_probabilities[used] - scores[used]))
    return Chosen(found.counts, log_likelihood, gained + found.total(memo))


def _best(form: NormalForm, plan: Plan, memo: BlockMemo) -> Chosen:
    """All on the likeliest tree of each sentence; of those without words, on the likeliest that makes nothing."""
    from unveil.grammar.charts.trees import best_uses

    spans, lengths, weights = memo.spans, memo.lengths, memo.weights
    if memo.empties:
        lengths, weights = np.append(lengths, 0), np.append(weights, memo.empties)
        spans = None if spans is None else (*spans, None)
    found = best_uses(form, plan.weights, memo.codes, lengths, weights, spans)
    return Chosen(found.counts, score(form, plan.closed, memo), float(weights @ found.log_probabilities))


def _drawn(form: NormalForm, plan: Plan, memo: BlockMemo, draws: int, random: Random) -> Chosen:
    """Shares of trees drawn from the posterior: a distribution like any other, so its free energy is a lower bound."""
    from unveil.grammar.charts.draws import draw_sentences

    draws, total, log_likelihood, free_energy = min(draws, MOST_DRAWS), np.zeros(form.n_rules), 0.0, 0.0
    for part in _portions(memo, max(ROOM // draws, 1)):
        found = draw_sentences(
            plan.closed,
            part.codes,
            part.lengths,
            random().random((draws, 3 * len(part.codes))),
            part.weights,
            part.spans,
            n_nonterminals=form.n_nonterminals,
        )
        total += rule_counts(form, plan.weights, plan.closed, found.binary, found.chains, found.lexical, 0.0)
        log_likelihood += float(part.weights @ found.log_likelihoods)
        free_energy += float(part.weights @ (found.scores.mean(axis=1) + _entropies(found.same)))
    if memo.empties:  # given that nothing was said, all trees are summed over
        nothing = gather(form, plan.weights, plan.closed, memo.without_words())
        total += nothing.counts
        log_likelihood, free_energy = log_likelihood + nothing.nothing, free_energy + nothing.nothing
    return Chosen(total, log_likelihood, free_energy)


def _entropies(same: NDArray[np.int64]) -> Floats:
    """Entropy of the shares of draws that are the same tree, sentence by sentence."""
    found = np.empty(len(same))
    for number, firsts in enumerate(same):
        shares = np.unique(firsts, return_counts=True)[1] / len(firsts)
        found[number] = -float(shares @ np.log(shares))
    return found


def _portions(memo: BlockMemo, words: int) -> Iterator[BlockMemo]:
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
