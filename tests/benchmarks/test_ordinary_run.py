"""One tiny cell of everything, in this process and with a clock that says what it is told."""

from __future__ import annotations

import csv
import importlib
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import unveil
from benchmarks import __main__ as command
from benchmarks import startup, startup_child
from benchmarks.cases import Entry
from benchmarks.contenders import mclust
from benchmarks.contenders.interface import Order
from benchmarks.lane import UnavailableError, reason
from benchmarks.ordinary import grid, section, turns
from benchmarks.ordinary.grid import Grid, Shape
from benchmarks.ordinary.turns import Contender, Pace, take_turns

ONCE = Pace(rounds=1, least=1)


class Here:
    """Stands for a process: the work is done here, a call of unveil takes 10 ms, of anybody else 30 ms."""

    def __init__(self, module: str, task: str, options: dict[str, Any], folder: Path) -> None:
        self.module, self.task, self.options = module, task, options
        self.seconds = 0.01 if str(options.get("path")).startswith("unveil:") else 0.03

    def ready(self) -> None:
        try:
            contender = importlib.import_module(f"benchmarks.contenders.{self.module}")
            self.work = getattr(contender, self.task)({}, **self.options)
        except Exception as error:
            raise UnavailableError(reason(error)) from None

    def run(self, order: Order, settle: float) -> tuple[float, dict[str, Any]]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = dict(self.work(order))
        except Exception as error:
            raise UnavailableError(reason(error)) from None
        return self.seconds * order.calls, found

    def close(self) -> None: ...


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Grid:
    """One shape, no processes, and unveil in the place of libraries that need not be installed."""
    monkeypatch.setattr(turns, "Lane", Here)
    monkeypatch.setattr(grid, "SHAPES", (Shape(60, 4, 3),))
    monkeypatch.setattr(mclust, "version_in_r", lambda package: mclust.MISSING)
    names = ("GaussianHMM", "CategoricalHMM", "PoissonHMM")
    stand_in = SimpleNamespace(**{name: getattr(unveil, name) for name in names})
    monkeypatch.setitem(sys.modules, "hmmlearn.hmm", stand_in)
    monkeypatch.setitem(sys.modules, "kmedoids", SimpleNamespace(KMedoids=unveil.KMedoids))
    return Grid(seeds=1, first_kinds=1)


