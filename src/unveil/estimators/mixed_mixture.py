"""Mixture of columns of different kinds: numbers, counts, yes and no, categories, each by its own family."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.estimators.mixture import MixtureEstimator, narrowed
from unveil.estimators.registry import FAMILIES, STRUCTURES, lookup
from unveil.estimators.tabular import Tabular
from unveil.families.base import Family
from unveil.families.product import Product
from unveil.models.mixture import MixtureParams

Floats = NDArray[np.float64]


class MixedMixture(Tabular, MixtureEstimator):
    """Mixture of columns of different kinds, independent given the component, fitted by EM. Missing cells are taken.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    families : "auto", mapping, family or list, default="auto"
        What each column is. "auto" goes by type: floating point numbers and negative integers are "number" (Gaussian,
        all such columns together), other integers "count" (Poisson), booleans "yes/no" (Bernoulli), words and all else
        "category". A mapping of columns (by name or number) to these words, or to "waiting time" (exponential),
        overrules the types of those columns. A family of your own for all columns, or a list of (family or word,
        columns), says it all.
    covariance_type : str, default="full"
        Structure of the covariances of the numbers, as in :class:`unveil.GaussianMixture`.
    reg_covar : float, default=1e-6
        Added to the diagonal of their covariances.
    handle_unknown : {"missing", "error"}, default="missing"
        What becomes of a category that was not there at fit time: a missing cell, or an error.
    tol : float, default=1e-6
        Stop when the mean log-likelihood rises by less.
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

    _parameter_constraints = MixtureEstimator._parameter_constraints | {
        "families": [StrOptions({"auto"}), dict, list, tuple, Family],
        "covariance_type": [StrOptions(set(STRUCTURES))],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "handle_unknown": [StrOptions({"missing", "error"})],
    }
    _takes_missing = True
    _fixed_family: Product  # of a marginal or conditional, whose structure follows from another's

    def __init__(
        self,
        n_components: int = 1,
        *,
        families: Any = "auto",
        covariance_type: str = "full",
        reg_covar: float = 1e-6,
        handle_unknown: str = "missing",
        tol: float = 1e-6,
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
        schedule: Any = "batch",
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

    # -- which family for which columns --------------------------------------------------------------------------------

    def _kinds_for(self, natural: list[str]) -> list[str]:
        """Words for the columns; a family of the user's own is "own"."""
        kinds, given = list(natural), self.families
        if isinstance(given, Family):
            return ["own"] * len(kinds)
        if isinstance(given, Mapping):
            pairs = [(word, [column]) for column, word in given.items()]
        else:
            pairs = [] if isinstance(given, str) else [(word, list(columns)) for word, columns in given]
        for word, columns in pairs:
            for column in columns:
                kinds[self._column(column)] = self._word(word)
        return kinds

    @staticmethod
    def _word(word: Any) -> str:
        if isinstance(word, Family):
            return "own"
        if word not in FAMILIES:
            taken = ", ".join(map(repr, FAMILIES))
            raise ValueError(f"families must name {taken}, or be a family of your own, got {word!r}")
        return str(word)

    def _family(self) -> Product:
        parts: list[tuple[Family, tuple[int, ...]]] = []
        if hasattr(self, "_fixed_family"):
            return self._fixed_family
        if isinstance(self.families, Family):
            return Product(((self.families, tuple(range(len(self.kinds_)))),))
        if isinstance(self.families, list | tuple):
            owned = [(one, columns) for one, columns in self.families if isinstance(one, Family)]
            parts += [(one, tuple(self._column(column) for column in columns)) for one, columns in owned]
        for word in FAMILIES:
            columns = tuple(number for number, kind in enumerate(self.kinds_) if kind == word)
            if columns:
                parts.append((self._made(word, columns), columns))
        return Product(tuple(parts))

    def _made(self, word: str, columns: tuple[int, ...]) -> Family:
        """The family that a word names, for some columns."""
        structure = lookup(STRUCTURES[self.covariance_type])()
        levels = tuple(max(len(self.categories_[c]), 1) if self.categories_[c] is not None else 1 for c in columns)
        settings: dict[str, Any] = {
            "structure": structure,
            "reg_covar": float(self.reg_covar),
            "levels": levels,
        }
        kind = lookup(FAMILIES[word])
        names = kind.__dataclass_fields__
        made: Family = kind(**{name: value for name, value in settings.items() if name in names})
        return made

    # -- parameters ----------------------------------------------------------------------------------------------------

    def _show(self, params: MixtureParams, shift: Floats) -> None:
        self.weights_ = params.weights
        self.frame_ = shift
        self.params_ = params.components

    @property
    def components_(self) -> list[tuple[Any, tuple[int, ...], Any]]:
        """What each group of columns is, its columns, and its parameters."""
        described = []
        for (family, columns), params in zip(self._family().parts, self.params_.parts, strict=True):
            described.append((self.kinds_[columns[0]], columns, family.located(params, self.frame_[list(columns)])))
        return described

    @property
    def means_(self) -> Floats:
        """Expected value of each column in each component; NaN for categories."""
        return self._family().means(self.params_) + self.frame_

    def _recall(self, shift: Floats) -> MixtureParams:
        components = self._family().located(self.params_, self.frame_ - shift)
        return MixtureParams(np.asarray(self.weights_, dtype=np.float64), components)

    def _shift(self) -> Floats:
        return self.frame_

    def _described_by(
        self, family: Family, params: MixtureParams, shift: Floats, columns: NDArray[np.intp]
    ) -> MixedMixture:
        made = clone(self)
        narrowed(self, made, columns)
        made.kinds_ = [self.kinds_[column] for column in columns]
        made.categories_ = [self.categories_[column] for column in columns]
        made._fixed_family = family
        made._show(params, shift)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
