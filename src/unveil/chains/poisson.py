"""Hidden Markov model of counts."""

from __future__ import annotations

from typing import Any

from unveil.chains.estimator import HMMEstimator
from unveil.core.arrays import Floats
from unveil.estimation.emissions.poisson import PoissonEmission


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
    regularise : "auto", float or None, default="auto"
        A mild prior, as in :class:`unveil.GaussianHMM`; in each state it counts half an event more, in as many steps as
        that takes on the whole. None is plain maximum likelihood.
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
    [0.7, 9.7]
    """

    _parameter_constraints = HMMEstimator._parameter_constraints | {
        "lambdas_init": ["array-like", None],
        "rate_prior": [tuple, list, None],
    }

    lambdas_: Floats

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
        self.transitions = transitions
        self.fixed = fixed
        self.tied = tied
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.lambdas_init = lambdas_init
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.rate_prior = rate_prior
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

    @property
    def means_(self) -> Floats:
        """Expected value of each column, which is its rate."""
        return self.lambdas_

    def _emission(self) -> PoissonEmission:
        width = getattr(self, "n_features_in_", None)
        return PoissonEmission(self.n_components, width, self.rate_prior, "lambdas", self.lambdas_init)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
