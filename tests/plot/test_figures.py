import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest

import unveil
from unveil import plot
from unveil.estimation.registry import STRUCTURES

EVIL = '<a href="javascript:alert(1)">x</a>%{x}$y$'


def blobs(n=30, d=3):
    return np.random.default_rng(0).normal(size=(2 * n, d)) + np.repeat([[0.0], [9.0]], n, axis=0)


def strings(value):
    """All strings anywhere in a figure."""
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


@pytest.fixture(scope="module")
def model():
    return unveil.GaussianMixture(2, random_state=0).fit(blobs())


def test_principal_plane_draws_each_group():
    scores = np.arange(12.0).reshape(6, 2)
    figure = plot.principal_plane(scores, [0, 1, 0, 2, 1, 0], share=[0.7, 0.2])
    assert isinstance(figure, go.Figure)
    assert [[row[0] for row in trace.customdata] for trace in figure.data] == [[1, 3, 6], [2, 5], [4]]
    assert figure.data[0].hovertemplate == "row %{customdata[0]:,}<extra>Group 1</extra>"
    assert list(figure.data[2].x) == [6.0]
    assert figure.layout.xaxis.title.text == "First direction (70.0% of the variance)"
    assert (
        len({trace.marker.color for trace in figure.data}) == len({trace.marker.symbol for trace in figure.data}) == 3
    )


