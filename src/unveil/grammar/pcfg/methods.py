"""The methods of a fitted grammar as users see them; `unveil.grammar.pcfg.fitted` has what they do."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.estimation.kept import Kept
from unveil.grammar import Grammar, Rule, Tree
from unveil.grammar.pcfg import fitted
from unveil.grammar.pcfg.fitted import FittedGrammar, Parse, fitted_grammar

LEARNED_WITH = (
    *("grammar", "start", "n_nonterminals", "nonterminals", "n_preterminals", "preterminals"),
    *("rule_prior", "fixed", "prune", "impossible", "counts_", "skipped_", "pruned_rules_"),
)
"""What a fitted grammar does not depend on any more."""


def _made(model: Any) -> FittedGrammar:
    counts = getattr(model, "word_counts_", None)  # none where `grammar_` alone was set by hand
    counts = np.zeros(len(model.grammar_.words)) if counts is None else counts
    return fitted_grammar(model.grammar_, counts, model.unknown_words, model.engine)


_fitted_grammar = Kept(_made, apart=LEARNED_WITH, same=("grammar_", "engine"))


class GrammarMethods:
    """Mixin of the fitted grammar."""

    grammar_: Grammar
    word_counts_: Floats
    pruned_rules_: tuple[Rule, ...]
    lower_bound_: float
    lower_bounds_: list[float]
    random_state: Any

    @abstractmethod
    def n_parameters(self) -> int:
        """Free parameters, for AIC and BIC."""

    @property
    def _fitted(self) -> FittedGrammar:
        check_is_fitted(self)
        return _fitted_grammar(self)

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

    def score_samples(self, X: Any) -> Floats:
        """Log-probability of each sentence, summed over its trees: the inside probability; -inf where there is none.

        Of a `Bracketed`, over the trees that have these constituents; of a `Tree`, that of the tree itself.
        """
        ready = self._fitted
        return fitted.scores(ready, fitted.read(ready, X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-probability of the sentences."""
        found = fitted.likelihood(self._fitted, X, sample_weight)
        return found.log_probability / found.sentences

    def perplexity(self, X: Any, sample_weight: Any = None) -> float:
        """exp(-mean log-probability of a word), the end of a sentence counted as one: how many there seem to be."""
        found = fitted.likelihood(self._fitted, X, sample_weight)
        return float(np.exp(-found.log_probability / found.words))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-probability + parameters * log sentences."""
        found = fitted.likelihood(self._fitted, X, sample_weight)
        return -2.0 * found.log_probability + self.n_parameters() * float(np.log(found.sentences))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-probability + 2 * parameters."""
        return -2.0 * fitted.likelihood(self._fitted, X, sample_weight).log_probability + 2.0 * self.n_parameters()

    def parse(self, X: Any) -> list[Parse]:
        """The likeliest tree of each sentence; brackets are kept to, and a `Tree` stands for its words.

        Returns
        -------
        list of Parse
            Pairs ``(tree, log_probability)``; ``(None, -inf)`` for a sentence that the grammar cannot derive.
        """
        return fitted.parses(self._fitted, X)

    def kbest(self, sentence: Any, k: int) -> list[Parse]:
        """The `k` likeliest trees of one sentence (words without brackets), likeliest first; fewer if it has fewer."""
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be a positive integer, got {k!r}")
        return fitted.k_best_parses(self._fitted, sentence, int(k))

    def predict_proba(self, X: Any) -> list[Floats]:
        """Posterior of the constituents of each sentence, given its brackets; a `Tree` stands for its words.

        Returns
        -------
        list of arrays of shape (n_words + 1, n_words + 1, n_nonterminals)
            ``[first, last, symbol]`` is the probability that the words from `first` up to, and without, `last` are a
            constituent of that nonterminal, in the order of ``grammar_.nonterminals``; all 0 for a sentence that the
            grammar cannot derive.
        """
        return fitted.posteriors(self._fitted, X)

    def prefix_proba(self, X: Any) -> Floats:
        """Probability that a sentence begins with each of these runs of words (Jelinek & Lafferty 1991)."""
        return np.exp(fitted.log_prefixes(self._fitted, X))

    def next_word(self, prefix: Any) -> dict[str | None, float]:
        """Distribution over the word that follows a prefix, likeliest first; None stands for the end of a sentence."""
        return fitted.next_word_chances(self._fitted, prefix)

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
        trees = fitted.grow_trees(self.grammar_, int(n_samples), random)
        return [list(tree.leaves) for tree in trees], trees
