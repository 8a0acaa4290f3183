"""Draws the pictures of docs/theory.md, from the code that they are about: ``python docs/figures.py``.

One table of overlapping groups, one start, one loop. What differs from picture to picture is the expectation or the
schedule that is handed to the loop, as in any fit. A line has a point per sweep of its schedule; its place is the
number of passes over the data that were spent by then, since a line search may take several per sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.loop import Parts, fit
from unveil.core.partition import partition_rows
from unveil.core.protocols import Expectation, Schedule
from unveil.core.result import State
from unveil.engines import Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.plot.plane import ellipse
from unveil.plot.style import FONT, INK, PALETTE
from unveil.schedules import LBFGS, Ascent, Batch, Gradient, Incremental, Squarem, Stepwise
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
IMAGES = Path(__file__).parent / "images"
CENTRES = np.array([[0.0, 0.0], [3.5, 0.7], [0.7, 3.5], [3.85, 4.2]])
SHARES = (0.4, 0.3, 0.2, 0.1)
GREY = PALETTE[6]
LOWEST, HIGHEST = -4.1, -3.74  # of the axis of free energies: the same in all pictures
CLOSE, STARTS = 1e-6, 8  # nats per row below the optimum, and starts from which it is looked for
NEAREST, FURTHEST = 1e-7, 1.0  # of the axis of what is left to climb

EXPECTATIONS: dict[str, Expectation] = {
    "exact": Exact(),
    "hard": Hard(),
    "sampled": Sampled(draws=4, growth=1.1),
    "sparse": Sparse(active=2, refresh=5),
    "annealed": Annealed(start=0.8, passes=10),
}
SCHEDULES: dict[str, Schedule] = {
    "batch": Batch(),
    "incremental": Incremental(),
    "stepwise": Stepwise(decay=0.6),
    "gradient": Gradient(steps=1),
    "ascent": Ascent(),
    "lbfgs": LBFGS(),
    "squarem": Squarem(),
}


# -- fits --------------------------------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """What all fits share."""

    model: Mixture
    rows: Floats
    start: MixtureParams


class Climb(NamedTuple):
    """A fit as a picture shows it: numbers per row of the table."""

    passes: Floats
    free_energy: Floats
    log_likelihood: Floats
    params: tuple[MixtureParams, ...]  # the start, and what each sweep made of it


@dataclass
class Counting:
    """Threads that count the rows they are shown, and a stopping rule that looks at the count."""

    n_rows: int
    passes: int
    goal: float = np.inf  # mean log-likelihood that is enough
    seen: int = 0
    at: list[float] = field(default_factory=list)
    params: list[MixtureParams] = field(default_factory=list)

    def map_reduce(self, step: Any, source: Any, memos: Any, partitions: Sequence[int] | None = None) -> Any:
        """As threads do."""
        size, count = partition_rows(source.n_columns), -(-self.n_rows // partition_rows(source.n_columns))
        shown = range(count) if partitions is None else partitions
        rows = sum(min(size, self.n_rows - index * size) for index in shown)
        self.seen += rows if step.piece is None else rows // step.piece.of
        return Threads().map_reduce(step, source, memos, partitions)

    def map(self, function: Any, source: Any) -> Iterable[Any]:
        """As threads do."""
        return Threads().map(function, source)

    def note(self, state: State) -> None:
        """Write down how many passes a sweep had taken when it ended."""
        self.at.append(self.seen / self.n_rows)
        self.params.append(state.params)

    def stop(self, before: State, after: State) -> bool:
        """Whether enough was seen, or reached."""
        reached = after.record.log_likelihood >= self.goal * self.n_rows
        return bool(reached or self.seen >= self.passes * self.n_rows)


def problem(n_rows: int = 16 * 16384, seed: int = 6) -> Problem:
    """A table of four groups that overlap, and a start: four rows, drawn by `seed`, as means."""
    random = np.random.default_rng(5)
    labels = random.choice(4, n_rows, p=SHARES)
    rows = CENTRES[labels] + random.normal(size=(n_rows, 2)) * [1.0, 0.8]
    shift = rows.mean(axis=0)
    first = rows[np.random.default_rng(seed).choice(n_rows, 4, replace=False)] - shift
    components = GaussianParams(first, np.stack([np.cov(rows.T)] * 4), np.zeros((4, 2)))
    model = Mixture(Gaussian(Full(), 0.0), 4, shift, compiled=n_rows > 16384)
    return Problem(model, rows, MixtureParams(np.full(4, 0.25), components))


def climb(given: Problem, expectation: Expectation, schedule: Schedule, passes: int, goal: float = np.inf) -> Climb:
    """A fit of so many passes, or until a mean log-likelihood is reached."""
    n_rows = len(given.rows)
    engine, source = Counting(n_rows, passes, goal), ArraySource(given.rows)
    notes = (engine.note,)
    parts = Parts(given.model, source, expectation, schedule, engine, engine.stop, passes, callbacks=notes)
    history = fit(parts, given.start).history
    params = (given.start, *engine.params)
    return Climb(np.array(engine.at), history.free_energy / n_rows, history.log_likelihood / n_rows, params)


def log_likelihood(given: Problem, params: MixtureParams) -> float:
    """Mean log-likelihood, by a pass of its own."""
    parts = Parts(given.model, ArraySource(given.rows), Exact(), Batch(), Threads(), lambda *_: False, 1)
    return float(fit(parts, params).history[-1].log_likelihood) / len(given.rows)


def optimum(given: Problem) -> float:
    """Mean log-likelihood of the best that there is."""
    return float(climb(given, Exact(), LBFGS(), 150).log_likelihood.max())


# -- drawing -----------------------------------------------------------------------------------------------------------


@dataclass
class Panel:
    """A pair of axes within a picture, in whose units things are drawn."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    logarithmic: bool = False
    parts: list[str] = field(default_factory=list)

    def place(self, x: Any, y: Any) -> Floats:
        """Points of the axes as points of the picture, (points, 2)."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        low, high = np.log10(self.y) if self.logarithmic else self.y
        y = np.log10(np.maximum(y, 1e-300)) if self.logarithmic else y
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = np.clip((y - low) / (high - low), -9.0, 9.0)
        return np.stack([self.left + across * self.width, self.top + (1.0 - up) * self.height], axis=-1)

    def line(self, x: Any, y: Any, colour: str, dash: str = "", width: float = 2.0) -> None:
        """A line through points."""
        style = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{_pairs(self.place(x, y))}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-linejoin="round"{style}/>'
        )

    def area(self, x: Any, low: Any, high: Any, colour: str) -> None:
        """What lies between two lines."""
        outline = np.concatenate([self.place(x, high), self.place(x, low)[::-1]])
        self.parts.append(f'<polygon points="{_pairs(outline)}" fill="{colour}" fill-opacity="0.18"/>')

    def dots(self, x: Any, y: Any, colour: str, radius: float = 2.5, opacity: float = 1.0) -> None:
        """Points."""
        for across, down in self.place(x, y):
            spot = f'cx="{across:.1f}" cy="{down:.1f}" r="{radius}"'
            self.parts.append(f'<circle {spot} fill="{colour}" fill-opacity="{opacity}"/>')

    def svg(self, number: int, x_title: str, y_title: str, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> str:
        """Axes, and everything that was drawn, cut off at the frame."""
        box = f'x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}"'
        inside = "".join(self.parts)
        bottom, middle = self.top + self.height, self.top + self.height / 2
        return (
            f'<clipPath id="frame{number}"><rect {box}/></clipPath><rect {box} fill="white" stroke="#c5ccd3"/>'
            + "".join(self._tick(x, self.y[0], upright=False) for x in x_ticks)
            + "".join(self._tick(self.x[0], y, upright=True) for y in y_ticks)
            + f'<g clip-path="url(#frame{number})">{inside}</g>'
            + text(self.left + self.width / 2, bottom + 36, x_title, "middle")
            + text(self.left - 54, middle, y_title, "middle", turned=True)
        )

    def _tick(self, x: float, y: float, *, upright: bool) -> str:
        across, down = self.place(x, y)
        right, bottom = self.left + self.width, self.top + self.height
        ends = (
            f'x1="{self.left}" x2="{right}" y1="{down:.1f}" y2="{down:.1f}"'
            if upright
            else f'x1="{across:.1f}" x2="{across:.1f}" y1="{self.top}" y2="{bottom}"'
        )
        if upright:
            words = number(y, logarithmic=self.logarithmic)
            return f'<line {ends} stroke="#e6eaee"/>' + text(self.left - 6, down + 4, words, "end")
        return f'<line {ends} stroke="#e6eaee"/>' + text(across, bottom + 17, number(x), "middle")


def number(value: float, *, logarithmic: bool = False) -> str:
    """A number as an axis shows it, with a minus sign that is one."""
    words = f"1e{round(np.log10(value)):d}" if logarithmic else f"{value:.10g}"
    return words.replace("-", "\N{MINUS SIGN}")


def text(x: float, y: float, words: str, anchor: str = "start", *, turned: bool = False) -> str:
    """Words at a place."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{words}</text>'


