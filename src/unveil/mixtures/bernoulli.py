"""Mixture of Bernoullis: groups of rows in a table of yes/no columns."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.families.base import Family
from unveil.families.bernoulli import FLOOR, Bernoulli, BernoulliParams
from unveil.families.priors import Beta
from unveil.mixtures.estimator import MixtureEstimator, narrowed
from unveil.mixtures.model.model import MixtureParams
from unveil.sources.binarized import Binarized


class BernoulliMixture(MixtureEstimator):
    """Mixture of independent yes/no columns, fitted by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    binarize : float or None, default=0.0
        Cells above it count as 1, the others as 0, as in scikit-learn's BernoulliNB. None takes zeros and ones only.
    tol : float, default=1e-6
        Stop when the mean log-likelihood rises by less.
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
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
    >>> model = BernoulliMixture(2, random_state=0).fit(X)
    >>> model.probabilities_.round(2).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | {
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "probability_prior": [tuple, list, None],
    }
    _takes_missing = True

    def __init__(
        self,
        n_components: int = 1,
        *,
        binarize: float | None = 0.0,
        tol: float = 1e-6,
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
        schedule: Any = "batch",
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

    def _family(self) -> Bernoulli:
        if self.probability_prior is None:
            return Bernoulli()
        if len(self.probability_prior) != 2 or not all(isinstance(one, Real) for one in self.probability_prior):
            raise ValueError(f"probability_prior must be a pair of numbers, a and b, got {self.probability_prior!r}")
        return Bernoulli(Beta(*map(float, self.probability_prior)))

    def _view(self, source: Source) -> Source:
        """The rows as zeros and ones."""
        if self.binarize is not None:
            return Binarized(source, float(self.binarize))
        for block in source.read():
            bad = np.argwhere((block.rows != 0) & (block.rows != 1) & ~np.isnan(block.rows))
            if len(bad):
                row, column = map(int, bad[0])
                got = f"got {block.rows[row, column]:g} at row {block.start + row}, column {column}"
                raise ValueError(f"X must hold zeros and ones only while binarize is None, {got}")
        return source

    def _show(self, params: MixtureParams, shift: Floats) -> None:
        self.weights_ = params.weights
        self.probabilities_ = params.components.probabilities

    def _recall(self, shift: Floats) -> MixtureParams:
        probabilities = np.clip(np.asarray(self.probabilities_, dtype=np.float64), FLOOR, 1 - FLOOR)
        return MixtureParams(np.asarray(self.weights_, dtype=np.float64), BernoulliParams(probabilities))

    def _shift(self) -> Floats:
        return np.zeros(self.probabilities_.shape[1])

    def _suits(self, params: MixtureParams) -> bool:
        wanted: bool = params.components.probabilities.shape == (self.n_components, self.n_features_in_)
        return wanted

    def _described_by(
        self, family: Family, params: MixtureParams, shift: Floats, columns: NDArray[np.intp]
    ) -> BernoulliMixture:
        made = clone(self)
        narrowed(self, made, columns)
        made._show(params, shift)
        return made
