"""Hidden Markov model of columns of different kinds, each by its own family, or of any family of your own."""

from __future__ import annotations

from typing import Any

from unveil.chains.estimator import HMMEstimator
from unveil.core.arrays import Floats
from unveil.estimation.emissions.mixed import MIXED, MixedEmission


class MixedHMM(HMMEstimator):
    """Hidden Markov model of columns of different kinds, independent given the state, fitted by EM (Baum-Welch).

    Missing steps and cells are taken where all families do.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    families : "auto", mapping, family or list, default="auto"
        What each column is, as in :class:`unveil.MixedMixture`: words ("number", "count", "yes/no", "category",
        "waiting time") or families, such as ``Student()``, or ``Compound(Poisson(), 2)``, a mixture in each state. A
        family of your own may stand for all columns.
    covariance_type : str, default="full"
        Structure of the covariances of the numbers, as in :class:`unveil.GaussianMixture`.
    reg_covar : float, default=1e-6
        Added to the diagonal of their covariances.
    handle_unknown : {"missing", "error"}, default="missing"
        What becomes of a category that was not there at fit time: a missing cell, or an error.
    transitions, fixed, tied
        As in :class:`unveil.GaussianHMM`; parameters are "startprob" and "transmat". Those of the emissions are all
        free: their columns are of many kinds, which have no names in common.
    startprob_init, transmat_init, startprob_prior, transmat_prior : optional
        As in :class:`unveil.GaussianHMM`.
    regularise : "auto", float or None, default="auto"
        A mild prior, as in :class:`unveil.GaussianHMM`, on columns of every kind. None is plain maximum likelihood.
    tol, max_iter, n_init, init_params, algorithm, random_state, warm_start, verbose, verbose_interval, engine, \
schedule, expectation
        As in :class:`unveil.GaussianHMM`.

    Attributes
    ----------
    startprob_, transmat_, occupancy_
        As in :class:`unveil.GaussianHMM`.
    kinds_, categories_, components_, means_
        As in :class:`unveil.MixedMixture`, by state.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_, random_seed_
        As in :class:`unveil.GaussianHMM`.

    Examples
    --------
    >>> from unveil import MixedHMM
    >>> calm, busy = [[1.0, "a"], [1.2, "a"], [0.8, "a"], [1.1, "a"]], [[9.0, "b"], [9.3, "b"], [8.9, "b"]]
    >>> model = MixedHMM(2, random_state=0).fit(calm + busy + calm + busy + calm)
    >>> model.kinds_, model.predict([[1.0, None], [None, "b"]]).tolist()
    (['number', 'category'], [0, 1])
    """

    _parameter_constraints = HMMEstimator._parameter_constraints | MIXED

    kinds_: list[str]
    categories_: list[Any]

    def __init__(
        self,
        n_components: int = 1,
        *,
        families: Any = "auto",
        covariance_type: str = "full",
        reg_covar: float = 1e-6,
        handle_unknown: str = "missing",
        transitions: Any = "any",
        fixed: Any = None,
        tied: Any = None,
        startprob_init: Any = None,
        transmat_init: Any = None,
        startprob_prior: Any = None,
        transmat_prior: Any = None,
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
        self.families = families
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.handle_unknown = handle_unknown
        self.transitions = transitions
        self.fixed = fixed
        self.tied = tied
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
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
    def components_(self) -> list[tuple[Any, tuple[int, ...], Any]]:
        """What each group of columns is, its columns, and its parameters."""
        return self._emission().groups()

    @property
    def means_(self) -> Floats:
        """Expected value of each column in each state; NaN for categories."""
        return self._emission().means()

    def _emission(self) -> MixedEmission:
        return MixedEmission(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
