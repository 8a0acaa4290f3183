"""The hidden Markov model on the loop: every schedule and expectation, and the path of a peer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.oracles.chains import expect, run
from tests.oracles.regimes import (
    CHAINS,
    LENGTHS,
    ROWS,
    gaussian,
    started,
)
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.schedules import LBFGS, Ascent, Batch, Gradient, Incremental, Squarem, Stepwise

SCHEDULES: dict[str, Any] = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=32),
    "gradient": Gradient(steps=3),
    "squarem": Squarem(),
}
CLIMBS = [
    *[(name, Exact(), "batch") for name in CHAINS],
    *[("gaussian", Exact(), schedule) for schedule in ("incremental", "gradient", "squarem")],
    *[("categorical", Exact(), schedule) for schedule in ("incremental", "gradient", "squarem")],
    *[(name, Hard(), schedule) for name in ("gaussian", "poisson") for schedule in ("batch", "incremental")],
    *[
        (name, Sparse(2, 4), schedule)
        for name in ("gaussian", "holes", "poisson")
        for schedule in ("batch", "incremental", "gradient")
    ],
    ("prior", Exact(), "gradient"),
    ("prior", Exact(), "squarem"),
    ("tied", Exact(), "gradient"),
    ("tied", Exact(), "incremental"),
    ("left-right", Exact(), "gradient"),
]


@pytest.mark.parametrize(
    ("name", "expectation", "schedule"), CLIMBS, ids=[f"{n}-{type(e).__name__}-{s}" for n, e, s in CLIMBS]
)
def test_the_bound_never_falls(name: str, expectation: Any, schedule: str) -> None:
    one = started(name)
    outcome = run(one, expectation, SCHEDULES[schedule], passes=20)
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= 1e-10 * np.max(np.abs(objective))
    assert np.all(outcome.history.gap >= -1e-10 * np.abs(outcome.history.log_likelihood))
    one.model.start_rule.check(outcome.params.start, "start")
    one.model.transition_rule.check(outcome.params.transition, "transition")


@cache
def height_of_batch(name: str) -> float:
    return float(run(CHAINS[name], passes=300).history.log_likelihood[-1])


@pytest.mark.parametrize(
    "schedule", [Incremental(32), Gradient(5), Ascent(), LBFGS(), Squarem()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("name", ["gaussian", "categorical"])
def test_what_is_exact_ends_where_batch_does(name: str, schedule: Any) -> None:
    found = run(CHAINS[name], schedule=schedule, passes=150).history.log_likelihood[-1]
    assert found >= height_of_batch(name) - 1e-4 * len(ROWS)


@pytest.mark.parametrize(
    ("expectation", "schedule"),
    [
        (Sampled(32, 1.1), Batch()),
        (Annealed(0.8, 5), Batch()),
        (Exact(), Stepwise(batch_rows=32)),
        (Hard(), Stepwise()),
    ],
    ids=["sampled", "annealed", "stepwise", "hard-stepwise"],
)
def test_what_draws_or_forgets_comes_near(expectation: Any, schedule: Any) -> None:
    best = run(gaussian(), passes=40).history.log_likelihood[-1]
    outcome = run(gaussian(), expectation, schedule, passes=40)
    again, _ = expect(gaussian(), params=outcome.params)
    assert again["log_likelihood"] >= best - 0.03 * sum(LENGTHS)
    assert np.all(outcome.history.gap >= -1e-9 * np.abs(outcome.history.log_likelihood))


PEER = {
    "gaussian": [
        -660.6683951249498,
        -497.48784228760144,
        -491.62085139917804,
        -491.21678756035595,
        -491.102117154005,
        -491.0619526933724,
        -491.04919598789786,
        -491.0452711788997,
    ],
    "poisson": [
        -509.5226026819604,
        -462.2682603339257,
        -458.33595979368084,
        -456.3820123834862,
        -455.0068360383052,
        -454.1917364376782,
        -453.77945860534913,
        -453.58329536594067,
    ],
    "categorical": [
        -223.3493712423725,
        -201.4553419973035,
        -192.2403554164069,
        -187.54770867379602,
        -184.805369046005,
        -183.52537197202784,
        -183.04792126867173,
        -182.9052743038162,
    ],
}


@pytest.mark.parametrize(("name", "path"), PEER.items(), ids=PEER)
def test_the_path_of_a_peer(name: str, path: list[float]) -> None:
    """Log-likelihoods of hmmlearn 0.3.3 from the same start.

    The recipe: ``regimes()``; ``GaussianHMM(3, "full", init_params="", n_iter=8, tol=-inf, min_covar=0, covars_prior=0,
    covars_weight=0)``, ``PoissonHMM`` and ``CategoricalHMM`` likewise, with the parameters of the chains here,
    then ``fit(rows, LENGTHS).monitor_.history``.
    """
    np.testing.assert_allclose(run(CHAINS[name], passes=len(path)).history.log_likelihood, path, rtol=1e-11)
