"""How many components, how many groups, and what else would describe the rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as TheirMixture

import unveil
from unveil.certificate import Certificate, Finding
from unveil.selection.alternatives import tried
from unveil.selection.judged import number_of_groups

GRID = {"n_components": range(1, 7)}


def chosen(X, grid=GRID, **named):
    return unveil.select(unveil.GaussianMixture(random_state=0, **named), X, grid)


def test_skewed_groups_take_more_components_than_there_are_groups():
    random = np.random.default_rng(0)
    X = np.concatenate([random.gamma(2, size=(150, 2)) + centre for centre in ([0, 0], [12, 0])])
    outcome = chosen(X)
    assert outcome.n_components > outcome.n_clusters == 2
    assert outcome.best_estimator_.clusters_.max() == 1
    assert f"{outcome.n_components} components describe the density; they form 2 clusters." in outcome.verdict()
    assert set(np.unique(outcome.best_estimator_.predict(X))) == set(range(outcome.n_components))


def test_groups_that_a_skewed_column_hides_are_seen_in_its_log():
    random = np.random.default_rng(6)
    X = np.exp(random.normal(scale=0.7, size=(600, 1)) + np.repeat([[6.0], [10.0]], 300, axis=0))
    outcome = chosen(X, {"n_components": range(1, 9)})
    assert outcome.n_components > 2 == outcome.n_clusters
    assert outcome.alternatives[0]["model"] == "the log of column 0"
    assert outcome.alternatives[0]["gain"] > 10


@pytest.mark.parametrize("kind", ["uniform", "t3", "exponential", "outliers"])
def test_no_groups_where_there_are_none(kind):
    random = np.random.default_rng(1)
    tables = {
        "uniform": random.uniform(size=(300, 2)),
        "t3": random.standard_t(3, size=(300, 2)),
        "exponential": random.exponential(size=(300, 2)),
        "outliers": np.concatenate([random.normal(size=(295, 2)), random.uniform(-10, 10, size=(5, 2))]),
    }
    outcome = chosen(tables[kind])
    assert outcome.n_clusters == 1
    assert outcome.verdicts()["real"] != "yes"


def test_the_log_of_a_skewed_column_is_tried_with_its_jacobian():
    X = np.random.default_rng(2).lognormal(size=(400, 1))
    model = unveil.GaussianMixture(3, random_state=0).fit(X)
    other = next(one for one in tried(model, X, None, GRID) if one.words == "the log of column 0")
    assert other.n_components == 1
    logs = np.log(X)
    density = -0.5 * (np.log(2 * np.pi * logs.var()) + (logs - logs.mean()) ** 2 / logs.var()) - logs
    assert model.bic(X) - other.gain == pytest.approx(2 * np.log(400) - 2 * density.sum(), rel=1e-4)


def test_many_columns_are_described_better_with_a_shared_shape():
    random = np.random.default_rng(3)
    centres = 3.5 * np.eye(10)[:3] * np.sqrt(2)
    X = random.normal(size=(210, 10)) + np.repeat(centres, 70, axis=0)
    outcome = chosen(X)
    assert outcome.n_components < 3 == outcome.n_clusters
    assert outcome.alternatives[0]["gain"] > 10
    assert "would describe the rows better" in outcome.verdict()


def test_verdicts_are_those_of_the_winner():
    random = np.random.default_rng(4)
    X = np.concatenate([random.normal(size=(100, 2)), random.normal(9, size=(100, 2))])
    outcome = chosen(X)
    assert outcome.verdicts() == unveil.examine(outcome.best_estimator_, X).verdicts
    assert outcome.verdicts() == {"sound": "yes", "describes": "yes", "real": "yes"}
    assert "There are 2 groups." in outcome.verdict()


def test_clusterings_say_what_their_criteria_say():
    random = np.random.default_rng(5)
    X = np.concatenate([random.normal(size=(60, 2)) + centre for centre in ([0, 0], [9, 0], [0, 9])])
    outcome = unveil.select(unveil.KMeans(random_state=0), X, {"n_clusters": range(1, 6)})
    assert outcome.n_clusters == 3
    assert outcome.n_components is None
    assert outcome.verdicts()["real"] == "yes"


def test_a_model_of_others_is_not_judged():
    outcome = unveil.select(TheirMixture(random_state=0), np.random.default_rng(6).normal(size=(60, 2)), GRID)
    assert outcome.verdicts() == dict.fromkeys(("sound", "describes", "real"), "not examined")
    assert outcome.n_clusters is None


@pytest.mark.parametrize(("severity", "count"), [("fine", 2), ("doubt", None), ("warning", 1), ("note", 1)])
def test_the_number_of_groups_follows_the_verdict(severity, count):
    found = Finding("clusters", severity, "", question="real")
    assert number_of_groups(Certificate((found,), clusters=(0, 1, 1))) == count
