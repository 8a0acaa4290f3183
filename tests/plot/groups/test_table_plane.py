from __future__ import annotations

import numpy as np
import pandas
import pytest
from sklearn import decomposition

import unveil
from unveil import plot
from unveil.plot.groups.table_plane import number_components, plane_numbers, plane_of_numbers
from unveil.plot.marks.frame import plot_columns
from unveil.plot.plane import Plane

GROUP = np.repeat([0, 1, 2], 40)


def numbers(holes: float = 0.0) -> np.ndarray:
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5)) + 6.0 * np.eye(5)[GROUP]
    X[random.random(X.shape) < holes] = np.nan
    return X


def categories() -> pandas.DataFrame:
    random = np.random.default_rng(1)
    cells = {f"q{j}": np.where(random.random(120) < 0.9, GROUP, random.integers(3, size=120)) for j in range(4)}
    return pandas.DataFrame({name: np.array(list("xyz"))[codes] for name, codes in cells.items()})


def centres(figure, count: int = 3) -> np.ndarray:
    return np.array([[np.mean(trace.x), np.mean(trace.y)] for trace in figure.data[:count]])


def test_numbers_alone_are_on_the_principal_plane_with_the_model_s_ellipses() -> None:
    X = numbers()
    model = unveil.GaussianMixture(3, random_state=0).fit(X)
    figure = plot.table_plane(X, model.predict(X), model=model)
    same = plot.mixture(model, X)
    assert [trace.name for trace in figure.data] == [trace.name for trace in same.data]
    np.testing.assert_allclose(figure.data[-1].x, same.data[-1].x, atol=1e-4)
    assert "components of the model" in figure.layout.meta["caption"]


def test_holes_move_rows_little_and_rows_without_any_cell_are_left_out() -> None:
    whole, X = numbers(), numbers(0.1)
    plane, points = plane_of_numbers(X)
    straight = Plane.of(whole).project(whole)
    match = np.abs(np.corrcoef(points.T, straight.T)[:2, 2:])
    assert match.max(axis=1).min() > 0.9
    assert plane.share.sum() < 1.0
    X[3] = np.nan
    figure = plot.table_plane(X, GROUP)
    assert sum(len(trace.x) for trace in figure.data[:3]) == 119
    assert "placed by the cells they have" in figure.layout.meta["caption"]


def test_categories_alone_are_as_in_correspondence_analysis() -> None:
    table = plot_columns(categories())
    coded, owners = plane_numbers(table)
    assert owners.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    plane, points = plane_of_numbers(coded)
    wanted = decomposition.PCA(2).fit_transform(coded / plane.scale)
    np.testing.assert_allclose(np.abs(points), np.abs(wanted), atol=1e-8)
    figure = plot.table_plane(categories(), GROUP)
    spots = centres(figure)
    apart = np.linalg.norm(spots[:, None] - spots[None], axis=2)[np.triu_indices(3, 1)]
    assert apart.min() > 1.0


def test_mixed_tables_are_drawn_and_models_of_them_have_components_of_numbers() -> None:
    frame = categories().assign(a=numbers()[:, 0], b=numbers(0.2)[:, 1])
    model = unveil.MixedMixture(3, random_state=0).fit(frame)
    figure = plot.table_plane(frame, model.predict(frame), model=model)
    assert [trace.name for trace in figure.data[:3]] == ["Group 1", "Group 2", "Group 3"]
    assert "2 of numbers or counts and 4 of categories" in figure.layout.meta["caption"]
    means, covariances = number_components(model)
    assert (means.shape, covariances.shape) == ((3, 2), (3, 2, 2))
    assert number_components(unveil.KMeans(2, random_state=0).fit(numbers())) is None


def test_a_table_of_one_column_and_labels_that_do_not_fit() -> None:
    assert [trace.mode for trace in plot.table_plane(numbers()[:, :1], GROUP).data] == ["lines"] * 3
    assert plot.table_plane(numbers()[:, :1]).data[0].name == "all rows"
    with pytest.raises(ValueError, match=r"labels must have shape \(120,\), one a row; got \(2,\)"):
        plot.table_plane(numbers(), [0, 1])
    with pytest.raises(ValueError, match="X must have a column that is not constant, got none"):
        plot.table_plane({"a": ["x", "x"]})
