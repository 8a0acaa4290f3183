"""Mixture of columns of different kinds: numbers, counts, yes and no, categories, each by its own family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.estimators.gaussian_mixture import held_by
from unveil.estimators.mixture import MixtureEstimator, narrowed
from unveil.estimators.registry import FAMILIES, PARTS, STRUCTURES, lookup
from unveil.estimators.tabular import Tabular
from unveil.families.base import Family
from unveil.families.gaussian import Gaussian
from unveil.families.product import Product, ProductParams
from unveil.models.mixture import MixtureParams
from unveil.storage.parts import Parts

Floats = NDArray[np.float64]
OWN = "own"  # what a column of a family of the user's own is taken for


class MixedMixture(Tabular, MixtureEstimator):
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

    def _asked(self) -> list[tuple[Any, tuple[int, ...]]]:
        """What the user asked for: pairs of a family or word, and columns."""
        given = self.families
        if isinstance(given, str):
            return []
        if isinstance(given, Family):
            return [(given, tuple(range(self.n_features_in_)))]
        if isinstance(given, Mapping):
            return [(one, (self._column(column),)) for column, one in given.items()]
        return [(one, tuple(map(self._column, columns))) for one, columns in map(_pair, given)]

    def _kinds_for(self, n_columns: int, natural: Callable[[], list[str]]) -> list[str]:
        """Words for the columns; a family of the user's own is "own"."""
        asked: dict[int, str] = {}
        for one, columns in self._asked():
            for column in columns:
                if column in asked:
                    raise ValueError(f"families must name each column once, got column {column} twice")
                asked[column] = _word(one)
        kinds = natural() if len(asked) < n_columns else [""] * n_columns
        return [asked.get(column, kind) for column, kind in enumerate(kinds)]

    def _family(self) -> Product:
        """Groups as they were asked for; columns that are not in one are grouped by what they are taken for."""
        merged = isinstance(self.families, Mapping)
        groups = [(one, columns) for one, columns in self._asked() if isinstance(one, Family) or not merged]
        grouped = {column for _, columns in groups for column in columns}
        for word in FAMILIES:
            kinds = enumerate(self.kinds_)
            groups.append((word, tuple(number for number, kind in kinds if kind == word and number not in grouped)))
        return Product(tuple((self._made(one, columns), columns) for one, columns in groups if columns))

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        """Whether all families do; those that words name do."""
        given = self.families
        ones = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else [given]
        owned = (one[0] if isinstance(one, list | tuple) and one else one for one in ones)
        return all(one.takes_missing for one in owned if isinstance(one, Family))

    def _made(self, word: Any, columns: tuple[int, ...]) -> Family:
        """The family that a word names, for some columns."""
        if isinstance(word, Family):
            return word
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
            kind = self.kinds_[columns[0]]
            located = family.located(params, self.frame_[list(columns)])
            described.append((family if kind == OWN else kind, columns, located))
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

    def _suits(self, params: MixtureParams) -> bool:
        parts, given = self._family().parts, params.components.parts
        pairs = zip(parts, given, strict=False)
        return (
            super()._suits(params)
            and len(parts) == len(given)
            and all(_fits(family, own, len(columns)) for (family, columns), own in pairs)
        )

    def _excuse(self) -> str | None:
        return super()._excuse() or held_by(self.reg_covar, self._family(), self.params_)

    def _described_by(
        self, family: Family, params: MixtureParams, shift: Floats, columns: NDArray[np.intp]
    ) -> MixedMixture:
        assert isinstance(family, Product)
        kinds = [self.kinds_[column] for column in columns]
        groups = [(kinds[own[0]], part, own) for part, own in family.parts]
        dense = [_dense(part, one) for (part, _), one in zip(family.parts, params.components.parts, strict=True)]
        asked = [(part if kind == OWN else kind, own) for kind, part, own in groups]
        made = clone(self).set_params(families=asked, covariance_type="full")
        narrowed(self, made, columns)
        made.kinds_, made.categories_ = kinds, [self.categories_[column] for column in columns]
        made._show(MixtureParams(params.weights, ProductParams(tuple(dense))), shift)
        return made

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


def _pair(given: Any) -> tuple[Any, list[Any]]:
    """A family or word, and its columns."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError(f"families must be a list of pairs (family or word, columns), got {given!r} in it")
    one, columns = given
    return one, list(columns) if isinstance(columns, list | tuple | range | np.ndarray) else [columns]


def _word(one: Any) -> str:
    """What a column is taken for."""
    if isinstance(one, Family):
        return OWN
    if not isinstance(one, str) or one not in FAMILIES:
        taken = ", ".join(map(repr, FAMILIES))
        raise ValueError(f"families must name {taken}, or be a family of your own, got {one!r}")
    return one


def _fits(family: Family, params: Any, n_columns: int) -> bool:
    """Whether the covariances of a group of numbers are of the structure that is asked for."""
    if not isinstance(family, Gaussian):
        return True
    shape: tuple[int, ...] = params.covariances.shape
    return shape == family.structure.shape(len(params.means), n_columns)


def _dense(family: Family, params: Any) -> Any:
    """Parameters of a group; covariances as full ones, whatever structure they came from."""
    if not isinstance(family, Gaussian):
        return params
    return family.marginal(params, np.arange(params.means.shape[1]))[1]
