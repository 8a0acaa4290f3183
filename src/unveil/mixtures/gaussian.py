"""Mixture of Gaussians: scikit-learn's `GaussianMixture` with weights, streams, engines and a certificate."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.core.arrays import Floats, Indices
from unveil.estimation.emissions.gaussian import GaussianEmission
from unveil.estimation.masks import floats_of
from unveil.estimation.registry import STRUCTURES
from unveil.families.base import Family
from unveil.mixtures.estimator import MixtureEstimator, described_by
from unveil.mixtures.model.model import MixtureParams


class GaussianMixture(MixtureEstimator):
    """Mixture of Gaussians, fitted by EM.

    Parameters and attributes are those of scikit-learn's class of the same name; what is listed here is new.

    Parameters
    ----------
    n_components : int, default=1
    covariance_type : str, default="full"
        "full", "tied", "diag", "spherical" as in scikit-learn, or one of mclust's fourteen: a letter each for volume,
        shape and orientation, E for equal, V for varying, I for none: EII VII EEI VEI EVI VVI EEE VEE EVE VVE EEV VEV
        EVV VVV. (full is VVV, tied EEE, diag VVI, spherical VII.)
    tol : "auto" or float, default="auto"
        "auto" stops when all that is still to be gained, judged by how the gains fall off, is below 0.01 nats for each
        thousand rows. A number, as in scikit-learn: stop when the mean log-likelihood rises by less from one pass to
        the next.
    max_iter : int, default=1000
        Limit of passes over the data.
    reg_covar, n_init, weights_init, means_init, precisions_init, random_state, warm_start, verbose, verbose_interval
        As in scikit-learn.
    init_params : str, default="auto"
        Where to start. "auto" climbs from K-means on a sample, splits components that are two groups and merges others
        as long as that helps, and goes on from there (structures other than scikit-learn's four: emEM). By name:
        "kmeans", "whitened" (K-means after whitening), "hierarchical" (model-based, as mclust's), "k-means++",
        "random_from_data", "furthest", "random" (responsibilities).
    responsibilities_init : array-like of shape (n_samples, n_components), optional
        First responsibilities, from which the first M step is made.
    weight_concentration_prior : float, optional
        Parameter, at least 1, of a symmetric Dirichlet prior on the weights.
    mean_precision_prior, mean_prior, degrees_of_freedom_prior, covariance_prior : optional
        A normal-inverse-Wishart prior of each component, which is on as soon as one of them is given. What is not given
        is as in mclust: precision 0.01, the mean of the data, columns + 2, the covariance of the data over
        n_components ** (2 / columns). The mode of the posterior is found, and its log-density is what is monitored.
    empty_components : {"reseed", "keep", "error"}, default="reseed"
        What becomes of a component that loses all its rows: "reseed" moves it to the rows that are explained worst.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where the work runs; it changes nothing but the time.
    schedule : str or schedule, default="auto"
        When the parameters move: "batch", "incremental", "stepwise", "gradient", "ascent", "lbfgs", "squarem". "auto"
        is "batch", and "squarem" from where many passes are ahead, if `tol` is "auto" too.
    expectation : str or expectation, default="exact"
        Which distribution over the components the E step picks: "exact", "hard", "sampled", "sparse", "annealed".

    Missing cells (NaN) are taken: EM runs on what is there.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_, converged_, n_iter_, lower_bound_, lower_bounds_
        As in scikit-learn. Components come in order of falling weight, or as given by ``means_init`` and its kin.
    history_ : History
        Log-likelihood, free energy, their gap and the seconds, pass by pass.
    certificate_ : Certificate
        What the fit was checked for; ``print(model.certificate_)``.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import GaussianMixture
    >>> X = np.array([[1.0], [1.1], [0.9], [5.0], [5.2], [4.8]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.means_.ravel()).round(2).tolist()
    [1.0, 5.0]
    >>> model.certificate_.ok
    True
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | {
        "covariance_type": [StrOptions(set(STRUCTURES))],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "mean_precision_prior": [Interval(Real, 0.0, None, closed="neither"), None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [Interval(Real, 0.0, None, closed="neither"), None],
        "covariance_prior": ["array-like", None],
    }

    means_: Floats
    covariances_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float | str = "auto",
        reg_covar: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 1,
        init_params: str = "auto",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        responsibilities_init: Any = None,
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: Any = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
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
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.responsibilities_init = responsibilities_init
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.empty_components = empty_components
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    @property
    def precisions_(self) -> Floats:
        """Inverses of the covariances, in the same shape."""
        return self._emission().structure.inverted(self.covariances_)

    @property
    def precisions_cholesky_(self) -> Floats:
        """Upper factors U of the precisions P = U U'; square roots where the structure is diagonal."""
        return self._emission().structure.factors(self.covariances_)

    def _emission(self) -> GaussianEmission:
        return GaussianEmission(
            self.n_components,
            getattr(self, "n_features_in_", None),
            self.covariance_type,
            self.reg_covar,
            getattr(self, "prior_", None),
            (self.mean_precision_prior, self.mean_prior, self.degrees_of_freedom_prior, self.covariance_prior),
            means_init=self.means_init,
            precisions_init=self.precisions_init,
        )

    def _given_weights(self) -> Floats | None:
        weights = floats_of("weights_init", self.weights_init, (self.n_components,))
        if weights is not None and (np.any(weights < 0) or abs(weights.sum() - 1) > 1e-6):
            raise ValueError(f"weights_init must be non-negative and sum to 1, got {weights.tolist()}")
        return weights

    def _described_by(self, family: Family, params: MixtureParams, shift: Floats, columns: Indices) -> Any:
        made = GaussianMixture(len(params.weights), covariance_type="full", random_state=self.random_state)
        return described_by(self, made, params, shift, columns)
