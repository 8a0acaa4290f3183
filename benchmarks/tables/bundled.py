"""Public tables that are in the repository or come with scikit-learn, as people keep them in files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn import datasets

from benchmarks.tables.case import ROOT, Case, Made, Make
from benchmarks.tables.expected import (
    ANY,
    CATEGORY,
    CODE,
    COUNT,
    DATE,
    GAUSSIANS,
    IDENTIFIER,
    LABEL,
    MIXED,
    NEAR_COPY,
    NUMBER,
    OVER_TIME,
    ROW_NUMBER,
    SEVERAL,
    SOME,
    TIME,
    TWO,
    WHOLE,
    YES,
    YES_NO,
    Column,
    Facts,
    column,
    numbers,
    some,
)
from benchmarks.tables.writing import Frame, write_arrow, write_text

IRIS = ("Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width")
SPECIES = ("setosa", "versicolor", "virginica")
BANKNOTE = ("Length", "Left", "Right", "Bottom", "Top", "Diagonal")
CANCER = tuple(map(str, datasets.load_breast_cancer().feature_names))
WINE = tuple(map(str, datasets.load_wine().feature_names))
SIZES = ("radius", "perimeter", "area")  # of a round cell: each nearly follows from another


def _breast_cancer(folder: Path, _: np.random.Generator) -> Made:
    table = datasets.load_breast_cancer()
    frame: Frame = {**dict(zip(CANCER, table.data.T, strict=True)), "target": table.target}
    return Made(write_text(folder / "breast_cancer.csv", frame))


def _iris_frame() -> dict[str, np.ndarray]:
    return dict(zip(IRIS, datasets.load_iris().data.T, strict=True))


def _species() -> list[str]:
    return [SPECIES[at] for at in datasets.load_iris().target]


def _iris_index(folder: Path, _: np.random.Generator) -> Made:
    frame: Frame = {"": np.arange(150), **_iris_frame()}
    return Made(write_text(folder / "iris_index.csv", frame))


def _iris_species(folder: Path, _: np.random.Generator) -> Made:
    frame: Frame = {**_iris_frame(), "Species": _species()}
    return Made(write_text(folder / "iris_species.csv", frame))


def _wine(folder: Path, _: np.random.Generator) -> Made:
    table = datasets.load_wine()
    frame: Frame = {**dict(zip(WINE, table.data.T, strict=True)), "cultivar": [f"class_{at}" for at in table.target]}
    return Made(write_text(folder / "wine.csv", frame))


def _copied(name: str, source: str) -> Make:
    def make(folder: Path, _: np.random.Generator) -> Made:
        return Made(Path(shutil.copyfile(ROOT / source, folder / name)))

    return make


def _banknote(folder: Path, _: np.random.Generator) -> Made:
    cells = np.loadtxt(ROOT / "tests/data/banknote.csv", delimiter=",", skiprows=1)
    return Made(write_arrow(folder / "banknote.parquet", pa.table(dict(zip(BANKNOTE, cells.T, strict=True)))))


def _diabetes(folder: Path, _: np.random.Generator) -> Made:
    table = datasets.load_diabetes(scaled=False)
    frame = dict(zip(table.feature_names, table.data.T, strict=True))
    return Made(write_text(folder / "diabetes.csv", {**frame, "progression": table.target.astype(int)}))


def _cancer_column(name: str) -> Column:
    roles = (NUMBER, NEAR_COPY) if any(size in name and "error" not in name for size in SIZES) else (NUMBER,)
    return column(name, *roles)


CASES = (
    Case(
        "breast_cancer",
        "thirty measurements and a 0/1 target",
        _breast_cancer,
        (*map(_cancer_column, CANCER), column("target", YES_NO)),
        Facts(569, components=SEVERAL, models=MIXED),
    ),
    Case(
        "iris_index",
        "pandas' index as the first column, without a name",
        _iris_index,
        (column("", ROW_NUMBER, IDENTIFIER, named=ANY), *numbers(*IRIS)),
        Facts(150, some(2, 3), real=SOME, models=GAUSSIANS),
        third=True,
    ),
    Case(
        "iris_species",
        "a category of three words beside four measurements",
        _iris_species,
        (*numbers(*IRIS), column("Species", CATEGORY)),
        Facts(150, some(2, 3), real=SOME, models=MIXED),
    ),
    Case(
        "iris_label",
        "--label: groups are found without it, and set against it",
        _iris_species,
        (*numbers(*IRIS), column("Species", LABEL)),
        Facts(150, some(2, 3), real=SOME, models=GAUSSIANS, page_says=("Species", "virginica")),
        flags=("--label", "Species"),
        third=True,
    ),
    Case(
        "wine",
        "thirteen measurements in units of all sizes, --label",
        _wine,
        (
            *(column(name, *(WHOLE if name in ("magnesium", "proline") else (NUMBER,))) for name in WINE),
            column("cultivar", LABEL),
        ),
        Facts(178, some(2, 3, 4), real=SOME),
        flags=("--label", "cultivar"),
    ),
    Case(
        "faithful",
        "two groups that all agree on",
        _copied("faithful.csv", "examples/data/faithful.csv"),
        (column("eruptions", NUMBER), column("waiting", *WHOLE)),
        Facts(272, some(2), real=frozenset({YES}), models=GAUSSIANS | MIXED),
        third=True,
    ),
    Case(
        "banknote",
        "Parquet; genuine and counterfeit notes",
        _banknote,
        numbers(*BANKNOTE),
        Facts(200, some(2, 3, 4), real=SOME, models=GAUSSIANS),
    ),
    Case(
        "diabetes",
        "sex as 1.0 and 2.0 among measurements",
        _diabetes,
        (
            column("age", *WHOLE),
            column("sex", *TWO, *CODE),
            *numbers("bmi", "bp"),
            column("s1", *WHOLE),
            *numbers("s2", "s3", "s4", "s5"),
            column("s6", *WHOLE),
            column("progression", *WHOLE),
        ),
        Facts(442, models=MIXED),
    ),
    Case(
        "speed",
        "two columns of two words beside reaction times",
        _copied("speed.csv", "tests/data/speed.csv"),
        (column("rt", NUMBER), column("corr", *TWO), column("Pacc", NUMBER), column("prev", *TWO)),
        Facts(439, models=MIXED),
    ),
    Case(
        "sp500",
        "months as 1950-02: a date makes a series",
        _copied("sp500.csv", "examples/data/sp500.csv"),
        (column("month", DATE, TIME), *numbers("close", "log_return")),
        Facts(744, models=OVER_TIME, page_says=("regime",)),
    ),
    Case(
        "fedfunds",
        "one column, no header, numbers as 1.03e+00",
        _copied("fedfunds.csv", "tests/data/fedfunds.csv"),
        (column("", NUMBER, named=ANY),),
        Facts(226, models=OVER_TIME),
    ),
    Case(
        "earthquakes",
        "one column of counts, no header",
        _copied("earthquakes.csv", "tests/data/earthquakes.csv"),
        (column("", COUNT, NUMBER, named=ANY),),
        Facts(107),
    ),
)
