import numpy as np
import pytest

from unveil import GaussianMixture, KMeans
from unveil.judgement.criteria.clusterings import VOTES
from unveil.selection.strategies import Growing, Separate, strategy_for

X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [9.0]], 20, axis=0)


@pytest.mark.parametrize(
    ("estimator", "grid", "kind", "rule"),
    [
        (GaussianMixture(), {"n_components": (1, 2)}, Separate, "bic"),
        (KMeans(), {"n_clusters": (1, 2)}, Growing, "votes"),
        (KMeans(), {"init": ("random",)}, Separate, "inertia"),
    ],
)
def test_what_is_in_question_decides_how(estimator, grid, kind, rule):
    strategy = strategy_for(estimator, X, None, grid, "auto")
    assert isinstance(strategy, kind)
    assert strategy.rule.name == rule


def test_fewer_clusters_are_fitted_first():
    strategy = strategy_for(KMeans(), X, None, {"n_clusters": (3, 1, 2)}, "auto")
    assert strategy.order([{"n_clusters": 3}, {"n_clusters": 1}, {"n_clusters": "two"}, {"n_clusters": 2}]) == [
        1,
        3,
        0,
        2,
    ]


def test_growing_keeps_all_until_the_criteria_have_spoken():
    strategy = strategy_for(KMeans(random_state=0), X, None, {"n_clusters": (1, 2, 3, 4)}, "auto")
    assert strategy.rule is VOTES
    table = []
    for size in (1, 2, 3, 4):
        model = strategy.fit({"n_clusters": size})
        row = {"n_clusters": size, "inertia": model.inertia_, "votes": None, "degenerate": None}
        strategy.keep(model, row)
        table.append(row)
    place, model, choice = strategy.best(table)
    assert (place, model.n_clusters, choice.size) == (1, 2, 2)
    assert [row["votes"] for row in table] == list(choice.votes.values())
