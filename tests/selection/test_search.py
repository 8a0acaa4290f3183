import numpy as np
import pandas as pd
import pytest

import unveil
from unveil import GaussianMixture, KMeans, select
from unveil.estimation.registry import STRUCTURES


def blobs(n=40):
    return np.random.default_rng(1).normal(size=(2 * n, 2)) + np.repeat([[0.0], [8.0]], n, axis=0)


def values(selection):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in selection.table]


def test_every_combination_is_in_the_table_in_order():
    grid = {"n_components": range(1, 4), "covariance_type": ["full", "tied"]}
    selection = select(GaussianMixture(random_state=0), blobs(), grid)
    assert [(row["n_components"], row["covariance_type"]) for row in selection.table] == [
        (k, structure) for k in (1, 2, 3) for structure in ("full", "tied")
    ]
    assert selection.best_params_["n_components"] == 2
    assert selection.best_score_ == min(row["bic"] for row in selection.table)
    assert selection.best_estimator_.bic(blobs()) == selection.best_score_
    assert all(row["converged"] is True and row["seconds"] > 0 for row in selection.table)


def table_of(kind):
    """Two groups, as rows of counts, of words, of zeros and ones, or of all of these."""
    generator = np.random.default_rng(2)
    far = np.repeat([0, 1], 40)
    numbers = generator.normal(size=(80, 2)) + 9.0 * far[:, None]
    counts = generator.poisson(1.0 + 9.0 * far[:, None], size=(80, 3))
    bits = (generator.random((80, 6)) < 0.05 + 0.9 * far[:, None]).astype(float)
    words = np.array(["no", "yes"], dtype=object)[bits.astype(int)]
    mixed = np.concatenate([numbers.astype(object), words], axis=1)
    tables = {"student": numbers, "poisson": counts, "bernoulli": bits, "categorical": words, "mixed": mixed}
    return tables[kind]


@pytest.mark.parametrize("criterion", ["bic", "icl", "aic"])
@pytest.mark.parametrize("kind", ["student", "poisson", "bernoulli", "categorical", "mixed"])
def test_every_mixture_can_be_selected(kind, criterion):
    estimator = getattr(unveil, f"{kind.capitalize()}Mixture")(random_state=0, tol=1e-4)
    selection = select(estimator, table_of(kind), {"n_components": [1, 2]}, criterion=criterion)
    assert selection.best_params_ == {"n_components": 2}
    assert selection.best_score_ == getattr(selection.best_estimator_, criterion)(table_of(kind))
    assert {"bic", "aic", "icl", "log_likelihood"} <= set(selection.table[0])


def test_missing_cells_are_no_hindrance():
    X = blobs()
    X[::9, 1] = np.nan
    assert select(GaussianMixture(random_state=0), X, {"n_components": [1, 2]}).best_params_ == {"n_components": 2}


def test_number_and_structure_at_once_as_mclust_does():
    grid = {"n_components": [1, 2, 3], "covariance_type": list(STRUCTURES)[4:]}
    selection = select(GaussianMixture(random_state=0, init_params="kmeans"), blobs(), grid)
    assert len(selection.table) == 42
    assert selection.best_params_ == {"n_components": 2, "covariance_type": "EII"}  # as the rows were drawn
    assert "n_components = 2, covariance_type = EII (BIC" in selection.verdict()


def test_same_call_same_answer_also_without_a_seed():
    grid = {"n_components": [1, 2, 3]}
    one, two = (select(GaussianMixture(init_params="random"), blobs(), grid) for _ in range(2))
    assert values(one) == values(two)


def test_the_estimator_itself_stays_as_it_was():
    estimator = GaussianMixture()
    select(estimator, blobs(), {"n_components": [2]})
    assert estimator.random_state is None
    assert not hasattr(estimator, "means_")


def test_a_combination_that_fails_is_recorded_with_its_reason():
    selection = select(GaussianMixture(random_state=0), blobs(2), {"n_components": [1, 2, 50]})
    row = selection.table[2]
    assert "50" in row["error"]
    assert row["bic"] is None
    assert row["converged"] is None
    assert "1 combination was impossible to fit" in selection.verdict()


def test_all_failing_raises_with_the_reason():
    with pytest.raises(ValueError, match=r"no combination of grid could be fitted; .*50"):
        select(GaussianMixture(), blobs(2), {"n_components": [50, 60]})


def test_kmeans_by_inertia():
    selection = select(KMeans(random_state=0), blobs(), {"n_clusters": range(1, 5)}, criterion="inertia")
    inertias = [row["inertia"] for row in selection.table]
    assert inertias == sorted(inertias, reverse=True)
    assert selection.criterion == "inertia"
    assert not selection.decisive
    assert "it improves with every further component" in selection.verdict()


def test_kmeans_by_all_criteria():
    selection = select(KMeans(random_state=0), blobs(), {"n_clusters": range(1, 5)})
    assert (selection.criterion, selection.best_params_, selection.best_score_) == ("votes", {"n_clusters": 2}, 5.0)
    assert selection.decisive


@pytest.mark.parametrize("criterion", ["elbow", "bic", "silhouette", "gap", "stability"])
def test_the_named_criterion_decides(criterion):
    selection = select(KMeans(random_state=0), blobs(), {"n_clusters": range(1, 5)}, criterion=criterion)
    assert selection.best_params_ == {"n_clusters": 2}
    assert selection.best_score_ == selection.table[1][criterion]
    assert "2 clusters. Chosen by " in selection.verdict()


