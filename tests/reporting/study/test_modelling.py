import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.reporting.study.made import analysed, blobs, visits
from unveil.reporting.study.modelling import candidates, modelled
from unveil.reporting.study.rows import model_rows
from unveil.reporting.study.settings import Settings
from unveil.tables.preparation import prepare


def test_the_model_suits_the_columns():
    frame, group = visits()
    mixed = analysed(frame)
    assert type(mixed.model).__name__ == "MixedMixture"
    assert mixed.found.judged.n_clusters == 3
    assert adjusted_rand_score(group, mixed.placed.group) > 0.95
    assert "visit_id" not in mixed.rows.names
    assert set(mixed.rows.kinds) == {"number", "count", "category", "yes/no"}

    words, _ = candidates(model_rows(prepare(frame[["device", "member"]])), Settings())
    assert type(words).__name__ == "CategoricalMixture"
    numbers, grid = candidates(model_rows(prepare(blobs())), Settings())
    assert type(numbers).__name__ == "GaussianMixture"
    assert grid["covariance_type"] == ("full", "tied", "diag", "spherical")


def test_holes_are_used_not_dropped():
    frame = blobs(200)
    frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    found = analysed(frame)
    assert found.rows.n_rows == int(frame.notna().any(axis=1).sum())
    assert found.found.judged.n_clusters == 2


def test_skewed_groups_are_described_by_their_log():
    random = np.random.default_rng(3)
    rows = np.exp(random.normal(size=(400, 2)) * 0.5 + np.repeat([[0.0], [4.0]], 200, axis=0))
    found = analysed(pd.DataFrame(rows, columns=["a", "b"]), max_components=5)
    assert found.found.judged.n_clusters == 2
    assert "log" in found.rows.transforms
    assert found.rows.shown(0, float(np.log(5.0))) == pytest.approx(5.0)


def test_a_sample_is_compared_and_all_rows_are_fitted():
    rows = model_rows(prepare(blobs(3000)))
    found = modelled(rows, Settings(max_components=3, sample_rows=500))
    assert found.sampled == 500
    assert found.rows.n_rows == 3000
    assert found.model.n_components == 2
    assert found.model.weights_ == pytest.approx([0.5, 0.5], abs=1e-3)
    assert found.model.means_init is None  # a user's clone starts afresh


def test_few_rows_of_many_columns_get_no_dense_covariances():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 30)))
    wide.columns = [f"x{j}" for j in range(30)]
    _, grid = candidates(model_rows(prepare(wide)), Settings())
    assert grid["covariance_type"] == ("diag", "spherical")
