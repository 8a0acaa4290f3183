"""Are states real: where they are, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from unveil import CategoricalHMM, GaussianHMM, PoissonHMM
from unveil.certificate import Certificate
from unveil.judgement.case import Case
from unveil.judgement.real.chains import examine_states

RANDOM = np.random.default_rng(11)
STATES = np.cumsum(RANDOM.random(400) < 0.1) % 2


def asked(model, rows) -> Certificate:
    return Certificate(examine_states(Case(model.fit(rows), rows)).findings)


def test_states_that_are_there():
    assert (
        asked(GaussianHMM(2, random_state=0), (6.0 * STATES + RANDOM.normal(size=400))[:, None]).verdicts["real"]
        == "yes"
    )
    counts = RANDOM.poisson(np.array([2.0, 20.0])[STATES])[:, None]
    assert asked(PoissonHMM(2, random_state=0), counts).verdicts["real"] == "yes"
    codes = (4 * STATES + RANDOM.integers(0, 4, 400))[:, None]
    assert asked(CategoricalHMM(2, random_state=0), codes).verdicts["real"] == "yes"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [2, 3])
def test_states_of_noise_and_of_a_random_walk(seed, k):
    noise = np.random.default_rng(seed).normal(size=(300, 1))
    for rows in (noise, np.cumsum(noise, axis=0)):
        assert asked(GaussianHMM(k, random_state=0), rows).verdicts["real"] == "no"


def test_one_state_is_not_asked():
    assert asked(GaussianHMM(1), RANDOM.normal(size=(100, 1))).verdicts["real"] == "not examined"


def test_nothing_changes_and_nothing_is_left_to_chance():
    rows = (6.0 * STATES + RANDOM.normal(size=400))[:, None]
    model = GaussianHMM(2, random_state=0).fit(rows)
    before = model.means_.copy()
    one, other = (examine_states(Case(model, rows)).findings for _ in range(2))
    assert one == other
    np.testing.assert_array_equal(model.means_, before)
