"""Groups that are claimed and are not there: cuts through one cloud, components that are parts of one cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import unveil
from benchmarks.trust import structureless
from benchmarks.trust.planted.case import NO, SUSPECT, UNREAL, Fitted, Planted, fitted, random


def _on(model: Any, kind: str, n: int = 400) -> Callable[[], Fitted]:
    return lambda: fitted(model, structureless.drawn(kind, 1, n))


def _mixture(k: int) -> Any:
    return unveil.GaussianMixture(k, random_state=0)


def independent_answers() -> Fitted:
    return fitted(unveil.BernoulliMixture(2, random_state=0), random(112).integers(0, 2, (400, 8)))


def independent_categories() -> Fitted:
    rows = np.array([*"abcd"])[random(113).integers(0, 4, (400, 8))]
    return fitted(unveil.CategoricalMixture(3, random_state=0), rows)


def wide_counts() -> Fitted:
    """Negative binomial counts: rates that vary smoothly, and no groups."""
    return fitted(unveil.PoissonMixture(2, random_state=0), random(114).negative_binomial(4, 0.3, (400, 2)))


def mixed_without_groups() -> Fitted:
    source = random(115)
    rows = np.empty((400, 4), dtype=object)
    rows[:, :2] = source.normal(size=(400, 2))
    rows[:, 2:] = np.array([*"abc"])[source.integers(0, 3, (400, 2))]
    return fitted(unveil.MixedMixture(2, random_state=0), rows)


CASES = (
    Planted("three components in a Gaussian", _on(_mixture(3), "gaussian, 2 columns"), "real", NO, UNREAL),
    Planted("two components in eight Gaussian columns", _on(_mixture(2), "gaussian, 8 columns"), "real", NO, UNREAL),
    Planted("four components in a uniform square", _on(_mixture(4), "uniform, 2 columns"), "real", NO, UNREAL),
    Planted("three components in t3", _on(_mixture(3), "t3"), "real", NO, UNREAL),
    Planted("three components in lognormal columns", _on(_mixture(3), "lognormal"), "real", NO, UNREAL),
    Planted("two components in exponential columns", _on(_mixture(2), "exponential"), "real", NO, UNREAL),
    Planted("two components and five outliers", _on(_mixture(2), "gaussian with five outliers"), "real", NO, UNREAL),
    Planted("three components in a banana", _on(_mixture(3), "banana"), "real", NO, UNREAL),
    Planted(
        "two Students in a Gaussian",
        _on(unveil.StudentMixture(2, random_state=0), "gaussian, 2 columns"),
        "real",
        NO,
        UNREAL,
    ),
    Planted("two classes in independent answers", independent_answers, "real", SUSPECT, UNREAL),
    Planted("three classes in independent categories", independent_categories, "real", SUSPECT, UNREAL),
    Planted("two classes in overdispersed counts", wide_counts, "real", SUSPECT, UNREAL),
    Planted("two classes in mixed columns without groups", mixed_without_groups, "real", SUSPECT, UNREAL),
    Planted("KMeans in a Gaussian", _on(unveil.KMeans(3, random_state=0), "gaussian, 2 columns"), "real", NO, UNREAL),
    Planted(
        "KMeans in a uniform square", _on(unveil.KMeans(4, random_state=0), "uniform, 2 columns"), "real", NO, UNREAL
    ),
    Planted(
        "KernelKMeans in a Gaussian",
        _on(unveil.KernelKMeans(3, random_state=0), "gaussian, 2 columns"),
        "real",
        NO,
        UNREAL,
    ),
    Planted(
        "KMedoids in a uniform square",
        _on(unveil.KMedoids(3, random_state=0), "uniform, 2 columns"),
        "real",
        NO,
        UNREAL,
    ),
)
