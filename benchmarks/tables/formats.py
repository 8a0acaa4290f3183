"""The same honest columns in all the ways in which files are written: separators, marks, encodings, containers."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.tables.case import Case, Made, Make
from benchmarks.tables.draws import clouds, days, holes, labels_of, sentences, words, words_by
from benchmarks.tables.expected import (
    ANY,
    BEGINS,
    CATEGORY,
    COUNT,
    DATE,
    GAUSSIANS,
    IDENTIFIER,
    MIXED,
    NOTES,
    NUMBER,
    ORDERED,
    OVER_TIME,
    SOME,
    WHEN,
    WHOLE,
    YES,
    YES_NO,
    Facts,
    column,
    numbers,
    some,
)
from benchmarks.tables.writing import write_arrow, write_json_lines, write_text, write_xlsx

CERTAIN = frozenset({YES})
PLACES = [[0.0, 0.0, 0.0], [6.0, 4.0, -4.0]]  # of two groups, in standard deviations


def _german(folder: Path, random: np.random.Generator) -> Made:
    """As a spreadsheet in Germany or France exports it: 1.234,56 and words with accents, in latin-1."""
    labels = labels_of(random, 140, 120)
    rows = clouds(random, labels, PLACES)
    frame = {
        "Größe": (172 + 4 * rows[:, 0]).round(1),
        "Gewicht": (75 + 5 * rows[:, 1]).round(2),
        "Umsatz": [_grouped(value) for value in (9000 + 900 * rows[:, 2])],
        "Stadt": words(random, len(labels), ("Köln", "München", "Genève", "Wien")),
    }
    path = write_text(folder / "german.csv", frame, encoding="latin-1", separator=";", decimal=",")
    return Made(path, labels)


def _grouped(value: float) -> str:
    """5,000.25 as Germans write it."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def _money(folder: Path, random: np.random.Generator) -> Made:
    """Dollars, per cents and thousands."""
    labels = labels_of(random, 150, 130)
    rows = clouds(random, labels, PLACES)
    frame = {
        "price": [f"${value:,.2f}" for value in 4000 + 500 * rows[:, 0]],
        "margin": [f"{value:.1f}%" for value in 30 + 4 * rows[:, 1]],
        "visitors": [f"{value:,.0f}" for value in 25_000 + 2000 * rows[:, 2]],
        "open": words(random, len(labels), ("yes", "no")),
    }
    return Made(write_text(folder / "money.csv", frame), labels)


def _no_header(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 120, 130)
    rows = clouds(random, labels, PLACES).round(3)
    frame = {
        "a": rows[:, 0],
        "b": rows[:, 1],
        "c": rows[:, 2],
        "d": words(random, len(labels), ("red", "green", "blue")),
    }
    return Made(write_text(folder / "no_header.csv", frame, header=()), labels)


def _workbook(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 120, 110)
    rows = clouds(random, labels, PLACES)
    n = len(labels)
    frame = {
        "date": [datetime(2021, 3, 1) + timedelta(days=int(day)) for day in random.integers(0, 900, n)],
        "length": (30 + 2 * rows[:, 0]).round(2),
        "width": holes(random, (12 + rows[:, 1]).round(2), 0.05),
        "faults": random.poisson(np.array([1.0, 6.0])[labels]),
        "line": words(random, n, ("north", "south", "west")),
    }
    return Made(write_xlsx(folder / "workbook.xlsx", frame), labels)


def _json_lines(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 130, 120)
    rows = clouds(random, labels, PLACES)
    n = len(labels)
    frame = {
        "temperature": (18 + 2 * rows[:, 0]).round(2),
        "humidity": holes(random, (55 + 4 * rows[:, 1]).round(1), 0.1),
        "alarm": random.random(n) < np.array([0.1, 0.9])[labels],
        "room": words_by(random, labels, ("cellar", "hall", "loft"), (0, 2), 0.8),
    }
    return Made(write_json_lines(folder / "readings.jsonl", frame), labels)


def _day_first(folder: Path, random: np.random.Generator) -> Made:
    """dd/mm/yyyy, a day after the other: a series of two regimes."""
    labels = np.repeat([0, 1, 0, 1], 75)
    n = len(labels)
    frame = {
        "day": [day.strftime("%d/%m/%Y") for day in days(n)],
        "load": (100 + 10 * (4 * labels + random.standard_normal(n))).round(1),
        "price": (40 + 5 * (3 * labels + random.standard_normal(n))).round(2),
    }
    return Made(write_text(folder / "day_first.csv", frame), labels)


def _quoted(folder: Path, random: np.random.Generator) -> Made:
    """Tabs between cells; cells with quotes, tabs and line breaks in them."""
    labels = labels_of(random, 110, 110)
    rows = clouds(random, labels, PLACES)
    said = [text.replace(" ", '\n"', 1).replace(" ", "\t", 1) for text in sentences(random, len(labels))]
    frame = {"remark": said, "x": rows[:, 0].round(3), "y": rows[:, 1].round(3), "z": rows[:, 2].round(3)}
    return Made(write_text(folder / "quoted.tsv", frame, separator="\t", quoting=csv.QUOTE_ALL), labels)


def _utf_16(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 110, 100)
    rows = clouds(random, labels, PLACES)
    frame = {
        "weite_µm": (9 + rows[:, 0]).round(3),
        "höhe_µm": (12 + rows[:, 1]).round(3),
        "ort": words_by(random, labels, ("Łódź", "Ω-Labor", "東京"), (0, 2), 0.8),
    }
    return Made(write_text(folder / "utf_16.csv", frame, encoding="utf-16", separator="\t", line_end="\r\n"), labels)


