"""What a fitted mixture is used for: labels, probabilities, densities, draws, criteria, what is missing, what follows.

Everything here reads the fitted attributes alone, through the model that they describe.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.estimation.base import engine_for
from unveil.estimation.columns import column_number
from unveil.estimation.input import finite_rows
from unveil.expectations import Exact
from unveil.families.base import Family, Tile
from unveil.mixtures.model.model import Mixture, MixtureParams, Plan
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.array import ArraySource


@dataclass(frozen=True)
class LogJoint:
    """log p(x, s) of a block, as engines take it."""

    model: Mixture
    plan: Plan

    def __call__(self, block: Block) -> Floats:
        """(rows, components)."""
        finite_rows(block, missing=self.model.family.takes_missing)
        return self.model.log_joint(self.plan, block)


@dataclass(frozen=True)
class Complete:
    """A block with its missing cells filled in."""

    log_joint: LogJoint

    def __call__(self, block: Block) -> Floats:
        """(rows, columns); cells that are there stay as they are, to the last bit."""
        finite_rows(block, missing=True)
        completed = self.log_joint.model.complete(self.log_joint.plan, block, Exact())
        return np.where(np.isnan(block.rows), completed, block.rows)


@dataclass(frozen=True)
class Sums:
    """Log-density, log-probability of the likeliest component, and weight, summed over the rows of a block."""

    log_joint: LogJoint

    def __call__(self, block: Block) -> tuple[float, float, float]:
        """The three sums; rows without weight take no part, however unlikely they are."""
        joint = self.log_joint(block)
        scores = logsumexp(joint, axis=1)
        weights = np.ones(len(scores)) if block.weights is None else block.weights
        sure = np.max(joint, axis=1) - scores
        counted = weights > 0
        return (
            float(weights @ np.where(counted, scores, 0.0)),
            float(weights @ np.where(counted, sure, 0.0)),
            float(weights.sum()),
        )


class Density:
    """Mixin of the fitted mixtures."""

    weights_: Floats
    engine: Any
    random_state: Any

    @abstractmethod
    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool, min_rows: int = 1) -> Source:
        """The rows as the family takes them."""

    @abstractmethod
    def _view(self, source: Source) -> Source:
        """The same where rows are numbers already: checked, or read as yes and no."""

    @abstractmethod
    def _fitted(self) -> tuple[Mixture, MixtureParams]:
        """The model that the fitted attributes describe, and its parameters."""

    @abstractmethod
    def _described_by(self, family: Family, params: MixtureParams, shift: Floats, columns: NDArray[np.intp]) -> Any:
        """An estimator like this one for some of the columns, with these parameters."""

    def _rows_out(self, rows: Floats) -> Any:
        """Rows as the user knows them."""
        return rows

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _blocks(self, X: Any, wrap: Callable[[LogJoint], Any], sample_weight: Any = None) -> Iterator[Any]:
        """A function of log p(x, s), block by block, on the engine."""
        check_is_fitted(self)
        source = self._source(X, sample_weight, reset=False)
        model, params = self._fitted()
        with single_threaded_blas():
            plan = model.prepare(model.recentre(params))
            yield from engine_for(self.engine, source).map(wrap(LogJoint(model, plan)), source)

    def _map(self, X: Any, finish: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """`finish` of log p(x, s) for all rows."""
        return np.concatenate([finish(joint) for joint in self._blocks(X, lambda step: step)])

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The likeliest component of each row."""
        return self._map(X, lambda joint: np.argmax(joint, axis=1))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component given the row, (n_samples, n_components)."""
        return self._map(X, lambda joint: softmax(joint, axis=1))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row; of the cells that are there, where some are missing."""
        return self._map(X, lambda joint: logsumexp(joint, axis=1))

    def density(self, X: Any) -> Floats:
        """Density of each row: the exponential of `score_samples`."""
        return np.exp(self.score_samples(X))

    def impute(self, X: Any) -> Any:
        """`X` with missing cells (NaN) replaced by their conditional expectation given the cells that are there.

        Where a column has no expectation (categories), the likeliest value stands in.
        """
        return self._rows_out(np.concatenate(list(self._blocks(X, Complete))))

    # -- criteria ------------------------------------------------------------------------------------------------------

    def _sums(self, X: Any, sample_weight: Any) -> tuple[float, float, float]:
        """Over all rows, with the weights given and those that a scan brings along."""
        total = np.array(list(self._blocks(X, Sums, sample_weight))).sum(axis=0)
        return float(total[0]), float(total[1]), float(total[2])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows."""
        log_likelihood, _, weight = self._sums(X, sample_weight)
        return log_likelihood / weight

    def _n_parameters(self) -> int:
        """Free parameters, for AIC and BIC."""
        model, params = self._fitted()
        k = len(params.weights)
        return k - 1 + model.family.n_parameters(k, len(model.shift))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-likelihood + parameters * log n."""
        log_likelihood, _, count = self._sums(X, sample_weight)
        return -2.0 * log_likelihood + self._n_parameters() * float(np.log(count))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-likelihood + 2 * parameters."""
        return -2.0 * self._sums(X, sample_weight)[0] + 2.0 * self._n_parameters()

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Integrated completed likelihood, the lower the better: BIC - 2 * log-probability of the labels.

        Penalises components that overlap (Biernacki, Celeux & Govaert 2000).
        """
        log_likelihood, sure, count = self._sums(X, sample_weight)
        return -2.0 * (log_likelihood + sure) + self._n_parameters() * float(np.log(count))

    # -- other mixtures ------------------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1) -> tuple[Any, NDArray[np.intp]]:
        """Rows drawn from the fitted mixture, and the components they came from."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}")
        random = check_random_state(self.random_state)
        model, params = self._fitted()
        counts = random.multinomial(n_samples, params.weights / params.weights.sum())
        drawn = [model.family.draw(params.components, c, int(count), random) for c, count in enumerate(counts)]
        return self._rows_out(np.concatenate(drawn) + model.shift), np.repeat(np.arange(len(counts)), counts)

    def marginal(self, columns: Any) -> Any:
        """The mixture of some of the columns, by number or by name.

        Returns
        -------
        estimator
            Fitted, of the same class.
        """
        check_is_fitted(self)
        chosen = self._columns(columns)
        model, params = self._fitted()
        family, components = model.family.marginal(params.components, chosen)
        return self._described_by(family, MixtureParams(params.weights, components), model.shift[chosen], chosen)

    def conditional(self, given: Any) -> Any:
        """The mixture of the other columns where some are known.

        Parameters
        ----------
        given : mapping of columns (by number or name) to values, or a row with NaN where nothing is known

        Returns
        -------
        estimator
            Fitted, of the same class: weights are those of the components given the values.
        """
        check_is_fitted(self)
        known = self._known(given)
        columns = np.array(sorted(known), dtype=np.intp)
        model, params = self._fitted()
        rest = np.setdiff1d(np.arange(len(model.shift)), columns)
        if not len(columns) or not len(rest):
            raise ValueError(f"given must name some but not all of the {len(model.shift)} columns, got {given!r}")
        values = self._seen(known)[columns] - model.shift[columns]
        family, components = model.family.conditional(params.components, columns, values)
        weights = self._weights_given(model, params, columns, values)
        return self._described_by(family, MixtureParams(weights, components), model.shift[rest], rest)

    @staticmethod
    def _weights_given(model: Mixture, params: MixtureParams, columns: NDArray[np.intp], values: Floats) -> Floats:
        """Weights of the components given the values of some columns."""
        family, components = model.family.marginal(params.components, columns)
        tile = Tile(values[:, None], np.empty((len(params.weights), 1)))
        family.score(family.plan(components), tile)
        with np.errstate(divide="ignore"):
            weights: Floats = softmax(tile.logits[:, 0] + np.log(params.weights))
        return weights

    def _known(self, given: Any) -> dict[int, float]:
        if isinstance(given, Mapping):
            return {self._column(name): self._cell(self._column(name), value) for name, value in given.items()}
        row = np.asarray(given, dtype=np.float64)
        if row.shape != (self.n_features_in_,):  # type: ignore[attr-defined]
            expected = self.n_features_in_  # type: ignore[attr-defined]
            raise ValueError(f"given must be a mapping, or a row of {expected} cells, got shape {row.shape}")
        return {int(column): float(row[column]) for column in np.flatnonzero(~np.isnan(row))}

    def _seen(self, known: Mapping[int, float]) -> Floats:
        """The known cells as the family takes them, in a row of which the others are missing."""
        row = np.full((1, self.n_features_in_), np.nan)  # type: ignore[attr-defined]
        row[0, list(known)] = list(known.values())
        if np.count_nonzero(np.isfinite(row)) < len(known):
            raise ValueError(f"given must hold finite numbers, got {dict(known)}")
        seen: Floats = next(iter(self._view(ArraySource(row)).read())).rows[0]
        return seen

    def _cell(self, column: int, value: Any) -> float:
        """A value as the model knows it."""
        return float(value)

    def _columns(self, columns: Any) -> NDArray[np.intp]:
        """Numbers of some columns, each once."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise ValueError(f"columns must be a list of names or numbers, got {columns!r}")
        chosen = np.array([self._column(one) for one in columns], dtype=np.intp)
        if not len(chosen) or len(set(chosen.tolist())) < len(chosen):
            raise ValueError(f"columns must name at least one column, and each once, got {columns!r}")
        return chosen

    def _column(self, name: Any) -> int:
        return column_number(self, name)

    def standard_errors(
        self, X: Any, sample_weight: Any = None, *, n_bootstrap: int = 100, random_state: Any = None
    ) -> dict[str, Any]:
        """Standard errors of the fitted attributes, by bootstrap with the components matched.

        Parameters
        ----------
        X, sample_weight
            The rows that the mixture was fitted to.
        n_bootstrap : int, default=100
            How many times the rows are drawn anew and the mixture is fitted to them, from where it stands.

        Returns
        -------
        dict
            An array for every fitted attribute, of its shape; a list of them where the attribute is one.
        """
        from unveil.mixtures.bootstrap import bootstrap

        return bootstrap(self, X, sample_weight, n_bootstrap, random_state).standard_errors()
