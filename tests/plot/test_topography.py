import numpy as np
import plotly.graph_objects as go
import pytest
from sklearn.exceptions import NotFittedError

import unveil
from unveil.plot.topography import manifold


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).normal(size=(90, 3)) + np.repeat([[0.0], [4.0], [9.0]], 30, axis=0)


def test_a_sheet_is_a_ground_with_rows_on_it(table):
    model = unveil.GenerativeTopographicMap(lattice_shape=(7, 5), basis_shape=3).fit(table)
    figure = manifold(model, table, np.repeat([0, 1, 2], 30), names=["a", "<b>", "c"])
    assert isinstance(figure, go.Figure)
    ground, *groups = figure.data
    assert (len(ground.x), len(ground.y), np.shape(ground.z)) == (7, 5, (5, 7))
    factors = model.magnification_factors() / model.magnification_factors().mean()
    np.testing.assert_allclose(np.asarray(ground.customdata)[1, 3], factors[3 * 5 + 1], atol=1e-4)
    assert [trace.name for trace in groups] == ["a", "&lt;b&gt;", "c"]
    np.testing.assert_allclose(groups[0].x, model.transform(table)[:30, 0], atol=2e-5)
    assert "All 90 rows" in figure.layout.meta["caption"]


def test_a_curve_is_a_line_with_rows_on_it(table):
    model = unveil.GenerativeTopographicMap(1, lattice_shape=20, basis_shape=4).fit(table)
    line, rows = manifold(model, table).data
    assert len(line.x) == 20
    np.testing.assert_allclose(np.mean(line.y), 1.0)
    places = model.transform(table)
    np.testing.assert_allclose(rows.x, places.ravel(), atol=2e-5)
    np.testing.assert_allclose(np.interp(rows.x, line.x, line.y), rows.y, rtol=0.1)
    assert len(manifold(model).data) == 1


def test_what_is_not_taken_is_named(table):
    model = unveil.GenerativeTopographicMap(lattice_shape=5, basis_shape=2).fit(table)
    with pytest.raises(ValueError, match=r"labels must have shape \(90,\), one a row; got \(3,\)"):
        manifold(model, table, [0, 1, 2])
    with pytest.raises(ValueError, match="labels must have X as well"):
        manifold(model, labels=[0, 1, 2])
    with pytest.raises(ValueError, match="model must be a GenerativeTopographicMap, got PCA"):
        manifold(unveil.PCA(2).fit(table), table)
    with pytest.raises(NotFittedError):
        manifold(unveil.GenerativeTopographicMap())


def test_the_public_name_is_the_function_however_often_it_is_asked_for():
    assert callable(unveil.plot.manifold)
    assert callable(unveil.plot.manifold)
    assert callable(unveil.plot.principal_curve)
    assert callable(unveil.plot.principal_curve)
