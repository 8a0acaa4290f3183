"""Components that are mixtures: EM in every schedule, its laws, frames, priors, and what has no rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import laws
from tests.families.compounds import (
    MATRICES,
    MEANS,
    ORIGINS,
    ROWS,
    SCHEDULES,
    WEIGHTS,
    D,
    K,
    M,
    by_case,
    compound,
    mixture_case,
    scored,
    shares,
)
from unveil.expectations import Exact, Hard
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Incremental


def test_one_component_of_parts_is_a_plain_mixture() -> None:
    """The same likelihood path, from the same start."""
    inner = Gaussian(Full(), 1e-6)
    start = GaussianParams(MEANS[:M], MATRICES[:M], ORIGINS[:M])
    plain = laws.Case(Mixture(inner, M, np.zeros(D)), MixtureParams(WEIGHTS[0], start), ROWS, Exact())
    nested_start = MixtureParams(np.ones(1), CompoundParams(WEIGHTS[:1], start))
    nested = laws.Case(Mixture(Compound(inner, M), 1, np.zeros(D)), nested_start, ROWS, Exact())
    one, other = (laws.run(case, passes=30) for case in (plain, nested))
    np.testing.assert_allclose(other.history.log_likelihood, one.history.log_likelihood, rtol=1e-10)
    laws.alike(other.params.components.parts, one.params.components)
    assert Compound(inner, M).n_parameters(1, D) == inner.n_parameters(M, D) + M - 1


@by_case
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_bound_never_falls(name: str, schedule: str) -> None:
    case = mixture_case(name)
    if name not in ("full", "poisson", "student") and schedule != "batch":
        case = laws.Case(case.model, case.start, case.rows[:120], case.expectation)
    outcome = laws.run(case, passes=12, schedule=SCHEDULES[schedule])
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= laws.ROUNDING * np.max(np.abs(objective))


@pytest.mark.parametrize("name", ["full", "poisson"])
def test_incremental_over_many_partitions_never_lowers_the_bound(name: str) -> None:
    history = laws.run(mixture_case(name), passes=5, schedule=Incremental(batch_rows=1)).history
    assert history.column("objective")[-1] > history.column("objective")[0]
    assert history.largest_fall() <= laws.ROUNDING * np.max(np.abs(history.column("objective")))


def test_hard_expectations_choose_components_not_parts() -> None:
    case = mixture_case("full")
    hard = laws.Case(case.model, case.start, case.rows, Hard())
    laws.the_bound_never_falls(hard)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "__name__", None) or law.func.__name__)
def test_laws(law: Any) -> None:
    law(mixture_case("full"))


@pytest.mark.parametrize("name", ["full", "student", "product"])
def test_weights_are_repetition(name: str) -> None:
    laws.weights_equal_repetition(mixture_case(name), np.random.default_rng(2).integers(0, 3, len(ROWS)))


@pytest.mark.parametrize("schedule", ["incremental", "squarem", "gradient"])
def test_threads_change_no_bit(schedule: str) -> None:
    laws.threads_change_no_bit(mixture_case("full"), SCHEDULES[schedule])


def test_an_offset_and_single_precision_change_little() -> None:
    family, params, rows = compound("full")
    start = MixtureParams(np.full(K, 0.5), params)
    plain = laws.run(mixture_case("full"), passes=15)
    moved = laws.run(
        laws.Case(Mixture(family, K, np.full(D, 1e8)), start, np.round(rows * 2**20) / 2**20 + 1e8, Exact())
    )
    rounded = laws.run(mixture_case("full", (np.round(rows * 2**20) / 2**20 + 1e8) - 1e8))
    laws.alike(moved.params, rounded.params, rtol=1e-9)
    single = laws.run(mixture_case("full", rows.astype(np.float32)), passes=15)
    np.testing.assert_allclose(single.history.log_likelihood, plain.history.log_likelihood, rtol=1e-6)


def test_narrow_parts_far_from_the_origin_have_frames_of_their_own() -> None:
    family = Compound(Gaussian(Full(), 0.0), 2)
    rows = np.concatenate([np.random.default_rng(i).normal(at, 1e-3, (80, 1)) for i, at in enumerate((-9.0, 5.0, 9.0))])
    means = np.array([[-9.0], [0.0], [5.0], [9.0]])
    normal = GaussianParams(means, np.full((4, 1, 1), 1e-6), np.zeros((4, 1)))
    params = family.recentre(CompoundParams(np.full((2, 2), 0.5), normal))
    assert np.any(params.parts.origins != 0.0)
    assert not family.same_frames(params, CompoundParams(params.weights, normal))
    case = laws.Case(Mixture(family, 2, np.zeros(1)), MixtureParams(np.full(2, 0.5), params), rows, Exact())
    found = laws.run(case, passes=5).params.components.parts
    np.testing.assert_allclose(np.sqrt(found.covariances[[0, 2, 3], 0, 0]), 1e-3, rtol=0.2)
    plan, tile = scored(family, params, rows)
    tile.logits[...] = np.random.default_rng(0).dirichlet(np.ones(2), len(rows)).T
    moments = family.gather(plan, tile)
    target = family.located(params, np.ones(1))
    there = family.moved(moments, params, target, np.ones(1))
    again = family.maximise(there, target)
    np.testing.assert_allclose(again.parts.means, family.maximise(moments, params).parts.means + 1.0, rtol=1e-9)


def test_components_and_parts_without_rows_keep_what_they_had() -> None:
    family, params, rows = compound("full")
    plan, tile = scored(family, params, rows)
    tile.logits[...] = np.array([[1.0], [0.0]])
    fresh = family.maximise(family.gather(plan, tile), params)
    np.testing.assert_array_equal(fresh.weights[1], params.weights[1])
    np.testing.assert_array_equal(fresh.parts.means[M:], params.parts.means[M:])


def test_a_prior_on_shares_is_pseudo_counts() -> None:
    family, params, rows = compound("poisson", concentration=3.0)
    plan, tile = scored(family, params, rows)
    tile.logits[...] = shares(len(rows))
    moments = family.gather(plan, tile)
    counts = family.blocks(moments)[:, 0].reshape(K, M) + 2.0
    np.testing.assert_allclose(family.maximise(moments, params).weights, counts / counts.sum(axis=1, keepdims=True))
    flat = Compound(family.family, M)
    assert flat.log_prior(params) == 0.0
    np.testing.assert_allclose(
        family.log_prior(params) - family.log_prior(CompoundParams(np.full((K, M), 1 / M), params.parts)),
        2.0 * (np.log(WEIGHTS).sum() - K * M * np.log(1 / M)),
    )
