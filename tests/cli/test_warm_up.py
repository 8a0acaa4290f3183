"""Compiled ahead: the process after a warm-up compiles nothing, and one that kept nothing says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil.cli import warm_up
from unveil.cli.models import ModelName
from unveil.cli.rows import made_up
from unveil.numerics import code_cache, softmax

COMMAND = "from unveil.cli import main; main()"
FIRST_USE = """
import numpy as np, unveil
from unveil.numerics import code_cache
rows = np.random.default_rng(1).standard_normal((300, 5))
for table in rows, rows.astype(np.float32):
    unveil.KernelKMeans(2, random_state=0).fit(table).predict(table[:7])
print(sum(cache.kept + cache.lost for cache in code_cache.made))
"""


def started(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", *command], capture_output=True, text=True, timeout=300, env=environment
    )


def test_every_model_is_used_by_default(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[ModelName] = []
    monkeypatch.setattr(warm_up, "_check_folder", lambda kept: None)
    monkeypatch.setattr(warm_up, "_use", used.append)
    assert run("warm-up").exit_code == 0
    assert used == list(ModelName)


def test_the_process_after_it_compiles_nothing(tmp_path: Path) -> None:
    warmed = started(tmp_path, COMMAND, "warm-up", "kernel-kmeans")
    assert (warmed.returncode, warmed.stderr) == (0, "")
    assert warmed.stdout.startswith("1 model is ready: ")
    assert str(tmp_path) in warmed.stdout
    assert started(tmp_path, FIRST_USE).stdout == "0\n"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    ran = started(place, COMMAND, "warm-up", "pca")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"unveil: error: {place}, which NUMBA_CACHE_DIR names")


def test_no_folder_at_all_is_an_error(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(softmax.soft_assign, "_cache", object())
    ran = run("warm-up", "pca")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert "no folder for compiled code can be written" in ran.stderr


def test_a_disk_that_fills_is_an_error(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "_check_folder", lambda kept: None)
    monkeypatch.setattr(warm_up, "_use", lambda model: None)
    monkeypatch.setattr(code_cache.made[0], "lost", 3)
    ran = run("warm-up", "pca", "pca")
    assert ran.exit_code == 1
    assert "1 model is ready" in ran.stdout
    assert "3 kernels could not be kept" in ran.stderr


@pytest.mark.parametrize("model", ModelName)
@pytest.mark.filterwarnings("ignore")
def test_every_model_takes_what_is_made_up_for_it(model: ModelName) -> None:
    make = getattr(unveil, model.kind.estimator)
    for settings in warm_up._settings(model):
        for rows, further in made_up.tables_for(model.kind, made_up.TableShape(60, 4, 3)):
            fitted = make(**settings, **warm_up._size(model, 3)).fit(rows, **further)
            warm_up._ask(fitted, rows)
            assert hasattr(fitted, "n_features_in_") or model.kind.text
