"""A probabilistic grammar from sentences: raw, partly bracketed, or with their trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.certificate import Certificate, Finding
from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, ListOf, RecordOf, at_least_zero, chances, counts
from unveil.core.loop import Parts
from unveil.core.result import Fit
from unveil.estimation.base import Estimator, LaterFigures, seed_of
from unveil.estimation.declarations import StreamOf, statistics, sums
from unveil.estimation.scaffold import EM_CONSTRAINTS, Stream, adopt, climb, feed, parts_of, resumable, schedule_of
from unveil.estimation.task import fit_task
from unveil.grammar import Grammar, Nonterminal, Rule
from unveil.grammar.pcfg.fitted import UNKNOWN_WORD_POLICIES
from unveil.grammar.pcfg.fitting import (
    RULE_FLOOR,
    derivable,
    figures,
    given_grammar,
    model_of,
    ordered,
    starts,
    task_of,
    without_rare_rules,
)
from unveil.grammar.pcfg.input import Sentence, read_sentences, weights_of, word_counts
from unveil.grammar.pcfg.methods import GrammarMethods
from unveil.grammar.pcfg.model import GrammarModel, GrammarParams
from unveil.grammar.pcfg.rules import findings_of, revived
from unveil.grammar.pcfg.starts import Symbols, first_grammar
from unveil.numerics.blas import single_threaded_blas

NO_TABLE = frozenset({"n_features_in_", "feature_names_in_"})  # attributes of estimators that take tables


class PCFG(GrammarMethods, Estimator, DensityMixin, BaseEstimator):
    """Probabilistic context-free grammar, fitted by inside-outside (EM).

    Parameters
    ----------
    grammar : Grammar or str, optional
        The rules, and the probabilities from which the climb starts; text is read in nltk's notation. Rules may have
        any number of children, unary chains may be cyclic, and rules may be empty. None takes the rules of the trees
        among the sentences, or, if there are none, all rules over `n_nonterminals` symbols with random probabilities.
    start : str, optional
        The start symbol of a grammar that is not given: the root of the trees, or "S", or the first of `nonterminals`
        if "S" is none of them.
    n_nonterminals, nonterminals : int or list of str, optional
        How many symbols a random grammar has, the start among them; or their names.
    n_preterminals, preterminals : int or list of str, optional
        Symbols of a random grammar that make words and nothing else; the nonterminals then make pairs of symbols.
        Without any, every symbol does both.
    tol : "auto" or float, default="auto"
        "auto" stops when all that is still to be gained, judged by how the gains fall off, is below 0.01 nats for each
        thousand words. A number: stop when the mean log-likelihood of a word rises by less from one pass to the next.
    max_iter : int, default=200
    n_init : int, default=1
        Climbs of a random grammar, from the best of five short runs each; the best is kept.
    rule_prior : float or mapping of rules or parents to float, optional
        Concentration of a Dirichlet prior on the rules of each parent: above 1 smooths, below 1 favours few rules, 1 is
        flat. A mapping has rules (text such as "NP -> NP PP", or Rule) or parents for keys; the others are flat.
    fixed : list of rules or parents, optional
        Rules whose probability stays as it is; a parent stands for all its rules.
    prune : float, default=0.0
        Rules that end below this probability are dropped after the fit, and the others share what they had; those that
        are fixed stay as they are. A sentence that needs one of them has probability 0 from then on.
    impossible : {"error", "skip"}, default="error"
        What to do about a sentence that the grammar cannot derive, or whose tree has other rules: an error that names
        it, or leave it out and say so in the certificate.
    unknown_words : {"error", "impossible", "rare", "uniform"}, default="error"
        A word that was not there at fit time: an error; a sentence of probability zero; taken for the average of the
        words that were seen once (or least often); or a word that tells nothing, which every symbol that makes words
        makes with probability 1 / number of words known.
    random_state, warm_start, verbose
        As in scikit-learn.
    engine, schedule, expectation : str or object
        As in `GaussianMixture`: where the work runs, when probabilities move, and which trees count: all by their
        probability ("exact"), the best one ("hard"), drawn ones ("sampled"), between refreshes those made of the
        `active` likeliest symbols of every span ("sparse"), or all, first with their odds evened out ("annealed").

    Attributes
    ----------
    grammar_ : Grammar
        The rules with their probabilities; ``print(model.grammar_)`` is nltk's notation. In the given order, or, for a
        random grammar, symbols in falling order of use.
    rules_, probabilities_, words_ : tuple of Rule, array of shape (n_rules,), tuple of str
        Parts of it.
    counts_ : array of shape (n_rules,)
        Expected uses of each rule in the sentences of the fit.
    word_counts_ : array of shape (n_words,)
        How often each word was seen.
    skipped_ : array of int
        Numbers of the sentences that were left out since the grammar cannot derive them.
    pruned_rules_ : tuple of Rule
        Rules that were dropped at the end of the fit.
    n_iter_, converged_, lower_bound_, lower_bounds_, history_, certificate_
        As in `GaussianMixture`; bounds are per word.

    Examples
    --------
    >>> from unveil import PCFG
    >>> model = PCFG('''
    ...     S -> NP VP [1.0]
    ...     VP -> V NP [0.7] | VP PP [0.3]
    ...     NP -> NP PP [0.4] | 'astronomers' [0.2] | 'ears' [0.2] | 'stars' [0.2]
    ...     PP -> P NP [1.0]
    ...     P -> 'with' [1.0]
    ...     V -> 'saw' [1.0]
    ... ''').fit(["astronomers saw stars with ears", "stars with ears saw stars"])
    >>> model.converged_, round(model.perplexity(["stars saw ears"]), 2)
    (True, 1.85)
    >>> tree, log_probability = model.parse(["astronomers saw stars with ears"])[0]
    >>> print(tree)
    (S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))
    """

    _card_from = "unveil.grammar.pcfg.shown:card"
    _row_by_row = False
    _own_parts = {kind.__name__: kind for kind in (Grammar, Nonterminal, Rule, GrammarParams)}  # noqa: RUF012  read only
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "grammar": [Grammar, str, None],
        "start": [str, None],
        "n_nonterminals": [Interval(Integral, 1, None, closed="left"), None],
        "nonterminals": ["array-like", tuple, None],
        "n_preterminals": [Interval(Integral, 1, None, closed="left"), None],
        "preterminals": ["array-like", tuple, None],
        "rule_prior": [Interval(Real, 0.0, None, closed="neither"), Mapping, None],
        "fixed": ["array-like", tuple, set, frozenset, None],
        "prune": [Interval(Real, 0.0, 1.0, closed="left")],
        "impossible": [StrOptions({"error", "skip"})],
        "unknown_words": [StrOptions(set(UNKNOWN_WORD_POLICIES))],
        **{name: kinds for name, kinds in EM_CONSTRAINTS.items() if name not in ("n_components", "verbose_interval")},
    }

    def __init__(
        self,
        grammar: Grammar | str | None = None,
        *,
        start: str | None = None,
        n_nonterminals: int | None = None,
        nonterminals: Sequence[str] | None = None,
        n_preterminals: int | None = None,
        preterminals: Sequence[str] | None = None,
        tol: float | str = "auto",
        max_iter: int = 200,
        n_init: int = 1,
        rule_prior: Any = None,
        fixed: Any = None,
        prune: float = 0.0,
        impossible: str = "error",
        unknown_words: str = "error",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        engine: Any = "auto",
        schedule: Any = "auto",
        expectation: Any = "exact",
    ) -> None:
        self.grammar = grammar
        self.start = start
        self.n_nonterminals = n_nonterminals
        self.nonterminals = nonterminals
        self.n_preterminals = n_preterminals
        self.preterminals = preterminals
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.rule_prior = rule_prior
        self.fixed = fixed
        self.prune = prune
        self.impossible = impossible
        self.unknown_words = unknown_words
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    @classmethod
    def from_grammar(cls, grammar: Grammar | str, **parameters: Any) -> PCFG:
        """An estimator that is ready to score, parse and draw by `grammar` as it stands; nothing is fitted.

        Examples
        --------
        >>> from unveil import PCFG
        >>> model = PCFG.from_grammar("S -> S S [0.25] | 'ha' [0.75]")
        >>> [round(float(value), 4) for value in np.exp(model.score_samples(["ha", "ha ha", "ha ha ha"]))]
        [0.75, 0.1406, 0.0527]
        """
        made = cls(grammar, **parameters)
        made._validate_params()
        first = made._given()
        if first is None:
            raise ValueError("grammar must be a Grammar or text in nltk's notation, got None")
        made.pruned_rules_, made.skipped_ = (), np.empty(0, dtype=np.intp)
        made.grammar_, made.word_counts_ = first, np.zeros(len(first.words))
        adopt(made, Stream(np.zeros(0), made._model(first).begin(first.probabilities), np.arange(0)))
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _declares(self) -> Declaration:
        known = dict(super()._declares())
        yield from ((name, one) for name, one in known.items() if name not in NO_TABLE)
        yield "grammar_", RecordOf(Grammar, None)
        rules = self.grammar_.n_rules
        yield "word_counts_", at_least_zero(len(self.grammar_.words))
        yield "counts_", at_least_zero(rules)
        yield "skipped_", counts(None)
        rule = RecordOf(Rule, {"parent": RecordOf(Nonterminal, None), "children": RecordOf(tuple, None)})
        yield "pruned_rules_", ListOf(rule, tuple)
        params = {"probabilities": chances(rules), "uses": at_least_zero(len(self.grammar_.nonterminals))}
        told = statistics(counts=sums(rules, low=0.0))
        yield "_stream", StreamOf(RecordOf(GrammarParams, params), told, 0, 0, self._moved).declared()

    def _moved(self, stream: Stream) -> GrammarParams:
        """Parameters after an M step from what a stream has seen."""
        assert stream.running is not None
        model = self._model(self.grammar_)
        return model.maximise(stream.running.statistics.scaled(stream.seen), stream.params)

    def _make_ready(self) -> None:
        self._given()
        self._model(self.grammar_)

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCFG:
        """Fit to sentences by EM.

        Parameters
        ----------
        X : list of str, list of str, Bracketed or Tree
            The sentences: strings are split at white space. `Bracketed` (see `unveil.grammar.read_bracketed`) are
            sentences of which some constituents are known, and `Tree` those of which all are; kinds may be mixed.
        y : ignored
        sample_weight : array-like of shape (n_sentences,), optional
            How often each sentence counts: weight 3 equals the sentence three times, weight 0 equals none.

        Returns
        -------
        self
        """
        self._validate_params()
        sentences = read_sentences(X)
        with single_threaded_blas(), fit_task(self, X=sentences, sample_weight=sample_weight):
            weights = weights_of(sample_weight, len(sentences))
            self.random_seed_ = seed_of(self.random_state)
            recalled = self.grammar_ if self.warm_start and hasattr(self, "grammar_") else None
            grammar, symbols = self._first_grammar(sentences, weights, recalled)
            parts = self._parts(self._model(grammar), grammar, sentences, weights)
            outcome = climb(task_of(parts, grammar, symbols, self.n_init))
            ends = figures(parts, outcome)
            self.word_counts_ = word_counts(parts.source, len(grammar.words))
            adopt(self, self._settled(grammar, symbols, outcome), ends)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCFG:
        """Learn from one more batch of sentences, by stepwise EM.

        The first batch settles the rules and the words, where the grammar is not given. Step sizes follow ``schedule``
        if it is a ``Stepwise``, or else its defaults.
        """
        self._validate_params()
        sentences = read_sentences(X)
        with single_threaded_blas():
            weights = weights_of(sample_weight, len(sentences))
            fresh = not hasattr(self, "_stream")
            if fresh or not hasattr(self, "random_seed_"):  # which `from_grammar` does not draw
                self.random_seed_ = seed_of(self.random_state)
            grammar, symbols = self._first_grammar(sentences, weights, None if fresh else self.grammar_)
            if not fresh and grammar.rules != self.grammar_.rules:
                raise ValueError("grammar must be that of the batches before, got other rules; `fit` begins anew")
            model = replace(self._model(grammar), floor=RULE_FLOOR)
            every = np.full(grammar.n_rules, not fresh)  # what `fit` ruled out may be in this batch
            found = revived(grammar.probabilities, grammar.parents, every, RULE_FLOOR, model.free)
            grammar = grammar.with_probabilities(found)
            parts = self._parts(model, grammar, sentences, weights)
            if fresh:
                stream = Stream(np.zeros(0), next(starts(parts, grammar, symbols, self.n_init)), np.arange(0))
            else:
                params = replace(self._stream.params, probabilities=grammar.probabilities)
                stream = replace(self._stream, params=params)
            fed, counts = feed(stream, parts), word_counts(parts.source, len(grammar.words))
            self.grammar_, self.word_counts_ = grammar, counts if fresh else self.word_counts_ + counts
            adopt(self, fed)
        return self

    def n_parameters(self) -> int:
        """Free parameters, for AIC and BIC: rules that are not ruled out, less one for each parent."""
        check_is_fitted(self)
        return self._model(self.grammar_).n_parameters(self.grammar_.probabilities)

    # -- parts of a fit ------------------------------------------------------------------------------------------------

    def _given(self) -> Grammar | None:
        """The grammar that the user gave."""
        names = ("n_nonterminals", "nonterminals", "n_preterminals", "preterminals", "start")
        return given_grammar(self.grammar, {name: getattr(self, name) for name in names})

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

    def _model(self, grammar: Grammar) -> GrammarModel:
        """The model of a grammar's rules, with the prior and what is fixed."""
        return model_of(grammar, self.rule_prior, self.fixed, self.pruned_rules_, schedule_of(self.schedule))

    def _parts(self, model: GrammarModel, grammar: Grammar, sentences: list[Sentence], weights: Floats | None) -> Parts:
        """What a fit is assembled from; sentences that cannot be derived are named or left out."""
        skips = self.impossible == "skip"
        source, self.skipped_ = derivable(model, grammar, sentences, weights, self.engine, skips)
        return parts_of(self, model, source)

    def _settled(self, grammar: Grammar, symbols: Symbols | None, outcome: Fit) -> Stream:
        """The outcome of a fit in order and pruned; symbols keep their names where the user speaks of rules."""
        named = self.fixed is not None or isinstance(self.rule_prior, Mapping)
        found, outcome = ordered(grammar, outcome, symbols, named)
        self.grammar_, outcome, dropped = without_rare_rules(found, outcome, self.prune, self._model(found).free)
        self.pruned_rules_ += dropped
        times = dict(zip(grammar.words, self.word_counts_, strict=True))
        self.word_counts_ = np.array([times[word] for word in self.grammar_.words])
        return resumable(outcome, np.zeros(0), np.arange(0))

    # -- what a fit leaves behind --------------------------------------------------------------------------------------

    def _set_attributes(self, stream: Stream) -> None:
        """What is learned, as users see it."""
        self.grammar_ = self.grammar_.with_probabilities(stream.params.probabilities)
        counts = stream.latest.get("counts")
        self.counts_ = np.zeros(self.grammar_.n_rules) if counts is None else np.array(counts)

    def _report(
        self,
        outcome: Fit,
        counts: Any,
        figures: Mapping[str, float] | None = None,
        later: LaterFigures | None = None,
        depth: int = 4,
        more: Iterable[Finding] = (),
    ) -> None:
        """With what is particular to grammars; where nothing was fitted there is nothing to say."""
        own = self._findings() if outcome.history or figures is not None else []
        super()._report(outcome, counts, figures, later, depth, more=(*own, *more))
        if not own:
            self.certificate_ = Certificate(())

    def _findings(self) -> list[Finding]:
        """Do trees end, is every rule of use, is there enough text?"""
        words, dropped = float(self.word_counts_.sum()), len(self.pruned_rules_)
        offered = self._model(self.grammar_).n_parameters(np.ones(self.grammar_.n_rules)) + dropped
        return findings_of(self.grammar_, self.counts_, self.skipped_, dropped, self.n_parameters(), words, offered)

    def _excuse(self) -> str | None:
        return "rules are kept above a floor" if self.history_.events.get("floored") else None
