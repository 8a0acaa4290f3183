import json

import numpy as np
import plotly.graph_objects as go
import pytest

from unveil.plot.style import finish, new_figure
from unveil.reporting.paper.figures import TRACES, height_of, plain_figure, steps_of


def test_arrays_of_every_type_become_lists():
    figure = go.Figure()
    figure.add_heatmap(z=np.array([[1.5, np.nan], [2.25, 3.0]]), x=np.array(["a", "b"]))
    figure.add_scatter(x=np.array([1, 2], dtype=np.int16), y=np.array([0.5, 1 / 3], dtype=np.float32))
    figure.add_bar(x=np.array(["2024-01-01"], dtype="datetime64[D]"), y=[True])
    heat, scatter, bar = plain_figure(figure)["data"]
    assert heat["z"] == [[1.5, None], [2.25, 3]]
    assert heat["x"] == ["a", "b"]
    assert (scatter["x"], scatter["y"]) == ([1, 2], [0.5, 0.33333])
    assert bar["x"][0].startswith("2024-01-01")


def test_title_and_caption_are_left_to_the_page():
    figure = plain_figure(finish(new_figure("x", "y"), "Title", "Caption"))
    assert "Caption" not in json.dumps(figure)
    assert figure["layout"]["xaxis"]["title"]["text"] == "x"
    assert figure["layout"]["margin"]["t"] < 40
    assert height_of(figure) == 460
    assert height_of(plain_figure({"data": [], "layout": {"height": 700}})) == 700


def test_no_room_is_left_below_axes_without_a_title():
    below = {side: plain_figure(new_figure(side, "y"))["layout"]["margin"]["b"] for side in ("x", "")}
    assert below[""] < below["x"]
    top = new_figure("x", "y").update_xaxes(side="top")
    assert plain_figure(top)["layout"]["margin"]["b"] == below[""]
    fixed = new_figure("", "y").update_xaxes(automargin=False)  # its labels need the margin
    assert plain_figure(fixed)["layout"]["margin"]["b"] == below["x"]


def test_frames_hold_what_changes():
    figure = go.Figure(go.Scatter(x=[0.0], y=[1.0]), frames=[go.Frame(data=[{"y": np.array([2.0])}], traces=[0])])
    (frame,) = plain_figure(figure)["frames"]
    assert frame["traces"] == [0]
    assert frame["data"][0]["y"] == [2]
    assert "frames" not in plain_figure(go.Figure())


def test_what_a_figure_says_of_itself_is_kept():
    told = {"narrow": {"height": 300}, "steps": [{"name": "0", "label": "the start"}, "then"], "title": "T"}
    figure = plain_figure({"data": [], "layout": {"meta": told}})
    assert figure["narrow"] == {"height": 300}
    assert steps_of(figure) == ["the start", "then"]
    assert "title" not in figure
    assert steps_of(plain_figure(go.Figure())) == []


def test_traces_that_the_page_cannot_draw_are_refused():
    assert "scatter" in TRACES
    with pytest.raises(ValueError, match=r"plot has traces of the type scattergl; a page draws bar, "):
        plain_figure(go.Figure(go.Scattergl(x=[1], y=[2])))
