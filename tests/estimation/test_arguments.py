"""Arguments are refused as scikit-learn refuses them, however often they were found valid before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

from unveil import PCA, GaussianMixture, KernelKMeans, KMeans, KMedoids
from unveil.estimation import arguments
from unveil.estimation.arguments import validate


@pytest.mark.parametrize("kind", [KMeans, KMedoids, KernelKMeans])
@pytest.mark.parametrize(("name", "value"), [("n_clusters", 0), ("n_clusters", 2.0), ("n_init", -1), ("verbose", "a")])
def test_what_is_wrong_is_refused_each_time_in_the_words_of_scikit_learn(kind: Any, name: str, value: Any) -> None:
    validate(kind())
    wrong = kind(**{name: value})
    for _ in range(2):
        with pytest.raises(InvalidParameterError) as ours:
            validate(wrong)
        with pytest.raises(InvalidParameterError) as theirs:
            BaseEstimator._validate_params(wrong)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("wrong", [PCA(iterated_power="much"), GaussianMixture(0), GaussianMixture(tol=-1.0)])
def test_every_estimator_goes_by_it(wrong: Any) -> None:
    for _ in range(2):
        with pytest.raises(InvalidParameterError):
            wrong.fit(np.zeros((4, 2)))


def test_equal_values_of_other_types_are_looked_at() -> None:
    validate(KMeans(n_clusters=1, copy_x=True))
    for wrong in (KMeans(n_clusters=1.0), KMeans(copy_x=1)):
        with pytest.raises(InvalidParameterError):
            validate(wrong)
    validate(KMeans(n_clusters=np.int64(1), init=np.zeros((1, 1)), random_state=np.random.RandomState(0)))


def test_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "MOST_KEPT", 30)
    for seed in range(100):
        validate(KMeans(random_state=seed))
    assert len(arguments._valid[KMeans]) <= 31 + len(KMeans._parameter_constraints)
