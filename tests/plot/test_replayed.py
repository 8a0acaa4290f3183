"""EM replayed: frames that say what the history says, and no more than has changed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unveil
from unveil.estimation.stages import stages
from unveil.plot.plane import Plane

RANDOM = np.random.default_rng(0)
GROUPS = RANDOM.normal(size=(200, 2)) + np.repeat([[0.0, 0.0], [6.0, 2.0]], 100, axis=0)


@pytest.fixture(scope="module")
def model() -> Any:
    with unveil.snapshots():
        return unveil.GaussianMixture(2, init_params="random", random_state=0).fit(GROUPS)


def test_frames_say_what_the_history_says(model: Any) -> None:
    figure = unveil.plot.replay(model, GROUPS)
    told, plane = stages(model), Plane.of(GROUPS)
    assert [frame.name for frame in figure.frames] == [str(stage.passes) for stage in told]
    heights = model.history_.free_energy
    for frame, stage in zip(figure.frames, told, strict=True):
        points, *outlines, centres, way, now = frame.data
        assert len(outlines) == 2
        assert list(points.marker.color) == stage.model.predict(GROUPS).tolist()
        assert points.x is None  # rows stay where they are
        np.testing.assert_allclose(np.c_[centres.x, centres.y], plane.project(stage.model.means_), atol=0.01)
        assert now.y[0] == pytest.approx(heights[min(stage.passes, len(heights) - 1)], abs=0.003 * np.ptp(heights))
        assert now.x[0] == stage.passes == way.x[-1]
        assert len(way.y) == len(way.x)
        assert [figure.data[place].type for place in frame.traces] == ["scatter"] * 6
    assert figure.layout.meta["steps"][-1]["label"] == f"after {model.n_iter_} passes, the end"
    assert not figure.layout.sliders


def test_the_figure_shows_the_first_frame_until_it_is_played(model: Any) -> None:
    figure = unveil.plot.replay(model, GROUPS, controls=True)
    first = figure.frames[0]
    for place, part in zip(first.traces, first.data, strict=True):
        assert part.x is None or list(figure.data[place].x) == list(part.x)
    assert len(figure.layout.sliders[0].steps) == len(figure.frames)


def test_one_column_is_a_histogram_with_densities_that_integrate_to_one() -> None:
    with unveil.snapshots(most=10):
        frame = pd.DataFrame(GROUPS[:, :1], columns=["<b>length"])
        model = unveil.GaussianMixture(2, init_params="random", random_state=0).fit(frame)
    figure = unveil.plot.replay(model, frame)
    assert figure.layout.xaxis.title.text == "&lt;b&gt;length"
    x = np.array(figure.data[1].x)
    for frame in figure.frames:
        both, one, other = (np.array(part.y) for part in frame.data[:3])
        np.testing.assert_allclose(one + other, both, atol=0.002)
    assert np.trapezoid(figure.frames[-1].data[0].y, x) == pytest.approx(1.0, abs=0.05)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning", "ignore::unveil.certificate.NotConvergedWarning")
def test_of_clusters_chains_and_mixed_columns() -> None:
    words = np.where(GROUPS[:, 0] > 3, "right", "left")
    mixed = np.array([[*row, word] for row, word in zip(GROUPS.tolist(), words, strict=True)], dtype=object)
    with unveil.snapshots(most=5):
        clusters = unveil.KMeans(2, init="random", n_init=1, random_state=0).fit(GROUPS)
        chain = unveil.GaussianHMM(2, n_mix=2, random_state=0, max_iter=5, tol=0.0).fit(GROUPS)
        both = unveil.MixedMixture(2, random_state=0).fit(mixed)
    assert len(unveil.plot.replay(clusters, GROUPS).frames[0].data) == 4  # rows, centres, the climb twice
    assert len(unveil.plot.replay(chain, GROUPS).frames[0].data) == 8  # with two ellipses for each of two states
    assert len(unveil.plot.replay(both, mixed).frames[0].data) == 6


@pytest.mark.filterwarnings("ignore::unveil.certificate.NotConvergedWarning")
def test_sixty_frames_of_two_columns_are_no_burden() -> None:
    X = np.concatenate([RANDOM.normal(size=(1000, 2)) + place for place in ([0, 0], [2, 1], [1, 3])])
    with unveil.snapshots():
        model = unveil.GaussianMixture(
            3, init_params="random", random_state=0, tol=0.0, max_iter=59, schedule="batch"
        ).fit(X)
    figure = unveil.plot.replay(model, X)
    assert len(figure.frames) == 60
    assert len(json.dumps(json.loads(figure.to_json()), separators=(",", ":"))) < 250_000
    assert "a sample of" in figure.layout.meta["caption"]


def test_what_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"fitted within `with unveil.snapshots\(\):`"):
        unveil.plot.replay(unveil.KMeans(2, random_state=0).fit(GROUPS), GROUPS)
    counts = RANDOM.poisson(3.0, size=(50, 2))
    with unveil.snapshots():
        model = unveil.PoissonMixture(1, random_state=0).fit(counts)
    with pytest.raises(ValueError, match="columns of numbers, got a PoissonMixture"):
        unveil.plot.replay(model, counts)
