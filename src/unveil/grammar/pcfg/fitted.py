"""A fitted grammar, and what it is used for: scores, parses, posteriors of spans, what word comes next, draws.

`FittedGrammar` is frozen, and holds all that charts read of a grammar: made once, it serves every call. Sentences are
anything that `unveil.grammar.pcfg.input` takes; those of a call are shared out over the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Integers
from unveil.core.protocols import Block
from unveil.estimation.base import engine_for
from unveil.grammar import Grammar, Nonterminal, Rule, Tree, normal_form
from unveil.grammar.charts.kbest import k_best_trees
from unveil.grammar.charts.prefix import next_words, prefix_probabilities
from unveil.grammar.charts.spans import constituents
from unveil.grammar.charts.trees import best_trees
from unveil.grammar.language.normal_form import NormalForm
from unveil.grammar.pcfg.expectations import GrammarPlan, log_probabilities, planned
from unveil.grammar.pcfg.input import Reader, Sentence, read_sentence, read_sentences, weights_of, without_brackets
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.sequences import Sequences

TREE_PARTITION_WORDS = 8192  # of a partition whose trees are built: that is work for one thread at a time
MOST_TREE_NODES = 100_000  # of a tree that is drawn: a larger one would hardly ever end
UNKNOWN_WORD_POLICIES = ("error", "impossible", "rare", "uniform")


class Parse(NamedTuple):
    """A tree, and its log-probability; None and -inf where there is no tree."""

    tree: Tree | None
    log_probability: float


@dataclass(frozen=True, eq=False)
class FittedGrammar:
    """Rules with their probabilities, ready for sentences."""

    grammar: Grammar
    plan: GrammarPlan  # the normal form, its closure and the layouts of charts, unknown words among them
    refuses_unknown: bool  # whether a word that the grammar has not is an error
    engine: Any = "auto"

    @property
    def reader(self) -> Reader:
        """What turns sentences into codes."""
        return Reader(self.grammar, self.plan.form)

    def map(self, step: Callable[[GrammarPlan, Block], Any], source: Sequences) -> list[Any]:
        """What a step makes of each block."""
        with single_threaded_blas():
            return list(engine_for(self.engine, source).map(partial(step, self.plan), source))


def fitted_grammar(
    grammar: Grammar, word_counts: Floats, unknown_words: str = "error", engine: Any = "auto"
) -> FittedGrammar:
    """The grammar made ready; `word_counts` (n_words,) say how often each word was seen."""
    form = normal_form(grammar)
    unknown = unknown_weights(form, grammar.probabilities, word_counts, unknown_words)
    plan = planned(form, grammar.probabilities, unknown)
    return FittedGrammar(grammar, plan, unknown_words == "error", engine)


def unknown_weights(form: NormalForm, probabilities: Floats, word_counts: Floats, policy: str) -> Floats:
    """Weight of symbol -> word for a word that the grammar has not, (n_symbols,)."""
    lexical = np.zeros((len(form.words), form.n_symbols))
    lexical[form.lexical[:, 1], form.lexical[:, 0]] = form.weights(probabilities).lexical
    if policy == "rare" and len(lexical):
        counts = word_counts if word_counts.any() else np.ones(len(lexical))
        least = max(float(counts[counts > 0].min()), 1.0)
        return np.asarray(lexical[(counts > 0) & (counts <= least)].mean(axis=0))
    if policy == "uniform" and len(lexical):
        makes = lexical.any(axis=0) & (np.arange(form.n_symbols) < form.n_nonterminals)
        return makes / len(lexical)
    return np.zeros(form.n_symbols)


# -- sentences ---------------------------------------------------------------------------------------------------------


def read(fitted: FittedGrammar, X: Any) -> list[Sentence]:
    """Sentences, in which words may not be new if the policy says so."""
    sentences = read_sentences(X)
    _check_words(fitted, sentences)
    return sentences


def _read_one(fitted: FittedGrammar, sentence: Any, name: str) -> tuple[Sentence, Integers]:
    """One sentence or prefix without brackets, and its codes."""
    one = without_brackets(read_sentence(sentence, name), name)
    _check_words(fitted, [one])
    return one, fitted.reader.codes([one])


def _check_words(fitted: FittedGrammar, sentences: list[Sentence]) -> None:
    unseen = fitted.reader.unseen(sentences) if fitted.refuses_unknown else None
    if unseen is not None:
        word, number = unseen
        policies = ", ".join(map(repr, UNKNOWN_WORD_POLICIES[1:]))
        raise ValueError(
            f"sentence {number} of X has the word {word!r}, which was not there at fit time; unknown_words may be "
            f"one of {policies} to take such words"
        )


# -- scores ------------------------------------------------------------------------------------------------------------


def scores(fitted: FittedGrammar, sentences: list[Sentence]) -> Floats:
    """Log-probability of each sentence."""
    return np.concatenate(fitted.map(log_probabilities, fitted.reader.source(sentences)))


class TextLikelihood(NamedTuple):
    """Of a text, weights included."""

    log_probability: float
    words: float  # and an end for each sentence
    sentences: float


def likelihood(fitted: FittedGrammar, X: Any, sample_weight: Any = None) -> TextLikelihood:
    """How probable a text is, and how long."""
    sentences = read(fitted, X)
    found = scores(fitted, sentences)
    given = weights_of(sample_weight, len(found))
    weights = np.ones(len(found)) if given is None else given
    words = np.array([len(sentence.words) + 1 for sentence in sentences])
    counted = weights > 0
    return TextLikelihood(float(weights[counted] @ found[counted]), float(weights @ words), float(weights.sum()))


# -- trees -------------------------------------------------------------------------------------------------------------


def parses(fitted: FittedGrammar, X: Any) -> list[Parse]:
    """The likeliest tree of each sentence; brackets are kept to, and a tree stands for its words."""
    sentences = read(fitted, X)
    bare = [sentence._replace(tree=None) for sentence in sentences]
    source = fitted.reader.source(bare, enough=TREE_PARTITION_WORDS)
    found = [parse for block in fitted.map(_block_parses, source) for parse in block]
    known = frozenset(fitted.plan.form.words)
    return [_spoken(parse, sentence.words, known) for parse, sentence in zip(found, sentences, strict=True)]


def _block_parses(plan: GrammarPlan, block: Block) -> list[Parse]:
    """One a sentence; words that the grammar has not are left as holes for the caller."""
    codes, lengths = np.asarray(block.rows[:, 0], dtype=np.int64), np.asarray(block.lengths, dtype=np.intp)
    return [Parse(tree, float(value)) for tree, value in best_trees(plan.best, codes, lengths, block.marks)]


def k_best_parses(fitted: FittedGrammar, sentence: Any, k: int) -> list[Parse]:
    """The k likeliest trees of one sentence, likeliest first."""
    one, codes = _read_one(fitted, sentence, "sentence")
    with single_threaded_blas():
        found = k_best_trees(fitted.plan.best, codes, k)
    known = frozenset(fitted.plan.form.words)
    return [_spoken(Parse(tree, float(value)), one.words, known) for tree, value in found]


def _spoken(parse: Parse, words: tuple[str, ...], known: frozenset[str]) -> Parse:
    """The parse with the words that were said: the grammar may not know all of them."""
    if parse.tree is None or known.issuperset(words):
        return parse
    said = iter(words)
    flat = tuple(next(said) if isinstance(node, str) else node for node in parse.tree.flat())
    return parse._replace(tree=Tree.unflat(flat))


def posteriors(fitted: FittedGrammar, X: Any) -> list[Floats]:
    """Posterior of the constituents of each sentence, (words + 1, words + 1, nonterminals) each."""
    bare = [sentence._replace(tree=None) for sentence in read(fitted, X)]
    return [one for block in fitted.map(_block_posteriors, fitted.reader.source(bare)) for one in block]


def _block_posteriors(plan: GrammarPlan, block: Block) -> list[Floats]:
    marks = repeat(None) if block.marks is None else block.marks
    return [constituents(plan.sums, codes, mark) for codes, mark in zip(_codes(block), marks, strict=False)]


# -- what comes next ---------------------------------------------------------------------------------------------------


def log_prefixes(fitted: FittedGrammar, X: Any) -> Floats:
    """Log-probability that a sentence begins with each of these runs of words."""
    bare = [
        without_brackets(one, f"sentence {number} of X")._replace(tree=None)
        for number, one in enumerate(read(fitted, X))
    ]
    return np.concatenate(fitted.map(_block_prefixes, fitted.reader.source(bare)))


def _block_prefixes(plan: GrammarPlan, block: Block) -> Floats:
    return np.array([prefix_probabilities(plan.sums, codes)[-1] for codes in _codes(block)])


def next_word_chances(fitted: FittedGrammar, prefix: Any) -> dict[str | None, float]:
    """Distribution over the word that follows a prefix, likeliest first; None stands for the end of a sentence."""
    one, codes = _read_one(fitted, prefix, "prefix")
    with single_threaded_blas():
        words, end = next_words(fitted.plan.sums, codes)
    chances: dict[str | None, float] = dict(zip(fitted.plan.form.words, map(float, words), strict=True))
    chances[None] = float(end)
    total = sum(chances.values())
    if not total > 0:
        raise ValueError(f"prefix must be the beginning of some sentence, got {' '.join(one.words)!r:.80}")
    likely = sorted(chances.items(), key=lambda item: -item[1])
    return {word: chance / total for word, chance in likely if chance > 0}


def _codes(block: Block) -> list[Integers]:
    """The codes of each sentence of a block."""
    ends = np.cumsum(np.asarray(block.lengths, dtype=np.intp))
    return np.split(np.asarray(block.rows[:, 0], dtype=np.int64), ends[:-1])


# -- draws -------------------------------------------------------------------------------------------------------------


def grow_trees(grammar: Grammar, count: int, random: np.random.RandomState) -> list[Tree]:
    """Trees, each with the probability that the grammar gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar import read_grammar
    >>> from unveil.grammar.pcfg.fitted import grow_trees
    >>> for tree in grow_trees(read_grammar("S -> S S [0.4] | 'a' [0.6]"), 2, np.random.RandomState(6)):
    ...     print(tree)
    (S a)
    (S (S a) (S (S (S a) (S a)) (S a)))
    """
    running = _running(grammar)
    return [_grown(grammar.start, running, random) for _ in range(count)]


def _running(grammar: Grammar) -> dict[Nonterminal, tuple[list[Rule], Floats]]:
    """The rules of every symbol that have a chance, and their probabilities added up."""
    numbers: dict[Nonterminal, list[int]] = {symbol: [] for symbol in grammar.nonterminals}
    for number, rule in enumerate(grammar.rules):
        if grammar.probabilities[number] > 0:
            numbers[rule.parent].append(number)
    return {
        symbol: ([grammar.rules[number] for number in own], np.cumsum(grammar.probabilities[own]))
        for symbol, own in numbers.items()
    }


def _grown(
    start: Nonterminal, running: dict[Nonterminal, tuple[list[Rule], Floats]], random: np.random.RandomState
) -> Tree:
    """A tree: nodes in preorder, as `Tree.unflat` takes them."""
    flat: list[Any] = []
    waiting: list[Nonterminal | str] = [start]
    while waiting:
        symbol = waiting.pop()
        if isinstance(symbol, str):
            flat.append(symbol)
            continue
        rules, sums = running[symbol]
        place = int(np.searchsorted(sums, random.random_sample() * sums[-1], side="right"))
        children = rules[min(place, len(rules) - 1)].children
        flat.append((symbol.name, len(children)))
        waiting.extend(reversed(children))
        if len(flat) > MOST_TREE_NODES:
            raise ValueError(
                f"a drawn tree has more than {MOST_TREE_NODES} nodes: its derivation may never end (see is_consistent)"
            )
    return Tree.unflat(tuple(flat))
