"""Tests keep their size, and effects mean the same for numbers and for categories."""

import numpy as np
import pytest
from scipy.stats import norm

from unveil.reporting.comparison.drift import corrected, counts_apart, numbers_apart, size_word

PAIRS = 400


def chances(random, kind):
    if kind == "numbers":
        return numbers_apart(random.normal(size=80), random.normal(size=120)).p
    if kind == "few values":
        return numbers_apart(random.poisson(2.0, 150).astype(float), random.poisson(2.0, 90).astype(float)).p
    shares = np.r_[0.4, 0.3, np.full(30, 0.01)]  # many rare categories
    return counts_apart(np.stack([random.multinomial(150, shares), random.multinomial(100, shares)])).p


@pytest.mark.parametrize("kind", ["numbers", "few values", "categories"])
def test_equal_samples_differ_as_often_as_said(kind):
    random = np.random.default_rng(1)
    found = np.array([chances(random, kind) for _ in range(PAIRS)])
    assert 0.02 < np.mean(found < 0.05) < 0.085  # 0.05 within three standard errors
    assert np.mean(found < 0.01) < 0.03


@pytest.mark.parametrize(("shift", "word"), [(0.1, "none"), (0.3, "small"), (0.6, "clear"), (1.0, "large")])
def test_sizes_are_those_of_gaussians_apart(shift, word):
    random = np.random.default_rng(0)
    found = numbers_apart(random.normal(size=20_000), random.normal(shift, size=20_000))
    assert found.effect == pytest.approx(2 * norm.cdf(shift / 2) - 1, abs=0.02)
    assert size_word(found.effect) == word
    assert found.higher == pytest.approx(norm.cdf(shift / np.sqrt(2)), abs=0.02)
    assert found.p < 1e-6  # of so many rows all are certain


def test_effects_of_categories_are_shares_of_rows():
    found = counts_apart(np.array([[50, 50, 0], [30, 50, 20]]))
    assert found.effect == pytest.approx(0.2)
    assert counts_apart(np.array([[10, 0], [12, 0]])).p == 1.0


def test_many_tests_are_corrected():
    assert corrected([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert corrected([]) == []
    assert corrected([0.9, 0.8]) == [1.0, 1.0]
