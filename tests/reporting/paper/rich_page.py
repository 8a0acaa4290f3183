"""A page with every kind of block, made by hand, for tests and for looking at it."""

from __future__ import annotations

from functools import cache

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from unveil.certificate import Certificate, Finding
from unveil.plot.style import AXIS, add_line, colour, finish, marker, new_figure
from unveil.reporting.parts import (
    Cell,
    Columns,
    FigureBlock,
    Fold,
    Head,
    Listing,
    Page,
    Replay,
    Section,
    TableBlock,
    Text,
    Verdicts,
)

STEPS = 12
CERTIFICATE = Certificate(
    (
        Finding("bound", "fine", "the free energy never fell", 0.0),
        Finding("starts", "fine", "4 of 5 starts ended at the best objective", 4.0),
        Finding(
            "tails", "warning", "column width ends sooner than the model says", 0.1, "describes", remedy="try a log"
        ),
        Finding("dependence", "note", "two columns go together within a group", 0.1, "describes"),
        Finding("dip", "doubt", "the groups touch each other", 0.1, "real", remedy="try fewer groups"),
    )
)


def rows(n=120, seed=0):
    random = np.random.default_rng(seed)
    groups = np.repeat([0, 1], n // 2)
    return random.normal(size=(n, 2)) * [1.0, 0.5] + np.array([[0, 0], [4, 2]])[groups], groups


def plane():
    X, groups = rows()
    figure = new_figure("First principal direction (92.5% of the variance)", "Second principal direction (5.3%)")
    for group in (0, 1):
        x, y = X[groups == group].T
        look = {"color": colour(group), "symbol": marker(group), "size": 7, "opacity": 0.75}
        text = [f"row {row}" for row in np.flatnonzero(groups == group)]
        figure.add_scatter(x=x, y=y, mode="markers", name=f"Group {group + 1}", marker=look, text=text)
    return finish(figure, "The plane", "All rows are drawn.")


def heat(n=24):
    names = [f"column number {number}" for number in range(n)]
    z = np.corrcoef(np.random.default_rng(1).normal(size=(n, 60)))
    figure = new_figure("", "")
    figure.add_heatmap(z=z, x=names, y=names, zmin=-1, zmax=1, colorscale="RdBu", colorbar={"title": {"text": "r"}})
    figure.update_layout(height=620)
    return finish(figure, "How columns go together", "")


def density(number):
    grid = np.linspace(-4, 4, 60)
    figure = new_figure(f"x{number}", "density")
    for group in (0, 1):
        add_line(figure, grid, np.exp(-((grid - group * number / 10) ** 2)), f"Group {group + 1}", colour(group))
    return finish(figure, "Density", "")


def ellipse(step):
    angle = np.linspace(0, 2 * np.pi, 60)
    size = 3 - 2 * step / STEPS
    return size * np.cos(angle) + 4 * step / STEPS, size * np.sin(angle) * 0.6 + 2 * step / STEPS


def replay():
    X, _ = rows()
    energy = -400 + 300 * (1 - np.exp(-np.arange(STEPS) / 3))
    figure = make_subplots(1, 2, column_widths=[0.66, 0.34], subplot_titles=("the plane", "free energy"))
    figure.add_scatter(x=X[:, 0], y=X[:, 1], mode="markers", name="rows", marker={"color": "#8C8C8C", "size": 6})
    x, y = ellipse(0)
    figure.add_scatter(x=x, y=y, mode="lines", name="Group 1", line={"color": colour(0), "width": 2.2})
    figure.add_scatter(x=np.arange(STEPS), y=energy, mode="lines", showlegend=False, row=1, col=2)
    figure.add_scatter(x=[0], y=[energy[0]], mode="markers", marker={"size": 11}, showlegend=False, row=1, col=2)
    figure.frames = [
        go.Frame(
            data=[{"x": ellipse(step)[0], "y": ellipse(step)[1]}, {"x": [step], "y": [energy[step]]}],
            traces=[1, 3],
            name=str(step),
        )
        for step in range(STEPS)
    ]
    figure.update_xaxes(**AXIS)
    figure.update_yaxes(**AXIS)
    figure.update_layout(template="none", xaxis={"range": [-4, 8]}, yaxis={"range": [-3, 5]})
    figure.update_layout(paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font=plane().layout.font)
    return figure


def survey():
    counts = np.random.default_rng(2).integers(0, 40, size=(40, 16))
    heads = [
        Head("column"),
        Head("role", gloss="what the column is taken for"),
        Head("values"),
        Head("mean", True),
        Head("missing", True),
        Head("alerts"),
    ]
    body = [
        [
            f"a column with quite a long name {number}" if number % 7 == 0 else f"x{number}",
            Cell("number", tag="log") if number % 5 == 0 else "number",
            Cell(f"histogram of x{number}", spark=counts[number].tolist()),
            f"{number / 3:.3f}",
            Cell(f"{number / 100:.1%}", bar=number / 100),
            Cell("nearly constant", tone="alert") if number % 9 == 0 else "",
        ]
        for number in range(40)
    ]
    return TableBlock("survey", heads, body, "What the file holds, a row for each column.", shown=8)


def groups():
    heads = [Head("group"), Head("rows", True), Head("share"), Head("evidence"), Head("what sets it apart")]
    body = [
        [
            Cell(f"Group {number + 1}", dot=number),
            f"{100 - 10 * number}",
            Cell(f"{30 - 3 * number}%", bar=0.3 - 0.03 * number, dot=number),
            Cell(tone, tone=tone),
            f"very high width (+{3 - number / 3:.1f} sd), low length",
        ]
        for number, tone in zip(range(6), ("best", "good", "doubt", "bad", "alert", "quiet"), strict=True)
    ]
    return TableBlock("group-table", heads, body)


def broad(n=300):
    heads = [Head("group"), *(Head(f"x{number}", True) for number in range(n))]
    body = [[Cell(f"Group {g + 1}", dot=g), *(f"{g + number / 7:.2f}" for number in range(n))] for g in (0, 1)]
    return TableBlock("means", heads, body, "Means by group.")


def few(prefix, n):
    return {
        f"x{number}": [
            FigureBlock(f"{prefix}-{number}", density(number), f"Density of x{number}", "Per group."),
            Text(f"x{number} in words."),
        ]
        for number in range(n)
    }


@cache
def rich_page():
    python = f'import unveil\n\nreport = unveil.report("table.csv", seed=0)  # {"x" * 99}'
    sections = [
        Section(
            "data", "The data", "Forty columns, of which one is nearly constant.", [survey(), Text("Quietly.", True)]
        ),
        Section(
            "plane",
            "The plane",
            "Two directions carry it.",
            [FigureBlock("plane-figure", plane(), "Points.", "All rows.")],
        ),
        Section("together", "How columns go together", "They hardly do.", [FigureBlock("heat", heat(), "A map.", "")]),
        Section(
            "groups",
            "The groups",
            "Two groups, and what sets them apart.",
            [groups(), broad(), Columns("densities", "Column", few("density", 6))],
        ),
        Section("many", "Many columns", "One at a time.", [Columns("many-densities", "Column", few("dense", 30))]),
        Section(
            "replay",
            "EM replayed",
            "Press play.",
            [
                Replay(
                    "em", replay(), "Ellipses move.", "Twelve steps.", [f"pass {step} of 11" for step in range(STEPS)]
                )
            ],
        ),
        Section("verdicts", "Three verdicts", "Can it be trusted?", [Verdicts(CERTIFICATE)]),
        Section(
            "reproduce",
            "How to reproduce it",
            "In Python or on the command line.",
            [
                Listing("unveil report table.csv", "Command line"),
                Listing(python, "Python"),
                Fold("More", [FigureBlock("folded", plane(), "Points again.", "The same rows, stored once.")]),
            ],
        ),
    ]
    return Page(
        "table.csv",
        "Two groups, apart in width and length, hold 120 rows; they touch each other, so take the border with care.",
        [
            "It rests on a mixture of two Gaussians, chosen by BIC among 38 models.",
            "The column id was left out: it numbers the rows.",
        ],
        CERTIFICATE,
        sections,
        0,
        {"version": "0.1.0", "date": "2026-01-01"},
    )
