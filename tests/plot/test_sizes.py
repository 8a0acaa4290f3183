import numpy as np
import pytest
from sklearn.cluster import SpectralClustering

import unveil
from unveil import plot


def blobs(n=30):
    return np.random.default_rng(0).normal(size=(3 * n, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], n, axis=0)


@pytest.fixture(scope="module")
def outcome():
    return unveil.select(unveil.KMeans(random_state=0), blobs(), {"n_clusters": range(1, 7)})


def traces(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def test_a_panel_for_each_criterion_says_what_it_is_for(outcome):
    titles = [note.text for note in plot.choice(outcome).layout.annotations]
    assert titles[:5] == [
        "Inertia: elbow at 3",
        "Silhouette: 3",
        "Gap statistic: 3",
        "Bootstrap stability: 3",
        "BIC as a mixture: 3",
    ]
    assert titles[5].startswith("Cost + 2Kd")


def test_the_curves_are_the_table(outcome):
    figure, table = plot.choice(outcome), outcome.to_dict()
    assert list(traces(figure, "inertia").y) == table["inertia"]
    assert list(traces(figure, "silhouette").y) == table["silhouette"][1:]
    assert list(traces(figure, "silhouette").x) == [2, 3, 4, 5, 6]
    assert list(traces(figure, "gap").error_y.array) == table["gap_error"]
    assert list(traces(figure, "bic").y) == table["bic"]
    assert len(traces(figure, "each cluster").y) == 2 + 3 + 4 + 5 + 6


def test_the_choice_is_marked_in_every_panel(outcome):
    figure = plot.choice(outcome)
    assert [shape.x0 for shape in figure.layout.shapes] == [3] * 6
    rings = [trace for trace in figure.data if trace.marker.symbol == "circle-open"]
    assert all(trace.x == (3,) for trace in rings[:5])
    assert figure.layout.meta["title"] == "How many clusters? 3 clusters"
    assert figure.layout.meta["caption"].startswith("5 of 5 criteria are for 3, the shaded line.")


def test_selection_draws_it_too(outcome):
    assert plot.selection(outcome) == plot.choice(outcome)


def test_no_clear_answer_and_no_clusters_are_said():
    X = np.random.default_rng(0).random((80, 2))
    outcome = unveil.select(unveil.KMeans(random_state=0), X, {"n_clusters": range(1, 6)})
    figure = plot.choice(outcome)
    assert figure.layout.meta["title"] == "How many clusters? No clusters"
    assert figure.layout.annotations[0].text == "Inertia: no clear elbow"
    named = unveil.select(unveil.KMeans(random_state=0), X, {"n_clusters": range(1, 6)}, criterion="elbow")
    assert plot.choice(named).layout.meta["title"] == "How many clusters? No clear answer"
    assert plot.choice(named).layout.meta["caption"].startswith("Chosen by elbow: ")


def test_only_what_was_measured_is_drawn():
    class Plain(SpectralClustering):
        def fit(self, X, y=None):
            model = unveil.KMeans(self.n_clusters, random_state=0).fit(X)
            self.labels_, self.inertia_ = model.labels_, model.inertia_
            return self

    outcome = unveil.select(Plain(), blobs(), {"n_clusters": range(1, 6)})
    titles = [note.text for note in plot.choice(outcome).layout.annotations]
    assert titles == ["Inertia: elbow at 3", "Silhouette: 3"]


def test_a_line_of_one_start_among_several():
    grid = {"n_clusters": [1, 2, 3, 4], "init": ["k-means++", "random"]}
    figure = plot.choice(unveil.select(unveil.KMeans(random_state=0), blobs(), grid))
    assert list(traces(figure, "inertia").x) == [1, 2, 3, 4]


def test_mixtures_have_no_number_of_clusters():
    outcome = unveil.select(unveil.GaussianMixture(random_state=0), blobs(), {"n_components": [1, 2]})
    with pytest.raises(ValueError, match="n_clusters was not in its grid"):
        plot.choice(outcome)
