"""What users ask of a fitted mixture: labels, probabilities, densities, draws, criteria, what is missing, what follows.

Each method takes the input and calls a function of `unveil.mixtures.fitted`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats, Indices, Labels
from unveil.core.drive import drive
from unveil.core.protocols import Asking, Source
from unveil.estimation.emissions.base import Emission
from unveil.estimation.kept import Kept
from unveil.families.base import Family
from unveil.mixtures.bootstrap import bootstrap
from unveil.mixtures.fitted import (
    LIKELIEST,
    LOG_DENSITY,
    POSTERIOR,
    DensityTotals,
    FilledIn,
    FittedMixture,
    chosen_columns,
    conditional,
    draw,
    each_block,
    map_rows,
    marginal,
    ready,
    summing,
    sums_at_hand,
)
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.numerics.blas import single_threaded_blas

APART = ("engine", "responsibilities_init", "weights_init", "means_init", "precisions_init", "empty_components")
"""Arguments that a fitted mixture does not depend on."""


def _described(estimator: Any) -> FittedMixture:
    """The mixture that attributes describe."""
    model, params = estimator._from_attributes()
    return ready(model, params, estimator._emission().rows.plain(estimator))


fitted_mixture: Kept[FittedMixture] = Kept(_described, apart=APART)


class MixtureMethods:
    """Mixin of the mixtures: all that can be done once they are fitted."""

    engine: Any
    random_state: Any
    n_features_in_: int

    @abstractmethod
    def _emission(self) -> Emission:
        """What components emit."""

    @abstractmethod
    def _from_attributes(self) -> tuple[Mixture, MixtureParams]:
        """The model that the fitted attributes describe, and its parameters."""

    @abstractmethod
    def _described_by(self, family: Family, params: MixtureParams, shift: Floats, columns: Indices) -> Any:
        """An estimator like this one for some of the columns, with these parameters."""

    def _mixture(self) -> FittedMixture:
        """The mixture, made ready once."""
        if "weights_" not in vars(self):  # looked for here, since scikit-learn asks for all tags before it looks
            check_is_fitted(self)
        return fitted_mixture(self)

    def _rows(self, X: Any, sample_weight: Any = None) -> Source:
        """The rows as the family takes them."""
        return self._emission().rows.source(self, X, sample_weight, reset=False)

    def _asked(self, X: Any, sample_weight: Any = None) -> tuple[FittedMixture, Source]:
        """The mixture, and the rows that it is asked about."""
        fitted = self._mixture()
        plain = None if fitted.plain is None or sample_weight is not None else fitted.plain(X)
        return fitted, self._rows(X, sample_weight) if plain is None else plain

    # -- rows ----------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """The likeliest component of each row."""
        return map_rows(*self._asked(X), self.engine, LIKELIEST)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component given the row, (n_samples, n_components)."""
        return map_rows(*self._asked(X), self.engine, POSTERIOR)

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row; of the cells that are there, where some are missing."""
        return map_rows(*self._asked(X), self.engine, LOG_DENSITY)

    def density(self, X: Any) -> Floats:
        """Density of each row: the exponential of `score_samples`."""
        return np.exp(self.score_samples(X))

    def impute(self, X: Any) -> Any:
        """`X` with missing cells (NaN) replaced by their conditional expectation given the cells that are there.

        Where a column has no expectation (categories), the likeliest value stands in.
        """
        filled = np.concatenate(list(each_block(FilledIn(self._mixture()), self._rows(X), self.engine)))
        return self._emission().rows.shown(self, filled)

    # -- criteria ------------------------------------------------------------------------------------------------------

    def _summing(self, X: Any, sample_weight: Any = None) -> Asking[DensityTotals]:
        """Over all rows, with the weights given and those that a scan brings along."""
        return summing(*self._asked(X, sample_weight), self.engine)

    def _totals(self, X: Any, sample_weight: Any) -> DensityTotals:
        fitted, source = self._asked(X, sample_weight)
        at_hand = sums_at_hand(fitted, source, self.engine)
        if at_hand is not None:
            return at_hand
        with single_threaded_blas():
            return drive(summing(fitted, source, self.engine))

    def _criteria(self, totals: DensityTotals) -> dict[str, float]:
        """What models are compared by, from sums over the rows."""
        parameters = self.n_parameters()
        price = parameters * float(np.log(totals.weight))
        return {
            "bic": -2.0 * totals.log_likelihood + price,
            "aic": -2.0 * totals.log_likelihood + 2.0 * parameters,
            "icl": -2.0 * (totals.log_likelihood + totals.sure) + price,
            "log_likelihood": totals.log_likelihood,
        }

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows."""
        totals = self._totals(X, sample_weight)
        return totals.log_likelihood / totals.weight

    def n_parameters(self) -> int:
        """Free parameters, as AIC and BIC count them."""
        model = self._mixture().model
        return model.n_parameters(len(model.shift))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-likelihood + parameters * log n."""
        return self._criteria(self._totals(X, sample_weight))["bic"]

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-likelihood + 2 * parameters."""
        return self._criteria(self._totals(X, sample_weight))["aic"]

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Integrated completed likelihood, the lower the better: BIC - 2 * log-probability of the labels.

        Penalises components that overlap (Biernacki, Celeux & Govaert 2000).
        """
        return self._criteria(self._totals(X, sample_weight))["icl"]

    # -- other mixtures ------------------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1) -> tuple[Any, Labels]:
        """Rows drawn from the fitted mixture, and the components they came from."""
        rows, labels = draw(self._mixture(), n_samples, check_random_state(self.random_state))
        return self._emission().rows.shown(self, rows), labels

    def marginal(self, columns: Any) -> Any:
        """The mixture of some of the columns, by number or by name.

        Returns
        -------
        estimator
            Fitted, of the same class.
        """
        fitted, chosen = self._mixture(), chosen_columns(self, columns)
        return self._described_by(*marginal(fitted, chosen), fitted.model.shift[chosen], chosen)

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
        fitted, rows = self._mixture(), self._emission().rows
        known, shift = rows.known(self, given), fitted.model.shift
        columns = np.array(sorted(known), dtype=np.intp)
        rest = np.setdiff1d(np.arange(len(shift)), columns)
        if not len(columns) or not len(rest):
            raise ValueError(f"given must name some but not all of the {len(shift)} columns, got {given!r}")
        values = rows.seen(self, known)[columns] - shift[columns]
        return self._described_by(*conditional(fitted, columns, values), shift[rest], rest)

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
        return bootstrap(self, X, sample_weight, n_bootstrap, random_state).standard_errors()
