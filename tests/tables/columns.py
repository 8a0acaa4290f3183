"""Many small columns, each with the role that a person would give it."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import numpy as np

N = 240
rng = np.random.default_rng(15)
DAYS = [dt.date(2021, 3, 1) + dt.timedelta(days=k) for k in range(N)]
NAMES = [f"{a}{b} {c}son" for a in "ABDEFGHJKL" for b in ("nna", "ob", "eo", "ira") for c in "JKLMNP"]
CITIES = [f"City{k:03d}" for k in range(200)]


def drawn(values: Any, p: Any = None, n: int = N) -> list[Any]:
    """Cells drawn from some values."""
    return [values[k] for k in rng.choice(len(values), n, p=p)]


def holes(cells: Any, every: int = 5) -> list[Any]:
    """Cells of which each so-manyth is missing."""
    return [None if k % every == 0 else cell for k, cell in enumerate(list(cells))]


def counts(rate: float) -> list[int]:
    return [int(k) for k in rng.poisson(rate, N)]


COLUMNS: list[tuple[str, Any, str]] = [
    # measurements
    ("height", rng.normal(170, 9, N), "number"),
    ("height_whole", np.round(rng.normal(170, 9, N)), "number"),
    ("income", np.round(rng.lognormal(10, 1, N)), "number"),
    ("population", rng.permutation(np.unique(rng.integers(1_000, 9_000_000, 3 * N))[:N]), "number"),
    ("price", np.round(rng.gamma(3, 20, N), 2), "number"),
    ("dose", drawn([0.5, 1.0, 1.5]), "ordered category"),
    ("stars", drawn([1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]), "ordered category"),
    ("petal", drawn([round(0.1 * step, 1) for step in range(1, 23)]), "number"),
    ("paid", rng.integers(100, 9_000, N), "number"),
    ("humid", rng.integers(10, 99, N), "number"),
    ("valid_to_test", holes(rng.normal(size=N)), "number"),
    ("rank", rng.permutation(N) + 1, "number"),
    ("built_year", rng.integers(1900, 2020, N), "number"),
    ("text_numbers", [f"{value:.2f}" for value in rng.normal(size=N)], "number"),
    ("temperature", np.where(np.arange(N) % 40 == 0, -999, rng.normal(15, 5, N)), "number"),
    ("waiting", dt.timedelta(seconds=1) * rng.integers(1, 5000, N), "number"),
    # counts
    ("sibsp", counts(0.6), "count"),
    ("n_visits", counts(2.0), "count"),
    ("num_children", drawn([0, 1, 2]), "count"),
    ("errors_seen", [min(k, 12) for k in counts(1.5)], "count"),
    ("party", list(rng.permutation(np.repeat([1, 2, 3, 4, 5, 6], [4, 152, 38, 37, 5, 4]))), "count"),
    ("visits_with_holes", holes(counts(2.0)), "count"),
    ("fits", [int(k) for k in rng.negative_binomial(1, 0.2, N) // 2], "count"),
    ("number", drawn([1, 2, 3, 4, 5, 7], [0.6, 0.2, 0.1, 0.05, 0.03, 0.02]), "count"),
    # yes and no
    ("alive", drawn(["yes", "no"]), "yes/no"),
    ("smoker", drawn(["Y", "N"]), "yes/no"),
    ("flag", drawn([0, 1]), "yes/no"),
    ("flag_with_holes", holes(drawn([0.0, 1.0])), "yes/no"),
    ("truth", drawn([True, False]), "yes/no"),
    ("truth_words", drawn(["TRUE", "FALSE"]), "yes/no"),
    ("test_result", drawn(["positive", "negative"]), "yes/no"),
    # categories
    ("sex", drawn(["male", "female"]), "category"),
    ("sex_code", drawn([1, 2]), "category"),
    ("embarked", holes(drawn(["S", "C", "Q"])), "category"),
    ("industry", drawn([10, 20, 31]), "category"),
    ("store_id", drawn([101, 102, 105, 230, 231]), "category"),
    ("department_code", drawn(["A1", "B7", "C3"]), "category"),
    ("zip", drawn([10115, 20095, 80331, 50667, 1067] * 6, n=N), "category"),
    ("city", drawn(CITIES[:110]), "category"),
    ("color", drawn(["red", "green", "blue"]), "category"),
    ("island", drawn(["Torgersen", "Biscoe", "Dream"]), "category"),
    ("target", drawn([0, 1, 2]), "category"),
    ("blanks", drawn([" a", "a ", "b", ""]), "category"),
    # ordered categories
    ("rating", drawn([1, 2, 3, 4, 5], [0.05, 0.1, 0.2, 0.35, 0.3]), "ordered category"),
    ("Pclass", drawn([1, 2, 3], [0.24, 0.21, 0.55]), "ordered category"),
    ("cylinders", drawn([3, 4, 5, 6, 8], [0.01, 0.51, 0.01, 0.21, 0.26]), "ordered category"),
    ("mood", drawn([-2, -1, 0, 1, 2]), "ordered category"),
    ("level", drawn(["low", "medium", "high"]), "ordered category"),
    ("size", drawn(["S", "M", "L", "XL"]), "ordered category"),
    ("month", drawn(["Jan", "Feb", "Mar", "Dec"]), "ordered category"),
    ("weekday", drawn(["Thur", "Fri", "Sat", "Sun"]), "ordered category"),
    ("age_group", drawn(["<18", "18-25", "26-40", "40+"]), "ordered category"),
    ("opinion", drawn(["Strongly disagree", "Disagree", "Neutral", "Agree"]), "ordered category"),
    ("cut", drawn(["Fair", "Good", "Very Good", "Premium", "Ideal"]), "ordered category"),
    ("clarity", drawn(["SI2", "SI1", "VS1", "VS2", "VVS1", "IF", "I1"]), "ordered category"),
    ("stage", drawn(["Stage 1", "Stage 2", "Stage 3"]), "ordered category"),
    ("grade", drawn(["A", "B", "C", "D"]), "ordered category"),
    ("model_year", drawn(list(range(1970, 1983))), "ordered category"),
    ("dosage", drawn([5, 8, 12, 16, 20, 23, 30]), "ordered category"),
    ("survey", drawn(["StronglyDisagree", "Disagree", "Agree", "StronglyAgree"]), "ordered category"),
    ("intake", drawn(["bottom 25%", "mid 50%", "top 25%"]), "ordered category"),
    ("tint", drawn(["no", "lo", "hi"]), "ordered category"),
    ("condition", drawn(["1_Good", "2_Fair", "3_Poor"]), "ordered category"),
    # dates
    ("time", 1949 + np.arange(N) / 12, "date"),
    ("day", DAYS, "date"),
    ("shuffled_day", [DAYS[k] for k in rng.permutation(N)], "date"),
    ("iso_words", [day.isoformat() for day in DAYS], "date"),
    ("moment", [dt.datetime(2020, 1, 1, k % 24) + dt.timedelta(days=k) for k in range(N)], "date"),
    ("year", np.arange(1780, 1780 + N), "date"),
    ("yyyymmdd", [int(day.strftime("%Y%m%d")) for day in DAYS], "date"),
    ("created_at", 1_600_000_000 + np.sort(rng.integers(0, 10**7, N)), "date"),
    # keys
    ("customer_id", rng.permutation(np.unique(rng.integers(10**5, 10**6, 3 * N))[:N]), "identifier"),
    ("PassengerId", np.arange(1, N + 1), "identifier"),
    ("dense", rng.permutation(N) + 5_000, "identifier"),
    ("tens", 10 * rng.permutation(N), "identifier"),
    ("phone", 4_915_000_000_000 + rng.integers(0, 10**9, N), "identifier"),
    ("uuid", [str(uuid.UUID(int=int(k))) for k in rng.integers(0, 2**60, N)], "identifier"),
    ("email", [f"user{k}@example.org" for k in range(N)], "identifier"),
    ("name", NAMES, "identifier"),
    ("ticket", [f"A/{k}" for k in rng.integers(0, 300, N)], "identifier"),
    ("cabin", holes([f"C{k}" for k in rng.integers(0, 400, N)], 2), "identifier"),
    ("zip_words", [f"0{k}" for k in rng.permutation(np.arange(1000, 1000 + N))], "identifier"),
    ("plot_id", np.sort(rng.choice(500, N, replace=False)) / 2, "identifier"),
    ("rownames", np.sort(rng.choice(50 * N, N, replace=False)), "identifier"),
    ("school", np.repeat(np.arange(N // 8) + 300, 8), "identifier"),
    ("student", np.sort(rng.integers(1, 90, N)), "identifier"),
    ("page", drawn([f"B{k}" for k in range(70)]), "category"),
    ("page_id", drawn([f"B{k}x" for k in range(60)]), "identifier"),
    # counts of the rows
    ("within", np.tile(np.arange(1, 41), N // 40), "row number"),
    ("Unnamed: 0", np.arange(N), "row number"),
    ("", np.arange(1, N + 1), "row number"),
    ("counter", np.arange(0, 10 * N, 10), "row number"),
    ("t", np.arange(N), "row number"),
    # nothing to model
    ("same", [3.5] * N, "constant"),
    ("same_word", ["x"] * N, "constant"),
    ("same_but_missing", holes(["x"] * N), "constant"),
    ("empty", [None] * N, "constant"),
    ("comment", [f"The {k}th guest said that the room was {w} but loud" for k, w in enumerate(NAMES)], "free text"),
    ("pidnum", np.random.default_rng(3).choice(900_000, N, replace=False), "identifier"),
    ("excess", np.random.default_rng(3).choice([-114, -66, -41, -15, 7, 33, 83, 106], N), "ordered category"),
]
