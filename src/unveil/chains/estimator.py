"""The face that all hidden Markov models share: what the scaffold asks of a chain.

    p(x, s) = startprob[s_1] p(x_1 | s_1)  product over t of  transmat[s_t-1, s_t] p(x_t | s_t)

EM on a chain is known as Baum-Welch: the E step runs forward and backward over each sequence, the M step counts. What
differs between these models is their emission, which is abstract here. What a fitted one is used for is `fitted`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.chains.fitted.attributes import check_attributes
from unveil.chains.fitted.chain import FittedChain, kept_chains
from unveil.chains.fitted.methods import ChainMethods
from unveil.chains.given import handed_back, in_place, noted
from unveil.chains.input import as_sequences, handed, joined_weights, lengths_of, rows_of, shares_of
from unveil.chains.model.constraints import CHAIN, allowed_steps, is_ordered, start_rule, transition_rule
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.chains.regularise import family_of, gauge_of, priors_of
from unveil.chains.search import (
    AGREEING_CLIMBS,
    CODE_CLIMBS,
    CODE_STEPS,
    CODES,
    FREE,
    LABELLED,
    ORDERED,
    PLACED,
    ChainSearch,
)
from unveil.chains.small import climb_over
from unveil.chains.starts import STARTS, Kinds, occupancy, sample_of, starting, starts, supported
from unveil.core.arrays import Floats, Indices
from unveil.core.declared import (
    FINITE,
    Declaration,
    Declared,
    MayLack,
    RecordOf,
    bounds,
    chances,
    counts,
    numbers,
    shares,
)
from unveil.core.loop import Parts
from unveil.core.protocols import Ask, Asking
from unveil.core.result import Fit
from unveil.estimation.base import Estimator, LaterFigures, engine_for
from unveil.estimation.declarations import SEED, StreamOf, statistics, sums
from unveil.estimation.emissions.base import Emission
from unveil.estimation.input import frame_of
from unveil.estimation.masks import check_names, table_of
from unveil.estimation.scaffold import (
    EM_CONSTRAINTS,
    Stream,
    Task,
    end_of,
    feed_rows,
    first_of,
    fit_rows,
    has_settled,
    learn,
    parts_of,
    set_or_forget,
    sizes,
    slope,
)
from unveil.estimation.task import fit_task
from unveil.estimation.units import refuse_rough
from unveil.expectations import Annealed
from unveil.families.base import Family
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.sequences import Sequences

COOLER = {"annealed": Annealed(0.85)}  # what a word means for chains: neighbours count too, so states melt sooner
ZEROS = "see transitions, startprob_init, transmat_init and what is given of the emissions"


class HMMEstimator(ChainMethods, Estimator, DensityMixin, BaseEstimator, ABC):
    """Hidden Markov models with emissions of any family."""

    _card_from = "unveil.chains.fitted.shown:card"
    _shows_streams = True
    _row_by_row = False
    _own_parts = {"MarkovParams": MarkovParams}  # noqa: RUF012  read only
    _of_older_files = {"regularise": None}  # noqa: RUF012  what was meant where a file does not name it
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        **EM_CONSTRAINTS,
        "transitions": [str, tuple, "array-like"],
        "fixed": [dict, None],
        "tied": [dict, None],
        "startprob_init": ["array-like", None],
        "transmat_init": ["array-like", None],
        "startprob_prior": [Interval(Real, 1.0, None, closed="left"), "array-like", None],
        "transmat_prior": [Interval(Real, 1.0, None, closed="left"), "array-like", None],
        "regularise": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither"), None],
        "init_params": [StrOptions({"auto", *STARTS})],
        "algorithm": [StrOptions({"viterbi", "map"})],
    }

    startprob_: Any
    transmat_: Any
    lower_bound_: float
    lower_bounds_: list[float]
    random_seed_: int

    @abstractmethod
    def _emission(self) -> Emission:
        """What states emit, as the arguments describe it."""

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        return self._emission().rows.missing

    def _check_storable(self) -> None:
        self._emission().check_storable()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in ("startprob_", "transmat_", *self._emission().shown))

    def _declares(self) -> Declaration:
        """Of attributes that users may set by hand, this says what they are made of; the rest is seen in use."""
        yield from (_as_by_hand(name, one) for name, one in super()._declares())
        yield from self._emission().declared_of_columns(getattr(self, "n_features_in_", None))
        yield "startprob_", shares("states", loose=True)
        yield "transmat_", shares("states", "states", loose=True)
        k, n_columns = len(self.startprob_), len(self._emission().origin(vars(self)))
        yield from self._emission().declared(k, n_columns)
        yield "occupancy_", MayLack(chances(k, gaps=True))
        yield "gauge_", MayLack(numbers(None, high=FINITE))
        yield "clusters_", MayLack(counts(k, below=k))
        if hasattr(self, "_stream"):
            yield "random_seed_", SEED  # batches draw from it
            yield "_stream", self._stream_declared(n_columns)

    def _stream_declared(self, n_columns: int) -> Declared:
        """Where `partial_fit` goes on, perhaps from other sizes than the attributes have that somebody has set."""
        k, family = len(self._stream.order), self._emission().family()
        moments = sums(k, family.n_statistics(n_columns), laws=(family.lacks,))
        told = statistics(starts=sums(k, low=0.0), transitions=sums(k, k, low=0.0), moments=moments)
        tables = {"start": shares(k), "transition": shares(k, k), "emissions": family.declared(k, n_columns)}
        moved = self._moved if k == self.n_components else None  # masks are those of another model
        params, given = RecordOf(MarkovParams, tables), self._given_declared(k)
        return StreamOf(params, told, n_columns, k, moved, given, (family.unframed,)).declared()

    def _given_declared(self, k: int) -> Declared:
        """What stays as it was given; NaN where an entry moves."""
        shapes = {"startprob": (k,), "transmat": (k, k)} | (self._emission().shapes() if k == self.n_components else {})
        return RecordOf(dict, {name: MayLack(bounds(*shape, gaps=True)) for name, shape in shapes.items()})

    def _moved(self, stream: Stream) -> MarkovParams:
        """Parameters after an M step from what a stream has seen."""
        assert stream.running is not None
        model = self._model(stream.shift)
        return model.maximise(stream.running.statistics.scaled(stream.seen), stream.params)

    def _make_ready(self) -> None:
        self._check_rules()
        self._chain()

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> Self:
        """Fit by EM (Baum-Welch).

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features), or a list of sequences
            The steps of all sequences, one after the other. In a list each array or frame is a sequence; one of a
            single dimension has one column.
        y : array-like, optional
            `fit(X, lengths)` is understood, as in hmmlearn: integers that sum to the number of rows are lengths. Other
            arrays with an entry for each row, which scikit-learn's tools may hand over, are ignored.
        lengths : array-like of int, optional
            How many steps each sequence has; by default `X` is one sequence.
        sample_weight : array-like of shape (n_samples,), optional
            How often the observation of each step counts; 0 is a step of which nothing was seen.
        sequence_weight : array-like of shape (n_sequences,), optional
            How often each sequence counts: weight 3 equals the sequence three times, weight 0 equals no sequence.

        Returns
        -------
        self
        """
        given = {"X": X, "y": y, "lengths": lengths, "sample_weight": sample_weight, "sequence_weight": sequence_weight}
        with single_threaded_blas(), fit_task(self, **given):
            fit_rows(self, self._opened(X, sample_weight, y, lengths, sequence_weight))
        return self

    def _opened(
        self, X: Any, sample_weight: Any = None, y: Any = None, lengths: Any = None, sequence_weight: Any = None
    ) -> Sequences:
        """The sequences of a fit that is about to begin."""
        self._validate_params()
        source = self._taken(X, y, lengths, sample_weight, sequence_weight, reset=True)
        self._begin(source)
        return source

    def partial_fit(
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> Self:
        """Learn from one more batch of sequences, by stepwise EM.

        The first batch chooses the start. Step sizes follow ``schedule`` if it is a ``Stepwise``, or else its defaults.
        """
        self._validate_params()
        fresh = not hasattr(self, "_stream")
        if not fresh and not self._suits(self._stream.params):
            raise ValueError("n_components or the emissions were changed since partial_fit began: call fit anew")
        with single_threaded_blas():
            source = self._taken(X, y, lengths, sample_weight, sequence_weight, reset=fresh)
            if fresh:
                self._begin(source)
            feed_rows(self, source, fresh)
        return self

    def score(  # type: ignore[override]
        self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> float:
        """Log-likelihood of all sequences: the sum over them, as in hmmlearn, not the mean over rows.

        Parameters are those of `fit`; `score(X, lengths)` is understood too.
        """
        return super().score(X, y if lengths is None else lengths, sample_weight, sequence_weight)

    def _sequences(
        self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None, *, reset: bool
    ) -> Sequences:
        """What the user hands in for prediction, checked; scikit-learn's labels in second place are ignored."""
        if not reset:
            self._settle()
        return self._taken(X, lengths, None, sample_weight, sequence_weight, reset=reset)

    def _taken(
        self, X: Any, y: Any, lengths: Any, sample_weight: Any, sequence_weight: Any, *, reset: bool
    ) -> Sequences:
        """What the user hands in, checked, as sequences."""
        rows = self._emission().rows
        table, found = handed(X)
        source = rows.source(self, table, joined_weights(sample_weight), reset=reset)
        return as_sequences(source, found, lengths_of(y, lengths, source.n_rows), shares_of(X, sequence_weight))

    def _begin(self, source: Sequences) -> None:
        """Check the rules, and learn what the family needs to know of the rows."""
        self._check_rules()
        learn(self, rows_of(source))
        set_or_forget(self, {"gauge_": gauge_of(self, source)})

    def _check_rules(self) -> None:
        """Refuse masks that cannot be, and parameters that are to stay where nobody put them."""
        emission = self._emission()
        known = (*CHAIN, *emission.names)
        check_names("fixed", self.fixed, known)
        check_names("tied", self.tied, known)
        stands = self.warm_start and self.__sklearn_is_fitted__() and len(self.startprob_) == self.n_components
        for name in () if stands else self.fixed or ():
            given = self.fixed[name]
            if getattr(self, f"{name}_init", None) is None and given is not None and np.any(given):
                raise ValueError(f"fixed names {name!r}, which needs {name}_init: the values at which it stays")
        emission.check(self.tied)

    # -- the chain that the attributes describe ------------------------------------------------------------------------

    def _chain(self) -> FittedChain:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # which says so
        return fitted_chain(self)

    def _settle(self) -> None:
        """Set what a fit knows of the columns where attributes were set by hand."""
        set_or_forget(self, self._emission().settle(vars(self)))
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = len(self._emission().origin(vars(self)))

    def _from_attributes(self) -> tuple[HiddenMarkov, MarkovParams]:
        """The model that the attributes describe, and its parameters."""
        self._settle()
        emission, k = self._emission(), len(self.startprob_)
        shift = emission.origin(vars(self))
        start = table_of("startprob_", self.startprob_, (k,))
        transition = table_of("transmat_", self.transmat_, (k, k))
        plain = k != self.n_components  # masks are those of another model
        model = HiddenMarkov(emission.family(shift), k, shift) if plain else self._model(shift)
        return model, MarkovParams(start, transition, emission.components(vars(self), shift))

    def _suits(self, params: MarkovParams) -> bool:
        """Whether `params` belong to a model as it is asked for now."""
        return len(params.start) == self.n_components and self._emission().suits(params.emissions)

    # -- what the scaffold asks ----------------------------------------------------------------------------------------

    def _frame(self, source: Sequences) -> Floats:
        """The shift of the frame: zero in columns that may not be shifted."""
        rows, shifted = rows_of(source), self._emission().family().framing(source.n_columns)
        look = partial(refuse_rough, rows, shifted, getattr(self, "reg_covar", 1.0) == 0)
        middle = frame_of(rows, look)  # which refuses a column of which nothing is seen
        return np.where(shifted, middle, 0.0)

    def _rules(self) -> tuple[int, Any, Any, Any]:
        return self.n_components, self.transitions, self.fixed, self.tied

    def _model(self, shift: Floats) -> HiddenMarkov:
        start, steps = priors_of(self)
        rules = start_rule(*self._rules(), start), transition_rule(*self._rules(), steps)
        return HiddenMarkov(family_of(self, shift), self.n_components, shift, *rules)

    def _parts(self, model: HiddenMarkov, source: Sequences) -> Parts:
        word = self.expectation if isinstance(self.expectation, str) else ""
        return parts_of(self, model.suited_to(source.n_rows), source, COOLER.get(word, self.expectation))

    def _task(self, source: Sequences) -> Task:
        model = self._model(self._frame(source))
        recalled = self._recalled(model.shift)
        tried: list[int] = []
        begin = self._start_params(model, source, tried) if recalled is None else iter([recalled])
        kept = recalled is not None or self._keeps_order()
        given = noted(self, self._emission(), recalled is not None)
        parts = self._parts(model, source)
        run = climb_over(model, parts)
        return Task(parts, begin, partial(supported, model), lambda: sum(tried), kept, given, run)

    def _first(self, model: HiddenMarkov, source: Sequences) -> Stream:
        recalled = self._recalled(model.shift)
        start = next(self._start_params(model, source, [])) if recalled is None else recalled
        given = noted(self, self._emission(), recalled is not None)
        return Stream(model.shift, first_of(start), np.arange(self.n_components), given=given)

    def _shares(self, outcome: Fit) -> Floats:
        return occupancy(outcome.statistics) if outcome.history else np.zeros(self.n_components)

    def _figures(self, parts: Parts, outcome: Fit, order: Indices) -> tuple[Mapping[str, float], LaterFigures | None]:
        """How much the emissions of two states overlap is not among them: neighbours tell states apart as well."""
        if not outcome.history:
            return {}, None
        if outcome.history[-1].log_likelihood == -np.inf:
            raise ValueError(f"X holds a sequence that has no chance, since probabilities of 0 rule it out: {ZEROS}")
        params, statistics = end_of(parts, outcome)
        figures, later = (
            sizes(parts.model, statistics, params.emissions),
            partial(slope, parts.model, params, statistics),
        )
        return (figures, later) if has_settled(parts, outcome) else ({**figures, **later()}, None)

    def _set_attributes(self, stream: Stream) -> Any:
        emission, params, order = self._emission(), stream.params, stream.order
        family = family_of(self, stream.shift)
        self.startprob_ = params.start[order]
        self.transmat_ = params.transition[np.ix_(order, order)]
        set_or_forget(self, dict.fromkeys(emission.former))
        set_or_forget(self, emission.attributes(family.taken(params.emissions, order), stream.shift))
        self._stream = replace(stream, given=handed_back(self, emission, stream.given))
        visits = occupancy(stream.latest)[order] if stream.outcome.history else None
        counted = visits if visits is not None and visits.any() else np.full(len(order), np.nan)
        self.occupancy_ = counted / counted.sum()
        return visits

    def _excuse(self) -> str | None:
        if self.history_.events.get("floored"):
            return "a floor held a state back"
        return self._emission().excuse(self._stream.params.emissions)

    # -- starts --------------------------------------------------------------------------------------------------------

    def _recalled(self, shift: Floats) -> MarkovParams | None:
        """Where a warm start goes on: at the attributes, whether a fit or the user set them."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        if hasattr(self, "history_") and not (hasattr(self, "_stream") and self._suits(self._stream.params)):
            return None  # what was fitted before was another model
        emissions = self._emission().components(vars(self), shift)
        params = replace(self._from_attributes()[1], emissions=emissions)
        if not self._suits(params):
            raise ValueError(
                "warm_start=True goes on from the attributes, but those set are not of the shapes asked for"
            )
        return params

    def _is_given(self) -> bool:
        """Whether a start of the emissions is given, in part or in full."""
        return any(one is not None for one in self._emission().inits().values())

    def _keeps_order(self) -> bool:
        """Whether the order of the states means something: it is given, or masks tell the states apart."""
        given = self._is_given() or self.startprob_init is not None or self.transmat_init is not None
        constrained = allowed_steps(self.transitions, self.n_components) is not None or self.fixed or self.tied
        return bool(constrained) or given or self._emission().family().ordered

    def _kinds(self, family: Family, n_columns: int) -> Kinds:
        """Which starts are tried."""
        if self._is_given():
            return Kinds(PLACED, follows=True)
        if is_ordered(allowed_steps(self.transitions, self.n_components)):
            return Kinds(ORDERED)
        if self._keeps_order():
            return Kinds(LABELLED, renamed=True)
        if all(family.n_levels(column) for column in range(n_columns)):
            return Kinds(CODES, least_steps=CODE_STEPS, fewest=CODE_CLIMBS)
        return Kinds(FREE, fewest=AGREEING_CLIMBS)

    def _is_complete(self, shift: Floats) -> bool:
        """Whether all of the start is given."""
        given = (self.startprob_init, self.transmat_init, *self._emission().given(shift).values())
        return all(one is not None for one in given)

    def _start_params(
        self, model: HiddenMarkov, source: Sequences, tried: list[int]
    ) -> Iterator[MarkovParams | Asking[MarkovParams]]:
        """First parameters, one set per start, with the given parts in place; `tried` gets how many were compared."""
        finish = partial(in_place, self, shift=model.shift)
        if self._is_complete(model.shift):
            k = self.n_components
            yield finish(MarkovParams(np.full(k, 1.0 / k), np.full((k, k), 1.0 / k), None))
            return
        if source.n_rows < self.n_components:
            got = f"n_components = {self.n_components}, n_samples = {source.n_rows}"
            raise ValueError(f"Expected n_samples >= n_components but got {got}")
        kinds, seed = self._kinds(model.family, source.n_columns), self.random_seed_
        sample = sample_of(model, source, seed, whole=kinds.names is ORDERED)
        if self.init_params == "auto":
            search = ChainSearch(sample, kinds, finish if self._keeps_order() else None, source.n_rows)
            yield from search.starts(seed, self.n_init if self.n_components > 1 else 1)
            tried += [search.tried] if self.n_components > 1 else []
            return
        engine = engine_for(self.engine, source)
        for start in starts(self.init_params, sample, seed, self.n_init, finish):
            yield starting(sample, Ask(engine, source, sample.step(start)), kinds, finish)


def _as_by_hand(name: str, declared: Declared) -> tuple[str, Declared]:
    """Who sets attributes by hand need not say how many columns there are."""
    return name, MayLack(declared) if name == "n_features_in_" else declared


def _described(estimator: HMMEstimator) -> FittedChain:
    """The chain of an estimator whose attributes were set by a fit, or by hand."""
    check_attributes(estimator)
    model, params = estimator._from_attributes()
    twin = copy(estimator)  # what is kept must not hold the estimator itself
    rows = twin._emission().rows
    return FittedChain.of(estimator, model, params, partial(rows.shown, twin), rows.plain(estimator))


fitted_chain = kept_chains(_described)
