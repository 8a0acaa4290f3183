"""Twelve tables without groups, and one group by the book: none may get "groups are real: yes"."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.case import Case, Made
from benchmarks.tables.draws import days, holes, words
from benchmarks.tables.expected import (
    CATEGORIES,
    CATEGORY,
    CODE,
    COUNT,
    COUNTS,
    GAUSSIANS,
    MIXED,
    NOT_CLAIMED,
    NUMBER,
    ORDERED,
    OVER_TIME,
    WHEN,
    WHOLE,
    YES_NO,
    Column,
    Facts,
    column,
    numbers,
)
from benchmarks.tables.writing import write_text

Draw = Callable[[np.random.Generator], dict[str, Any]]
ITEMS, LOADING, STEPS = 8, 0.7, (-1.5, -0.5, 0.5, 1.5)  # of a survey: five answers by one factor
LETTERS = "abcdef"


def uniform(random: np.random.Generator) -> dict[str, Any]:
    return dict(zip("xyz", random.uniform(0, 10, (500, 3)).round(3).T, strict=True))


def correlated(random: np.random.Generator) -> dict[str, Any]:
    shared = random.standard_normal((400, 1))
    rows = 100 + 15 * (np.sqrt(0.7) * shared + np.sqrt(0.3) * random.standard_normal((400, 4)))
    return dict(zip(("verbal", "number", "space", "memory"), rows.round(2).T, strict=True))


def incomes(random: np.random.Generator) -> dict[str, Any]:
    """Dollars, skewed and correlated: the rich have more of everything."""
    shared = random.standard_normal((600, 1))
    logs = 0.7 * shared + 0.5 * random.standard_normal((600, 3))
    cells = np.exp(logs + np.array([10.3, 11.0, 9.0])).round().astype(int)
    return dict(zip(("income", "wealth", "rent"), cells.T, strict=True))


def heavy_tails(random: np.random.Generator) -> dict[str, Any]:
    stretch = np.sqrt(3 / random.chisquare(3, (500, 1)))
    return dict(zip(("gain", "loss", "spread"), (stretch * random.standard_normal((500, 3))).round(4).T, strict=True))


def independent_mixed(random: np.random.Generator) -> dict[str, Any]:
    n = 400
    return {
        "height": (170 + 9 * random.standard_normal(n)).round(1),
        "income": random.lognormal(10, 0.6, n).round(2),
        "children": random.poisson(1.3, n),
        "smoker": np.where(random.random(n) < 0.3, "yes", "no"),
        "blood": words(random, n, ("A", "B", "AB", "O"), (0.42, 0.1, 0.05, 0.43)),
    }


def independent_categories(random: np.random.Generator) -> dict[str, Any]:
    n = 500
    shares = [random.dirichlet(np.full(size, 4.0)) for size in (3, 4, 3, 5, 4, 3)]
    return {f"pick_{letter}": words(random, n, "VWXYZ"[: len(p)], p) for letter, p in zip(LETTERS, shares, strict=True)}


def survey(random: np.random.Generator) -> dict[str, Any]:
    """Answers from 1 to 5 to eight questions with one continuous factor in common."""
    factor = random.standard_normal((500, 1))
    rows = LOADING * factor + np.sqrt(1 - LOADING**2) * random.standard_normal((500, ITEMS))
    return {f"item_{at + 1}": 1 + np.searchsorted(STEPS, rows[:, at]) for at in range(ITEMS)}


def many_noughts(random: np.random.Generator) -> dict[str, Any]:
    """Counts that are mostly nought and overdispersed, independent of each other."""
    n = 500
    names = ("claims", "accidents", "complaints", "absences")
    return {name: np.where(random.random(n) < 0.4, 0, random.negative_binomial(1.0, 0.35, n)) for name in names}


def bent(random: np.random.Generator) -> dict[str, Any]:
    along = random.standard_normal(500)
    return {"dose": along.round(4), "response": (along**2 + 0.5 * random.standard_normal(500)).round(4)}


def random_walk(random: np.random.Generator) -> dict[str, Any]:
    """Where it lingers there are heaps of rows, but no groups: the next walk lingers elsewhere."""
    n = 500
    steps = random.standard_normal((n, 2)).cumsum(axis=0)
    return {"date": days(n), "stock": (100 + steps[:, 0]).round(3), "bond": (50 + 0.5 * steps[:, 1]).round(3)}


def rounded(random: np.random.Generator) -> dict[str, Any]:
    """Whole years, centimetres by fives, kilograms by fives: heaps, but no groups."""
    n = 500
    shared = random.standard_normal(n)
    return {
        "age": np.clip(45 + 14 * random.standard_normal(n), 18, 90).round().astype(int),
        "height": (5 * np.round((172 + 9 * shared) / 5)).astype(int),
        "mass": (5 * np.round((75 + 9 * shared + 8 * random.standard_normal(n)) / 5)).astype(int),
    }


def holey(random: np.random.Generator) -> dict[str, Any]:
    shared = random.standard_normal((400, 1))
    rows = (0.6 * shared + 0.8 * random.standard_normal((400, 5))).round(3)
    return {f"m{at}": holes(random, rows[:, at], 0.25) for at in range(5)}


def one_group(random: np.random.Generator) -> dict[str, Any]:
    return dict(zip(("east", "north"), random.standard_normal((300, 2)).round(4).T, strict=True))


def _written(name: str, draw: Draw) -> Callable[[Path, np.random.Generator], Made]:
    return lambda folder, random: Made(write_text(folder / f"{name}.csv", draw(random)))


def _case(name: str, special: str, draw: Draw, columns: tuple[Column, ...], rows: int, **more: Any) -> Case:
    """A table without groups; `models` and `third` as in a case."""
    facts = Facts(rows, real=NOT_CLAIMED, **{key: value for key, value in more.items() if key != "third"})
    return Case(name, f"no groups: {special}", _written(name, draw), columns, facts, third=more.get("third", False))


def _columns(names: tuple[str, ...], *roles: str) -> tuple[Column, ...]:
    return tuple(column(name, *roles) for name in names)


CASES = (
    _case("no_uniform", "uniform", uniform, numbers(*"xyz"), 500, models=GAUSSIANS, third=True),
    _case(
        "no_correlated",
        "correlated Gaussians",
        correlated,
        numbers("verbal", "number", "space", "memory"),
        400,
        models=GAUSSIANS,
    ),
    _case(
        "no_incomes",
        "lognormal, correlated",
        incomes,
        _columns(("income", "wealth", "rent"), *WHOLE),
        600,
        models=GAUSSIANS | MIXED,
        third=True,
    ),
    _case("no_tails", "Student's t", heavy_tails, numbers("gain", "loss", "spread"), 500, models=GAUSSIANS),
    _case(
        "no_mixed",
        "independent columns of all kinds",
        independent_mixed,
        (
            *numbers("height", "income"),
            column("children", COUNT, ORDERED),
            column("smoker", YES_NO),
            column("blood", CATEGORY),
        ),
        400,
        models=MIXED,
        third=True,
    ),
    _case(
        "no_categories",
        "independent categories",
        independent_categories,
        _columns(tuple(f"pick_{letter}" for letter in LETTERS), CATEGORY),
        500,
        models=CATEGORIES,
        third=True,
    ),
    _case(
        "no_survey",
        "a survey of one continuous factor",
        survey,
        _columns(tuple(f"item_{at + 1}" for at in range(ITEMS)), *CODE),
        500,
        models=CATEGORIES | COUNTS,
    ),
    _case(
        "no_noughts",
        "counts with many noughts",
        many_noughts,
        _columns(("claims", "accidents", "complaints", "absences"), COUNT, ORDERED),
        500,
        models=CATEGORIES | COUNTS,
    ),
    _case("no_banana", "a curved band", bent, numbers("dose", "response"), 500, models=GAUSSIANS),
    _case(
        "no_walk",
        "a random walk over days",
        random_walk,
        (column("date", *WHEN), *numbers("stock", "bond")),
        500,
        models=OVER_TIME,
    ),
    _case(
        "no_rounded",
        "heavy rounding",
        rounded,
        (
            column("age", *WHOLE),
            column("height", NUMBER, COUNT, ORDERED),
            column("mass", NUMBER, COUNT, ORDERED),
        ),
        500,
    ),
    _case(
        "no_holey",
        "a quarter of the cells missing",
        holey,
        numbers(*(f"m{at}" for at in range(5))),
        400,
        models=GAUSSIANS | MIXED,
    ),
    _case(
        "one_group",
        "one Gaussian: shapes of it that are the same are compared once",
        one_group,
        numbers("east", "north"),
        300,
        models=GAUSSIANS,
        components=frozenset({1}),
        groups=frozenset({1}),
        page_never=(r"differs? by 0\.0\b",),
    ),
)
