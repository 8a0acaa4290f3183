"""Mixture of columns of different kinds: numbers, counts, yes and no, categories, each by its own family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from unveil.core.arrays import Floats, Indices
from unveil.estimation.columns import column_number
from unveil.estimation.emissions.mixed import MIXED, MixedEmission
from unveil.estimation.registry import FAMILIES
from unveil.mixtures.estimator import MixtureEstimator, described_by
from unveil.mixtures.model.model import MixtureParams


class MixedMixture(MixtureEstimator):
    """Mixture of columns of different kinds, independent given the component, fitted by EM. Missing cells are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    families : "auto", mapping, family or list, default="auto"
        What each column is. "auto" goes by type: floating point numbers and negative integers are "number" (Gaussian,
        all such columns together), other integers "count" (Poisson), booleans "yes/no" (Bernoulli), words and all else
        "category". A mapping of columns (by name or number) to these words, to "waiting time" (exponential) or to
        families of your own overrules the types of those columns. A list of (family or word, columns) also says which
        columns form a group; those that it does not name go by type. A family of your own may stand for all columns.
    covariance_type : str, default="full"
        Structure of the covariances of the numbers, as in :class:`unveil.GaussianMixture`.
    reg_covar : float, default=1e-6
        Added to the diagonal of their covariances.
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
    kinds_ : list of str
        What each column is taken for.
    categories_ : list
        Sorted values of the columns of categories; None for the others.
    components_ : list of (words or family, columns, parameters)
        Parameters of each group of columns: means and covariances, rates, probabilities.
    converged_, n_iter_, lower_bound_, lower_bounds_, history_, certificate_
        As in :class:`unveil.GaussianMixture`.

    Examples
    --------
    >>> from unveil import MixedMixture
    >>> X = [[1.0, "a"], [1.2, "a"], [0.8, "a"], [1.1, "a"], [9.0, "b"], [9.3, "b"], [8.9, "b"]]
    >>> model = MixedMixture(2, random_state=0).fit(X)
    >>> model.kinds_, model.predict([[1.0, None], [None, "b"]]).tolist()
    (['number', 'category'], [0, 1])
    """

    _parameter_constraints = MixtureEstimator._parameter_constraints | MIXED

    kinds_: list[str]
    categories_: list[Any]

    def __init__(
        self,
        n_components: int = 1,
        *,
        families: Any = "auto",
        covariance_type: str = "full",
        reg_covar: float = 1e-6,
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
        self.families = families
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
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

    @property
    def components_(self) -> list[tuple[Any, tuple[int, ...], Any]]:
        """What each group of columns is, its columns, and its parameters."""
        return self._emission().groups()

    @property
    def means_(self) -> Floats:
        """Expected value of each column in each component; NaN for categories."""
        return self._emission().means()

    def _emission(self) -> MixedEmission:
        return MixedEmission(self)

    def _alike(self) -> Any:
        made = clone(self)
        if self.families != "auto" and not isinstance(self.families, Mapping):
            return made
        said = {} if self.families == "auto" else dict(self.families)
        named = {column_number(self, column) for column in said}
        kinds = ((number, kind) for number, kind in enumerate(self.kinds_) if number not in named)
        words = {number: family for number, family in kinds if family in FAMILIES}
        return made.set_params(families={column_number(self, name): one for name, one in said.items()} | words)

    def _described_by(self, family: Any, params: MixtureParams, shift: Floats, columns: Indices) -> Any:
        asked, components = self._emission().narrowed(family, params.components, shift, columns)
        made = clone(self).set_params(families=asked, covariance_type="full")
        return described_by(self, made, MixtureParams(params.weights, components), shift, columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
