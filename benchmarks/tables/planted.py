"""Tables with groups planted in them, of all kinds of columns: what was planted is to be found."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tables.case import Case, Made
from benchmarks.tables.draws import clouds, holes, labels_of, words, words_by
from benchmarks.tables.expected import (
    BINARIES,
    CATEGORIES,
    CATEGORY,
    COUNT,
    COUNTS,
    GAUSSIANS,
    MIXED,
    YES,
    YES_NO,
    Facts,
    column,
    numbers,
    some,
)
from benchmarks.tables.writing import write_text

CERTAIN = frozenset({YES})
QUESTIONS, DRINKS = 12, ("tea", "coffee", "water")
CLARITY = 0.8  # how often a class gives its likely answer
SWITCHES = 14


def _mixed(folder: Path, random: np.random.Generator) -> Made:
    """Two measurements, a skewed one, a count, a flag and two categories; three groups."""
    labels = labels_of(random, 180, 150, 120)
    n, rows = len(labels), clouds(random, labels, [[0, 0], [5, 0], [0, 5]])
    frame = {
        "length": (24 + 2 * rows[:, 0]).round(2),
        "width": (11 + rows[:, 1]).round(3),
        "income": np.exp(np.array([9.0, 10.5, 11.5])[labels] + 0.4 * random.standard_normal(n)).round(2),
        "visits": random.poisson(np.array([1.5, 7.0, 3.0])[labels]),
        "member": np.where(random.random(n) < np.array([0.1, 0.9, 0.5])[labels], 1, 0),
        "shape": words_by(random, labels, ("flat", "round", "square"), (0, 1, 2), 0.85),
        "colour": words(random, n, ("blue", "green", "red")),
    }
    return Made(write_text(folder / "planted_mixed.csv", frame), labels)


def _categories(folder: Path, random: np.random.Generator) -> Made:
    """Three latent classes, each with a likely answer of its own to twelve questions."""
    labels = labels_of(random, 170, 150, 130)
    likely = random.integers(0, len(DRINKS), (QUESTIONS, 3))
    likely[:6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 2  # in half of them all three differ
    frame = {f"q{at + 1}": words_by(random, labels, DRINKS, tuple(row), CLARITY) for at, row in enumerate(likely)}
    return Made(write_text(folder / "planted_categories.csv", frame), labels)


def _switches(folder: Path, random: np.random.Generator) -> Made:
    """Nothing but 0 and 1; two classes."""
    labels = labels_of(random, 200, 160)
    on = np.where(np.arange(SWITCHES) % 2 == labels[:, None], 0.85, 0.15)
    cells = (random.random(on.shape) < on).astype(int)
    return Made(
        write_text(folder / "planted_switches.csv", {f"has_{at}": cells[:, at] for at in range(SWITCHES)}), labels
    )


def _holey(folder: Path, random: np.random.Generator) -> Made:
    """A fifth of all cells is missing: hardly a third of the rows is whole."""
    labels = labels_of(random, 180, 150, 120)
    rows = clouds(random, labels, [[0] * 5, [6, 6, 0, 0, 5], [0, 6, 6, -6, 0]]).round(3)
    return Made(
        write_text(folder / "planted_holey.csv", {f"x{at}": holes(random, rows[:, at], 0.2) for at in range(5)}), labels
    )


def _skewed(folder: Path, random: np.random.Generator) -> Made:
    """Lognormal groups: in the logarithms they are round and far apart, as they stand long tails."""
    labels = labels_of(random, 180, 160, 140)
    logs = 0.5 * clouds(random, labels, [[0, 0, 0], [7, 0, 6], [0, 7, 6]])
    frame = {name: np.exp(3 + logs[:, at]).round(3) for at, name in enumerate(("turnover", "stock", "debt"))}
    return Made(write_text(folder / "planted_skewed.csv", frame), labels)


def _counts(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 180, 160)
    rates = np.array([[1.0, 6.0, 2.0, 0.7], [6.0, 1.0, 7.0, 4.0]])
    cells = random.poisson(rates[labels])
    names = ("calls", "mails", "visits", "faults")
    return Made(write_text(folder / "planted_counts.csv", dict(zip(names, cells.T, strict=True))), labels)


CASES = (
    Case(
        "planted_mixed",
        "numbers, a skewed one, counts, a flag, words: three groups",
        _mixed,
        (
            *numbers("length", "width", "income"),
            column("visits", COUNT),
            column("member", YES_NO),
            column("shape", CATEGORY),
            column("colour", CATEGORY),
        ),
        Facts(450, some(3), real=CERTAIN, models=MIXED, agreement=0.9),
        third=True,
    ),
    Case(
        "planted_categories",
        "words only: three latent classes",
        _categories,
        tuple(column(f"q{at + 1}", CATEGORY) for at in range(QUESTIONS)),
        Facts(450, some(3), real=CERTAIN, models=CATEGORIES, agreement=0.85),
        third=True,
    ),
    Case(
        "planted_switches",
        "0 and 1 only: two latent classes",
        _switches,
        tuple(column(f"has_{at}", YES_NO) for at in range(SWITCHES)),
        Facts(360, some(2), real=CERTAIN, models=BINARIES, agreement=0.9),
    ),
    Case(
        "planted_holey",
        "a fifth of all cells missing: three groups",
        _holey,
        numbers(*(f"x{at}" for at in range(5))),
        Facts(450, some(3), real=CERTAIN, models=GAUSSIANS | MIXED, agreement=0.85),
        third=True,
    ),
    Case(
        "planted_skewed",
        "lognormal: three groups",
        _skewed,
        numbers("turnover", "stock", "debt"),
        Facts(480, some(3), real=CERTAIN, models=GAUSSIANS | MIXED, agreement=0.9),
        third=True,
    ),
    Case(
        "planted_counts",
        "small counts only: two groups",
        _counts,
        tuple(column(name, COUNT) for name in ("calls", "mails", "visits", "faults")),
        Facts(340, some(2), real=CERTAIN, models=COUNTS, agreement=0.85),
    ),
)
