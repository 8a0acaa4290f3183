"""Tables as offices keep them: keys, names, tickets, notes, flags and weights beside what can be modelled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tables.case import Case, Made
from benchmarks.tables.draws import (
    clouds,
    holes,
    keys,
    labels_of,
    people,
    sentences,
    words,
    words_by,
)
from benchmarks.tables.expected import (
    CATEGORY,
    CODE,
    CONSTANT,
    COUNT,
    FEW,
    FREE_TEXT,
    GAUSSIANS,
    HOLES,
    IDENTIFIER,
    KEY,
    MIXED,
    NAMES,
    NEAR_COPY,
    NOTES,
    NUMBER,
    ORDERED,
    SEVERAL,
    SOME,
    TWO,
    WEIGHTS,
    WHOLE,
    YES,
    YES_NO,
    Facts,
    column,
    numbers,
    some,
)
from benchmarks.tables.writing import write_text

PASSENGERS = 891
CLASSES = (0.24, 0.21, 0.55)  # shares of first, second and third class
FARES = (4.2, 2.8, 2.2)  # mean logarithm by class
SURVIVAL = np.array([[0.95, 0.4], [0.9, 0.15], [0.5, 0.12]])  # by class, women and men
AGES = (39, 30, 25)
CABINS = (0.8, 0.08, 0.02)  # whose cabin is known


def _titanic(folder: Path, random: np.random.Generator) -> Made:
    """As the famous table: what is known of it is its shape, and that class, fare, sex and survival hang together."""
    n = PASSENGERS
    rank = random.choice(3, n, p=CLASSES)
    man = random.random(n) < np.array([0.56, 0.58, 0.7])[rank]
    survived = random.random(n) < SURVIVAL[rank, man.astype(int)]
    age = np.maximum(0.5, np.array(AGES)[rank] + 13 * random.standard_normal(n)).round(0)
    known = random.random(n) < np.array(CABINS)[rank]
    cabin = [f"{'ABCDE'[a]}{b}" for a, b in zip(random.integers(0, 5, n), random.integers(1, 130, n), strict=True)]
    frame = {
        "PassengerId": np.arange(1, n + 1),
        "Survived": survived.astype(int),
        "Pclass": rank + 1,
        "Name": [
            name.replace(",", ", Mr." if him else ", Mrs.") for name, him in zip(people(random, n), man, strict=True)
        ],
        "Sex": np.where(man, "male", "female"),
        "Age": holes(random, np.where(age < 2, 0.75, age), 0.2),
        "SibSp": np.minimum(random.negative_binomial(0.6, 0.53, n), 8),
        "Parch": np.minimum(random.negative_binomial(0.4, 0.5, n), 6),
        "Ticket": _tickets(random, n),
        "Fare": np.exp(np.array(FARES)[rank] + 0.35 * random.standard_normal(n)).round(4),
        "Cabin": [name if there else None for name, there in zip(cabin, known, strict=True)],
        "Embarked": holes(random, words(random, n, "SCQ", (0.72, 0.19, 0.09)), 0.002),
    }
    return Made(write_text(folder / "titanic_like.csv", frame))


def _tickets(random: np.random.Generator, n: int) -> list[str]:
    """Numbers, some with letters before them; a quarter of the passengers travel on the ticket of another."""
    own = [
        f"{number}" if plain else f"{('PC', 'C.A.', 'A/5', 'STON/O2.')[number % 4]} {number}"
        for number, plain in zip(random.integers(2000, 350_000, n), random.random(n) < 0.74, strict=True)
    ]
    shared = random.random(n) < 0.25
    return [
        own[random.integers(n)] if with_another else ticket for ticket, with_another in zip(own, shared, strict=True)
    ]


def _customers(folder: Path, random: np.random.Generator) -> Made:
    """Three segments in mixed columns, and keys, names, notes and a constant that have no part in them."""
    labels = labels_of(random, 200, 160, 140)
    n = len(labels)
    spend, age = np.array([3.0, 4.6, 6.2])[labels], np.array([28, 45, 62])[labels]
    frame = {
        "customer_id": keys(random, n),
        "name": people(random, n),
        "email": [f"user{at}@mail{at % 7}.example" for at in random.permutation(10 * n)[:n]],
        "country": ["Utopia"] * n,
        "age": np.clip(age + 4 * random.standard_normal(n), 18, 90).round().astype(int),
        "spend": np.exp(spend + 0.3 * random.standard_normal(n)).round(2),
        "orders": random.poisson(np.array([2.0, 9.0, 22.0])[labels]),
        "newsletter": words_by(random, labels, ("no", "yes"), (0, 1, 1), 0.85),
        "plan": words_by(random, labels, ("basic", "plus", "premium"), (0, 1, 2), 0.9),
        "channel": words(random, n, ("web", "shop", "phone")),
        "note": holes(random, sentences(random, n), 0.4),
    }
    return Made(write_text(folder / "customers.csv", frame), labels)


def _orders(folder: Path, random: np.random.Generator) -> Made:
    """Numbered keys that do not start at 1, and codes of customers who ordered three times."""
    labels = labels_of(random, 150, 150)
    n = len(labels)
    near = clouds(random, labels, [[0, 0], [6, 5]])
    frame = {
        "order_no": 100_000 + np.arange(n),
        "customer": [f"C{at:05d}" for at in random.permutation(np.repeat(random.integers(0, 99_999, n // 3), 3))],
        "distance_km": (20 + 3 * near[:, 0]).round(2),
        "minutes": (45 + 4 * near[:, 1]).round(1),
        "express": random.random(n) < np.where(labels == 1, 0.8, 0.2),
    }
    return Made(write_text(folder / "orders.csv", frame), labels)


def _reviews(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 180, 120)
    n = len(labels)
    happy = np.array([4.3, 1.7])[labels]
    frame = {
        "review": sentences(random, n, 25),
        "product": words(random, n, ("kettle", "lamp", "radio", "toaster")),
        "stars": np.clip(np.round(happy + 0.6 * random.standard_normal(n)), 1, 5).astype(int),
        "days_used": (np.array([200.0, 30.0])[labels] * np.exp(0.2 * random.standard_normal(n))).round(1),
        "returned": np.where(random.random(n) < np.array([0.03, 0.8])[labels], "yes", "no"),
    }
    return Made(write_text(folder / "reviews.csv", frame), labels)


def _weighted(folder: Path, random: np.random.Generator) -> Made:
    labels = labels_of(random, 220, 130)
    rows = clouds(random, labels, [[0, 0, 0], [5, 4, -4]])
    frame = {name: (50 + 7 * rows[:, at]).round(2) for at, name in enumerate(("reading", "writing", "sums"))}
    return Made(
        write_text(folder / "weighted.csv", {**frame, "w": random.uniform(0.5, 3, len(labels)).round(4)}), labels
    )


def _copies(folder: Path, random: np.random.Generator) -> Made:
    """Two measurements in two units each, as rounded by the scales; two groups."""
    labels = labels_of(random, 150, 150)
    n = len(labels)
    height = np.array([162.0, 181.0])[labels] + 4 * random.standard_normal(n)
    mass = np.array([58.0, 86.0])[labels] + 5 * random.standard_normal(n)
    frame = {
        "id": np.arange(1, n + 1),
        "height_cm": height.round(1),
        "height_inch": (height / 2.54).round(1),
        "mass_kg": mass.round(1),
        "mass_lb": (mass * 2.20462).round(1),
        "planet": ["Earth"] * n,
        "version": np.full(n, 3),
        "pulse": (70 + 9 * random.standard_normal(n)).round().astype(int),
    }
    return Made(write_text(folder / "copies.csv", frame), labels)


CASES = (
    Case(
        "titanic_like",
        "ids, names, tickets, holes, counts, words: 891 rows",
        _titanic,
        (
            column("PassengerId", *KEY),
            column("Survived", YES_NO),
            column("Pclass", *CODE),
            column("Name", *NAMES),
            column("Sex", *TWO),
            column("Age", *WHOLE),
            column("SibSp", *FEW),
            column("Parch", *FEW),
            column("Ticket", IDENTIFIER, FREE_TEXT, CATEGORY, used=False),
            column("Fare", NUMBER),
            column("Cabin", IDENTIFIER, FREE_TEXT, CATEGORY, used=False, alerts=(HOLES,)),
            column("Embarked", CATEGORY),
        ),
        Facts(PASSENGERS, components=SEVERAL, models=MIXED),
    ),
    Case(
        "titanic_told",
        "--roles and --drop overrule what is guessed",
        _titanic,
        (
            column("PassengerId", IDENTIFIER),
            column("Survived", "label"),
            column("Pclass", CATEGORY),
            column("Name", *NAMES),
            column("Sex", *TWO),
            column("Age", *WHOLE),
            column("SibSp", NUMBER),
            column("Parch", *FEW),
            column("Ticket", "dropped"),
            column("Fare", NUMBER),
            column("Cabin", "dropped"),
            column("Embarked", CATEGORY),
        ),
        Facts(PASSENGERS, components=SEVERAL, models=MIXED),
        flags=(
            *("--roles", "PassengerId=id,Pclass=category,SibSp=number"),
            *("--drop", "Ticket,Cabin", "--label", "Survived"),
        ),
    ),
    Case(
        "customers",
        "uuid keys, e-mail, a constant, notes; three planted segments",
        _customers,
        (
            column("customer_id", IDENTIFIER),
            column("name", *NAMES),
            column("email", *NAMES),
            column("country", CONSTANT),
            column("age", *WHOLE),
            column("spend", NUMBER),
            column("orders", COUNT, NUMBER),
            column("newsletter", YES_NO),
            column("plan", CATEGORY, ORDERED),
            column("channel", CATEGORY),
            column("note", *NOTES),
        ),
        Facts(500, some(3), real=frozenset({YES}), models=MIXED, agreement=0.9),
    ),
    Case(
        "orders",
        "keys from 100000 on, codes that come three times, True/False",
        _orders,
        (
            column("order_no", *KEY),
            column("customer", IDENTIFIER, CATEGORY, FREE_TEXT, used=False),
            *numbers("distance_km", "minutes"),
            column("express", YES_NO),
        ),
        Facts(300, some(2), real=frozenset({YES}), models=MIXED, agreement=0.9),
    ),
    Case(
        "reviews",
        "a column of sentences, stars from 1 to 5; two planted groups",
        _reviews,
        (
            column("review", *NOTES),
            column("product", CATEGORY),
            column("stars", *CODE),
            column("days_used", NUMBER),
            column("returned", YES_NO),
        ),
        Facts(300, some(2), real=SOME, models=MIXED, agreement=0.85),
        third=True,
    ),
    Case(
        "weighted",
        "--weights: a weight for every row",
        _weighted,
        (*numbers("reading", "writing", "sums"), column("w", WEIGHTS)),
        Facts(350, some(2), real=frozenset({YES}), models=GAUSSIANS, agreement=0.9),
        flags=("--weights", "w"),
    ),
    Case(
        "copies",
        "cm and inch, kg and lb, two constants",
        _copies,
        (
            column("id", *KEY),
            column("height_cm", NUMBER, NEAR_COPY),
            column("height_inch", NUMBER, NEAR_COPY),
            column("mass_kg", NUMBER, NEAR_COPY),
            column("mass_lb", NUMBER, NEAR_COPY),
            column("planet", CONSTANT),
            column("version", CONSTANT),
            column("pulse", *WHOLE),
        ),
        Facts(
            300,
            some(2),
            real=frozenset({YES}),
            agreement=0.9,
            one_of=(("height_cm", "height_inch"), ("mass_kg", "mass_lb")),
        ),
        third=True,
    ),
)
