"""Hidden Markov model of counts."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from unveil.chains.description import Tables
from unveil.chains.estimator import HMMEstimator
from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.estimation.input import as_source
from unveil.estimation.tabular import SUPPORTS
from unveil.families.base import Family
from unveil.families.held.family import hold
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Gamma
from unveil.sources.encoded import Within, encoded

LEAST = 1e-300


class PoissonHMM(HMMEstimator):
    """Hidden Markov model of counts, independent given the state, fitted by EM (Baum-Welch). Missing cells are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    transitions, fixed, tied
        As in :class:`unveil.GaussianHMM`; parameters are "startprob", "transmat" and "lambdas".
    startprob_init, transmat_init : array-like, optional
        As in :class:`unveil.GaussianHMM`.
    lambdas_init : array-like of shape (n_components, n_features), optional
        Expected counts to start from.
    startprob_prior, transmat_prior : float or array-like, optional
        As in :class:`unveil.GaussianHMM`.
    rate_prior : pair of floats, optional
        Shape, at least 1, and rate of a Gamma prior on every expected count.
    tol, max_iter, n_init, init_params, algorithm, random_state, warm_start, verbose, verbose_interval, engine, \
schedule, expectation
        As in :class:`unveil.GaussianHMM`.

    Attributes
    ----------
    startprob_, transmat_, occupancy_
        As in :class:`unveil.GaussianHMM`.
    lambdas_ : (n_components, n_features)
        Expected count in each column, by state. `means_` is the same.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_, random_seed_
        As in :class:`unveil.GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import PoissonHMM
    >>> X = np.array([[1], [0], [2], [1], [9], [8], [11], [10], [1], [0], [1], [0], [9], [12], [1], [0]])
    >>> model = PoissonHMM(2, random_state=0).fit(X)
    >>> model.lambdas_.ravel().round(1).tolist()
    [0.7, 9.8]
    """

    _parameter_constraints = HMMEstimator._parameter_constraints | {
        "lambdas_init": ["array-like", None],
        "rate_prior": [tuple, list, None],
    }
    _takes_missing = True
    _emissions = ("lambdas",)
    _shown = ("lambdas_",)

    def __init__(
        self,
        n_components: int = 1,
        *,
        transitions: Any = "any",
        fixed: Any = None,
        tied: Any = None,
        startprob_init: Any = None,
        transmat_init: Any = None,
        lambdas_init: Any = None,
        startprob_prior: Any = None,
        transmat_prior: Any = None,
        rate_prior: Any = None,
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
        self.transitions = transitions
        self.fixed = fixed
        self.tied = tied
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.lambdas_init = lambdas_init
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.rate_prior = rate_prior
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

    @property
    def means_(self) -> Floats:
        """Expected value of each column, which is its rate."""
        return self.lambdas_

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """Counts only: an array is looked at here, a file as it is read."""
        source = as_source(self, X, reset=reset, min_rows=min_rows, missing=True)
        names = getattr(self, "feature_names_in_", range(source.n_columns))
        source = encoded(source, tuple(Within(*SUPPORTS["count"], name) for name in names), now=True)
        return source if sample_weight is None else as_source(self, source, sample_weight, reset=False)

    def _bare_family(self, shift: Floats | None = None) -> Family:
        if self.rate_prior is None:
            return Poisson()
        if len(self.rate_prior) != 2 or not all(isinstance(one, Real) for one in self.rate_prior):
            raise ValueError(f"rate_prior must be a pair of numbers, shape and rate, got {self.rate_prior!r}")
        return Poisson(Gamma(*map(float, self.rate_prior)))

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"lambdas": (self.n_components, self.n_features_in_)}

    def _held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        return hold(family, rates=fixed.get("lambdas"), tied_rates=tied.get("lambdas"))

    def _given(self, shift: Floats) -> Tables:
        if self.lambdas_init is None:
            return {"lambdas": None}
        rates = check_array(self.lambdas_init, dtype=np.float64, input_name="lambdas_init")
        wanted = self._shapes()["lambdas"]
        if rates.shape != wanted or np.any(rates < 0):
            got = f"shape {rates.shape}" if rates.shape != wanted else str(rates.tolist())
            raise ValueError(f"lambdas_init must hold {wanted} expected counts from 0 on, got {got}")
        return {"lambdas": np.maximum(rates, LEAST)}

    def _placed(self, emissions: Any, given: Tables) -> Any:
        return emissions if given["lambdas"] is None else PoissonParams(given["lambdas"])

    def _show(self, emissions: Any, shift: Floats) -> None:
        self.lambdas_ = emissions.rates

    def _recall(self, shift: Floats) -> Any:
        return PoissonParams(np.maximum(np.asarray(self.lambdas_, dtype=np.float64), LEAST))

    def _shift(self) -> Floats:
        return np.zeros(np.shape(self.lambdas_)[1])

    def _suits(self, emissions: Any) -> bool:
        return bool(emissions.rates.shape == (self.n_components, self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
