"""Hidden Markov model of symbols: numbers from 0 on, words, or any other categories."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.chains.description import Tables
from unveil.chains.estimator import HMMEstimator
from unveil.chains.model.constraints import table_of, tied_entries
from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.estimation.columns import Column
from unveil.estimation.input import as_source
from unveil.estimation.tabular import MANY, Tabular
from unveil.families.base import Family
from unveil.families.categorical import FLOOR, Categorical, CategoricalParams
from unveil.families.held.family import hold
from unveil.families.priors import Dirichlet
from unveil.sources.encoded import encoded


class CategoricalHMM(Tabular, HMMEstimator):
    """Hidden Markov model of columns of categories, independent given the state, fitted by EM (Baum-Welch).

    Missing steps and cells are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    n_features : int, optional
        Number of symbols, where these are the numbers 0, 1, ... `n_features` - 1. By default it is found: numbers from
        0 to the largest that is seen where 0 is among them, as in hmmlearn; the values that are seen otherwise.
    transitions, fixed, tied
        As in :class:`unveil.GaussianHMM`; parameters are "startprob", "transmat" and "emissionprob".
    startprob_init, transmat_init : array-like, optional
        As in :class:`unveil.GaussianHMM`.
    emissionprob_init : array-like of shape (n_components, n_symbols), optional
        Probabilities of the symbols to start from; for several columns side by side, in the order of `categories_`. One
        of 0 stays 0, unless `emissionprob_prior` is above 1.
    startprob_prior, transmat_prior : float or array-like, optional
        As in :class:`unveil.GaussianHMM`.
    emissionprob_prior : float, optional
        Parameter, at least 1, of a Dirichlet prior on the probabilities of every column in every state.
    handle_unknown : {"missing", "error"}, default="missing"
        What becomes of a symbol that was not there at fit time: a missing cell, or an error.
    tol, max_iter, n_init, init_params, algorithm, random_state, warm_start, verbose, verbose_interval, engine, \