def test_principal_plane_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"scores must have shape .* got \(3,\)"):
        plot.principal_plane([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\), one a row; got \(3,\)"):
        plot.principal_plane([[1.0, 2.0], [3.0, 4.0]], [0, 1, 2])
    with pytest.raises(ValueError, match=r"names must hold 2 names, one a group; got 1"):
        plot.principal_plane([[1.0, 2.0], [3.0, 4.0]], [0, 1], names=["a"])


def test_large_tables_are_thinned_the_same_way_each_time_and_say_so():
    scores = np.random.default_rng(0).normal(size=(12_000, 2))
    one, two = plot.principal_plane(scores), plot.principal_plane(scores)
    assert len(one.data[0].x) == 2000
    assert one == two
    assert "2,000 of 12,000 rows" in one.layout.meta["caption"]
    assert "2,000 of 12,000 rows" in one.layout.title.text


def test_biplot_has_an_arrow_for_each_column():
    plane = plot.Plane.of(blobs(), names=["a", "b", "c"])
    figure = plot.biplot(plane, blobs())
    heads = [note for note in figure.layout.annotations if note.name == "arrow"]
    directions = np.array([[note.x, note.y] for note in heads])
    lengths = np.linalg.norm(plane.axes.T, axis=1)
    np.testing.assert_allclose(
        directions / np.linalg.norm(directions, axis=1)[:, None], plane.axes.T / lengths[:, None]
    )
    texts = {note.text for note in figure.layout.annotations if str(note.name).startswith("arrow label")}
    assert texts <= {"a", "b", "c"}
    assert f"{3 - len(texts)} of them had no room" in figure.layout.meta["caption"] or len(texts) == 3
    assert figure.data[0].hovertemplate.count("customdata") == 4  # the row, and its three columns


def test_biplot_draws_no_more_than_twelve_arrows():
    X = np.random.default_rng(0).normal(size=(40, 20))
    figure = plot.biplot(plot.Plane.of(X), X)
    assert len([note for note in figure.layout.annotations if note.name == "arrow"]) == 12
    assert "The 12 longest of 20 arrows" in figure.layout.meta["caption"]


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical", "EVI", "VEV"])
def test_mixture_s_ellipses_are_those_of_the_model(structure):
    X = blobs(d=2)
    model = unveil.GaussianMixture(2, covariance_type=structure, random_state=0).fit(X)
    plane = plot.Plane.of(X)
    figure = plot.mixture(model, X, plane=plane)
    outline = next(trace for trace in figure.data if trace.name == "Group 2, 1 sd")
    matrix = plane.axes / plane.scale
    back = np.column_stack([outline.x, outline.y]) @ np.linalg.inv(matrix).T + plane.centre - model.means_[1]
    shapes = {"tied": lambda c: c, "diag": lambda c: np.diag(c[1]), "spherical": lambda c: c[1] * np.eye(2)}
    shapes["EVI"] = shapes["diag"]
    covariance = shapes.get(structure, lambda c: c[1])(model.covariances_)
    distance = np.einsum("ni,ij,nj->n", back, np.linalg.inv(covariance), back)
    np.testing.assert_allclose(distance, 1.0, rtol=1e-4)


def test_mixture_of_one_column_is_a_histogram_whose_area_is_one():
    X = blobs(d=1)
    figure = plot.mixture(unveil.GaussianMixture(2, random_state=0).fit(X), X, names=["height"])
    bars, *_, whole = figure.data
    assert np.dot(bars.y, bars.width) == pytest.approx(1.0)
    assert np.trapezoid(whole.y, whole.x) == pytest.approx(1.0, abs=0.05)
    assert figure.layout.xaxis.title.text == "height"


def test_selection_has_a_line_for_each_structure_and_rings_the_best():
    grid = {"n_components": range(1, 4), "covariance_type": ["full", "diag"]}
    outcome = unveil.select(unveil.GaussianMixture(random_state=0), blobs(), grid)
    figure = plot.selection(outcome)
    full, diagonal, ring = figure.data
    assert list(full.y) == [row["bic"] for row in outcome.table if row["covariance_type"] == "full"]
    assert (ring.x, ring.y) == ((outcome.best_params_["n_components"],), (outcome.best_score_,))
    assert "diagonal" in diagonal.name
    assert figure.layout.xaxis.title.text == "number of components"


def test_a_line_for_each_of_many_structures_is_named_without_explanation():
    grid = {"n_components": [1, 2], "covariance_type": list(STRUCTURES)[4:]}
    outcome = unveil.select(unveil.GaussianMixture(random_state=0, init_params="kmeans"), blobs(), grid)
    figure = plot.selection(outcome)
    assert [trace.name for trace in figure.data[:-1]] == list(STRUCTURES)[4:]


def test_students_have_ellipses_too():
    model = unveil.StudentMixture(2, covariance_type="VEE", random_state=0).fit(blobs())
    assert len(plot.mixture(model, blobs()).data) == 6


def test_selection_over_words_alone():
    outcome = unveil.select(unveil.GaussianMixture(random_state=0), blobs(), {"covariance_type": ["full", "diag"]})
    assert plot.selection(outcome).data[0].x == ("full", "diag")


def test_convergence_shows_every_pass(model):
    figure = plot.convergence(model.history_)
    assert list(figure.data[0].y) == model.history_.log_likelihood.tolist()
    assert len(figure.data) == 1  # exact EM leaves no gap


def test_convergence_shows_the_gap_of_hard_assignments():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = unveil.GaussianMixture(2, expectation="hard", random_state=0).fit(X)
    likelihood, energy = plot.convergence(model.history_).data
    assert (np.asarray(likelihood.y) > np.asarray(energy.y)).all()
    assert "gap" in plot.convergence(model.history_).layout.meta["caption"]


def test_convergence_of_nothing_is_named():
    with pytest.raises(ValueError, match="history must hold at least one pass"):
        plot.convergence(type(unveil.KMeans(1, random_state=0).fit(blobs()).history_)())


def test_scree_sums_to_one():
    figure = plot.scree(unveil.PCA().fit(blobs()))
    assert sum(figure.data[0].y) == pytest.approx(1.0)
    assert figure.data[1].y[-1] == pytest.approx(1.0)


def test_names_are_shown_and_not_interpreted(model):
    plane = plot.Plane.of(blobs(), names=[EVIL, "b", "c"])
    figures = [
        plot.biplot(plane, blobs()),
        plot.principal_plane(blobs(), np.repeat([EVIL, "other"], 30)),
        plot.principal_plane(blobs(), np.repeat([0, 1], 30), names=[EVIL, "other"]),
        plot.density(unveil.GaussianMixture(1, random_state=0).fit(blobs(d=1)), blobs(d=1), name=EVIL),
    ]
    for figure in figures:
        found = [text for text in strings(figure.to_plotly_json()) if "javascript" in text]
        assert found
        assert all("<a" not in text and "$" not in text for text in found)


def test_plotly_loads_only_when_something_is_drawn():
    code = "import sys, unveil; unveil.plot.mixture, unveil.plot.selection; print('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_climb_of_rounding_errors_is_told_and_not_drawn():
    rounding = SimpleNamespace(log_likelihood=[-214.355, -214.355 - 1e-13], free_energy=[-214.355, -214.355 - 1e-13])
    figure = plot.convergence(rounding)
    assert "gained next to nothing" in figure.layout.meta["caption"]
    assert list(figure.layout.yaxis.range) == pytest.approx([-215.355, -213.355])


def test_what_keeps_no_climb_is_refused_with_words():
    with pytest.raises(TypeError, match="history must be the history_ of an estimator of unveil; got a list"):
        plot.convergence([])
    with pytest.raises(TypeError, match="model must be a fitted estimator of unveil"):
        plot.replay(SimpleNamespace(), [[0.0]])