def legend(entries: Iterable[tuple[str, str, str]], x: float, y: float, step: float) -> str:
    """Names of lines, (name, colour, dash), from left to right."""
    found = []
    for number, (name, colour, dash) in enumerate(entries):
        left = x + number * step
        style = f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"'
        found.append(f'<line x1="{left}" x2="{left + 22}" y1="{y - 4}" y2="{y - 4}" {style}/>')
        found.append(text(left + 28, y, name))
    return "".join(found)


def save(folder: Path, name: str, width: int, height: int, *parts: str, page: str = "theory") -> None:
    """Write a picture of a page."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = f'font-family="{FONT}" font-size="13" fill="{INK}"'
    paper = f'<rect width="{width}" height="{height}" fill="white"/>'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{page}-{name}.svg").write_text(f"{head} {style}>{paper}{''.join(parts)}</svg>\n", encoding="utf-8")


def _pairs(points: Floats) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


# -- pictures ----------------------------------------------------------------------------------------------------------


def draw_data(folder: Path, given: Problem) -> None:
    """Some of the rows, and the groups that a fit finds."""
    found = climb(given, Exact(), LBFGS(), 60).params[-1]
    panel = Panel(72, 16, 400, 330, (-3.5, 7.5), (-3.0, 7.0))
    shown = given.rows[:900]
    panel.dots(shown[:, 0], shown[:, 1], INK, 1.6, 0.45)
    for component in np.argsort(-found.weights):
        mean = found.components.means[component] + given.model.shift
        for radius in (1.0, 2.0):
            outline = ellipse(mean, found.components.covariances[component], radius)
            panel.line(outline[:, 0], outline[:, 1], PALETTE[int(component)], width=2.4 if radius == 1.0 else 1.4)
    axes = panel.svg(0, "first column", "second column", range(-2, 8, 2), range(-2, 8, 2))
    save(folder, "data", 492, 396, axes)


def draw_bound(folder: Path, given: Problem, passes: int = 7) -> None:
    """Half steps: E steps close the gap, M steps raise the free energy and open it again."""
    likelihood, bound = [], []
    model, params = given.model, climb(given, Exact(), Batch(), 1).params[-1]  # the first step dwarfs all others
    parts = Parts(model, ArraySource(given.rows), Exact(), Batch(), Threads(), lambda *_: False, 1)
    for _ in range(passes):
        outcome = fit(parts, params)
        n_rows, moments = len(given.rows), outcome.statistics
        entropy = float(moments["free_energy"]) - model.energy(moments, params)
        params = outcome.params
        bound += [float(moments["free_energy"]) / n_rows, (model.energy(moments, params) + entropy) / n_rows]
        likelihood += [bound[-2], log_likelihood(given, params)]
    steps = 1 + np.arange(len(bound)) / 2
    panel = Panel(80, 40, 596, 270, (1.0, passes + 1.0), (min(bound) - 0.01, max(likelihood) + 0.015))
    panel.area(steps, bound, likelihood, PALETTE[1])
    panel.line(steps, likelihood, PALETTE[0])
    panel.line(steps, bound, PALETTE[1], "6 3")
    panel.dots(steps[::2], bound[::2], PALETTE[0], 4.0)
    panel.dots(steps[1::2], bound[1::2], PALETTE[1], 4.0)
    ticks = np.round(np.arange(np.ceil(panel.y[0] * 20) / 20, panel.y[1], 0.05), 2).tolist()
    axes = panel.svg(0, "passes (dots: E step blue, M step orange)", "nats per row", range(1, passes + 2), ticks)
    names = [("log-likelihood", PALETTE[0], ""), ("free energy; shaded: the gap", PALETTE[1], "6 3")]
    save(folder, "bound", 700, 366, axes, legend(names, 90, 24, 180))


def draw_variant(folder: Path, name: str, one: Climb, reference: Climb, best: float, passes: int) -> None:
    """Free energy and log-likelihood of one variant beside those of batch EM, and what is left to climb."""
    left = Panel(80, 40, 258, 210, (0.0, passes), (LOWEST, HIGHEST))
    right = Panel(428, 40, 258, 210, (0.0, passes), (NEAREST, FURTHEST), logarithmic=True)
    left.line([0, passes], [best, best], GREY, "2 4", 1.2)
    left.line(reference.passes, reference.free_energy, GREY, width=1.6)
    left.area(one.passes, one.free_energy, one.log_likelihood, PALETTE[1])
    left.line(one.passes, one.log_likelihood, PALETTE[0], width=2.2)
    left.line(one.passes, one.free_energy, PALETTE[1], "6 3", width=2.2)
    right.line(reference.passes, best - reference.log_likelihood, GREY, width=1.6)
    right.line(one.passes, best - one.log_likelihood, PALETTE[0], width=2.2)
    tenths, powers = [-4.1, -4.0, -3.9, -3.8], [1e-6, 1e-4, 1e-2, 1.0]
    marks = [round(passes * part / 4) for part in range(5)]
    names = [
        ("log-likelihood", PALETTE[0], ""),
        ("free energy", PALETTE[1], "6 3"),
        ("exact batch EM, for comparison", GREY, ""),
    ]
    save(
        folder,
        name,
        700,
        300,
        left.svg(0, "passes over the data", "nats per row", marks, tenths),
        right.svg(1, "passes over the data", "left to climb, nats per row", marks, powers),
        legend(names, 76, 24, 160),
    )


def draw_together(folder: Path, name: str, climbs: dict[str, Climb], best: float, passes: int) -> None:
    """What is left to climb, by all variants."""
    dashes = ("", "7 3", "2 3", "8 3 2 3", "12 4", "", "5 2")
    panel = Panel(80, 62, 596, 300, (0.0, passes), (NEAREST, FURTHEST), logarithmic=True)
    entries = []
    for number, (label, one) in enumerate(climbs.items()):
        colour = PALETTE[number] if number < 6 else INK
        panel.line(one.passes, best - one.log_likelihood, colour, dashes[number], 2.2)
        entries.append((label, colour, dashes[number]))
    marks = [round(passes * part / 4) for part in range(5)]
    axes = panel.svg(0, "passes over the data", "left to climb, nats per row", marks, [1e-6, 1e-4, 1e-2, 1.0])
    save(folder, name, 700, 416, axes, legend(entries[:4], 76, 24, 150), legend(entries[4:], 76, 46, 150))


def draw_starts(folder: Path, n_rows: int, best: float, limit: int) -> None:
    """Passes to within CLOSE of the optimum, from several starts; what took more than `limit` is on the right."""
    panel = Panel(110, 16, 540, 250, (0.0, limit + 20.0), (len(SCHEDULES) - 0.5, -0.5))
    labels = []
    for place, (name, schedule) in enumerate(SCHEDULES.items()):
        needed = [passes_to(problem(n_rows, seed), schedule, best - CLOSE, limit) for seed in range(STARTS)]
        spots = np.array([limit + 12.0 if passes is None else passes for passes in needed])
        aside = place + 0.22 * np.linspace(-1.0, 1.0, STARTS)  # so that equal ones do not hide each other
        late = np.array([passes is None for passes in needed])
        panel.dots(spots[~late], aside[~late], PALETTE[0], 4.0, 0.8)
        panel.dots(spots[late], aside[late], PALETTE[1], 4.0, 0.8)
        labels.append(text(panel.left - 8, panel.place(0.0, place)[1] + 4, name, "end"))
    title = f"passes to within {CLOSE:.0e} nats per row (orange: over {limit})"
    axes = panel.svg(0, title, "", range(0, limit + 1, 50), ())
    save(folder, "starts", 670, 314, axes, *labels)


def passes_to(given: Problem, schedule: Schedule, goal: float, limit: int) -> float | None:
    """Passes that a schedule takes to a mean log-likelihood; None if it takes more than `limit`."""
    one = climb(given, Exact(), schedule, limit, goal)
    return float(one.passes[-1]) if one.log_likelihood[-1] >= goal else None


def measured(given: Problem, one: Climb) -> Climb:
    """With the log-likelihood by passes of its own, for expectations that do not tell it."""
    likelihood = np.array([log_likelihood(given, params) for params in one.params[:-1]])
    return one._replace(log_likelihood=likelihood)


def draw_all(folder: Path = IMAGES, n_rows: int = 16 * 16384, passes: int = 80, limit: int = 200) -> None:
    """All pictures."""
    given = problem(n_rows)
    best = optimum(given)
    draw_data(folder, given)
    draw_bound(folder, given)
    draw_starts(folder, n_rows, best, limit)
    expected = {name: climb(given, one, Batch(), passes) for name, one in EXPECTATIONS.items()}
    expected["sparse"] = measured(given, expected["sparse"])
    scheduled = {name: climb(given, Exact(), one, passes) for name, one in SCHEDULES.items()}
    for name, one in {**expected, **scheduled}.items():
        draw_variant(folder, name, one, scheduled["batch"], best, passes)
    draw_together(folder, "expectations", expected, best, passes)
    draw_together(folder, "schedules", scheduled, best, passes)


if __name__ == "__main__":
    draw_all()
