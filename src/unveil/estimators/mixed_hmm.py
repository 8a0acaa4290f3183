"""Hidden Markov model of columns of different kinds, each by its own family, or of any family of your own."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.estimators.density import Density
from unveil.estimators.gaussian_mixture import held_by
from unveil.estimators.hmm import HMMEstimator
from unveil.estimators.hmm_model import Tables
from unveil.estimators.mixed_mixture import OWN, MixedMixture
from unveil.estimators.registry import PARTS, STRUCTURES
from unveil.estimators.tabular import Tabular
from unveil.families.base import Family
from unveil.families.gaussian import Gaussian
from unveil.families.product import Product
from unveil.storage.parts import Parts

Floats = NDArray[np.float64]


class MixedHMM(Tabular, HMMEstimator):
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
        As in :class:`unveil.GaussianHMM`; parameters are "startprob" and "transmat".
    startprob_init, transmat_init, startprob_prior, transmat_prior : optional
        As in :class:`unveil.GaussianHMM`.
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

    _parameter_constraints = HMMEstimator._parameter_constraints | {
        "families": [StrOptions({"auto"}), dict, list, tuple, Family],
        "covariance_type": [StrOptions(set(STRUCTURES))],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "handle_unknown": [StrOptions({"missing", "error"})],
    }
    _shown = ("params_", "frame_")

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

    # -- which family for which columns: as in the mixture of the same words -------------------------------------------

    _asked = MixedMixture._asked
    _kinds_for = MixedMixture._kinds_for
    _made = MixedMixture._made
    _product = MixedMixture._family
    _takes_missing = MixedMixture._takes_missing
    _column = Density._column

    def _bare_family(self, shift: Floats | None = None) -> Product:
        return self._product()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {}

    def _held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        return family  # nothing of its emissions can be named

    def _given(self, shift: Floats) -> Tables:
        return {"families": None}  # a start of them cannot be given

    def _placed(self, emissions: Any, given: Tables) -> Any:
        return emissions

    # -- parameters ----------------------------------------------------------------------------------------------------

    def _show(self, emissions: Any, shift: Floats) -> None:
        self.frame_ = shift
        self.params_ = emissions

    @property
    def components_(self) -> list[tuple[Any, tuple[int, ...], Any]]:
        """What each group of columns is, its columns, and its parameters."""
        described = []
        for (family, columns), params in zip(self._product().parts, self.params_.parts, strict=True):
            kind = self.kinds_[columns[0]]
            located = family.located(params, self.frame_[list(columns)])
            described.append((family if kind == OWN else kind, columns, located))
        return described

    @property
    def means_(self) -> Floats:
        """Expected value of each column in each state; NaN for categories."""
        return self._product().means(self.params_) + self.frame_

    def _recall(self, shift: Floats) -> Any:
        return self._product().located(self.params_, self.frame_ - shift)

    def _shift(self) -> Floats:
        return self.frame_

    def _suits(self, emissions: Any) -> bool:
        parts = self._product().parts
        return len(parts) == len(emissions.parts) and all(
            _fits(family, own, len(columns)) for (family, columns), own in zip(parts, emissions.parts, strict=True)
        )

    def _excuse(self) -> str | None:
        return super()._excuse() or held_by(self.reg_covar, self._product(), self.params_)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file that `unveil.load` reads; one with families of your own can be pickled.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all, in place of one that may be there.
        """
        try:
            Parts(PARTS).encode(self.families, "families", {})
        except TypeError as error:
            raise TypeError(
                f"a model file holds no code, so families of your own are not stored ({error}): pickle it"
            ) from None
        super().save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _fits(family: Family, params: Any, n_columns: int) -> bool:
    """Whether the covariances of a group of numbers are of the structure that is asked for."""
    if not isinstance(family, Gaussian):
        return True
    shape: tuple[int, ...] = params.covariances.shape
    return shape == family.structure.shape(len(params.means), n_columns)
