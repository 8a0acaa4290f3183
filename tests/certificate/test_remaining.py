"""What is left to gain: sums of gains that fall in known ways, and climbs that were gone on with."""

from __future__ import annotations

import math
import warnings
from copy import deepcopy
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from unveil import BernoulliMixture, GaussianHMM, GaussianMixture, examine
from unveil.certificate.remaining import gain_left
from unveil.core.arrays import Floats


def climbed(gains: Any) -> list[float]:
    return list(accumulate(gains, initial=-1000.0))


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9, 0.99])
def test_one_exponential(ratio: float) -> None:
    gains = [ratio**number for number in range(20)]
    assert gain_left(climbed(gains)) == pytest.approx(ratio**21 / (1 - ratio), rel=1e-3)


@pytest.mark.parametrize("power", [2.0, 3.0])
def test_gains_that_fall_as_a_power(power: float) -> None:
    gains = [float(number) ** -power for number in range(1, 40)]
    left = sum(float(number) ** -power for number in range(41, 400_000))
    assert left / 2 < gain_left(climbed(gains)) < 2 * left


def test_a_slow_direction_behind_a_quick_one() -> None:
    gains = [0.5**number + 0.02 * 0.95**number for number in range(10)]
    left = sum(0.5**number + 0.02 * 0.95**number for number in range(11, 2000))
    last, before = gains[-1], gains[-2]
    aitken = last * (last / before) ** 2 / (1 - last / before)
    assert aitken < left / 3 < gain_left(climbed(gains)) < 3 * left


def test_a_leap_does_not_hide_what_plain_passes_saw() -> None:
    slow = [0.98**number for number in range(20)]
    after = [10.0, 0.02, 0.015, 0.0125]
    left = 0.0125 * 0.98**2 / 0.02  # as slow as before
    assert left / 3 < gain_left(climbed([*slow, *after])) < 3 * left


def test_what_cannot_be_told() -> None:
    assert math.isinf(gain_left([0.0, 1.0, 2.0, 3.5]))
    assert math.isnan(gain_left([0.0, 1.0]))
    assert math.isnan(gain_left([1.0]))
    assert math.isnan(gain_left([0.0, 2.0, 1.0]))
    assert math.isnan(gain_left([-math.inf, 0.0, 1.0]))
    assert gain_left([0.0, 1.0, 1.0]) == 0.0


# -- climbs ------------------------------------------------------------------------------------------------------------


def overlapping(seed: int) -> Floats:
    random = np.random.default_rng([9, seed])
    return np.concatenate([random.normal(size=(150, 2)), random.normal(size=(150, 2)) + 1.6])


def climbs() -> list[tuple[Any, Floats]]:
    settings: dict[str, Any] = {"schedule": "batch", "max_iter": 5000, "random_state": 3}
    start: dict[str, Any] = {"init_params": "random_from_data"}
    answers = (np.random.default_rng(4).random((300, 6)) < np.repeat([[0.3], [0.6]], 150, axis=0)).astype(np.float64)
    return [
        (GaussianMixture(2, tol=1e-3, **settings, **start), overlapping(0)),
        (GaussianMixture(2, tol=1e-4, **settings, **start), overlapping(1)),
        (GaussianMixture(3, tol=1e-5, **settings, **start), overlapping(2)),
        (BernoulliMixture(2, tol=1e-4, **settings), answers),
        (GaussianHMM(2, tol=1e-4, **settings), overlapping(3)),
    ]


def truth(model: Any, rows: Floats) -> float:
    further = deepcopy(model).set_params(warm_start=True, schedule="squarem", tol=1e-14, max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        heights = further.fit(rows).history_.heights
    return float(max(heights) - heights[0])


@pytest.mark.parametrize("number", range(5))
def test_examined_climbs_are_within_a_factor_of_three(number: int) -> None:
    model, rows = climbs()[number]
    model.fit(rows)
    before = model.means_.copy() if hasattr(model, "means_") else model.probabilities_.copy()
    examined, left = examine(model, rows)["remaining_gain"].value, truth(model, rows)
    assert examined is not None
    assert left / 3 <= examined <= max(3 * left, 1e-6)
    np.testing.assert_array_equal(model.means_ if hasattr(model, "means_") else model.probabilities_, before)