def _packed(suffix: str) -> Make:
    def make(folder: Path, random: np.random.Generator) -> Made:
        labels = labels_of(random, 300, 200)
        rows = clouds(random, labels, PLACES).round(4)
        frame = dict(zip(("alpha", "beta", "gamma"), rows.T, strict=True))
        return Made(write_text(folder / f"packed{suffix}", frame, separator="\t" if "tsv" in suffix else ","), labels)

    return make


def _arrow(suffix: str) -> Make:
    """Types as a data base hands them over: dictionaries, nulls, time stamps, decimals, Booleans."""

    def make(folder: Path, random: np.random.Generator) -> Made:
        labels = labels_of(random, 160, 140)
        n, rows = len(labels), clouds(random, labels, PLACES)
        stamps = [datetime(2024, 1, 1) + timedelta(minutes=int(at)) for at in random.integers(0, 500_000, n)]
        city = words_by(random, labels, ("Bern", "Oslo", "Rome"), (0, 1), 0.85)
        table = pa.table(
            {
                "key": pa.array(random.permutation(10**9 + np.arange(n) * 37), pa.int64()),
                "stamp": pa.array(stamps, pa.timestamp("us")),
                "volume": pa.array((8 + rows[:, 0]).astype(np.float32)),
                "mass": pa.array(holes(random, (50 + 3 * rows[:, 1]).round(2), 0.1), pa.float64()),
                "valid": pa.array((random.random(n) < np.array([0.2, 0.9])[labels]).tolist(), pa.bool_()),
                "city": pa.array(city).dictionary_encode(),
                "visits": pa.array(random.poisson(np.array([2.0, 11.0])[labels]), pa.int16()),
            }
        )
        return Made(write_arrow(folder / f"typed{suffix}", table), labels)

    return make


def _commented(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 110, 120)
    rows = clouds(random, labels, PLACES).round(3)
    frame = dict(zip(("u", "v", "w"), rows.T, strict=True))
    above = ("# measured in 2023, station 7", "# u, v: metres; w: degrees", "#")
    return Made(write_text(folder / "commented.csv", frame, above=above), labels)


def _twice_named(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 110, 120)
    rows = clouds(random, labels, PLACES).round(3)
    frame = dict(zip("abc", rows.T, strict=True))
    return Made(write_text(folder / "twice_named.csv", frame, header=("value", "value", "other")), labels)


CASES = (
    Case(
        "german",
        "semicolons, decimal commas, 1.234,56, latin-1",
        _german,
        (*numbers("Größe", "Gewicht", "Umsatz"), column("Stadt", CATEGORY)),
        Facts(260, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
        third=True,
    ),
    Case(
        "money",
        "$1,234.50, 12.5% and 25,000",
        _money,
        (*numbers("price", "margin"), column("visitors", *WHOLE), column("open", YES_NO)),
        Facts(280, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
        third=True,
    ),
    Case(
        "no_header",
        "the first row is data",
        _no_header,
        (*(column(name, NUMBER, named=ANY) for name in "abc"), column("d", CATEGORY, named=ANY)),
        Facts(250, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
    ),
    Case(
        "workbook",
        "an Excel workbook with dates and holes",
        _workbook,
        (
            column("date", DATE),
            *numbers("length", "width"),
            column("faults", COUNT, ORDERED),
            column("line", CATEGORY),
        ),
        Facts(230, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
    ),
    Case(
        "json_lines",
        "JSON lines with keys that are not always there",
        _json_lines,
        (*numbers("temperature", "humidity"), column("alarm", YES_NO), column("room", CATEGORY)),
        Facts(250, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
        third=True,
    ),
    Case(
        "day_first",
        "dd/mm/yyyy, a series of two regimes",
        _day_first,
        (column("day", *WHEN), *numbers("load", "price")),
        Facts(
            300,
            some(2),
            real=SOME,
            models=OVER_TIME,
            agreement=0.85,
            page_says=(r"(2|two) (\w+ )?regimes|regimes\W{1,3}(2|two)\b",),
        ),
        third=True,
    ),
    Case(
        "quoted",
        "tabs; quotes, tabs and line breaks within cells",
        _quoted,
        (column("remark", *NOTES), *numbers("x", "y", "z")),
        Facts(220, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
    Case(
        "utf_16",
        "UTF-16 with a mark, tabs in a .csv, Windows line ends",
        _utf_16,
        (*numbers("weite_µm", "höhe_µm"), column("ort", CATEGORY)),
        Facts(210, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
    ),
    Case(
        "packed_gz",
        "gzipped commas",
        _packed(".csv.gz"),
        numbers("alpha", "beta", "gamma"),
        Facts(500, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
    Case(
        "packed_zst",
        "tabs packed by zstd",
        _packed(".tsv.zst"),
        numbers("alpha", "beta", "gamma"),
        Facts(500, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
    *(
        Case(
            f"typed_{suffix[1:]}",
            f"{suffix[1:].capitalize()} with keys, time stamps, dictionaries and nulls",
            _arrow(suffix),
            (
                column("key", IDENTIFIER),
                column("stamp", DATE),
                *numbers("volume", "mass"),
                column("valid", YES_NO),
                column("city", CATEGORY),
                column("visits", COUNT, NUMBER, ORDERED),
            ),
            Facts(300, some(2), real=CERTAIN, models=MIXED, agreement=0.9),
        )
        for suffix in (".parquet", ".feather")
    ),
    Case(
        "commented",
        "comment lines above the header, a comma in one",
        _commented,
        numbers("u", "v", "w"),
        Facts(230, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
    Case(
        "twice_named",
        "two columns of one name",
        _twice_named,
        (*(column("value", NUMBER, named=BEGINS),) * 2, column("other", NUMBER)),
        Facts(230, some(2), real=CERTAIN, models=GAUSSIANS, agreement=0.9),
    ),
)
