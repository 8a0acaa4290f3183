"""Mixture of multivariate t distributions: groups with heavy tails, which outliers do not pull away."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.core.arrays import Floats, Indices
from unveil.estimation.emissions.student import StudentEmission
from unveil.estimation.registry import STRUCTURES
from unveil.families.base import Family
from unveil.mixtures.estimator import MixtureEstimator, described_by
from unveil.mixtures.model.model import MixtureParams


class StudentMixture(MixtureEstimator):
    """Mixture of multivariate t distributions, fitted by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    covariance_type : str, default="full"
        Structure of the scale matrices, as in :class:`unveil.GaussianMixture`.
    degrees_of_freedom : float, optional
        Held fixed where given; estimated for each component otherwise.
    reg_covar : float, default=1e-6
        Added to the diagonal of every scale matrix.
    tol : float or "auto", default=1e-6
        Stop when the mean log-likelihood rises by less from one pass to the next. "auto" looks at all that is still to
        be gained, as other mixtures do; where degrees of freedom drift to infinity that takes very many passes.
    max_iter : int, default=1000
        Limit of passes over the data.
    n_init, init_params, responsibilities_init, weight_concentration_prior, empty_components, random_state, \
warm_start, verbose, verbose_interval, engine, schedule, expectation
        As in :class:`unveil.GaussianMixture`.

    Attributes
    ----------
    weights_ : (n_components,)
        Shares of the components, falling.
    means_ : (n_components, n_features)
        Centres of the components.
    scales_ : as ``covariances_`` of :class:`unveil.GaussianMixture`
        Scale matrices. The covariance is ``dof / (dof - 2)`` times the scale, where dof is above 2.
    degrees_of_freedom_ : (n_components,)
        How heavy the tails are: 1 is Cauchy's, infinity a Gaussian.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_
        As in :class:`unveil.GaussianMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import StudentMixture
    >>> X = np.array([[1.0], [1.2], [0.9], [1.1], [90.0], [1.0], [0.8]])
    >>> model = StudentMixture(1, degrees_of_freedom=1.0).fit(X)
    >>> round(float(model.means_[0, 0]), 1)  # the outlier has no say
    1.0
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | {
        "covariance_type": [StrOptions(set(STRUCTURES))],
        "degrees_of_freedom": [Interval(Real, 0.0, None, closed="neither"), None],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
    }

    means_: Floats
    scales_: Floats
    degrees_of_freedom_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        degrees_of_freedom: float | None = None,
        reg_covar: float = 1e-6,
        tol: float | str = 1e-6,
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
        self.covariance_type = covariance_type
        self.degrees_of_freedom = degrees_of_freedom
        self.reg_covar = reg_covar
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

    def _emission(self) -> StudentEmission:
        width = getattr(self, "n_features_in_", None)
        return StudentEmission(self.n_components, width, self.covariance_type, self.reg_covar, self.degrees_of_freedom)

    def _described_by(self, family: Family, params: MixtureParams, shift: Floats, columns: Indices) -> Any:
        made = clone(self).set_params(covariance_type="full")
        return described_by(self, made, params, shift, columns)
