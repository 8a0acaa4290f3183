"""EM replayed: the groups of a fit on their way, from the start to the end, and the free energy as it climbs.

A figure of frames, one for each stage that the fit kept (`unveil.snapshots`). A frame holds what has changed and no
more: the outlines and centres of the groups, the group of each row as a small number, and how far the climb has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from unveil.core.arrays import Floats, Indices
from unveil.estimation.shapes import Shapes
from unveil.estimation.stages import Stage, stages
from unveil.plot.labels import label
from unveil.plot.marks.placing import extent_with
from unveil.plot.plane import Plane, ellipse
from unveil.plot.style import AXIS, colour, faded, finish, new_figure
from unveil.sources.rows import sample_rows

MOST_ROWS, FEWEST_ROWS = 1500, 300  # that are drawn
ROOM = 190_000  # characters that rows and outlines may take in all frames: a page holds some, and a phone loads it
OUTLINE, CURVE = 25, 81  # points of an ellipse, which a spline makes round, and of a density
DIGITS = 6  # characters of a number, with its comma, where a thousandth of the axis is told apart, or nearly
SHARE = 0.68  # of the width that the rows take
MOST_BINS = 60
TOTAL = "rgba(110, 122, 138, 0.55)"  # colour of the density of all groups together
SPEED = 120  # milliseconds for which a frame stays


def replay(
    model: Any,
    X: Any,
    *,
    plane: Plane | None = None,
    names: Sequence[str] | None = None,
    lengths: ArrayLike | None = None,
    controls: bool = False,
) -> Any:
    """How a fit found its groups, pass by pass: frames of a figure, with a slider on request.

    Parameters
    ----------
    model : GaussianMixture, StudentMixture, MixedMixture, KMeans, GaussianHMM or a list of stages
        Fitted within ``unveil.snapshots()``; with columns of numbers.
    X : array or frame of shape (n, d)
        Rows to draw, of the columns that the model was fitted to.
    plane : Plane, optional
        Where the columns of numbers land; by default the principal plane of these of `X`.
    names : sequence of str, optional
        Names of the columns.
    lengths : array-like of int, optional
        Of the sequences in `X`, for a hidden Markov model.
    controls : bool, default=False
        Whether the figure has a slider and a play button of its own, as in a notebook.

    Returns
    -------
    plotly.graph_objects.Figure
        Its frames are named by the number of passes, and told in ``layout.meta["steps"]``.

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [5.0]], 30, axis=0)
    >>> with unveil.snapshots():
    ...     model = unveil.GaussianMixture(2, init_params="random", random_state=0).fit(X)
    >>> figure = unveil.plot.replay(model, X)
    >>> len(figure.frames) == model.n_iter_ + 1, figure.frames[0].name
    (True, '0')
    """
    several = isinstance(model, (list, tuple))
    if not several and not hasattr(model, "history_"):
        raise TypeError(f"model must be a fitted estimator of unveil, which keeps stages; got a {type(model).__name__}")
    told = list(model) if several else stages(model)
    shapes = [stage.model._shapes() for stage in told]
    if not told:
        raise ValueError("model must have been fitted within `with unveil.snapshots():`, got one that kept none")
    if shapes[0] is None:
        raise ValueError(f"model must have columns of numbers, got a {type(told[0].model).__name__} that has none")
    scene = _Scene(told, shapes, X, lengths, names)
    drawing = _Curves(scene) if len(scene.columns) == 1 else _Outlines(scene, plane)
    figure = _laid_out(drawing, told[-1].passes)
    climb = _Climb(told)
    for trace in (*drawing.still(), *drawing.moving(0), climb.still(), *climb.moving(0)):
        figure.add_trace(trace)
    first = len(drawing.still())
    moved = len(drawing.moving(0))
    changing = [*range(first, first + moved), first + moved + 1, first + moved + 2]
    _add_frames(figure, told, changing, lambda number: (*drawing.changes(number), *climb.changes(number)))
    if controls:
        _add_controls(figure, told)
    finish(figure, "EM, pass by pass", f"{drawing.words} The second panel is the free energy, which every pass climbs.")
    figure.layout.meta = {**figure.layout.meta, "steps": [_step(stage, told[-1]) for stage in told]}
    return figure


def _step(stage: Stage, last: Stage) -> dict[str, Any]:
    """What a slider says of a frame."""
    said = "the start" if stage.passes == 0 else f"after {stage.passes} pass" + "es" * (stage.passes > 1)
    end = stage is last and stage.passes > 0
    return {"name": str(stage.passes), "label": said + ", the end" * end, "free_energy": _short(stage.height)}


# -- what there is to draw ---------------------------------------------------------------------------------------------


class _Scene:
    """The rows that are drawn, and the group of each at every stage."""

    def __init__(
        self, told: list[Stage], shapes: list[Shapes], X: Any, lengths: Any, names: Sequence[str] | None
    ) -> None:
        self.told, self.shapes, self.columns = told, shapes, shapes[0].columns
        self.groups = int(shapes[0].owner_of.max()) + 1
        values = _numbers(told[-1].model, X, self.columns)
        self.holes = np.isnan(values)
        values = np.where(self.holes, np.nanmean(values, axis=0), values)  # where they are not in the way
        self.n_rows = len(values)
        self.rows = sample_rows(len(values), min(len(values), self._most()), seed=0)
        self.all, self.values = values, values[self.rows]
        self.others = getattr(told[-1].model, "n_features_in_", len(self.columns)) > len(self.columns)
        self.labels = [self._labels(stage.model, X, lengths) for stage in told]
        given = names if names is not None else getattr(told[-1].model, "feature_names_in_", None)
        self.names = None if given is None else [str(given[column]) for column in self.columns]

    def _most(self) -> int:
        """Rows that leave room for what else a frame holds."""
        frames = len(self.told)
        outlines = frames * len(self.shapes[0].weights) * 2 * OUTLINE * DIGITS
        each = frames * len(f"{self.groups},") + 3 * DIGITS
        return int(np.clip((ROOM - outlines) // each, FEWEST_ROWS, MOST_ROWS))

    def _labels(self, model: Any, X: Any, lengths: Any) -> Indices:
        """The likeliest group of each row that is drawn; steps of a chain are told from all of their sequence."""
        if hasattr(model, "transmat_"):
            return np.asarray(model.predict(X, lengths))[self.rows]
        return np.asarray(model.predict(X if len(self.rows) == self.n_rows else _safe_indexing(X, self.rows)))

    @property
    def words(self) -> str:
        """How many rows are drawn."""
        shown = len(self.rows)
        return f"all {shown:,} rows" if shown == self.n_rows else f"a sample of {shown:,} of {self.n_rows:,} rows"


def _numbers(model: Any, X: Any, columns: Indices) -> Floats:
    """The columns of numbers."""
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.concatenate([block.rows for block in model._rows(X).read()])
    if table.ndim != 2 or table.shape[1] <= columns.max():
        raise ValueError(f"X must be a table of {model.n_features_in_} columns, got shape {table.shape}")
    return np.array(table[:, columns], dtype=np.float64)


def _short(value: float) -> float:
    """Seven digits: what a reader of a climb can tell apart."""
    return float(f"{value:.7g}")


class _Rounding(NamedTuple):
    """To a thousandth of what an axis shows, or nearly."""

    decimals: int

    @classmethod
    def of(cls, values: Floats) -> _Rounding:
        span = float(np.ptp(values)) or 1.0
        return cls(int(np.ceil(2.6 - np.log10(span))))

    def __call__(self, values: Floats) -> list[Any]:
        kept = np.round(values, self.decimals) + 0.0  # no -0
        return np.asarray(kept if self.decimals > 0 else kept.astype(np.int64)).tolist()


def _range(values: Floats, margin: float = 0.07) -> list[float]:
    low, high = float(values.min()), float(values.max())
    room = margin * (high - low or 1.0)
    return [low - room, high + room]


# -- two columns or more: rows on a plane, outlines and centres --------------------------------------------------------


class _Outlines:
    """Rows in the colour of their group, an ellipse at two deviations, a mark at each centre."""

    def __init__(self, scene: _Scene, plane: Plane | None) -> None:
        self.scene = scene
        self.plane = Plane.of(scene.all, scene.names) if plane is None else plane
        self.points = self.plane.project(scene.values)
        self.x, self.y = (_Rounding.of(self.points[:, way]) for way in range(2))
        extent = extent_with(self.points, [line for number in range(len(scene.told)) for line in self._lines(number)])
        self.titles, self.ranges = self.plane.titles, [list(extent.x), list(extent.y)]
        marks = (
            "Ellipses at 2 standard deviations" if scene.shapes[0].matrices is not None else "Crosses at the centres"
        )
        alone = " The plane is that of the columns of numbers alone." if scene.others else ""
        self.words = f"{marks}; {scene.words}.{alone}"

    def _lines(self, number: int) -> list[Floats]:
        """The outlines of the groups at a stage."""
        shapes = self.scene.shapes[number]
        if shapes.matrices is None:
            return []
        places = zip(self.plane.project(shapes.means), shapes.matrices, strict=True)
        return [ellipse(centre, self.plane.project_covariance(matrix), 2.0, OUTLINE) for centre, matrix in places]

    def still(self) -> list[Any]:
        """What stays through all frames: nothing."""
        return []

    def moving(self, number: int) -> list[Any]:
        """All traces, as they are at a stage."""
        import plotly.graph_objects as go

        scene, count = self.scene, self.scene.groups
        paint = {"colorscale": _steps(count), "cmin": -0.5, "cmax": count - 0.5, "showscale": False}
        dot = {**paint, "size": 6 if len(scene.rows) < 600 else 5, "opacity": 0.6}
        x, y = self.x(self.points[:, 0]), self.y(self.points[:, 1])
        shown = {"mode": "markers", "showlegend": False}
        hover = {"customdata": scene.rows.tolist(), "hovertemplate": "row %{customdata}<extra></extra>"}
        traces = [go.Scatter(x=x, y=y, **shown, name="Rows", marker=dot, **hover)]
        for owner in scene.shapes[0].owner_of if scene.shapes[0].matrices is not None else ():
            look = {"fill": "toself", "fillcolor": faded(owner, 0.13), "hoverinfo": "skip", "showlegend": False}
            line = {"color": colour(owner), "width": 2.2, "shape": "spline"}
            traces.append(go.Scatter(mode="lines", line=line, name=f"Group {owner + 1}", **look))
        mark = {**paint, "symbol": "x", "size": 11, "line": {"color": "white", "width": 1.5}}
        mark["color"] = scene.shapes[0].owner_of.tolist()
        traces.append(go.Scatter(**shown, name="Centres", marker=mark, hoverinfo="skip"))
        for trace, change in zip(traces, self.changes(number), strict=True):
            trace.update(change)
        return traces

    def changes(self, number: int) -> list[dict[str, Any]]:
        """What a frame says of each trace."""
        shapes, labels = self.scene.shapes[number], self.scene.labels[number]
        centres = self.plane.project(shapes.means)
        found: list[dict[str, Any]] = [{"marker": {"color": labels.tolist()}}]
        found += [{"x": self.x(line[:, 0]), "y": self.y(line[:, 1])} for line in self._lines(number)]
        return [*found, {"x": self.x(centres[:, 0]), "y": self.y(centres[:, 1])}]


def _steps(count: int) -> list[list[Any]]:
    """A scale of colours with a step for each group."""
    edges = [(group / count, (group + 1) / count) for group in range(count)]
    return [[edge, colour(group)] for group, pair in enumerate(edges) for edge in pair]


# -- one column: a histogram and densities -----------------------------------------------------------------------------


class _Curves:
    """The histogram of all rows, and the density in all and of each group; marks at the centres of clusters."""

    def __init__(self, scene: _Scene) -> None:
        self.scene = scene
        values = scene.all[~scene.holes[:, 0], 0]
        bins = min(len(np.histogram_bin_edges(values, "auto")) - 1, MOST_BINS)
        self.heights, self.edges = np.histogram(values, bins=max(bins, 5), density=True)
        low, high = _range(values)
        self.grid = np.linspace(low, high, CURVE)
        self.densities = [self._densities(number) for number in range(len(scene.told))]
        top = max(float(self.heights.max()), float(np.max(self.densities[-1], initial=0.0))) * 1.08
        self.x, self.y = _Rounding.of(self.grid), _Rounding.of(np.array([0.0, top]))
        self.titles = ("value" if scene.names is None else label(scene.names[0]), "density")
        self.ranges = [_range(values), [0.0, top]]
        held = f"all {scene.n_rows:,}" if len(values) == scene.n_rows else f"the {len(values):,} of {scene.n_rows:,}"
        self.words = f"The histogram holds {held} rows{'' if len(values) == scene.n_rows else ' that have a value'}."

    def _densities(self, number: int) -> Floats:
        """In all and of the groups, (lines, grid); none where groups have no width."""
        shapes, model = self.scene.shapes[number], self.scene.told[number].model
        if shapes.matrices is None:
            return np.empty((0, CURVE))
        if hasattr(model, "density") and model.n_features_in_ == 1:  # which need not be Gaussian
            bare = copy(model)
            bare.__dict__.pop("feature_names_in_", None)  # which a grid does not have
            each = bare.predict_proba(self.grid[:, None]).T * bare.density(self.grid[:, None])
        else:
            each = shapes.densities(self.grid)
        return np.concatenate([each.sum(axis=0, keepdims=True), each])

    def still(self) -> list[Any]:
        """The histogram, as steps."""
        import plotly.graph_objects as go

        x, y = np.repeat(self.edges, 2), np.concatenate([[0.0], np.repeat(self.heights, 2), [0.0]])
        look = {"fill": "tozeroy", "fillcolor": "rgba(128, 140, 155, 0.3)", "line": {"width": 0}, "hoverinfo": "skip"}
        return [go.Scatter(x=self.x(x), y=self.y(y), mode="lines", name="Rows", showlegend=False, **look)]

    def moving(self, number: int) -> list[Any]:
        """All lines, as they are at a stage, and the centres."""
        import plotly.graph_objects as go

        count, shared = len(self.densities[0]), {"showlegend": False, "hoverinfo": "skip"}
        whole = {"color": TOTAL, "width": 6}  # behind the others, which it runs along
        looks = [whole, *({"color": colour(group), "width": 2.2} for group in range(count - 1))][:count]
        traces = [go.Scatter(x=self.x(self.grid), mode="lines", line=look, **shared) for look in looks]
        owners = self.scene.shapes[0].owner_of
        mark = {"symbol": "triangle-up", "size": 13, "color": [colour(owner) for owner in owners.tolist()]}
        flat = [0.0] * len(owners)
        traces.append(go.Scatter(y=flat, mode="markers", name="Centres", marker=mark, cliponaxis=False, **shared))
        for trace, change in zip(traces, self.changes(number), strict=True):
            trace.update(change)
        return traces

    def changes(self, number: int) -> list[dict[str, Any]]:
        """What a frame says of each of them."""
        lines: list[dict[str, Any]] = [{"y": self.y(line)} for line in self.densities[number]]
        return [*lines, {"x": self.x(self.scene.shapes[number].means[:, 0])}]


# -- the climb ---------------------------------------------------------------------------------------------------------


class _Climb:
    """The free energy: all of the climb, pale; as far as it came; and where it is."""

    def __init__(self, told: list[Stage]) -> None:
        heights = np.array([stage.height for stage in told])
        self.passes, self.heights = [stage.passes for stage in told], _Rounding.of(heights)(heights)
        self.axes = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}

    def still(self) -> Any:
        """The way ahead."""
        return self._line(faded(6, 0.45), x=self.passes, y=self.heights, hoverinfo="skip")

    def moving(self, number: int) -> list[Any]:
        """The way so far, and the place."""
        import plotly.graph_objects as go

        here = {"mode": "markers", "marker": {"size": 10, "color": colour(1)}, "name": "Now", **self.axes}
        way = self._line(colour(0), hoverinfo="skip")
        place = go.Scatter(**here, hovertemplate="after pass %{x}: %{y:,}<extra></extra>")
        for trace, change in zip((way, place), self.changes(number), strict=True):
            trace.update(change)
        return [way, place]

    def _line(self, paint: str, **data: Any) -> Any:
        import plotly.graph_objects as go

        return go.Scatter(mode="lines", line={"color": paint, "width": 2}, name="Free energy", **data, **self.axes)

    def changes(self, number: int) -> list[dict[str, Any]]:
        """What a frame says of both."""
        passes, heights = self.passes[: number + 1], self.heights[: number + 1]
        return [{"x": passes, "y": heights}, {"x": passes[-1:], "y": heights[-1:]}]


# -- the figure --------------------------------------------------------------------------------------------------------


def _laid_out(drawing: _Outlines | _Curves, passes: int) -> Any:
    """Rows on the left, the climb on the right; axes stay as they are while groups move."""
    figure = new_figure(*drawing.titles)
    way, below = [-0.06 * max(passes, 1), 1.06 * max(passes, 1)], {"text": "passes", "standoff": 10}
    figure.update_layout(
        xaxis={"domain": [0.0, SHARE], "range": drawing.ranges[0]},
        yaxis={"range": drawing.ranges[1]},
        xaxis2={**AXIS, "domain": [SHARE + 0.12, 1.0], "range": way, "anchor": "y2", "title": below},
        yaxis2={**AXIS, "anchor": "x2", "title": {"text": "free energy"}, "tickformat": ",", "nticks": 6},
        showlegend=False,
    )
    return figure


def _add_frames(figure: Any, told: list[Stage], changing: list[int], changes: Any) -> None:
    """A frame for each stage, of what changes; as plain dictionaries, which are checked and copied once."""
    figure.frames = [
        {"name": str(stage.passes), "data": list(changes(number)), "traces": changing}
        for number, stage in enumerate(told)
    ]


def _add_controls(figure: Any, told: list[Stage]) -> None:
    """A play button and a slider, below the figure."""
    now = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
    on = {"fromcurrent": True, "frame": {"duration": SPEED, "redraw": False}, "transition": {"duration": 0}}
    steps = [{"method": "animate", "label": str(stage.passes), "args": [[str(stage.passes)], now]} for stage in told]
    buttons = [
        {"method": "animate", "label": "Play", "args": [None, on]},
        {"method": "animate", "label": "Pause", "args": [[None], now]},
    ]
    place = {"x": 0.0, "y": -0.3, "xanchor": "left", "yanchor": "top"}
    figure.update_layout(
        updatemenus=[{**place, "type": "buttons", "direction": "left", "showactive": False, "buttons": buttons}],
        sliders=[
            {
                "x": 0.2,
                "y": -0.25,
                "len": 0.8,
                "steps": steps,
                "currentvalue": {"prefix": "after pass ", "xanchor": "right"},
            }
        ],
        margin={"b": 150},
        height=560,
    )