def tables(text: str) -> dict[str, list[dict[str, str]]]:
    """Rows of the first table below each heading."""
    found = {}
    for part in text.split("\n## ")[-1].split("\n### "):
        lines = [line for line in part.split("\n") if line.startswith("|")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        width = len(cells[0])
        rows = [row for row in cells[2:] if len(row) == width]
        found[part.split("\n")[0].strip("# ")] = [dict(zip(cells[0], row, strict=True)) for row in rows]
    return found


def test_a_peer_that_fails_is_named_and_the_next_cell_is_run(tiny: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    class Moody(unveil.KMedoids):
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
            if self.random_state == 0:
                raise ValueError("not today")
            return super().fit(X)

    monkeypatch.setitem(sys.modules, "kmedoids", SimpleNamespace(KMedoids=Moody))
    text = section.section(("KMedoids",), Grid(seeds=2, first_kinds=1), ONCE, None, lambda line: None)
    (row,) = tables(text)["ordinary"]
    assert (row["ratios"], row["mark reached"]) == ("1", "2 of 2")
    assert "- blobs, 60 x 4, K=3, seed 0: kmedoids (Rust) failed: ValueError: not today" in text


def test_every_estimator_is_measured_and_judged(tiny: Grid, tmp_path: Path) -> None:
    said: list[str] = []
    text = section.section((), tiny, ONCE, tmp_path / "cells.csv", said.append)
    found = tables(text)
    assert list(found) == ["ordinary", *section.NAMES]
    fits = [row for row in found["ordinary"] if row["what"] == "fit" and row["peer"] != "mclust (R)"]
    assert [row["estimator"] for row in fits] == list(section.NAMES)
    assert {row["geometric mean"] for row in fits} == {"3.00"}
    chains = [row for row in fits if row["estimator"].endswith("HMM")]
    assert [row["mark reached"] for row in chains] == ["2 of 2"] * 3  # one sequence and ten, and the same on both sides
    assert "mclust (R) is not available: RuntimeError: R's package mclust is not installed" in text
    whats = [row["what"] for row in found["ordinary"] if row["estimator"] == "GaussianMixture"]
    assert whats[:3] == ["fit", "predict, all rows", "predict, one row"]
    assert found["GaussianMixture"][0]["mark reached"] == "1 of 1"
    assert float(found["KMeans"][0]["unveil's ARI"]) > 0.9
    with (tmp_path / "cells.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["estimator"] for row in rows} == set(section.NAMES)
    assert all(float(row["ratio"]) == pytest.approx(3.0) for row in rows)
    assert said[0] == "ordinary: GaussianMixture, blobs, 60 x 4, K=3, seed 0"


def test_short_calls_come_in_bursts_and_long_ones_are_few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, list[int]] = {"quick": [], "slow": [], "endless": []}
    times = {"quick": 0.002, "slow": 0.7, "endless": 40.0}

    class Clock:
        def __init__(self, module: str, *_: Any) -> None:
            self.module = module

        def ready(self) -> None: ...

        def close(self) -> None: ...

        def run(self, order: Order, settle: float) -> tuple[float, dict[str, Any]]:
            asked[self.module].append(order.calls)
            return times[self.module] * order.calls, {}

    monkeypatch.setattr(turns, "Lane", Clock)
    contenders = [Contender(Entry(name, name), tmp_path) for name in times]
    found = take_turns(contenders, Order("fit"), Pace())
    assert asked == {"quick": [1, 10, 10, 10, 10], "slow": [1, 1], "endless": [1]}
    assert {label: turn.seconds for label, turn in found.items()} == pytest.approx(times)


def test_mclust_is_read_and_predicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = np.array([[0.0, 0.0], [9.0, 9.0]])
    for name, array in {"rows": rows, "k": np.array(2)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    numbers = [0.5, 0.5, 0, 0, 9, 9, 1, 0, 0, 1, 1, 0, 0, 1]
    asked: list[Any] = []
    monkeypatch.setattr(mclust, "version_in_r", lambda package: "6.1")
    monkeypatch.setattr(
        mclust.r_process, "started", lambda script, sizes, table: asked.append(sizes) or SimpleNamespace()
    )
    monkeypatch.setattr(mclust.r_process, "ask", lambda *words: " ".join(map(str, numbers)))
    work = mclust.whole({})
    work(Order("load", tmp_path))
    assert asked == [["2", "2", "2"]]
    np.testing.assert_array_equal(work(Order("fit"))["means"], rows)
    assert work(Order("predict", keep=True))["found"].tolist() == [0, 1]


def test_first_use_knows_every_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    public = {name for name in unveil.__all__ if hasattr(getattr(unveil, name), "fit")}
    assert set(startup_child.USES) == public
    monkeypatch.setattr(startup, "first_use", lambda name, n_rows, n_columns, n_groups: 2.0)
    rows = startup.first_use_rows(("KMedoids", "KMeans"), False, lambda line: None)
    assert ["KMedoids", "4,000 x 8, K 3", "2 s", "4 s"] in rows
    assert [row[1] for row in rows if row[0] == "KMeans"] == ["150 x 4, K 3", "20,000 x 8, K 3", "20,000 x 8, K 50"]


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "MixedMixture", "CategoricalHMM"])
def test_first_use_fits(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert startup_child.first_fit(name, 60, 4) > 0


def test_options_are_checked_and_narrow_the_grid(capsys: pytest.CaptureFixture[str]) -> None:
    options = command._parse(["ordinary", "--only", "KMeans", "PCA", "--kinds", "blobs", "--seeds", "1"])
    assert options.only == ["KMeans", "PCA"]
    assert command._grid(options) == Grid(seeds=1, kinds=("blobs",))
    assert command._narrowed(options)
    assert not command._narrowed(command._parse([]))
    with pytest.raises(SystemExit):
        command._parse(["ordinary", "--kinds", "nothing"])
    assert "--kinds must be one of blobs" in capsys.readouterr().err
