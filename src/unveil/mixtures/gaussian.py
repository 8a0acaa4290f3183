"""Mixture of Gaussians: scikit-learn's `GaussianMixture` with weights, streams, engines and a certificate."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array

from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.estimation.gaussian_prior import held_by, prior_of
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.families.base import Family
from unveil.families.covariance.structure import Structure
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.priors import NormalInverseWishart
from unveil.mixtures.estimator import MixtureEstimator, narrowed
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
    tol, reg_covar, max_iter, n_init, weights_init, means_init, precisions_init, random_state, warm_start, \
verbose, verbose_interval
        As in scikit-learn.
    init_params : str, default="auto"
        Where to start. "auto" runs several cheap starts a few passes each and goes on with the best (emEM). By name:
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
    engine : {"auto", "threads", "dask"} or engine, default="auto"
        Where the work runs; it changes nothing but the time.
    schedule : str or schedule, default="batch"
        When the parameters move: "batch", "incremental", "stepwise", "gradient", "ascent", "lbfgs", "squarem".
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
    _takes_missing = True

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
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
        schedule: Any = "batch",
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
        return self._structure().inverted(self.covariances_)

    @property
    def precisions_cholesky_(self) -> Floats:
        """Upper factors U of the precisions P = U U'; square roots where the structure is diagonal."""
        return self._structure().factors(self.covariances_)

    def _structure(self) -> Structure:
        structure: Structure = lookup(STRUCTURES[self.covariance_type])()
        return structure

    def _family(self) -> Gaussian:
        return Gaussian(self._structure(), float(self.reg_covar))

    def _framed_family(self, shift: Floats) -> Gaussian:
        prior: NormalInverseWishart | None = getattr(self, "prior_", None)
        framed = None if prior is None else replace(prior, mean=prior.mean - shift)
        return Gaussian(self._structure(), float(self.reg_covar), framed)

    def _learn(self, source: Source) -> None:
        """The prior, of which what is not given comes from the data."""
        given = (self.mean_precision_prior, self.mean_prior, self.degrees_of_freedom_prior, self.covariance_prior)
        if all(one is None for one in given):
            self.__dict__.pop("prior_", None)
            return
        self.prior_ = prior_of(source, self.n_components, *given)

    def _is_given(self) -> bool:
        given = (self.weights_init, self.means_init, self.precisions_init, self.responsibilities_init)
        return not all(one is None for one in given)

    def _given(self, params: MixtureParams | None, shift: Floats) -> MixtureParams | None:
        weights, means, precisions = self._checked_start(len(shift))
        if params is None:
            if weights is None or means is None or precisions is None:
                return None
            covariances = self._inverted_start(precisions)
            return MixtureParams(weights, GaussianParams(means - shift, covariances, np.zeros_like(means)))
        first = params.components
        chosen_means = first.means if means is None else means - shift
        chosen = first.covariances if precisions is None else self._inverted_start(precisions)
        components = GaussianParams(chosen_means, chosen, np.zeros_like(chosen_means), first.floored)
        return MixtureParams(params.weights if weights is None else weights, components)

    def _checked_start(self, n_columns: int) -> tuple[Floats | None, Floats | None, Floats | None]:
        k = self.n_components
        weights = _checked("weights_init", self.weights_init, (k,))
        if weights is not None and (np.any(weights < 0) or abs(weights.sum() - 1) > 1e-6):
            raise ValueError(f"weights_init must be non-negative and sum to 1, got {weights.tolist()}")
        precisions = _checked("precisions_init", self.precisions_init, self._structure().shape(k, n_columns))
        return weights, _checked("means_init", self.means_init, (k, n_columns)), precisions

    def _inverted_start(self, precisions: Floats) -> Floats:
        try:
            return self._structure().inverted(precisions)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"precisions_init must be positive definite: {error}") from None

    def _show(self, params: MixtureParams, shift: Floats) -> None:
        self.weights_ = params.weights
        self.means_ = params.components.means + shift
        self.covariances_ = params.components.covariances

    def _recall(self, shift: Floats) -> MixtureParams:
        means = np.asarray(self.means_, dtype=np.float64) - shift
        covariances = np.asarray(self.covariances_, dtype=np.float64)
        components = GaussianParams(means, covariances, np.zeros_like(means))
        return MixtureParams(np.asarray(self.weights_, dtype=np.float64), components)

    def _shift(self) -> Floats:
        shift: Floats = np.average(self.means_, axis=0, weights=self.weights_)
        return shift

    def _suits(self, params: MixtureParams) -> bool:
        wanted = (self.n_components, self.n_features_in_)
        shapes = params.components.means.shape, params.components.covariances.shape
        return bool(shapes == (wanted, self._structure().shape(*wanted)))

    def _excuse(self) -> str | None:
        return super()._excuse() or held_by(self.reg_covar, self._family(), self._recall(self._shift()).components)

    def _described_by(
        self, family: Family, params: MixtureParams, shift: Floats, columns: NDArray[np.intp]
    ) -> GaussianMixture:
        made = GaussianMixture(len(params.weights), covariance_type="full", random_state=self.random_state)
        narrowed(self, made, columns)
        made._show(params, shift)
        return made


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Floats | None:
    """`value` as a float64 array of `shape`, or None."""
    if value is None:
        return None
    array: Floats = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array
