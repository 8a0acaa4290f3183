"""The theory page is true: its table of what goes together, its promises, and the pictures, which the code can draw."""

from __future__ import annotations

import importlib.util
import re
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from unveil.estimation.registry import EXPECTATIONS, SCHEDULES, lookup
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian
from unveil.mixtures.model.model import Mixture

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "theory.md").read_text(encoding="utf-8")
MODEL = Mixture(Gaussian(Full(), 0.0), 2, np.zeros(2))
WORDS = {
    "posterior": "needs the posterior",
    "draws": "draws it anew",
    "lists": "lists were drawn up",
    "may fall": "may fall",
}
PASSES = 12


@pytest.fixture(scope="module")
def figures() -> Any:
    """The script that draws, as a module."""
    spec = importlib.util.spec_from_file_location("figures", DOCS / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    made: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["figures"] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


def allowed() -> dict[tuple[str, str], str]:
    """What the table of the page says of each schedule with each expectation."""
    lines = PAGE.split("\n## What goes with what\n")[1].split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {(row[0], column): said for row in cells[2:] for column, said in zip(cells[0][1:], row[1:], strict=True)}


TABLE = allowed()


def test_the_table_has_every_pair() -> None:
    assert set(TABLE) == set(product(SCHEDULES, EXPECTATIONS))


@pytest.mark.parametrize(("schedule", "expectation"), sorted(TABLE))
def test_the_table_says_what_is_refused_and_why(schedule: str, expectation: str) -> None:
    reason = lookup(SCHEDULES[schedule])().refuse(MODEL, lookup(EXPECTATIONS[expectation])())
    said = TABLE[schedule, expectation]
    if said == "yes":
        assert reason is None
    else:
        assert WORDS[said.removeprefix("no: ")] in reason


@pytest.mark.parametrize(("table", "word"), [(t, w) for t in (SCHEDULES, EXPECTATIONS) for w in t])
def test_each_variant_has_a_chapter_that_promises_what_the_code_does(table: dict[str, str], word: str) -> None:
    heading = {"lbfgs": "L-BFGS", "squarem": "SQUAREM"}.get(word, word.capitalize())
    chapter = PAGE.split(f"\n### {heading}\n")[1].split("\n#")[0]
    prose = " ".join(line for line in chapter.splitlines() if not line.startswith("    "))  # ** is a power there
    promises = " ".join(re.findall(r"\*\*(.*?)\*\*", prose))
    assert ("Not monotone" not in promises and "may fall" not in promises) == lookup(table[word])().monotone
    assert "onotone" in promises or "may fall" in promises
    assert f"(images/theory-{word}.svg)" in chapter
    assert "```python" in chapter


def test_the_script_draws_all_pictures_of_the_page(figures: Any, tmp_path: Path) -> None:
    figures.draw_all(tmp_path, n_rows=1024, passes=PASSES, limit=PASSES)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == set(re.findall(r"images/(theory-[\w-]+\.svg)", PAGE))
    assert drawn == {path.name for path in (DOCS / "images").glob("theory-*")}
    for path in tmp_path.iterdir():
        words = " ".join(ElementTree.parse(path).getroot().itertext())
        assert "column" in words or "nats per row" in words
        assert "nan" not in path.read_text(encoding="utf-8").replace("nats", "")


def test_climbs_count_passes_and_keep_the_promises(figures: Any) -> None:
    given = figures.problem(2048)
    for schedule in figures.SCHEDULES.values():
        one = figures.climb(given, figures.Exact(), schedule, PASSES)
        assert np.all(np.diff(one.passes) >= 0)
        assert PASSES <= one.passes[-1] <= PASSES + 20  # a last line search may take some more
        if schedule.monotone:
            assert np.all(np.diff(one.free_energy) >= -1e-12)
    for expectation in figures.EXPECTATIONS.values():
        one = figures.climb(given, expectation, figures.Batch(), PASSES)
        np.testing.assert_array_equal(one.passes, np.arange(1, PASSES + 1))
        assert np.all(one.free_energy <= one.log_likelihood + 1e-12)
