"""What a grammar is used for: scores, parses, draws, posteriors of spans, and what word comes next.

Everything here reads `grammar_` (and how often words were seen, for words that it has not) and nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.estimation.base import engine_for
from unveil.grammar import Grammar, Rule, Tree, normal_form
from unveil.grammar.charts.prefix import next_words
from unveil.grammar.charts.trees import k_best_trees
from unveil.grammar.language.sizes import grow_trees
from unveil.grammar.pcfg.block_functions import BestParses, LogProbabilities, Parse, PrefixProbabilities, SpanPosteriors
from unveil.grammar.pcfg.input import (
    Reader,
    Sentence,
    read_sentence,
    read_sentences,
    weights_of,
    without_brackets,
)
from unveil.grammar.pcfg.model import GrammarModel, Plan
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.sequences import Sequences

FOREST = 8192  # words of a partition whose trees are built: that is work for one thread at a time

UNSEEN = ("error", "impossible", "rare", "uniform")
"""What to do about words that the grammar has not."""


class Parsing:
    """Mixin of the fitted grammar."""

    grammar_: Grammar
    word_counts_: Floats
    engine: Any
    random_state: Any
    unknown_words: str

    @abstractmethod
    def _n_parameters(self) -> int:
        """Free parameters, for AIC and BIC."""

    @property
    def rules_(self) -> tuple[Rule, ...]:
        """The rules of the grammar."""
        return self.grammar_.rules

    @property
    def probabilities_(self) -> Floats:
        """Their probabilities, (n_rules,)."""
        return self.grammar_.probabilities

    @property
    def words_(self) -> tuple[str, ...]:
        """The words that the grammar knows."""
        return self.grammar_.words

    # -- sentences -----------------------------------------------------------------------------------------------------

    def _ready(self) -> tuple[GrammarModel, Plan]:
        check_is_fitted(self)
        model = GrammarModel(normal_form(self.grammar_), self.grammar_.parents)
        return model, model.prepare(model.begin(self.grammar_.probabilities))

    def _unknown(self, model: GrammarModel, plan: Plan) -> Floats:
        """Weight of parent -> word for a word that the grammar has not."""
        lexical: Floats = plan.closed.lexical
        if self.unknown_words == "rare" and len(lexical):
            counts = self.word_counts_ if self.word_counts_.any() else np.ones(len(lexical))
            least = max(float(counts[counts > 0].min()), 1.0)
            return np.asarray(lexical[(counts > 0) & (counts <= least)].mean(axis=0))
        if self.unknown_words == "uniform" and len(lexical):
            makes = lexical.any(axis=0) & (np.arange(lexical.shape[1]) < model.form.n_nonterminals)
            return makes / len(lexical)
        return np.zeros(len(model.form.symbols))

    def _read(self, model: GrammarModel, X: Any) -> tuple[list[Sentence], Reader]:
        """Sentences, in which words may not be new if the policy says so."""
        sentences, reader = read_sentences(X), Reader(self.grammar_, model.form)
        self._check_words(reader, sentences)
        return sentences, reader

    def _check_words(self, reader: Reader, sentences: list[Sentence]) -> None:
        unseen = reader.unseen(sentences) if self.unknown_words == "error" else None
        if unseen is not None:
            word, number = unseen
            policies = ", ".join(map(repr, UNSEEN[1:]))
            raise ValueError(
                f"sentence {number} of X has the word {word!r}, which was not there at fit time; unknown_words may be "
                f"one of {policies} to take such words"
            )

    def score_samples(self, X: Any) -> Floats:
        """Log-probability of each sentence, summed over its trees: the inside probability; -inf where there is none.

        Of a `Bracketed`, over the trees that have these constituents; of a `Tree`, that of the tree itself.
        """
        return self._scored(X)[1]

    def _scored(self, X: Any) -> tuple[list[Sentence], Floats]:
        """The sentences and the log-probability of each."""
        model, plan = self._ready()
        sentences, reader = self._read(model, X)
        step = LogProbabilities(model, plan, self._unknown(model, plan))
        return sentences, np.concatenate(self._map(step, reader.source(sentences)))

    def _map(self, step: Any, source: Sequences) -> list[Any]:
        """What a step makes of each block."""
        with single_threaded_blas():
            return list(engine_for(self.engine, source).map(step, source))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-probability of the sentences."""
        log_likelihood, _, weight = self._sums(X, sample_weight)
        return log_likelihood / weight

    def _sums(self, X: Any, sample_weight: Any) -> tuple[float, float, float]:
        """Log-probability, words (and an end for each sentence) and number of sentences, weights included."""
        sentences, found = self._scored(X)
        given = weights_of(sample_weight, len(found))
        weights = np.ones(len(found)) if given is None else given
        words = np.array([len(sentence.words) + 1 for sentence in sentences])
        counted = weights > 0
        return float(weights[counted] @ found[counted]), float(weights @ words), float(weights.sum())

    def perplexity(self, X: Any, sample_weight: Any = None) -> float:
        """exp(-mean log-probability of a word), the end of a sentence counted as one: how many there seem to be."""
        log_likelihood, words, _ = self._sums(X, sample_weight)
        return float(np.exp(-log_likelihood / words))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-probability + parameters * log sentences."""
        log_likelihood, _, count = self._sums(X, sample_weight)
        return -2.0 * log_likelihood + self._n_parameters() * float(np.log(count))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-probability + 2 * parameters."""
        return -2.0 * self._sums(X, sample_weight)[0] + 2.0 * self._n_parameters()

    # -- trees ---------------------------------------------------------------------------------------------------------

    def parse(self, X: Any) -> list[Parse]:
        """The likeliest tree of each sentence; brackets are kept to, and a `Tree` stands for its words.

        Returns
        -------
        list of Parse
            Pairs ``(tree, log_probability)``; ``(None, -inf)`` for a sentence that the grammar cannot derive.
        """
        model, plan = self._ready()
        sentences, reader = self._read(model, X)
        source = reader.source([sentence._replace(tree=None) for sentence in sentences], enough=FOREST)
        step = BestParses(model, plan, self._unknown(model, plan))
        found = [one for part in self._map(step, source) for one in part]
        known = frozenset(model.form.words)
        return [_spoken(parse, sentence.words, known) for parse, sentence in zip(found, sentences, strict=True)]

    def kbest(self, sentence: Any, k: int) -> list[Parse]:
        """The `k` likeliest trees of one sentence (words without brackets), likeliest first; fewer if it has fewer."""
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be a positive integer, got {k!r}")
        model, plan = self._ready()
        read, codes = self._coded(model, sentence, "sentence")
        with single_threaded_blas():
            found = k_best_trees(model.form, plan.weights, codes, int(k), unknown=self._unknown(model, plan))
        known = frozenset(model.form.words)
        return [_spoken(Parse(tree, float(value)), read.words, known) for tree, value in found]

    def predict_proba(self, X: Any) -> list[Floats]:
        """Posterior of the constituents of each sentence, given its brackets; a `Tree` stands for its words.

        Returns
        -------
        list of arrays of shape (n_words + 1, n_words + 1, n_nonterminals)
            ``[first, last, symbol]`` is the probability that the words from `first` up to, and without, `last` are a
            constituent of that nonterminal, in the order of ``grammar_.nonterminals``; all 0 for a sentence that the
            grammar cannot derive.
        """
        model, plan = self._ready()
        sentences, reader = self._read(model, X)
        source = reader.source([sentence._replace(tree=None) for sentence in sentences])
        step = SpanPosteriors(model, plan, self._unknown(model, plan))
        return [one for part in self._map(step, source) for one in part]

    def _coded(self, model: GrammarModel, sentence: Any, name: str) -> tuple[Sentence, NDArray[np.int64]]:
        """One sentence or prefix without brackets, and its codes."""
        read, reader = without_brackets(read_sentence(sentence, name), name), Reader(self.grammar_, model.form)
        self._check_words(reader, [read])
        return read, reader.codes([read])

    # -- what comes next -----------------------------------------------------------------------------------------------

    def prefix_proba(self, X: Any) -> Floats:
        """Probability that a sentence begins with each of these runs of words (Jelinek & Lafferty 1991)."""
        model, plan = self._ready()
        sentences, reader = self._read(model, X)
        words = [
            without_brackets(one, f"sentence {number} of X")._replace(tree=None) for number, one in enumerate(sentences)
        ]
        step = PrefixProbabilities(plan, self._unknown(model, plan))
        return np.exp(np.concatenate(self._map(step, reader.source(words))))

    def next_word(self, prefix: Any) -> dict[str | None, float]:
        """Distribution over the word that follows a prefix, likeliest first; None stands for the end of a sentence."""
        model, plan = self._ready()
        read, codes = self._coded(model, prefix, "prefix")
        with single_threaded_blas():
            words, end = next_words(plan.closed, codes, unknown=self._unknown(model, plan))
        chances: dict[str | None, float] = dict(zip(model.form.words, map(float, words), strict=True))
        chances[None] = float(end)
        total = sum(chances.values())
        if not total > 0:
            raise ValueError(f"prefix must be the beginning of some sentence, got {' '.join(read.words)!r:.80}")
        likely = sorted(chances.items(), key=lambda item: -item[1])
        return {word: chance / total for word, chance in likely if chance > 0}

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[list[list[str]], list[Tree]]:
        """Sentences drawn from the grammar, as lists of words, and the trees that they came from.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None
            Of the draws; that of the estimator unless given.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
        random = check_random_state(self.random_state if random_state is None else random_state)
        trees = grow_trees(self.grammar_, int(n_samples), random)
        return [list(tree.leaves) for tree in trees], trees


def _spoken(parse: Parse, words: tuple[str, ...], known: frozenset[str]) -> Parse:
    """The parse with the words that were said: the grammar may not know all of them."""
    if parse.tree is None or known.issuperset(words):
        return parse
    said = iter(words)
    flat = tuple(next(said) if isinstance(node, str) else node for node in parse.tree.flat())
    return parse._replace(tree=Tree.unflat(flat))
