"""Codes against scipy's multinomial, missing cells against brute force, and what codes have in place of means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import dirichlet, multinomial

from tests import laws
from unveil.core.protocols import Block
from unveil.expectations import Exact, Hard
from unveil.families.base import Tile
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.independent import PROBABILITY_FLOOR
from unveil.families.priors import Dirichlet
from unveil.mixtures.model.model import Mixture, MixtureParams

Floats = NDArray[np.float64]
LEVELS = (3, 2, 4)
FAMILY = Categorical(LEVELS)
CHANCES = np.array(
    [
        [0.7, 0.2, 0.1, 0.9, 0.1, 0.1, 0.2, 0.3, 0.4],
        [0.1, 0.3, 0.6, 0.4, 0.6, 0.4, 0.4, 0.1, 0.1],
    ]
)
PARAMS = CategoricalParams(CHANCES)
COLUMNS = (slice(0, 3), slice(3, 5), slice(5, 9))


def codes(n_rows: int = 300) -> Floats:
    random = np.random.RandomState(8)
    drawn = np.concatenate([FAMILY.draw(PARAMS, component, n_rows // 2, random) for component in range(2)])
    return random.permutation(drawn)


def with_gaps(rows: Floats) -> Floats:
    rows = rows.copy()
    rows[np.random.default_rng(9).random(rows.shape) < 0.2] = np.nan
    return rows


def log_probabilities(chances: Floats, rows: Floats) -> Floats:
    """Of each cell, (rows, columns), by scipy; NaN where it is missing."""
    out = np.full(rows.shape, np.nan)
    for (r, c), code in np.ndenumerate(rows):
        if not np.isnan(code):
            out[r, c] = multinomial(1, chances[COLUMNS[c]]).logpmf(np.eye(LEVELS[c])[int(code)])
    return out


def case(rows: Floats, expectation: Any = None, prior: Dirichlet | None = None) -> laws.Case:
    start = MixtureParams(np.array([0.6, 0.4]), FAMILY.first(np.hstack([np.ones((2, 1)), CHANCES + 0.2])))
    return laws.Case(Mixture(Categorical(LEVELS, prior), 2, np.zeros(3)), start, rows, expectation or Exact())


CASES = {
    "exact": case(codes()),
    "hard": case(codes(), Hard()),
    "prior": case(codes(), prior=Dirichlet(2.0)),
    "missing": case(with_gaps(codes())),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, name: str) -> None:
    law(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_weights_equal_repetition(name: str) -> None:
    times = np.random.default_rng(5).integers(0, 4, 80)
    laws.weights_equal_repetition(replace(CASES[name], rows=CASES[name].rows[:80]), times)


def test_statistics_are_one_and_the_indicators() -> None:
    rows = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0], [np.nan, 0.0, 9.0]])
    out = np.empty((10, 3))
    FAMILY.statistics(np.ascontiguousarray(rows.T), out)
    want = [[1, 1, 0, 0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 1, 1, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(out.T, want)
    np.testing.assert_array_equal(FAMILY.owners(3), [0, 0, 0, 1, 1, 2, 2, 2, 2])


def test_likelihood_of_rows_with_gaps_is_that_of_what_is_there() -> None:
    rows = with_gaps(codes(60))
    chosen = case(rows)
    cells = [log_probabilities(chances, rows) for chances in chosen.start.components.probabilities]
    joint = np.log(chosen.start.weights)[:, None] + np.nansum(cells, axis=2)
    want = float(logsumexp(joint, axis=0).sum())
    assert float(laws.expect(chosen, rows)["log_likelihood"]) == pytest.approx(want, rel=1e-12)


def test_shares_of_levels_with_the_floor_kept_and_counted() -> None:
    family = Categorical((2, 3))
    moments = np.array([[4.0, 4, 0, 1, 1, 2], [4.0, 1, 3, 2, 1, 1], [0.0] * 6])
    found = family.first(moments)
    np.testing.assert_allclose(
        found.probabilities[0], [1 - PROBABILITY_FLOOR, PROBABILITY_FLOOR, 0.25, 0.25, 0.5], rtol=1e-9
    )
    np.testing.assert_allclose(found.probabilities[2], [5 / 8, 3 / 8, 3 / 8, 2 / 8, 3 / 8])
    np.testing.assert_allclose(found.probabilities[:, :2].sum(axis=1), 1.0, rtol=1e-15)
    assert family.floored(found) == 1
    old = CategoricalParams(np.full((3, 5), 0.1))
    np.testing.assert_array_equal(family.maximise(moments, old).probabilities[2], np.full(5, 0.1))
    assert np.isfinite(family.natural(found)).all()


def test_a_column_that_is_never_seen_gives_all_levels_the_same_chance() -> None:
    found = Categorical((2, 3)).first(np.array([[4.0, 3, 1, 0, 0, 0]]))
    np.testing.assert_allclose(found.probabilities, [[0.75, 0.25, 1 / 3, 1 / 3, 1 / 3]])


def test_the_prior_is_codes_seen_before() -> None:
    family = Categorical(LEVELS, Dirichlet(2.0))
    found = family.first(np.array([[4.0, 3, 1, 0, 4, 0, 1, 1, 1, 1]]))
    np.testing.assert_allclose(found.probabilities, [[4 / 7, 2 / 7, 1 / 7, 5 / 6, 1 / 6, 0.25, 0.25, 0.25, 0.25]])
    pieces = [row[place] for row in CHANCES for place in COLUMNS]
    want = sum(dirichlet(np.full(len(piece), 2.0)).logpdf(piece) for piece in pieces)
    assert family.log_prior(PARAMS) == pytest.approx(want, rel=1e-12)
    assert FAMILY.log_prior(PARAMS) == 0.0


def test_missing_codes_become_the_likeliest_under_q() -> None:
    x = np.array([[0.0, 1.0, 2.0], [np.nan] * 3, [np.nan] * 3])
    q = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    filled = FAMILY.complete(FAMILY.plan(PARAMS), Tile(x, q, None, slice(0, 3), np.array([0])))
    np.testing.assert_array_equal(filled, [[0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
    assert FAMILY.means(PARAMS).shape == (2, 3)
    assert np.isnan(FAMILY.means(PARAMS)).all()


def test_the_typical_row_is_of_the_most_frequent_codes() -> None:
    rows = np.array([[2.0, 1.0, np.nan], [2.0, np.nan, np.nan], [0.0, 1.0, np.nan], [1.0, 0.0, np.nan]])
    np.testing.assert_array_equal(FAMILY.typical(rows), [2.0, 1.0, 0.0])


def test_different_levels_are_at_a_distance_of_one() -> None:
    points = FAMILY.embed(np.array([[0.0, 1.0, 3.0], [2.0, 1.0, 3.0], [1.0, 0.0, 0.0]]))
    distances = np.linalg.norm(points[:, None] - points, axis=2) ** 2
    np.testing.assert_allclose(distances, [[0, 1, 3], [1, 0, 3], [3, 3, 0]], atol=1e-12)


def test_marginals_and_conditionals_keep_the_levels_of_their_columns() -> None:
    family, params = FAMILY.marginal(PARAMS, np.array([2, 0]))
    assert isinstance(family, Categorical)
    assert family.levels == (4, 3)
    np.testing.assert_array_equal(params.probabilities, CHANCES[:, [5, 6, 7, 8, 0, 1, 2]])
    rest, _ = FAMILY.conditional(PARAMS, np.array([2, 0]), np.array([1.0, 1.0]))
    assert isinstance(rest, Categorical)
    assert rest.levels == (2,)


def test_free_parameters_and_levels_that_make_no_sense() -> None:
    assert FAMILY.n_parameters(5, 3) == 5 * (2 + 1 + 3)
    with pytest.raises(ValueError, match=r"levels must hold a positive integer.*\(3, 0\)"):
        Categorical((3, 0))


@pytest.mark.parametrize("gaps", [False, True])
def test_a_level_of_probability_zero_is_impossible_and_no_other_is(gaps: bool) -> None:
    chances = np.array([[0.8, 0.2, 0.0, 1.0, 0.0, 0.1, 0.2, 0.3, 0.4], CHANCES[1]])
    rows = with_gaps(codes()) if gaps else codes()
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    firsts = np.array([0, 3, 5])
    cells = np.where(np.isnan(rows)[:, None], 0.0, logs[:, (np.nan_to_num(rows) + firsts).astype(int)].swapaxes(0, 1))
    mixture = Mixture(FAMILY, 2, np.zeros(3))
    plan = mixture.prepare(MixtureParams(np.array([0.6, 0.4]), CategoricalParams(chances)))
    found, _ = mixture.expect(plan, Block(0, 0, rows), Exact(), None, np.random.default_rng)
    joint = cells.sum(axis=2) + np.log([0.6, 0.4])
    np.testing.assert_allclose(found["log_likelihood"], logsumexp(joint, axis=1).sum(), rtol=1e-12)
    np.testing.assert_allclose(found["moments"][:, 0], np.exp(joint - logsumexp(joint, axis=1)[:, None]).sum(axis=0))
    assert np.isfinite(mixture.energy(found, plan.params))
