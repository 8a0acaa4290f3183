"""Hidden Markov model with Gaussian emissions, or a mixture of Gaussians in each state."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array

from unveil.chains.description import Tables
from unveil.chains.estimator import HMMEstimator
from unveil.chains.model.constraints import probabilities
from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.estimation.gaussian_prior import held_by, prior_of
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.families.base import Family
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Structure
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.covariances import POOLED
from unveil.families.held.family import hold
from unveil.families.priors import NormalInverseWishart


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
    tol : float, default=1e-6
        Stop when the mean log-likelihood of a step rises by less.
    reg_covar : float, default=1e-6
        Added to the diagonal of the covariances.
    max_iter : int, default=1000
        Limit of passes over the data.
    n_init : int, default=3
        Starts that are followed to the end; the best is kept.
    init_params : str, default="auto"
        Where to start. "auto" runs several cheap starts a few passes each on some sequences and goes on with the
        `n_init` best. By name: "mixture", "kmeans", "k-means++", "random_from_data", "runs" (a random state for a run
        of neighbours), "random", "progress" (states one after the other).
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
    _takes_missing = True
    _shown = ("means_", "covariances_")

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
        tol: float = 1e-6,
        reg_covar: float = 1e-6,
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
        means = np.asarray(self.means_, dtype=np.float64)
        parts, d = means.size // means.shape[-1], means.shape[-1]
        dense = self._structure().dense(self._structured("covars_", self.covariances_, parts, d), parts, d)
        return dense.reshape(*means.shape[:-1], d, d).copy()

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        given = np.array(covars, dtype=np.float64)
        if hasattr(self, "means_"):
            means = np.asarray(self.means_)
            parts, d = means.size // means.shape[-1], means.shape[-1]
            given = self._shaped_by_state(self._structured("covars_", given, parts, d), means.shape[:-1])
        self.covariances_ = given

    # -- the family ----------------------------------------------------------------------------------------------------

    @property
    def _emissions(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("means", "covars") if self.n_mix == 1 else ("weights", "means", "covars")

    def _structure(self) -> Structure:
        structure: Structure = lookup(STRUCTURES[self.covariance_type])()
        return structure

    def _bare_family(self, shift: Floats | None = None) -> Family:
        prior: NormalInverseWishart | None = getattr(self, "prior_", None)
        if prior is not None and shift is not None:
            prior = replace(prior, mean=prior.mean - shift)
        gaussian = Gaussian(self._structure(), float(self.reg_covar), prior)
        return gaussian if self.n_mix == 1 else Compound(gaussian, self.n_mix)

    def _learn(self, source: Source) -> None:
        """The prior, of which what is not given comes from the data."""
        given = (self.mean_precision_prior, self.mean_prior, self.degrees_of_freedom_prior, self.covariance_prior)
        if all(one is None for one in given):
            self.__dict__.pop("prior_", None)
            return
        self.prior_ = prior_of(source, self.n_components * self.n_mix, *given)

    def _leading(self) -> tuple[int, ...]:
        """Shape of what there is one of for each Gaussian."""
        return (self.n_components,) if self.n_mix == 1 else (self.n_components, self.n_mix)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        leading, d = self._leading(), self.n_features_in_
        covars = self._structure().shape(self.n_components * self.n_mix, d)
        if self.n_mix > 1 and self._has_one_each():
            covars = (*leading, *covars[1:])
        return {"weights": leading, "means": (*leading, d), "covars": covars}

    def _tied_shapes(self) -> dict[str, tuple[int, ...]]:
        return self._shapes() | {"covars": self._leading()}  # a covariance is tied as a whole

    def _has_one_each(self) -> bool:
        """Whether the structure keeps a covariance for each component."""
        return self._structure().shape(7, 3)[0] == 7

    def _held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        """Masks in the shapes that the family knows: Gaussians of all states in a row."""
        masks: dict[str, Any] = {}
        if "means" in fixed:
            masks["means"] = fixed["means"].reshape(-1, self.n_features_in_)
        if "means" in tied:
            masks["tied_means"] = tied["means"].reshape(-1, self.n_features_in_)
        if "covars" in fixed:
            masks["covariances"] = self._kept_covariances(fixed["covars"])
        if "covars" in tied:
            masks["tied_covariances"] = tied["covars"].ravel()
            if "covars" in fixed and np.any(masks["covariances"] & (masks["tied_covariances"] >= 0)):
                raise ValueError("tied['covars'] must be -1 where fixed['covars'] is True")
        if self.n_mix == 1:
            return hold(family, **masks)
        return hold(family, parts=masks, weights=fixed.get("weights"), tied_weights=tied.get("weights"))

    def _kept_covariances(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which Gaussians keep their covariance: it stays as a whole, or moves as a whole."""
        count = self.n_components * self.n_mix
        table = mask.reshape(count if self._has_one_each() else 1, -1)
        if not np.all(table == table[:, :1]):
            raise ValueError("fixed['covars'] must fix the whole covariance of a state, or nothing of it")
        return np.broadcast_to(table[:, 0], count).copy()

    # -- starts --------------------------------------------------------------------------------------------------------

    def _check_rules(self) -> None:
        super()._check_rules()
        if self.n_mix == 1 and self.weights_init is not None:
            raise ValueError("weights_init is for states of several Gaussians: n_mix must be above 1, got 1")
        if self.tied and self.tied.get("covars") is not None and type(self._structure()) not in POOLED:
            taken = "'full', 'diag' or 'spherical', which have a covariance for each state to tie"
            raise ValueError(
                f"tied names 'covars', which needs a covariance_type of {taken}; {self.covariance_type!r} "
                "says by itself what covariances share"
            )

    def _given(self, shift: Floats) -> Tables:
        shapes, d = self._shapes(), len(shift)
        means = _checked("means_init", self.means_init, shapes["means"])
        given: dict[str, Any] = {"means": None if means is None else means.reshape(-1, d) - shift, "covars": None}
        if self.covars_init is not None:
            given["covars"] = self._structured("covars_init", self.covars_init, self.n_components * self.n_mix, d)
        if self.n_mix > 1:
            given["weights"] = probabilities("weights_init", self.weights_init, shapes["weights"])
        return given

    def _placed(self, emissions: Any, given: Tables) -> Any:
        shares: Any = None
        parts: Any = emissions
        if emissions is not None and self.n_mix > 1:
            shares, parts = emissions.weights, emissions.parts
        means = given["means"] if given["means"] is not None or parts is None else parts.means
        covars = given["covars"] if given["covars"] is not None or parts is None else parts.covariances
        if given["means"] is not None or parts is None:
            parts = GaussianParams(means, covars, np.zeros_like(means), 0 if parts is None else parts.floored)
        else:
            parts = replace(parts, covariances=covars)
        if self.n_mix == 1:
            return parts
        return CompoundParams(shares if given["weights"] is None else given["weights"], parts)

    def _structured(self, name: str, value: Any, count: int, n_columns: int) -> Floats:
        """Covariances of so many Gaussians in the shape of their type, from those in it or written out as matrices."""
        given: Floats = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
        structure = self._structure()
        shape = structure.shape(count, n_columns)
        if self._has_one_each() and given.shape[: len(self._leading())] == self._leading():
            given = given.reshape(count, *given.shape[len(self._leading()) :])
        elif given.shape == (*self._leading(), n_columns, n_columns):
            given = given.reshape(count, n_columns, n_columns)
        if given.shape != shape:
            given = self._reduced(name, given, shape, count, n_columns)
        try:
            structure.inverted(given)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"{name} must be positive definite: {error}") from None
        return np.ascontiguousarray(given)

    def _reduced(self, name: str, given: Floats, shape: tuple[int, ...], count: int, n_columns: int) -> Floats:
        """What a structure keeps of full matrices, if it can."""
        if given.shape == (count, n_columns, n_columns):
            diagonals = np.einsum("kii->ki", given)
            kept = {2: given[0] if shape == (n_columns, n_columns) else diagonals, 1: diagonals[:, 0]}[len(shape)]
            if kept.shape == shape and np.allclose(self._structure().dense(kept, count, n_columns), given):
                return kept.copy()
            raise ValueError(f"{name} must be covariances of the type {self.covariance_type!r}, got others")
        shown = self._shapes()["covars"] if hasattr(self, "n_features_in_") else shape
        raise ValueError(f"{name} must have shape {shown}, got {given.shape}")

    # -- attributes ----------------------------------------------------------------------------------------------------

    def _show(self, emissions: Any, shift: Floats) -> None:
        parts = emissions if self.n_mix == 1 else emissions.parts
        self.__dict__.pop("weights_", None)
        if self.n_mix > 1:
            self.weights_ = emissions.weights
        leading = parts.means.shape[:1] if self.n_mix == 1 else emissions.weights.shape
        self.means_ = (parts.means + shift).reshape(*leading, -1)
        self.covariances_ = self._shaped_by_state(parts.covariances, leading)

    def _shaped_by_state(self, covariances: Floats, leading: tuple[int, ...]) -> Floats:
        if len(leading) == 1 or not self._has_one_each():
            return covariances
        return covariances.reshape(*leading, *covariances.shape[1:])

    def _recall(self, shift: Floats) -> Any:
        shown = np.asarray(self.means_, dtype=np.float64)
        means = shown.reshape(-1, shown.shape[-1]) - shift
        covariances = self._structured("covars_", self.covariances_, *means.shape)
        parts = GaussianParams(means, covariances, np.zeros_like(means))
        if self.n_mix == 1:
            return parts
        return CompoundParams(np.asarray(self.weights_, dtype=np.float64), parts)

    def _shift(self) -> Floats:
        means = np.asarray(self.means_, dtype=np.float64)
        shift: Floats = means.reshape(-1, means.shape[-1]).mean(axis=0)
        return shift

    def _suits(self, emissions: Any) -> bool:
        if isinstance(emissions, CompoundParams) != (self.n_mix > 1):
            return False
        if self.n_mix > 1 and emissions.weights.shape != self._leading():
            return False
        parts, wanted = emissions.parts if self.n_mix > 1 else emissions, self.n_components * self.n_mix
        shape = self._structure().shape(wanted, self.n_features_in_)
        return bool((parts.means.shape, parts.covariances.shape) == ((wanted, self.n_features_in_), shape))

    def _excuse(self) -> str | None:
        return super()._excuse() or held_by(self.reg_covar, self._bare_family(), self._recall(self._shift()))


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Floats | None:
    """`value` as a float64 array of `shape`, or None."""
    if value is None:
        return None
    array: Floats = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array
