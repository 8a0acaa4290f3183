from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from unveil import PrincipalCurve
from unveil.plot.curve import principal_curve


def arc(d: int) -> np.ndarray:
    angle = np.linspace(0, 3, 60)
    return np.column_stack([np.cos(angle), np.sin(angle), 0.1 * angle])[:, :d]


def test_two_columns_are_drawn_as_they_are() -> None:
    model = PrincipalCurve().fit(arc(2))
    figure = principal_curve(model, arc(2), names=["east", "<b>north</b>"])
    assert isinstance(figure, go.Figure)
    rows, line = figure.data
    np.testing.assert_allclose(np.column_stack([rows.x, rows.y]), arc(2), atol=2e-5)
    np.testing.assert_allclose(np.column_stack([line.x, line.y]), model.points_, atol=1e-6)
    np.testing.assert_allclose(line.customdata, model.positions_, atol=1e-6)
    assert figure.layout.xaxis.title.text == "east"
    assert "<b>" not in figure.layout.yaxis.title.text
    assert f"{model.length_:.4g} long" in figure.layout.meta["caption"]


def test_more_columns_are_drawn_on_the_principal_plane() -> None:
    figure = principal_curve(PrincipalCurve().fit(arc(3)), arc(3), np.arange(60) // 30)
    assert [trace.name for trace in figure.data] == ["Group 1", "Group 2", "Curve"]
    assert figure.layout.xaxis.title.text.startswith("First direction")


def test_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"X must have the 3 columns of the curve, got shape \(60, 2\)"):
        principal_curve(PrincipalCurve().fit(arc(3)), arc(2))
