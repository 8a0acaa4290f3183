"""Mixture of Poissons: groups of rows in a table of counts."""

from __future__ import annotations

from typing import Any

from unveil.core.arrays import Floats
from unveil.estimation.emissions.poisson import PoissonEmission
from unveil.mixtures.estimator import MixtureEstimator


class PoissonMixture(MixtureEstimator):
    """Mixture of independent counts, fitted by EM. Missing cells (NaN) are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    rate_prior : pair of floats, optional
        Shape, at least 1, and rate of a Gamma prior on every rate.
    tol : "auto" or float, default="auto"
        "auto" stops when all that is still to be gained, judged by how the gains fall off, is below 0.01 nats for each
        thousand rows. A number: stop when the mean log-likelihood rises by less from one pass to the next.
    max_iter : int, default=1000
        Limit of passes over the data.
    n_init, init_params, responsibilities_init, weight_concentration_prior, empty_components, random_state, \
warm_start, verbose, verbose_interval, engine, schedule, expectation
        As in :class:`unveil.GaussianMixture`.

    Attributes
    ----------
    weights_ : (n_components,)
        Shares of the components, falling.
    rates_ : (n_components, n_features)
        Expected count in each column. `means_` is the same.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_
        As in :class:`unveil.GaussianMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import PoissonMixture
    >>> X = np.array([[0], [1], [0], [1], [12], [9], [11]])
    >>> model = PoissonMixture(2, random_state=0).fit(X)
    >>> model.rates_.round(1).ravel().tolist()
    [0.5, 10.7]
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | {"rate_prior": [tuple, list, None]}

    rates_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        rate_prior: Any = None,
        tol: float | str = "auto",
        max_iter: int = 1000,
        n_init: int = 1,
        init_params: str = "auto",
        responsibilities_init: Any = None,
        weight_concentration_prior: float | None = None,
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
        self.rate_prior = rate_prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.responsibilities_init = responsibilities_init
        self.weight_concentration_prior = weight_concentration_prior
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
        """Expected value of each column, which is its rate."""
        return self.rates_

    def _emission(self) -> PoissonEmission:
        return PoissonEmission(self.n_components, getattr(self, "n_features_in_", None), self.rate_prior)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
