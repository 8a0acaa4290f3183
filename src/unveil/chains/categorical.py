"""Hidden Markov model of symbols: numbers from 0 on, words, or any other categories."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.chains.estimator import HMMEstimator
from unveil.core.arrays import Array
from unveil.estimation.coded import MOST_CATEGORIES, Coded, all_categories
from unveil.estimation.emissions.categorical import CategoricalEmission


class CategoricalHMM(HMMEstimator):
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
    regularise : "auto", float or None, default="auto"
        A mild prior, as in :class:`unveil.GaussianHMM`; in each state it counts one symbol more, shared out as symbols
        are in all sequences. None is plain maximum likelihood.
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

    categories_: list[Any]
    emissionprob_: Any

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
        regularise: float | str | None = "auto",
        tol: float | str = "auto",
        max_iter: int = 1000,
        n_init: int = 1,
        init_params: str = "auto",
        algorithm: str = "viterbi",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        engine: Any = "auto",
        schedule: Any = "auto",
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
        self.regularise = regularise
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

    def _emission(self) -> CategoricalEmission:
        return CategoricalEmission(
            self.n_components,
            getattr(self, "categories_", None),
            Coded(all_categories, self.handle_unknown, symbols=self._symbols),
            self.emissionprob_prior,
            "emissionprob",
            self.emissionprob_init,
            getattr(self, "emissionprob_", None) if self.warm_start else None,
            by_hand=True,
        )

    def _symbols(self, seen: Array, name: Any) -> Array:
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
        if numbers is not None and not whole and len(seen) > MOST_CATEGORIES:
            found = f"more than {MOST_CATEGORIES} different numbers"
            raise ValueError(f"column {name!r} has {found}: not one of categories")
        return seen

    def _given_width(self) -> int:
        """How many symbols a table has that is given as a start, or was set by hand; 0 where there is none."""
        set_by_hand = self.warm_start and not hasattr(self, "history_")
        table: Any = getattr(self, "emissionprob_", None) if set_by_hand else self.emissionprob_init
        return np.shape(table)[1] if self.n_features_in_ == 1 and np.ndim(table) == 2 else 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
