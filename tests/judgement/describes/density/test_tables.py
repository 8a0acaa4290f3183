"""Tables of pairs and distances, against loops."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from unveil.judgement.describes.density.calibration import calibrated
from unveil.judgement.describes.density.energy import energy_distance
from unveil.judgement.describes.density.shapes import kind_of, kind_of_radius, l_ratios
from unveil.judgement.describes.density.tables import LevelCodes, indicators, interactions

SIZES = [2, 3, 4]


def coded(random: np.random.Generator, n: int) -> list[LevelCodes]:
    return [LevelCodes(random.integers(0, size, n).astype(float)) for size in SIZES]


def test_interactions_are_those_of_each_pair():
    random = np.random.default_rng(100)
    rows, model, weights = coded(random, 200), coded(random, 500), random.random(200)
    rows[1].levels[:20] = np.nan
    found = interactions(indicators(rows, SIZES), weights, indicators(model, SIZES), SIZES)
    for one in range(3):
        for other in range(one):
            seen, expected = np.zeros((2, SIZES[one], SIZES[other]))
            for a, b, weight in zip(rows[one].levels, rows[other].levels, weights, strict=True):
                if not np.isnan(a + b):
                    seen[int(a), int(b)] += weight
            for a, b in zip(model[one].levels, model[other].levels, strict=True):
                expected[int(a), int(b)] += 1
            p, q = seen / seen.sum(), (expected + 0.5) / (expected + 0.5).sum()
            ratio = p / np.outer(p.sum(1), p.sum(0)) / (q / np.outer(q.sum(1), q.sum(0)))
            np.testing.assert_allclose(found[one, other], np.sum(p * np.log(ratio)))


def test_energy_is_the_sum_over_all_pairs():
    random = np.random.default_rng(101)
    x, y = random.normal(size=(30, 2)), random.normal(size=(40, 2)) + 1
    unit = y.std(axis=0)
    between, own = cdist(x / unit, y / unit).mean(), cdist(y / unit, y / unit).sum() / (40 * 39)
    within = cdist(x / unit, x / unit).sum() / (30 * 29)
    np.testing.assert_allclose(energy_distance(x, np.ones(30), y), (2 * between - within - own) / own)


def test_energy_of_a_small_shift_is_its_divergence():
    random = np.random.default_rng(102)
    x, y = random.normal(size=(3000, 1)) + 0.5, random.normal(size=(3000, 1))
    assert abs(energy_distance(x, np.ones(3000), y) - 0.125) < 0.04


def test_p_values_of_a_true_model_are_even():
    random = np.random.default_rng(103)
    smallest = [
        calibrated(figures[0], figures[1:], figures[1:]).p_values.min()
        for figures in np.abs(random.normal(size=(400, 40, 30)))
    ]
    assert 0.02 < np.mean(np.array(smallest) <= 0.05) < 0.08
    assert np.mean(np.array(smallest) <= 0.5) < 0.6


def test_one_test_that_speaks_is_heard_among_many():
    figures = np.abs(np.random.default_rng(104).normal(size=(40, 400)))
    figures[0, 17] = 50.0
    told = calibrated(figures[0], figures[1:], figures[1:])
    assert told.p_values[17] <= 0.05
    assert np.sum(told.p_values <= 0.05) == 1


def test_shapes_are_told():
    from scipy.stats import norm

    n = 2000
    even = (np.arange(n) + 0.5) / n
    ones = np.ones(n)
    for rows, kind in [
        (-np.log1p(-even), "skew"),
        (even, "bounded"),
        (np.sign(even - 0.5) * (-np.log(1 - np.abs(2 * even - 1))), "tails"),
        (np.concatenate([norm.ppf(even[::2]), norm.ppf(even[::2]) + 8]), "margin"),
    ]:
        scores = (rows - rows.mean()) / rows.std()
        assert kind_of(norm.cdf(scores), ones)[0] == kind
    assert kind_of_radius(even**0.1, ones) == "tails"
    assert kind_of_radius(even * 0.9, ones) == "bounded"
    assert kind_of_radius(even, ones) == "shape"


def test_l_moments_of_known_distributions():
    even = (np.arange(20000) + 0.5) / 20000
    np.testing.assert_allclose(l_ratios(-np.log1p(-even)), (1 / 3, 1 / 6), atol=2e-3)  # exponential
    np.testing.assert_allclose(l_ratios(even), (0.0, 0.0), atol=1e-3)  # uniform
