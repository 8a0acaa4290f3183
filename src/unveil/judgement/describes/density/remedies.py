"""What to try where a mixture does not describe the rows, and what it would gain: one fit of the alternative.

Gains are in nats over the rows that were looked at, as differences of BIC / 2, so that more parameters have to pay for
themselves. The logarithm of a column has density p(log x) / x, so its log-likelihood is taken less the sum of log x.
An alternative that degenerates gains as much as its regulariser is small, which is nothing.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.lazy import found
from unveil.estimation.degenerate import degeneracy
from unveil.judgement.describes.density.calibration import Described
from unveil.judgement.describes.density.transforms import log_densities
from unveil.judgement.describes.words import column_name

AT_LEAST = 3.0  # nats: a gain that is worth a word


class Remedies:
    """Alternatives to a fitted mixture, each fitted once."""

    def __init__(self, model: Any, case: Described) -> None:
        self.model, self.case = model, case
        self.shown = model._emission().rows.shown(model, case.rows)
        self.known: dict[str, float] = {}

    def words(self, kind: str, column: int) -> tuple[str, float]:
        """What to try, and what that gains where it is known."""
        makers = {"skew": self._for_skew, "tails": self._for_tails}
        return makers.get(kind, self._for_shape)(column)

    def _for_skew(self, column: int) -> tuple[str, float]:
        cells = self.case.rows[:, column]
        name = column_name(self.model, column)
        if np.nanmin(cells) > 0:
            return self._said(f"the log of {name}", self._gain_of_log(column)) or self._for_shape(column)
        return f"try a power of {name} that makes it even, or more components", 0.0

    def _for_tails(self, column: int) -> tuple[str, float]:
        name = self.case.model.family.heavier
        if not name:
            return self._for_shape(column)
        shared = {key: value for key, value in self._plain().items() if key in ("n_components", "covariance_type")}
        student = found("unveil", name)(**shared, random_state=0)
        return self._said(name, self._gain(name, student)) or self._for_shape(column)

    def _for_shape(self, column: int) -> tuple[str, float]:
        plain = self._plain()
        if plain.get("covariance_type", "full") != "full" and self._carries_full(plain["n_components"]):
            words = self._said(
                'covariance_type="full"', self._gain("full", self.model._alike().set_params(covariance_type="full"))
            )
            if words:
                return words
        more = plain["n_components"] + 1
        return self._said(f"{more} components", self._gain("more", self._with_more(more))) or (
            "try more components",
            0.0,
        )

    def _carries_full(self, n_components: int) -> bool:
        """Are there rows enough for matrices of full rank?"""
        n_rows, n_columns = np.shape(self.case.rows)
        return bool(n_rows > n_components * (n_columns + 1))

    def _plain(self) -> dict[str, Any]:
        arguments: dict[str, Any] = self.model.get_params(deep=False)
        return arguments

    def _with_more(self, count: int) -> Any:
        """The same with one component more, from a start of its own."""
        starts = {name: None for name in self._plain() if name.endswith("_init")} | {"n_init": 1}
        return self.model._alike().set_params(n_components=count, warm_start=False, random_state=0, **starts)

    def _said(self, name: str, gain: float) -> tuple[str, float] | None:
        return (f"{name} would gain {gain:.3g} nats", gain) if gain >= AT_LEAST else None

    def _gain_of_log(self, column: int) -> float:
        rows = self.case.rows.copy()
        cells = rows[:, column]
        jacobian = float(self.case.weights @ np.nan_to_num(np.log(cells)))
        rows[:, column] = np.log(cells)
        again = self.model._alike().set_params(random_state=0)
        return self._gain(f"log {column}", again, rows) - jacobian

    def _gain(self, name: str, alternative: Any, rows: Floats | None = None) -> float:
        """Fall of half the BIC; minus infinity where the alternative cannot be fitted, or is degenerate."""
        if name not in self.known:
            table = self.shown if rows is None else rows
            weights = None if np.all(self.case.weights == 1.0) else self.case.weights
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said of the alternative, which nobody asked for
                try:
                    fitted = alternative.fit(table, sample_weight=weights)
                    gain = self._own() - 0.5 * float(fitted.bic(table, sample_weight=weights))
                    self.known[name] = gain if degeneracy(fitted) is None else -np.inf
                except (ValueError, np.linalg.LinAlgError):
                    self.known[name] = -np.inf
        return self.known[name]

    def _own(self) -> float:
        """Half the BIC of the mixture itself."""
        total = float(self.case.weights @ log_densities(self.case))
        return 0.5 * self.model.n_parameters() * float(np.log(self.case.weights.sum())) - total
