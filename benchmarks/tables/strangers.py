"""Look-alikes of public tables that were taken wrongly once: what packages of data sets hold beside measurements.

Found on 120 tables drawn from those that come with R and with Python packages; each is a situation, not one of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tables.case import Case, Made
from benchmarks.tables.expected import (
    CATEGORY,
    COUNT,
    DATE,
    IDENTIFIER,
    NEAR_COPY,
    NOT_CLAIMED,
    NUMBER,
    ORDERED,
    ROW_NUMBER,
    Facts,
    column,
    numbers,
)
from benchmarks.tables.writing import write_text

ZERO = "0 occurs 4 times"
WEIGHTS = "--weights"


def _derived(folder: Path, random: np.random.Generator) -> Made:
    """Logs, a square and dummies of other columns, as tables for regressions have them."""
    n = 300
    price, age = random.lognormal(11, 0.4, n).round(), random.integers(0, 60, n)
    year = random.choice([1978, 1981, 1984], n)
    frame = {"year": year, "price": price, "lprice": np.log(price).round(5), "age": age, "agesq": age**2}
    return Made(write_text(folder / "derived.csv", frame | {f"y{k % 100}": (year == k) * 1 for k in (1981, 1984)}))


def _panel(folder: Path, random: np.random.Generator) -> Made:
    """Units in blocks of rows, a counter that begins again, and row names that were drawn from a longer table."""
    units, waves = 40, 25
    names = np.sort(random.choice(10 * units * waves, units * waves, replace=False))
    frame = {
        "rownames": names,
        "school": np.repeat(np.arange(units) + 301, waves),
        "index": np.tile(np.arange(1, waves + 1), units),
        "score": random.normal(50, 9, units * waves).round(2),
        "effort": random.gamma(4, 2, units * waves).round(2),
    }
    return Made(write_text(folder / "panel.csv", frame))


def _year_and_month(folder: Path, random: np.random.Generator) -> Made:
    """Two columns that say together when; the series wanders, and lingers here and there."""
    n = 360
    walk = np.cumsum(random.standard_normal((n, 2)), axis=0).round(3)
    frame = {"Year": 1950 + np.arange(n) // 12, "Month": 1 + np.arange(n) % 12, "level": walk[:, 0], "flow": walk[:, 1]}
    return Made(write_text(folder / "year_and_month.csv", frame))


def _answers(folder: Path, random: np.random.Generator) -> Made:
    """Answers whose words have an order, written as surveys write them."""
    ladders = {
        "Q1": ("StronglyDisagree", "Disagree", "Agree", "StronglyAgree"),
        "aid": ("Too Little", "About Right", "Too Much"),
        "intake": ("bottom 25%", "mid 50%", "top 25%"),
        "state": ("1_Good", "2_Fair", "3_Poor"),
    }
    frame = {name: random.choice(levels, 200) for name, levels in ladders.items()}
    return Made(write_text(folder / "answers.csv", frame))


def _zeros(folder: Path, random: np.random.Generator) -> Made:
    """A few zeros where none can be, doses that are no codes, and counts with a long tail."""
    n = 260
    pressure = random.normal(90, 6, n).round(1)
    pressure[[11, 57, 103, 201]] = 0
    frame = {
        "pressure": pressure,
        "glucose": random.normal(100, 8, n).round(1),
        "dose": random.choice([5, 8, 12, 16, 20, 23, 30], n),
        "seizures": np.minimum(random.negative_binomial(1, 0.2, n), 40) // 2,
    }
    return Made(write_text(folder / "zeros.csv", frame))


def _cross_table(folder: Path, random: np.random.Generator) -> Made:
    """A row for each combination, with how often it occurs."""
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(4), np.arange(3), indexing="ij"), axis=-1).reshape(-1, 3)
    words = (("Black", "Brown", "Red", "Blond"), ("Brown", "Blue", "Hazel", "Green"), ("north", "south", "west"))
    frame: dict[str, object] = {
        name: [levels[k] for k in grid[:, at]]
        for at, (name, levels) in enumerate(zip(("Hair", "Eye", "Place"), words, strict=True))
    }
    return Made(write_text(folder / "cross_table.csv", frame | {"Freq": random.integers(2, 90, len(grid))}))


CASES = (
    Case(
        "derived",
        "logs, a square and dummies of other columns",
        _derived,
        (
            column("year", CATEGORY, ORDERED),
            column("price", NUMBER),
            column("lprice", NEAR_COPY),
            column("age", NUMBER),
            column("agesq", NEAR_COPY),
            *(column(name, NEAR_COPY) for name in ("y81", "y84")),
        ),
        Facts(300, real=NOT_CLAIMED),
        third=True,
    ),
    Case(
        "panel",
        "units in blocks, a counter that begins again, row names of a longer table",
        _panel,
        (
            column("rownames", IDENTIFIER),
            column("school", IDENTIFIER),
            column("index", ROW_NUMBER),
            *numbers("score", "effort"),
        ),
        Facts(1000, real=NOT_CLAIMED),
    ),
    Case(
        "year_and_month",
        "year and month say when; the rows wander",
        _year_and_month,
        (column("Year", DATE), column("Month", DATE), *numbers("level", "flow")),
        Facts(360, real=NOT_CLAIMED),
    ),
    Case(
        "answers",
        "answers with an order, in the words of surveys",
        _answers,
        tuple(column(name, ORDERED) for name in ("Q1", "aid", "intake", "state")),
        Facts(200, real=NOT_CLAIMED),
        third=True,
    ),
    Case(
        "zeros",
        "zeros where none can be, doses, counts with a long tail",
        _zeros,
        (
            column("pressure", NUMBER, alerts=(ZERO,)),
            column("glucose", NUMBER),
            column("dose", ORDERED),
            column("seizures", COUNT),
        ),
        Facts(260, real=NOT_CLAIMED),
    ),
    Case(
        "cross_table",
        "a row for each combination, with how often it occurs",
        _cross_table,
        (
            *(column(name, CATEGORY) for name in ("Hair", "Eye", "Place")),
            column("Freq", NUMBER, alerts=(WEIGHTS,)),
        ),
        Facts(48, real=NOT_CLAIMED),
        third=True,
    ),
)
