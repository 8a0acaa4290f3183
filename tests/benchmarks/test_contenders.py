"""Contenders that start at the same place and make the same steps end at the same place."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.contenders import mclust, princurve, scikit_learn, unveil
from benchmarks.tasks.base import difference
from benchmarks.tasks.bernoulli import Bernoulli
from benchmarks.tasks.components import Sparse, Wide
from benchmarks.tasks.curve import Curve
from benchmarks.tasks.diagonal import Diagonal
from benchmarks.tasks.discriminant import Discriminant
from benchmarks.tasks.factors import Factors
from benchmarks.tasks.kernel import Kernel
from benchmarks.tasks.kmeans import KMeans, uniform_noise
from benchmarks.tasks.medoids import Medoids
from benchmarks.tasks.missing import Missing
from benchmarks.tasks.mixture import Mixture
from benchmarks.tasks.seeding import Seeding
from benchmarks.tasks.sources import Sources


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


def test_kmeans_agrees_with_scikit_learn() -> None:
    task = KMeans(uniform_noise, 2000, 3, 10)
    ours, theirs = unveil.kmeans(task.arrays()), scikit_learn.kmeans(task.arrays(), "lloyd")
    assert difference(quality(task, ours), quality(task, theirs)) < 1e-12


def test_seeds_are_rows_and_cost_about_the_same() -> None:
    task = Seeding(2000, 4, 8, n_seeds=20)
    runs = [module.seeding(task.arrays())(20) for module in (unveil, scikit_learn)]
    assert all(len({*seeds}) == 8 for found in runs for seeds in found["seeds"])
    ours, theirs = (task.quality(task.arrays(), found) for found in runs)
    assert difference(ours, theirs) < 0.05


def test_medoids_end_where_no_swap_helps() -> None:
    task = Medoids(80, 3, 4)
    arrays = task.arrays()
    found = unveil.medoids(arrays)(100)
    best = task.quality(arrays, found)[0]
    others = (np.r_[np.delete(found["medoids"], out), into] for out in range(4) for into in range(80))
    assert all(task.quality(arrays, {"medoids": tried})[0] >= best - 1e-9 for tried in others)
    assert best < task.quality(arrays, arrays)[0]


def test_kernel_ends_where_every_row_is_nearest_its_own() -> None:
    task = Kernel(200, 2, 3)
    arrays = task.arrays()
    labels = unveil.kernel(arrays)(100)["labels"]
    kernel = rbf_kernel(arrays["rows"], gamma=arrays["gamma"])
    members = np.eye(3)[labels] / np.bincount(labels, minlength=3)
    distances = np.diagonal(members.T @ kernel @ members) - 2.0 * kernel @ members
    np.testing.assert_array_equal(distances.argmin(axis=1), labels)


def test_kmedoids_gets_the_start_and_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def fasterpam(distances: Any, medoids: Any, **options: Any) -> Any:
        asked.append(options | {"medoids": medoids})
        return SimpleNamespace(medoids=medoids, n_iter=2)

    arrays = Medoids(20, 2, 3).arrays()
    module = imported(monkeypatch, "kmedoids", kmedoids=SimpleNamespace(fasterpam=fasterpam))
    for threads in (False, True):
        found = module.medoids(arrays, threads)(7)
        np.testing.assert_array_equal(found["medoids"], arrays["medoids"])
    assert (asked[0]["n_cpu"], asked[0]["max_iter"]) == (1, 7)
    assert "random_state" not in asked[0]
    assert asked[1]["random_state"] == 0


def test_tslearn_gets_the_kernel_and_the_seed_of_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Fake:
        labels_, n_iter_ = [0, 1], 3

        def __init__(self, k: int, **options: Any) -> None:
            asked.update(options, k=k)

        def fit(self, rows: Any) -> Fake:
            return self

    clustering = SimpleNamespace(KernelKMeans=Fake)
    module = imported(monkeypatch, "tslearn", **{"tslearn": SimpleNamespace(), "tslearn.clustering": clustering})
    arrays = Kernel(20, 4, 2, seed=5).arrays()
    assert module.kernel(arrays)(9)["passes"] == 3
    assert asked["kernel_params"] == {"gamma": 0.25}
    assert (asked["k"], asked["max_iter"], asked["n_init"]) == (2, 9, 1)
    np.testing.assert_array_equal(np.random.RandomState(asked["random_state"]).randint(2, size=20), arrays["labels"])


def imported(monkeypatch: pytest.MonkeyPatch, name: str, **modules: Any) -> Any:
    """A contender's file with stand-ins for its library, which need not be installed."""
    for module, stand_in in modules.items():
        monkeypatch.setitem(sys.modules, module, stand_in)
    monkeypatch.delitem(sys.modules, f"benchmarks.contenders.{name}", raising=False)
    return importlib.import_module(f"benchmarks.contenders.{name}")


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


def test_princurve_reads_the_file_of_r(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arrays, projected = {"rows": np.zeros((3, 2))}, np.arange(6.0).reshape(3, 2)
    projected.ravel(order="F").tofile(tmp_path / "answer")
    echo = Echo("ready\n", f"4 {tmp_path / 'answer'} \n")
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: called.append(command) or echo)
    found = princurve.curve(arrays)(1)
    assert called[0][3:5] == ["3", "2"]
    assert int(found["passes"]) == 4
    np.testing.assert_array_equal(found["projected"], projected)


@pytest.mark.parametrize("name", ["discriminant", "wide", "sparse", "sources", "factors", "curve"])
def test_unveil_takes_part_in_every_race_of_projections(name: str) -> None:
    task = {
        "discriminant": Discriminant(300, 4, 3),
        "wide": Wide(200, 30, 2),
        "sparse": Sparse(300, 50, 2, share=0.1),
        "sources": Sources(2000, 3),
        "factors": Factors(200, 6, 2),
        "curve": Curve(200, 3),
    }[name]
    arrays = task.arrays()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a curve stops at its limit is meant
        found = getattr(unveil, name)(arrays)(1)
    assert np.isfinite(task.quality(arrays, found)).all()
