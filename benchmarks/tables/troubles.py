"""Cells that are not what they seem, and tables of odd sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.case import Case, Made
from benchmarks.tables.draws import clouds, holes, labels_of, words
from benchmarks.tables.expected import (
    BAD_CELLS,
    CATEGORY,
    CONSTANT,
    EITHER,
    FREE_TEXT,
    GAUSSIANS,
    HOLES,
    IDENTIFIER,
    MIXED,
    NOT_CLAIMED,
    NUMBER,
    SENTINEL,
    SOME,
    WHOLE,
    YES,
    Facts,
    column,
    numbers,
    some,
)
from benchmarks.tables.writing import write_text

CERTAIN = frozenset({YES})
PLACES = [[0.0, 0.0, 0.0], [6.0, 4.0, -4.0]]
LATE_ROWS = 24_000  # of six columns of nine characters: 1.3 MB
WIDE_COLUMNS, WIDE_ROWS, WIDE_MOVED = 300, 200, 60


def _bad_near_top(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 160, 140)
    rows = clouds(random, labels, PLACES).round(3)
    first: list[Any] = rows[:, 0].tolist()
    first[2] = "see note"
    return Made(write_text(folder / "bad_near_top.csv", {"p": first, "q": rows[:, 1], "r": rows[:, 2]}), labels)


def _bad_late(folder: Path, random: np.random.Generator) -> Made:
    """Cells that do not fit lie far below the first megabyte."""
    labels = labels_of(random, LATE_ROWS // 2, LATE_ROWS // 3, LATE_ROWS // 6)
    rows = clouds(random, labels, [[0] * 6, [6, 0, 5, 0, 0, 3], [0, 7, -5, 0, 4, 0]]).round(6)
    frame: dict[str, list[Any]] = {f"sensor_{at}": rows[:, at].tolist() for at in range(6)}
    for at in (22_500, 23_100, 23_999):
        frame["sensor_1"][at] = "#REF!"
    frame["sensor_4"][23_400] = "offline"
    return Made(write_text(folder / "bad_late.csv", frame), labels)


def _sentinels(folder: Path, random: np.random.Generator) -> Made:
    """-999 stands for what was not measured, in two columns; holes in words in a third."""
    labels = labels_of(random, 170, 150)
    n, rows = len(labels), clouds(random, labels, PLACES)
    frame: dict[str, list[Any]] = {
        "ozone": (40 + 5 * rows[:, 0]).round(1).tolist(),
        "wind": (10 + rows[:, 1]).round(2).tolist(),
        "humidity": (60 + 4 * rows[:, 2]).round(0).astype(int).tolist(),
    }
    for name, share in (("ozone", 0.12), ("humidity", 0.06)):
        frame[name] = [
            -999 if gone else value for value, gone in zip(frame[name], random.random(n) < share, strict=True)
        ]
    return Made(write_text(folder / "sentinels.csv", frame), labels)


def _words_for_missing(folder: Path, random: np.random.Generator) -> Made:
    """Every clerk has a word of their own for a cell that is empty."""
    labels = labels_of(random, 150, 150)
    rows = clouds(random, labels, PLACES)
    cells = [holes(random, (20 + 3 * rows[:, at]).round(2), 0.08) for at in range(3)]
    marks = (("NA", "n/a"), ("-", "?"), ("null", "NULL"))
    frame = {
        name: [mark[at % 2] if value is None else value for at, value in enumerate(values)]
        for name, values, mark in zip(("left", "middle", "right"), cells, marks, strict=True)
    }
    return Made(write_text(folder / "words_for_missing.csv", frame), labels)


def _all_missing(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 130, 120)
    rows = clouds(random, labels, PLACES).round(3)
    frame = {"x": rows[:, 0], "later": [None] * len(labels), "y": rows[:, 1], "z": rows[:, 2]}
    return Made(write_text(folder / "all_missing.csv", frame), labels)


def _wide(folder: Path, random: np.random.Generator) -> Made:
    """More columns than rows; the groups differ in sixty of them."""
    labels = labels_of(random, WIDE_ROWS // 2, WIDE_ROWS // 2)
    rows = random.standard_normal((WIDE_ROWS, WIDE_COLUMNS))
    rows[labels == 1, :WIDE_MOVED] += 2.0
    frame = dict(zip((f"gene_{at}" for at in range(WIDE_COLUMNS)), rows.round(3).T, strict=True))
    return Made(write_text(folder / "wide.csv", frame), labels)


def _five_rows(folder: Path, _: np.random.Generator) -> Made:
    frame = {
        "town": ["Ulm", "Bonn", "Kiel", "Jena", "Hof"],
        "area": [118.7, 141.1, 118.6, 114.8, 58.0],
        "height": [478.0, 60.5, 5.2, 143.1, 500.4],
    }
    return Made(write_text(folder / "five_rows.csv", frame))


def _two_rows(folder: Path, _: np.random.Generator) -> Made:
    return Made(write_text(folder / "two_rows.csv", {"a": [1.25, 3.5], "b": [2.75, 8.125]}))


def _one_column(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 150, 100)
    return Made(
        write_text(folder / "one_column.csv", {"depth": (5 + clouds(random, labels, [[0], [6]])[:, 0]).round(3)}),
        labels,
    )


def _header_only(folder: Path, _: np.random.Generator) -> Made:
    return Made(write_text(folder / "header_only.csv", {"a": [], "b": []}))


def _keys_only(folder: Path, random: np.random.Generator) -> Made:
    """Nothing in it can be modelled."""
    n = 60
    frame = {"code": [f"X-{at:06d}" for at in random.permutation(999_999)[:n]], "site": ["A"] * n}
    return Made(write_text(folder / "keys_only.csv", frame))


def _many_holes(folder: Path, random: np.random.Generator) -> Made:
    """A column that is nearly empty beside full ones, and a word column with holes."""
    labels = labels_of(random, 140, 130)
    n, rows = len(labels), clouds(random, labels, PLACES)
    frame = {
        "flow": (15 + 2 * rows[:, 0]).round(2),
        "level": (7 + rows[:, 1]).round(2),
        "rare": holes(random, (3 + 0.5 * rows[:, 2]).round(2), 0.93),
        "site": holes(random, words(random, n, ("east", "north", "west")), 0.1),
    }
    return Made(write_text(folder / "many_holes.csv", frame), labels)


CASES = (
    Case(
        "bad_near_top",
        "a cell of the third row does not fit",
        _bad_near_top,
        (column("p", NUMBER, alerts=(BAD_CELLS,)), *numbers("q", "r")),
        Facts(300, some(2), real=CERTAIN, models=GAUSSIANS | MIXED, agreement=0.9, page_says=("see note",)),
        third=True,
    ),
    Case(
        "bad_late",
        "24,000 rows; cells below the first megabyte do not fit",
        _bad_late,
        tuple(column(f"sensor_{at}", NUMBER, alerts=(BAD_CELLS,) * (at in (1, 4))) for at in range(6)),
        Facts(
            LATE_ROWS, some(3), real=CERTAIN, models=GAUSSIANS | MIXED, agreement=0.9, page_says=("23,?401", "offline")
        ),
    ),
    Case(
        "sentinels",
        "-999 for what was not measured",
        _sentinels,
        (
            column("ozone", NUMBER, alerts=(SENTINEL,)),
            column("wind", NUMBER),
            column("humidity", *WHOLE, alerts=(SENTINEL,)),
        ),
        Facts(320, some(2), real=CERTAIN, models=GAUSSIANS | MIXED, agreement=0.9),
        third=True,
    ),
    Case(
        "words_for_missing",
        "NA, n/a, -, ?, null and NULL for holes",
        _words_for_missing,
        numbers("left", "middle", "right"),
        Facts(300, some(2), real=CERTAIN, models=GAUSSIANS | MIXED, agreement=0.9),
    ),
    Case(
        "all_missing",
        "a column without a single value",
        _all_missing,
        (column("x", NUMBER), column("later", CONSTANT, "empty", used=False), *numbers("y", "z")),
        Facts(250, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
    Case(
        "many_holes",
        "a column that is 93% missing",
        _many_holes,
        (*numbers("flow", "level"), column("rare", NUMBER, used=EITHER, alerts=(HOLES,)), column("site", CATEGORY)),
        Facts(270, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
    ),
    Case(
        "wide",
        "300 columns, 200 rows",
        _wide,
        numbers(*(f"gene_{at}" for at in range(WIDE_COLUMNS))),
        Facts(WIDE_ROWS, some(2), real=SOME, models=GAUSSIANS, agreement=0.9),
    ),
    Case(
        "five_rows",
        "five rows",
        _five_rows,
        (column("town", IDENTIFIER, CATEGORY, FREE_TEXT), *numbers("area", "height")),
        Facts(5, real=NOT_CLAIMED, all_used=False),
        third=True,
    ),
    Case(
        "two_rows",
        "two rows",
        _two_rows,
        (column("a", NUMBER, *("yes/no", "category")), column("b", NUMBER, *("yes/no", "category", "near-copy"))),
        Facts(2, real=NOT_CLAIMED, all_used=False),
        third=True,
    ),
    Case(
        "one_column",
        "a single column, two planted groups",
        _one_column,
        numbers("depth"),
        Facts(250, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
    Case(
        "keys_only",
        "a key and a constant: nothing to model",
        _keys_only,
        (column("code", IDENTIFIER), column("site", CONSTANT)),
        Facts(60, real=NOT_CLAIMED, all_used=False, exit_codes=frozenset({0, 2})),
        third=True,
    ),
    Case(
        "header_only",
        "a header and no rows",
        _header_only,
        (),
        Facts(0, all_used=False, exit_codes=frozenset({2})),
        third=True,
    ),
)
