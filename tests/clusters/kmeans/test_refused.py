"""What K-means refuses, and by which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil import KMeans
from unveil.expectations import Exact

TABLE = np.random.default_rng(0).normal(size=(700, 3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_clusters": 701}, "n_samples=700 should be >= n_clusters=701"),
        ({"n_clusters": 0}, r"'n_clusters' parameter of KMeans must be an int in the range \[1, inf\). Got 0"),
        ({"n_clusters": 2.5}, "'n_clusters' parameter of KMeans must be an int"),
        ({"n_init": 0}, "'n_init' parameter of KMeans must be"),
        ({"max_iter": 0}, "'max_iter' parameter of KMeans must be"),
        ({"tol": -1e-3}, "'tol' parameter of KMeans must be"),
        ({"empty_clusters": "burn"}, "'empty_clusters' parameter of KMeans must be a str among .* Got 'burn'"),
        ({"expectation": "exact"}, "'expectation' parameter of KMeans must be"),
        ({"expectation": Exact()}, "K-means assigns every row to one cluster; GaussianMixture is soft"),
        ({"engine": "gpu"}, "'engine' parameter of KMeans must be"),
        ({"schedule": "never"}, "'schedule' parameter of KMeans must be"),
        ({"metric": "taxi"}, "'metric' parameter of KMeans must be a str among .* Got 'taxi'"),
        ({"missing": "guess"}, "'missing' parameter of KMeans must be a str among .* Got 'guess'"),
        ({"metric": "cosine", "missing": "partial"}, "missing='partial' takes metric='euclidean', got 'cosine'"),
        ({"algorithm": "guess"}, "'algorithm' parameter of KMeans must be a str among .* Got 'guess'"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KMeans(**{"n_clusters": 3, "random_state": 0} | wrong).fit(TABLE)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(700), r"sample_weight must be finite and not negative, got -1.0 in row 0"),
        (np.zeros(700), "sample_weight must have a positive entry, got zeros only"),
        (np.ones(699), r"sample_weight must have shape \(700,\), one weight a row, got \(699,\)"),
        (np.full(700, np.nan), "sample_weight must be finite"),
    ],
)
def test_wrong_weights_are_named(weights: np.ndarray, message: str) -> None:
    for learn in (KMeans(3).fit, KMeans(3).partial_fit, KMeans(3, random_state=0).fit(TABLE).score):
        with pytest.raises(ValueError, match=message):
            learn(TABLE, sample_weight=weights)
