"""Mixture of categorical columns, also known as latent class analysis."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from unveil.core.arrays import Floats
from unveil.estimation.coded import Coded, all_categories
from unveil.estimation.emissions.categorical import CategoricalEmission
from unveil.mixtures.estimator import MixtureEstimator


class CategoricalMixture(MixtureEstimator):
    """Mixture of independent columns of categories (latent classes), fitted by EM. Missing cells are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    concentration_prior : float, optional
        Parameter, at least 1, of a Dirichlet prior on the probabilities of every column.
    handle_unknown : {"missing", "error"}, default="missing"
        What becomes of a category that was not there at fit time: a missing cell, or an error.
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
    categories_ : list of arrays
        Values of each column, sorted.
    probabilities_ : list of arrays of shape (n_components, number of values)
        Probability of each value of each column.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_
        As in :class:`unveil.GaussianMixture`.

    Examples
    --------
    >>> from unveil import CategoricalMixture
    >>> X = [["red", "round"]] * 12 + [["blue", "square"]] * 8
    >>> model = CategoricalMixture(2, random_state=0).fit(X)
    >>> model.categories_[0].tolist(), model.probabilities_[0].round(2).tolist()
    (['blue', 'red'], [[0.0, 1.0], [1.0, 0.0]])
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | {
        "concentration_prior": [Interval(Real, 1.0, None, closed="left"), None],
        "handle_unknown": [StrOptions({"missing", "error"})],
    }

    categories_: list[Any]
    probabilities_: list[Floats]

    def __init__(
        self,
        n_components: int = 1,
        *,
        concentration_prior: float | None = None,
        handle_unknown: str = "missing",
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
        self.concentration_prior = concentration_prior
        self.handle_unknown = handle_unknown
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

    def _emission(self) -> CategoricalEmission:
        rows = Coded(all_categories, self.handle_unknown)
        categories = getattr(self, "categories_", None)
        return CategoricalEmission(self.n_components, categories, rows, self.concentration_prior)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
