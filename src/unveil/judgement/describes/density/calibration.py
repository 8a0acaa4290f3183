"""How large the figures of an examination are by chance: draws of the model, fitted anew from where it stands.

Parameters that were fitted to the rows make every figure smaller than the law of a test says, so its law is drawn: rows
from the fitted model, with the same cells missing and the same weights, and some passes of EM over them (Stute,
Manteiga and Quindimil, Bootstrap based goodness-of-fit tests, 1993). Of all tests at once the largest counts. With
figures t_bj of B draws and the rows themselves, standardised over these B + 1 by test,

    p_j = (1 + number of draws b whose largest standardised figure is at least that of the rows in test j) / (B + 1),

so the chance that any test of a model that is true speaks is its level (Westfall and Young, Resampling-based multiple
testing, 1993), whatever depends on what. The rows are standardised along with the draws, which makes them one of B + 1
that are alike: it holds for few draws too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.expectations import Exact
from unveil.mixtures.fitted import drawn_rows
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.numerics.blas import single_threaded_blas

DRAWS = 39  # so that the smallest probability is 1 / 40, and two draws may be as extreme at 5%
REFIT_WORK = 1 << 20  # rows times components times columns times passes of a draw: more is not fitted anew. That makes
#                       chance larger than it is, and tests of thousands of rows can afford it
PASSES = 8  # of EM over a draw: from the truth, most of what there is to gain
PASSES_WITH_HOLES = 4  # where each takes as many steps as there are patterns of missing cells
UNMOVED = 1e-4  # standard deviation of a figure that is taken for no variation at all


@dataclass(frozen=True)
class Described:
    """A table and the mixture that is to describe it."""

    model: Mixture
    params: MixtureParams
    rows: Floats  # (n, d), NaN where a cell is missing
    weights: Floats  # (n,)

    @property
    def framed(self) -> Floats:
        """The rows in the frame, (d, n)."""
        return np.ascontiguousarray((self.rows - self.model.shift).T)

    @property
    def n_rows(self) -> float:
        """Rows that equal weights would make as sure."""
        return float(self.weights.sum() ** 2 / np.sum(self.weights**2))


class Calibrated(NamedTuple):
    """Of every test: how likely by chance, all tests together; and what its effect is by chance."""

    p_values: Floats
    by_chance: Floats  # a standard deviation above the mean: what is beyond is not to be had by chance


def drawn(case: Described, random: np.random.Generator, refit: bool) -> Described:
    """A table of the model's own, with the same holes and weights, and the mixture fitted anew to it."""
    n = len(case.rows)
    state = np.random.RandomState(random.integers(1 << 31))
    rows = sample(case, n, state)
    rows[np.isnan(case.rows)] = np.nan
    again = replace(case, rows=rows)
    return replace(again, params=_climbed(again)) if refit else again


def sample(case: Described, n: int, state: np.random.RandomState) -> Floats:
    """Rows of the mixture in no order."""
    rows, _ = drawn_rows(case.model, case.params, n, state)
    return rows[state.permutation(n)]


def is_refitted(case: Described) -> bool:
    """Whether draws are small enough to be fitted anew."""
    return case.rows.size * case.model.n_components * PASSES <= REFIT_WORK


def _climbed(case: Described) -> MixtureParams:
    """Some passes of EM."""
    model = replace(case.model, compiled=False)
    block = Block(0, 0, np.ascontiguousarray(case.rows), case.weights)
    params, memo = model.recentre(case.params), None
    with single_threaded_blas():
        for _ in range(PASSES_WITH_HOLES if np.isnan(case.rows).any() else PASSES):
            statistics, memo = model.expect(model.prepare(params), block, Exact(), memo, np.random.default_rng)  # type: ignore[arg-type]
            params = model.recentre(model.maximise(statistics, params))
    return params


def calibrated(figures: Floats, draws: Floats, effects: Floats) -> Calibrated:
    """From the figures (tests,) of the rows, those of the draws (draws, tests), and the draws' effects."""
    every = np.vstack([figures, draws])
    spread = np.maximum(every.std(axis=0), UNMOVED)
    scaled = (every - every.mean(axis=0)) / spread
    largest = scaled[1:].max(axis=1)
    exceeded = np.sum(largest[:, None] >= scaled[0], axis=0)
    return Calibrated((1.0 + exceeded) / (1.0 + len(draws)), effects.mean(axis=0) + effects.std(axis=0))