def test_sizes_in_any_order_beside_another_parameter():
    grid = {"n_clusters": [4, 2, 1, 3], "init": ["k-means++", "random"]}
    selection = select(KMeans(random_state=0), blobs(), grid)
    assert [(row["n_clusters"], row["init"]) for row in selection.table] == [
        (size, start) for size in (4, 2, 1, 3) for start in ("k-means++", "random")
    ]
    assert selection.best_params_["n_clusters"] == 2
    assert "Best with init = " in selection.verdict()
    for start in grid["init"]:
        costs = {row["n_clusters"]: row["inertia"] for row in selection.table if row["init"] == start}
        assert costs[1] > costs[2] > costs[3] > costs[4]


def test_clusterings_of_one_size_are_compared_by_their_cost():
    selection = select(KMeans(2, random_state=0), blobs(), {"init": ["random", "k-means++"]})
    assert selection.criterion == "inertia"
    assert selection.choice is None
    assert "Best by inertia: init = " in selection.verdict()


def test_scans_frames_and_arrays_agree(tmp_path):
    frame = pd.DataFrame(blobs(), columns=["a", "b"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    tables = [blobs(), frame, unveil.scan(tmp_path / "rows.csv")]
    one, two, three = (select(KMeans(random_state=0), table, {"n_clusters": [1, 2, 3]}) for table in tables)
    assert values(one) == values(two) == values(three)


def test_a_seed_gives_the_same_answer_twice():
    one, two = (select(KMeans(random_state=3), blobs(), {"n_clusters": [1, 2, 3, 4]}) for _ in range(2))
    assert values(one) == values(two)
    assert one.verdict() == two.verdict()


def test_an_interrupt_keeps_what_is_there():
    def stop(row):
        if row["n_clusters"] == 3:
            raise KeyboardInterrupt

    selection = select(KMeans(random_state=0), blobs(), {"n_clusters": range(1, 9)}, callbacks=[stop])
    assert [row["n_clusters"] for row in selection.table] == [1, 2, 3]
    assert selection.best_params_ == {"n_clusters": 2}
    assert "Interrupted: 5 combinations were not tried." in selection.verdict()


def test_a_fit_that_was_interrupted_ends_the_comparison():
    def stop(state):
        if len(fits) > 2:
            raise KeyboardInterrupt

    fits = []
    model = GaussianMixture(random_state=0)
    clone = type(model)
    original = clone.fit

    def fit(self, *args, **kwargs):
        fits.append(self.n_components)
        with unveil.watch(stop):
            return original(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clone, "fit", fit)
        selection = select(model, blobs(), {"n_components": range(1, 6)})
    assert [row["n_components"] for row in selection.table] == [1, 2]
    assert selection.undone == 3


def test_an_interrupt_before_anything_is_there_is_one():
    class Stopped(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(Stopped(), blobs(), {"n_clusters": [1, 2]})


def test_weights_equal_repetition():
    X, grid = blobs(), {"n_components": [1, 2]}
    weights = np.repeat([1.0, 3.0], 40)
    weighted = select(GaussianMixture(random_state=0), X, grid, sample_weight=weights)
    repeated = select(GaussianMixture(random_state=0), np.repeat(X, weights.astype(int), axis=0), grid)
    for one, two in zip(weighted.table, repeated.table, strict=True):
        assert one["bic"] == pytest.approx(two["bic"], rel=1e-6)


def test_callbacks_see_each_row():
    seen = []
    selection = select(GaussianMixture(), blobs(), {"n_components": [1, 2]}, callbacks=[seen.append])
    assert seen == selection.table


def test_a_fit_that_does_not_converge_says_so():
    selection = select(GaussianMixture(max_iter=1, tol=0.0), blobs(), {"n_components": [2]})
    assert selection.table[0]["converged"] is False
    assert "stopped before it converged" in selection.verdict()


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"n_groups": [1]}, r"GaussianMixture has no parameter 'n_groups'; it has .*n_components"),
        ({"covariance_type": "full"}, r"grid\['covariance_type'\] must be a list of values to try; got 'full'"),
        ({"n_components": 3}, r"grid\['n_components'\] must be a list of values to try; got 3"),
        ({"n_components": []}, r"grid\['n_components'\] must hold at least one value"),
    ],
)
def test_a_bad_grid_is_named(grid, message):
    with pytest.raises(ValueError, match=message):
        select(GaussianMixture(), blobs(), grid)


def test_the_package_offers_it():
    assert unveil.select is select
    assert unveil.selection.select is select


def test_combinations_that_are_one_model_are_compared_once():
    X = np.random.default_rng(3).normal(size=(120, 2))
    grid = {"n_components": [1, 2], "covariance_type": ["full", "tied", "diag", "EEI"]}
    selection = unveil.select(unveil.GaussianMixture(random_state=0), X, grid)
    same = [row["same_as"] for row in selection.table]
    assert sum(one is not None for one in same) == 2
    assert same[4:] == [None] * 4
    assert selection.best_params_["n_components"] == 1
    runner_up = selection.standing.runner_up
    assert runner_up is not None
    assert {runner_up["covariance_type"], selection.best_params_["covariance_type"]} != {"diag", "EEI"}
    alone = unveil.select(unveil.GaussianMixture(random_state=0), X[:, :1], {"covariance_type": ["full", "diag"]})
    assert sorted(row["same_as"] is None for row in alone.table) == [False, True]
