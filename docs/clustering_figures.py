"""Draws the pictures of docs/clustering.md, from fits by the library: ``python docs/clustering_figures.py``.

Axes, lines and dots are those of docs/figures.py. The picture of a choice is that of `unveil.plot.choice`, trace by
trace, so that it shows what a user is shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from figures import GREY, IMAGES, Floats, Panel, legend, save, text

from unveil import KernelKMeans, KMeans, plot, scan, select
from unveil.plot.style import INK, PALETTE

DATA = Path(__file__).parents[1] / "examples" / "data"
PAGE = "clustering"
GROUPS, SEEDS = 16, 10  # groups of the table of starts, and starts of each kind
STARTS = {"random": GREY, "furthest-first": PALETTE[2], "k-means++": PALETTE[0]}
PASSES = 37  # that are shown
DASHES = {"solid": "", "dot": "2 4", "dash": "6 3"}


# -- tables ------------------------------------------------------------------------------------------------------------


def groups(n_rows: int) -> Floats:
    """Sixteen round groups on a jittered lattice, some of which touch."""
    random = np.random.default_rng(2)
    centres = 4.0 * np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    centres += random.normal(size=centres.shape) * 0.6
    return np.asarray(centres[random.integers(GROUPS, size=n_rows)] + random.normal(size=(n_rows, 2)) * 0.7)


def rings(n_rows: int) -> Floats:
    """Two rings about one middle, the first half of the rows within the other."""
    random = np.random.default_rng(3)
    angles = 2 * np.pi * random.random(n_rows)
    radii = np.where(np.arange(n_rows) < n_rows // 2, 1.0, 3.0) + random.normal(size=n_rows) * 0.12
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def eruptions() -> Floats:
    """The bundled geyser, every column in units of its standard deviation."""
    rows = np.concatenate([block.rows for block in scan(DATA / "faithful.csv").read()])
    return np.asarray(rows / rows.std(axis=0))


# -- pictures ----------------------------------------------------------------------------------------------------------


def draw_cost(folder: Path, n_rows: int) -> None:
    """The cost of single starts, pass by pass, above the best of many."""
    rows = groups(n_rows)
    best = KMeans(GROUPS, n_init=20, tol=0, random_state=0).fit(rows).inertia_
    panel = Panel(80, 40, 596, 270, (1.0, PASSES), (0.95, 3.05))
    for start, colour in STARTS.items():
        for seed in range(SEEDS):
            history = KMeans(GROUPS, init=start, n_init=1, tol=0, random_state=seed).fit(rows).history_
            costs = -history.free_energy / best
            panel.line(1 + np.arange(len(costs)), costs, colour, width=1.5)
            panel.dots([len(costs)], costs[-1:], colour, 3.2)
    panel.line([1, PASSES], [1, 1], INK, "2 4", 1.2)
    along = "pass (dots: no row changes its cluster any more)"
    axes = panel.svg(0, along, "cost / best", range(1, PASSES + 1, 4), (1, 2, 3))
    entries = [(name, colour, "") for name, colour in STARTS.items()]
    save(folder, "cost", 700, 366, axes, legend(entries, 90, 24, 160), page=PAGE)


def draw_rings(folder: Path, n_rows: int) -> None:
    """Two rings, and what plain and kernel K-means make of them."""
    rows, drawn = rings(n_rows), []
    fits = {"KMeans": KMeans(2, n_init=10, random_state=0), "KernelKMeans": KernelKMeans(2, n_init=10, random_state=0)}
    for number, (name, model) in enumerate(fits.items()):
        labels, panel = model.fit(rows).labels_, Panel(70 + 330 * number, 30, 250, 250, (-4.0, 4.0), (-4.0, 4.0))
        for label in range(2):
            here = rows[labels == label]
            panel.dots(here[:, 0], here[:, 1], PALETTE[label], 2.6, 0.75)
        drawn.append(panel.svg(number, "first column", "second column", range(-4, 5, 2), range(-4, 5, 2)))
        drawn.append(text(panel.left + 125, 20, name, "middle"))
    save(folder, "rings", 670, 330, *drawn, page=PAGE)


def draw_choice(folder: Path, sizes: int) -> None:
    """How many kinds of eruption? All criteria, as `unveil.plot.choice` shows them."""
    outcome = select(KMeans(n_init=5, random_state=0), eruptions(), {"n_clusters": range(1, sizes + 1)})
    figure, drawn = plot.choice(outcome), []
    for number, heading in enumerate(note.text for note in figure.layout.annotations):
        left, top = 72 + 305 * (number % 3), 66 + 262 * (number // 3)
        axis = f"x{number + 1 if number else ''}"
        traces = [trace for trace in figure.data if (trace.xaxis or "x") == axis]
        panel, ticks = panel_for(traces, left, top, sizes)
        panel.line([outcome.choice.size] * 2, panel.y, "#F7E3BF", width=11)
        for trace in traces:
            draw_trace(panel, trace)
        drawn.append(panel.svg(number, "number of clusters", "", range(1, sizes + 1, 1 if sizes < 12 else 2), ticks))
        drawn.append(text(left + 110, top - 10, heading, "middle"))
    title = text(20, 26, figure.layout.meta["title"])
    save(folder, "choice", 930, 590, title, *drawn, page=PAGE)


def panel_for(traces: list[Any], left: float, top: float, sizes: int) -> tuple[Panel, list[float]]:
    """Axes wide enough for all traces, and where they are marked."""
    values = np.concatenate([np.asarray(trace.y, dtype=np.float64) for trace in traces])
    margin = 0.08 * (values.max() - values.min()) or 1.0
    low, high = values.min() - margin, values.max() + margin
    step = 10.0 ** np.floor(np.log10((high - low) / 2))
    step *= next(part for part in (1.0, 0.5, 0.2, 0.1) if (high - low) / (step * part) >= 3)
    ticks = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0  # a zero without a sign
    return Panel(left, top, 220, 170, (0.6, sizes + 0.4), (low, high)), np.round(ticks, 10).tolist()


def draw_trace(panel: Panel, trace: Any) -> None:
    """Lines, dots, errors and rings of a figure, as the page's pictures draw them."""
    x, y = np.asarray(trace.x, dtype=np.float64), np.asarray(trace.y, dtype=np.float64)
    if trace.marker.symbol == "circle-open":
        for across, down in panel.place(x, y):
            ring = f'cx="{across:.1f}" cy="{down:.1f}" r="8"'
            panel.parts.append(f'<circle {ring} fill="none" stroke="{INK}" stroke-width="2.2"/>')
        return
    if "lines" in trace.mode:
        colour = trace.line.color if trace.line.color.startswith("#") else "#C5CCD3"
        panel.line(x, y, colour, DASHES[trace.line.dash or "solid"], 1.8)
        for at, value, error in zip(x, y, trace.error_y.array if trace.error_y.array is not None else (), strict=False):
            panel.line([at, at], [value - error, value + error], colour, width=1.2)
    if "markers" in trace.mode:
        panel.dots(x, y, trace.line.color or trace.marker.color, 2.6)


def draw_all(folder: Path = IMAGES, n_rows: int = 4000, n_ring: int = 400, sizes: int = 10) -> None:
    """All pictures."""
    draw_cost(folder, n_rows)
    draw_rings(folder, n_ring)
    draw_choice(folder, sizes)


if __name__ == "__main__":
    draw_all()
