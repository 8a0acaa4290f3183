"""Mixture of Bernoullis: groups of rows in a table of yes/no columns."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from unveil.core.arrays import Floats
from unveil.estimation.emissions.bernoulli import BernoulliEmission
from unveil.estimation.input import ZerosAndOnes
from unveil.mixtures.estimator import MixtureEstimator


class BernoulliMixture(MixtureEstimator):
    """Mixture of independent yes/no columns, fitted by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    binarize : float or None, default=0.0
        Cells above it count as 1, the others as 0, as in scikit-learn's BernoulliNB. None takes zeros and ones only.
    tol : "auto" or float, default="auto"
        "auto" stops when all that is still to be gained, judged by how the gains fall off, is below 0.01 nats for each
        thousand rows. A number: stop when the mean log-likelihood rises by less from one pass to the next.
    max_iter : int, default=1000
        Limit of passes over the data.
    n_init : int, default=1
        Number of starts; the best is kept.
    init_params, responsibilities_init, weight_concentration_prior, empty_components
        As in :class:`unveil.GaussianMixture`.
    probability_prior : pair of floats, optional
        Parameters, at least 1, of a Beta prior on every probability.
    random_state : int, RandomState or None
    warm_start : bool, default=False
        Go on from the last fit.
    verbose, verbose_interval : int
        Log every so many passes.
    engine, schedule, expectation
        As in :class:`unveil.GaussianMixture`.

    Attributes
    ----------
    weights_ : (n_components,)
        Shares of the components, falling.
    probabilities_ : (n_components, n_features)
        Probability of a 1 in each column. `means_` is the same.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_
        As in :class:`unveil.GaussianMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import BernoulliMixture
    >>> X = np.array([[1, 1, 0]] * 12 + [[0, 0, 1]] * 8)
    >>> model = BernoulliMixture(2, random_state=0).fit(X)
    >>> model.probabilities_.round(2).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | {
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "probability_prior": [tuple, list, None],
    }

    probabilities_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        binarize: float | None = 0.0,
        tol: float | str = "auto",
        max_iter: int = 1000,
        n_init: int = 1,
        init_params: str = "auto",
        responsibilities_init: Any = None,
        weight_concentration_prior: float | None = None,
        probability_prior: Any = None,
        empty_components: str = "reseed",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        engine: Any = "auto",
        schedule: Any = "auto",
        expectation: Any = "exact",
    ) -> None:
        self.n_components = n_components
        self.binarize = binarize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.responsibilities_init = responsibilities_init
        self.weight_concentration_prior = weight_concentration_prior
        self.probability_prior = probability_prior
        self.empty_components = empty_components
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    @property
    def means_(self) -> Floats:
        """Expected value of each column, which is its probability."""
        return self.probabilities_

    def _emission(self) -> BernoulliEmission:
        width, rows = getattr(self, "n_features_in_", None), ZerosAndOnes(self.binarize)
        return BernoulliEmission(self.n_components, width, rows, self.probability_prior)
