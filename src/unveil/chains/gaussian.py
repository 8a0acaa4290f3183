"""Hidden Markov model with Gaussian emissions, or a mixture of Gaussians in each state."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.chains.estimator import HMMEstimator
from unveil.core.arrays import Floats
from unveil.estimation.emissions.gaussian import GaussianEmission
from unveil.estimation.registry import STRUCTURES


class GaussianHMM(HMMEstimator):
    """Hidden Markov model with Gaussian emissions, fitted by EM (Baum-Welch). Missing steps and cells (NaN) are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    covariance_type : str, default="full"
        "full", "tied", "diag", "spherical", or one of mclust's fourteen, as in :class:`unveil.GaussianMixture`.
    n_mix : int, default=1
        Number of Gaussians that make up the emission of each state. What a `covariance_type` ties ("tied") is tied over
        all Gaussians of all states.
    transitions : "any", "left-right", ("banded", width) or boolean array, default="any"
        Which steps from state to state are possible. "left-right": to the same state and the next, beginning with the
        first. "banded": to states at most `width` away. An array of shape (n_components, n_components) says it itself.
    fixed : mapping, optional
        Parameters ("startprob", "transmat", "means", "covars") that stay at the value they start from, which has to be
        given: True for all of it, or a boolean mask of its shape, or of its states.
    tied : mapping, optional
        Parameters of which entries share one value: integer labels of its shape, or of its states; -1 is not tied.
        Means are tied within a column: labels of different columns have nothing to do with each other. Covariances are
        tied as a whole, by labels of the states (or of the Gaussians of all states), where the `covariance_type` is
        "full", "diag" or "spherical": states with the same label have one covariance about means of their own.
    startprob_init, transmat_init, means_init, covars_init : array-like, optional
        Where to start; what is not given is found. `covars_init` has the shape of `covariances_`, or of `covars_`.
    weights_init : array-like of shape (n_components, n_mix), optional
        Shares of the Gaussians within each state, where `n_mix` is above 1.
    startprob_prior, transmat_prior : float or array-like, optional
        Concentrations, at least 1, of Dirichlet priors on the first state and on the steps out of each state.
    mean_precision_prior, mean_prior, degrees_of_freedom_prior, covariance_prior : optional
        A normal-inverse-Wishart prior of each state, as in :class:`unveil.GaussianMixture`.
    regularise : "auto", float or None, default="auto"
        A mild prior on all that has none of its own: it keeps states of few steps from what these alone would say, and
        is lost among many. Out of each state it counts three steps more, two of which stay, and one more sequence; to a
        covariance it adds up to three steps for each column, with the variances within rough groups of the steps, and
        the fewer the more steps there are. "auto" is a strength of 1, and a number multiplies all of these. None is
        plain maximum likelihood.
    tol : "auto" or float, default="auto"
        "auto" stops when all that is still to be gained, judged by how the gains fall off, is below 0.01 nats for each
        thousand steps. A number: stop when the mean log-likelihood of a step rises by less from one pass to the next.
    reg_covar : float, default=1e-6
        Added to the diagonal of the covariances.
    max_iter : int, default=1000
        Limit of passes over the data.
    n_init : int, default=1
        Searches for a start, each followed to the end; the best is kept.
    init_params : str, default="auto"
        Where to start. "auto" climbs from one cheap start after the other on some sequences until the two best agree,
        and goes on with the best. By name: "mixture", "kmeans", "whitened", "k-means++", "random_from_data", "runs" (a
        random state for a run of neighbours), "random", "progress" (states one after the other).
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` and `decode` go by: the likeliest path, or the likeliest state of each step.
    random_state, warm_start, verbose, verbose_interval, engine, schedule, expectation
        As in :class:`unveil.GaussianMixture`. A warm start goes on from the attributes, also from those set by hand.
        "annealed" starts at 0.85 here: at 0.6 the states of a chain may melt into one, and hardly part again.

    Attributes
    ----------
    startprob_ : (n_components,)
        Probabilities of the first state. States come in order of falling expected occupancy, unless something is given,
        masked, fixed or tied.
    transmat_ : (n_components, n_components)
        Probabilities of the next state.
    occupancy_ : (n_components,)
        Expected share of the steps that each state stands for.
    means_ : (n_components, n_features), or (n_components, n_mix, n_features)
    covariances_ : array
        In the shape of `covariance_type`: (n_components, n_features, n_features) for "full", (n_features, n_features)
        for "tied", (n_components, n_features) for "diag", (n_components,) for "spherical".
    covars_ : (n_components, n_features, n_features), or (n_components, n_mix, n_features, n_features)
        The same written out in full, as hmmlearn shows them. It can be set, in this shape or in that of `covariances_`.
    weights_ : (n_components, n_mix)
        Shares of the Gaussians of each state, where `n_mix` is above 1.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_, random_seed_
        As in :class:`unveil.GaussianMixture`; bounds are per step.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import GaussianHMM
    >>> quiet, loud = np.array([0.1, -0.1, 0.0, 0.2, -0.2]), np.array([5.1, 4.9, 5.0])
    >>> X = np.concatenate([quiet, loud, quiet, loud, quiet])[:, None]
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> model.means_.ravel().round(1) + 0.0
    array([0., 5.])
    >>> model.predict([[0.0], [5.0], [5.1]]).tolist()
    [0, 1, 1]
    """

    _parameter_constraints = HMMEstimator._parameter_constraints | {
        "covariance_type": [StrOptions(set(STRUCTURES))],
        "n_mix": [Interval(Integral, 1, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "means_init": ["array-like", None],
        "covars_init": ["array-like", None],
        "weights_init": ["array-like", None],
        "mean_precision_prior": [Interval(Real, 0.0, None, closed="neither"), None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [Interval(Real, 0.0, None, closed="neither"), None],
        "covariance_prior": ["array-like", None],
    }

    means_: Floats
    covariances_: Floats
    weights_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        n_mix: int = 1,
        transitions: Any = "any",
        fixed: Any = None,
        tied: Any = None,
        startprob_init: Any = None,
        transmat_init: Any = None,
        weights_init: Any = None,
        means_init: Any = None,
        covars_init: Any = None,
        startprob_prior: Any = None,
        transmat_prior: Any = None,
        mean_precision_prior: float | None = None,
        mean_prior: Any = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        regularise: float | str | None = "auto",
        tol: float | str = "auto",
        reg_covar: float = 1e-6,
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
        self.covariance_type = covariance_type
        self.n_mix = n_mix
        self.transitions = transitions
        self.fixed = fixed
        self.tied = tied
        self.startprob_init = startprob_init
        self.transmat_init = transmat_init
        self.weights_init = weights_init
        self.means_init = means_init
        self.covars_init = covars_init
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.regularise = regularise
        self.tol = tol
        self.reg_covar = reg_covar
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
    def covars_(self) -> Floats:
        """Covariances written out as matrices, whatever their type."""
        means, emission = np.asarray(self.means_, dtype=np.float64), self._emission()
        parts, d = means.size // means.shape[-1], means.shape[-1]
        dense = emission.structure.dense(emission.structured("covars_", self.covariances_, parts, d), parts, d)
        return dense.reshape(*means.shape[:-1], d, d).copy()

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        given, emission = np.array(covars, dtype=np.float64), self._emission()
        if hasattr(self, "means_"):
            means = np.asarray(self.means_)
            parts, d = means.size // means.shape[-1], means.shape[-1]
            given = emission.shaped_by_state(emission.structured("covars_", given, parts, d), means.shape[:-1])
        self.covariances_ = given

    def _emission(self) -> GaussianEmission:
        return GaussianEmission(
            self.n_components,
            getattr(self, "n_features_in_", None),
            self.covariance_type,
            self.reg_covar,
            getattr(self, "prior_", None),
            (self.mean_precision_prior, self.mean_prior, self.degrees_of_freedom_prior, self.covariance_prior),
            self.n_mix,
            self.weights_init,
            self.means_init,
            self.covars_init,
            by_hand=True,
        )
