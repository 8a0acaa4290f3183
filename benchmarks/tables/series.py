"""Tables whose rows follow each other in time."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.case import Case, Made
from benchmarks.tables.draws import days, regimes, words
from benchmarks.tables.expected import CATEGORY, OVER_TIME, SOME, TIME, WHEN, Facts, column, numbers, some
from benchmarks.tables.writing import write_text

TWO_REGIMES = r"(2|two) (\w+ )?regimes|regimes\W{1,3}(2|two)\b"


def _regimes(folder: Path, random: np.random.Generator) -> Made:
    """Two regimes that last a month each: calm, and high with a wider spread."""
    n = 600
    states = regimes(random, n)
    noise = random.standard_normal((n, 2)) * np.where(states, 1.4, 1.0)[:, None]
    frame = {
        "date": days(n),
        "demand": (200 + 15 * (5 * states + noise[:, 0])).round(1),
        "price": (50 + 4 * (4 * states + noise[:, 1])).round(2),
    }
    return Made(write_text(folder / "regimes.csv", frame), states)


def _told(folder: Path, random: np.random.Generator) -> Made:
    """Hours counted by an integer, which only --time can tell to be time; and a word beside it."""
    n = 500
    states = regimes(random, n, stay=0.98)
    frame = {
        "tick": np.arange(n) * 5 + 1000,
        "load": (10 + 5 * states + random.standard_normal(n)).round(3),
        "heat": (30 + 4 * states + random.standard_normal(n)).round(3),
    }
    return Made(write_text(folder / "told_time.csv", frame), states)


def _backwards(folder: Path, random: np.random.Generator) -> Made:
    """Newest rows first, with hours, as web services export them."""
    n = 400
    states = regimes(random, n, stay=0.98)
    stamps = [datetime(2023, 5, 1) + timedelta(hours=at) for at in range(n)]
    frame: dict[str, Any] = {
        "timestamp": [stamp.strftime("%Y-%m-%d %H:%M:%S") for stamp in stamps],
        "users": (300 + 30 * (5 * states + random.standard_normal(n))).round(1),
        "latency": (80 + 6 * (4 * states + random.standard_normal(n))).round(2),
        "server": words(random, n, ("ams", "fra", "lon")),
    }
    turned = {name: values[::-1] for name, values in frame.items()}
    return Made(write_text(folder / "backwards.csv", turned), states[::-1])


CASES = (
    Case(
        "regimes",
        "days and two values: two planted regimes",
        _regimes,
        (column("date", *WHEN), *numbers("demand", "price")),
        Facts(600, some(2), real=SOME, models=OVER_TIME, agreement=0.85, page_says=(TWO_REGIMES,)),
    ),
    Case(
        "told_time",
        "--time names a column of numbers",
        _told,
        (column("tick", TIME), *numbers("load", "heat")),
        Facts(500, some(2), real=SOME, models=OVER_TIME, agreement=0.85, page_says=(TWO_REGIMES,)),
        flags=("--time", "tick"),
    ),
    Case(
        "backwards",
        "hours, newest first, and a word",
        _backwards,
        (column("timestamp", *WHEN), *numbers("users", "latency"), column("server", CATEGORY)),
        Facts(400, some(2), real=SOME, models=OVER_TIME, agreement=0.85, page_says=("regime",)),
    ),
)
