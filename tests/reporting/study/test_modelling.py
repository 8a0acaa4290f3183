import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.reporting.study.made import analysed, blobs, visits
from unveil.reporting.study.modelling import FIRST_LOOK, candidates, modelled
from unveil.reporting.study.rows import model_rows
from unveil.reporting.study.settings import Clock, Settings
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


def test_a_time_limit_compares_few_rows_and_keeps_what_was_found(monkeypatch):
    rows = model_rows(prepare(blobs(3000)))
    clock = Clock(limit=1e9)
    spent = iter([1e9, *[0.05e9] * 99])  # time enough for the comparison of few rows, and none after it
    monkeypatch.setattr(clock, "left", lambda: next(spent))
    found = modelled(rows, Settings(max_components=3, clock=clock))
    assert found.sampled == FIRST_LOOK
    assert found.rows.n_rows == 3000
    assert found.judged.n_clusters == 2
    assert clock.cut == [
        "mixtures were compared on 1,000 rows, not 3,000",
        "the model was fitted to 1,000 of 3,000 rows",
    ]


def test_rows_that_wander_in_their_order_are_no_groups_and_sorted_ones_may_be():
    random = np.random.default_rng(5)
    prices = pd.DataFrame(np.cumsum(random.normal(size=(500, 3)), axis=0), columns=list("abc"))
    found = analysed(prices, max_components=5)
    assert found.found.judged.certificate.verdicts["real"] == "doubtful"
    assert "drift" in [finding.kind for finding in found.found.judged.certificate.findings]
    frame = blobs(300)
    ordered = analysed(frame.sort_values(list(frame.columns[:1])), max_components=3)
    assert ordered.found.judged.n_clusters == 2


def test_factors_are_no_groups_however_many_columns_they_move():
    random = np.random.default_rng(6)
    rows = random.normal(size=(60, 2)) @ random.normal(size=(2, 150)) + random.normal(size=(60, 150))
    found = analysed(pd.DataFrame(rows).add_prefix("gene"))
    assert found.found.directions == 0
    assert not found.grouped
