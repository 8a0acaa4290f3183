"""Every model with every expectation, schedule and engine that it allows; what it does not allow, it refuses.

The laws of K-means are here too: those of mixtures are beside their model.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from tests import laws
from unveil import BernoulliMixture, GaussianMixture, KMeans
from unveil.core import partition
from unveil.engines import Dask, Threads
from unveil.expectations import Exact, Hard
from unveil.models.assignment import Plain, Pruned
from unveil.models.kmeans import KMeans as KMeansModel
from unveil.schedules import Batch, Stepwise

Floats = NDArray[np.float64]
LABELS = np.random.default_rng(0).choice(3, 3000, p=[0.5, 0.3, 0.2])
NUMBERS = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])[LABELS] + np.random.default_rng(1).normal(size=(3000, 2))
CHANCES = np.repeat(np.where(np.eye(3, dtype=bool), 0.95, 0.05), 6, axis=1)[LABELS]
ANSWERS = (np.random.default_rng(2).random(CHANCES.shape) < CHANCES).astype(np.float64)

MODELS: dict[str, tuple[type, dict[str, Any], Floats]] = {
    **{name: (GaussianMixture, {"covariance_type": name}, NUMBERS) for name in ("full", "tied", "diag", "spherical")},
    "bernoulli": (BernoulliMixture, {}, ANSWERS),
    "plain": (KMeans, {"algorithm": "plain"}, NUMBERS),
    "pruned": (KMeans, {"algorithm": "pruned"}, NUMBERS),
}
EXPECTATIONS: dict[str, Any] = {"exact": Exact(), "hard": Hard()}
SCHEDULES: dict[str, Any] = {"batch": Batch(), "stepwise": Stepwise(batch_rows=512)}
REFUSED = set(product(("plain", "pruned"), ("exact",)))
ALLOWED = [one for one in product(MODELS, EXPECTATIONS, SCHEDULES) if one[:2] not in REFUSED]


@pytest.fixture(autouse=True)
def short_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of 256 rows, so that small tables have many."""
    monkeypatch.setattr(partition, "LARGEST", 256)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A cluster in this process, which therefore has the short partitions too."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


def make(model: str, **parts: Any) -> tuple[Any, Floats]:
    kind, given_, X = MODELS[model]
    size = "n_clusters" if kind is KMeans else "n_components"
    return kind(**{size: 3, "random_state": 0, "max_iter": 60, "tol": 1e-3} | given_ | parts), X


def fitted(model: str, **parts: Any) -> tuple[Any, Floats]:
    estimator, X = make(model, **parts)
    return estimator.fit(X), X


@pytest.mark.parametrize(("model", "expectation", "schedule"), ALLOWED)
def test_what_is_allowed_finds_the_groups_on_both_engines(
    model: str, expectation: str, schedule: str, client: Client
) -> None:
    parts = {"expectation": EXPECTATIONS[expectation], "schedule": SCHEDULES[schedule]}
    here, X = fitted(model, engine=Threads(2), **parts)
    there, _ = fitted(model, engine=Dask(client), **parts)
    labels = here.predict(X)
    assert adjusted_rand_score(labels, LABELS) > 0.98
    np.testing.assert_array_equal(labels, there.predict(X))
    assert here.history_.column("objective").tobytes() == there.history_.column("objective").tobytes()
    assert here.converged_
    assert here.certificate_.ok
    assert np.all(here.history_.gap >= -1e-9 * np.abs(here.history_.log_likelihood))
    assert here.history_.monotone == (schedule == "batch")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_words_mean_the_objects_with_their_defaults(model: str, schedule: str) -> None:
    words, X = fitted(model, schedule=schedule, expectation="hard", engine="threads")
    objects, _ = fitted(model, schedule=type(SCHEDULES[schedule])(), expectation=Hard(), engine=Threads())
    np.testing.assert_array_equal(words.predict(X), objects.predict(X))
    assert words.history_.column("objective").tobytes() == objects.history_.column("objective").tobytes()


@pytest.mark.parametrize(("model", "expectation"), sorted(REFUSED))
def test_what_is_not_allowed_is_refused_with_a_reason(model: str, expectation: str) -> None:
    with pytest.raises(ValueError, match=r"expectation must be 'hard', got Exact.*assigns every row to one cluster"):
        fitted(model, expectation=EXPECTATIONS[expectation])
    with pytest.raises(ValueError, match=r"'expectation' parameter of KMeans must be .*Got 'exact'"):
        fitted(model, expectation=expectation)
    with pytest.raises(ValueError, match="expectation must be 'hard'"):
        make(model, expectation=EXPECTATIONS[expectation])[0].partial_fit(NUMBERS)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("part", ["expectation", "schedule", "engine"])
@pytest.mark.parametrize("value", ["magic", 3, object()])
def test_a_part_that_is_none_is_refused_by_name(model: str, part: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"'{part}' parameter of"):
        fitted(model, **{part: value})


# -- the laws of K-means -----------------------------------------------------------------------------------------------


def k_means_case(assignment: Any) -> laws.Case:
    rows = NUMBERS[:700] * np.array([0.3, 0.2])
    model = KMeansModel(7, rows.mean(axis=0), assignment)
    return laws.Case(model, model.start(rows[:7]), rows, Hard())


ASSIGNMENTS = {"plain": Plain(), "pruned": Pruned()}
by_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS.values(), ids=ASSIGNMENTS.keys())


@by_assignment
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws_of_k_means(law: Any, assignment: Any) -> None:
    law(k_means_case(assignment))


@by_assignment
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_weights_of_k_means_equal_repetition(assignment: Any, seed: int) -> None:
    case = k_means_case(assignment)
    times = np.random.default_rng(seed).integers(0, 4, len(case.rows))
    laws.weights_equal_repetition(case, times)


@by_assignment
def test_threads_change_no_bit_of_stepwise_k_means(assignment: Any) -> None:
    laws.threads_change_no_bit(k_means_case(assignment), Stepwise(batch_rows=256))
