"""Contenders that start at the same place and make the same steps end at the same place."""

from __future__ import annotations

import io
import subprocess
import warnings
from typing import Any

import numpy as np
import pytest

from benchmarks.contenders import mclust, scikit_learn, unveil
from benchmarks.tasks.base import difference
from benchmarks.tasks.bernoulli import Bernoulli
from benchmarks.tasks.diagonal import Diagonal
from benchmarks.tasks.missing import Missing
from benchmarks.tasks.mixture import Mixture


def quality(task: Any, run: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task.quality(task.arrays(), run(4))


def test_diagonal_agrees_with_scikit_learn() -> None:
    task = Diagonal(2000, 4, 3)
    ours, theirs = (quality(task, module.diagonal(task.arrays())) for module in (unveil, scikit_learn))
    assert difference(ours, theirs) < 1e-12


def test_bernoulli_makes_the_steps_of_plain_em() -> None:
    task = Bernoulli(1000, 6, 3)
    arrays = task.arrays()
    rows, found = arrays["rows"], arrays
    for _ in range(4):
        joint = np.exp(task.log_joint(rows, found))
        shares = joint / joint.sum(axis=0)
        found = {"weights": shares.mean(axis=1), "probabilities": shares @ rows / shares.sum(axis=1)[:, None]}
    assert difference(quality(task, unveil.bernoulli(arrays)), task.quality(arrays, found)) < 1e-12


def test_missing_cells_lead_near_the_complete_fit() -> None:
    task = Missing(4000, 4, 3)
    arrays = task.arrays()
    holes, complete = quality(task, unveil.missing(arrays)), quality(task, unveil.missing(arrays, "rows"))
    assert 0 < difference(holes, complete) < 0.02
    same = quality(task, unveil.mixture(arrays))
    assert difference(complete, same) == 0


class Echo:
    """Stands for R: one answer for every line, and a record of what was asked."""

    def __init__(self, *lines: str) -> None:
        self.stdin, self.stdout = io.StringIO(), io.StringIO("".join(lines))


def test_mclust_reads_the_numbers_of_r(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = Diagonal(20, 2, 2).arrays()
    numbers = [0.25, 0.75, *range(1, 5), 6, 0, 0, 7, 8, 0, 0, 9]
    echo = Echo("ready\n", " ".join(map(str, numbers)) + "\n")
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: called.append(command) or echo)
    found = mclust.diagonal(arrays)(5)
    assert called[0][3:7] == ["VVI", "20", "2", "2"]
    assert echo.stdin.getvalue() == "5\n"
    np.testing.assert_array_equal(found["means"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(found["covariances"], [[6, 7], [8, 9]])


def test_mclust_without_r_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: Echo())
    with pytest.raises(RuntimeError, match="mclust"):
        mclust.mixture(Mixture(20, 2, 2).arrays())