schedule, expectation
        As in :class:`unveil.GaussianHMM`.

    Attributes
    ----------
    startprob_, transmat_, occupancy_
        As in :class:`unveil.GaussianHMM`.
    categories_ : list of arrays
        Symbols of each column, sorted.
    emissionprob_ : array of shape (n_components, n_symbols), or a list of them
        Probabilities of the symbols in each state; a list where there are several columns.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_, random_seed_
        As in :class:`unveil.GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import CategoricalHMM
    >>> X = [["walk"], ["walk"], ["shop"], ["walk"], ["clean"], ["clean"], ["shop"], ["clean"], ["walk"], ["walk"]]
    >>> model = CategoricalHMM(2, random_state=0).fit(X)
    >>> model.categories_[0].tolist(), model.emissionprob_.shape
    (['clean', 'shop', 'walk'], (2, 3))
    """

    _parameter_constraints = HMMEstimator._parameter_constraints | {
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "emissionprob_init": ["array-like", None],
        "emissionprob_prior": [Interval(Real, 1.0, None, closed="left"), None],
        "handle_unknown": [StrOptions({"missing", "error"})],
    }
    _takes_missing = True
    _emissions = ("emissionprob",)
    _shown = ("emissionprob_",)

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_features: int | None = None,
        transitions: Any = "any",
        fixed: Any = None,
        tied: Any = None,
        startprob_init: Any = None,
        transmat_init: Any = None,
        emissionprob_init: Any = None,
        startprob_prior: Any = None,
        transmat_prior: Any = None,
        emissionprob_prior: float | None = None,
        handle_unknown: str = "missing",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 3,
        init_params: str = "auto",
        algorithm: str = "viterbi",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        engine: Any = "auto",
        schedule: Any = "batch",
        expectation: Any = "exact",
    ) -> None:
        self.n_components = n_components
        self.n_features = n_features
        self.transitions = transitions
        self.fixed = fixed
        self.tied = tied
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.emissionprob_init = emissionprob_init
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.emissionprob_prior = emissionprob_prior
        self.handle_unknown = handle_unknown
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.algorithm = algorithm
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    # -- symbols -------------------------------------------------------------------------------------------------------

    def _kinds_for(self, n_columns: int, natural: Callable[[], list[str]]) -> list[str]:
        return ["category"] * n_columns

    def _values(self, column: Column, kind: str, name: Any) -> Any:  # type: ignore[override]
        """Symbols of a column of words or objects."""
        return self._symbols(Tabular._values(column, kind, name), name)

    def _numeric_source(self, X: Any, reset: bool, min_rows: int) -> Source:
        """A table of numbers; vocabularies may be large."""
        source = as_source(self, X, reset=reset, min_rows=min_rows, missing=True)
        names = self._called(source.names)
        if reset:
            self.kinds_ = self._kinds_for(source.n_columns, list)
            seen = _distinct(source)
            self.categories_ = [self._symbols(values, name) for values, name in zip(seen, names, strict=True)]
        readers = tuple(self._reader(number, name) for number, name in enumerate(names))
        return encoded(source, readers, now=not isinstance(X, np.memmap))

    def _symbols(self, seen: NDArray[Any], name: Any) -> NDArray[Any]:
        """The symbols of a column, from the values that were seen."""
        numbers = seen.astype(np.float64) if all(isinstance(one, Real) for one in seen.tolist()) else None
        whole = numbers is not None and bool(np.all((numbers >= 0) & (numbers == np.floor(numbers))))
        largest = int(numbers.max(initial=-1)) if whole and numbers is not None else -1
        if self.n_features is not None:
            if not whole or largest >= self.n_features:
                taken = f"n_features={self.n_features} says that symbols are the numbers 0 to {self.n_features - 1}"
                raise ValueError(f"{taken}, but column {name!r} holds {seen.tolist()[-1]!r}")
            return np.arange(float(self.n_features))
        if whole and largest < self._given_width():
            return np.arange(float(self._given_width()))
        if whole and len(seen) and seen[0] == 0:
            return np.arange(float(largest + 1))
        if numbers is not None and not whole and len(seen) > MANY:
            raise ValueError(f"column {name!r} has more than {MANY} different numbers: not one of categories")
        return seen

    def _given_width(self) -> int:
        """How many symbols a table has that is given as a start, or was set by hand; 0 where there is none."""
        set_by_hand = self.warm_start and not hasattr(self, "history_")
        table: Any = getattr(self, "emissionprob_", None) if set_by_hand else self.emissionprob_init
        return np.shape(table)[1] if self.n_features_in_ == 1 and np.ndim(table) == 2 else 0

    def _levels(self) -> tuple[int, ...]:
        """Symbols of each column; a column that is all missing has one that never occurs."""
        return tuple(max(len(values), 1) for values in self.categories_)

    def _settle(self) -> None:
        if not hasattr(self, "categories_"):
            self.categories_ = [np.arange(float(np.shape(table)[1])) for table in self._tables()]
            self.kinds_ = ["category"] * len(self.categories_)
        super()._settle()

    def _tables(self) -> list[Floats]:
        """Probabilities of the symbols of each column."""
        shown = self.emissionprob_
        several = isinstance(shown, list | tuple) and np.ndim(shown[0]) == 2
        return [np.asarray(table, dtype=np.float64) for table in (shown if several else [shown])]

    # -- the family ----------------------------------------------------------------------------------------------------

    def _bare_family(self, shift: Floats | None = None) -> Family:
        prior = None if self.emissionprob_prior is None else Dirichlet(float(self.emissionprob_prior))
        return Categorical(self._levels(), prior)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"emissionprob": (self.n_components, sum(self._levels()))}

    def _held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        masks = {"probabilities": fixed.get("emissionprob"), "tied_probabilities": tied.get("emissionprob")}
        return hold(family, **masks)

    def _given(self, shift: Floats) -> Tables:
        if self.emissionprob_init is None:
            return {"emissionprob": None}
        table, ends = np.asarray(self.emissionprob_init), np.cumsum(self._levels())[:-1]
        wanted = self._shapes()["emissionprob"]
        if table.shape != wanted:
            raise ValueError(f"emissionprob_init must have shape {wanted}, got {table.shape}")
        columns = np.split(table, ends, axis=1)
        checked = [table_of("emissionprob_init", column, column.shape) for column in columns]
        return {"emissionprob": self._off_zero(checked)}

    def _kept(self, name: str, shape: tuple[int, ...]) -> Any:
        """What is fixed, and probabilities of 0 that were given: EM could not leave them either."""
        fixed, labels = super()._kept(name, shape), tied_entries(self.tied, name, shape)
        never = np.zeros(shape, dtype=np.bool_) if self._is_pulled() else self._ruled_out(shape)
        if labels is not None:
            never &= labels < 0
        return (never if fixed is None else fixed | never) if never.any() else fixed

    def _ruled_out(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Symbols that a table given as a start, or set by hand for a warm one, says to be impossible in a state."""
        table: Any = self.emissionprob_init
        if table is None and self.warm_start and hasattr(self, "emissionprob_"):
            table = np.concatenate(self._tables(), axis=1)
        found = np.equal(table, 0) if np.shape(table) == shape else np.zeros(shape)
        return np.asarray(found, dtype=np.bool_)

    def _is_pulled(self) -> bool:
        """Whether a prior keeps all probabilities above 0."""
        return self.emissionprob_prior is not None and self.emissionprob_prior > 1

    def _off_zero(self, tables: list[Any]) -> Floats:
        """Tables side by side."""
        joined = np.concatenate(tables, axis=1)
        return np.maximum(joined, FLOOR) if self._is_pulled() else joined

    def _placed(self, emissions: Any, given: Tables) -> Any:
        return emissions if given["emissionprob"] is None else CategoricalParams(given["emissionprob"])

    def _show(self, emissions: Any, shift: Floats) -> None:
        tables = np.split(emissions.probabilities, np.cumsum(self._levels())[:-1], axis=1)
        self.emissionprob_ = tables[0] if len(tables) == 1 else tables

    def _recall(self, shift: Floats) -> Any:
        tables = [table_of("emissionprob_", table, table.shape) for table in self._tables()]
        return CategoricalParams(self._off_zero(tables))

    def _shift(self) -> Floats:
        return np.zeros(len(self._tables()))

    def _suits(self, emissions: Any) -> bool:
        return bool(emissions.probabilities.shape == self._shapes()["emissionprob"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _distinct(source: Source) -> list[NDArray[Any]]:
    """Sorted numbers that occur in each column."""
    found: list[NDArray[Any]] = [np.empty(0)] * source.n_columns
    for block in source.read():
        for column, cells in enumerate(block.rows.T):
            found[column] = np.union1d(found[column], cells[~np.isnan(cells)].astype(np.float64))
    return found
