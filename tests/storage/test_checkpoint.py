"""A fit that is ended at any moment and begun again ends in the bits of one that nobody disturbed.

Here fits are ended from within, at a pass that chance chooses; `benchmarks.soak_checkpoints` kills processes.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import unveil
from unveil.cli.app import app
from unveil.core import checkpoint as core
from unveil.core.checkpoint import CheckpointError, notebook
from unveil.engines.threads import Threads
from unveil.expectations import Sparse
from unveil.storage import checkpoint as storage

random = np.random.default_rng(0)
X = random.normal(size=(20_000, 3)) + 1.5 * random.integers(0, 4, size=(20_000, 1))
FEW = X[:400]
WORDS = [" ".join(random.choice(list("abc"), size=random.integers(2, 6))) for _ in range(60)]
HOLES = np.where(random.random(X.shape) < 0.1, np.nan, X)


class Killed(BaseException):
    """As if the process had ended."""


@pytest.fixture
def patient(monkeypatch):
    """Notes are taken of what takes no time, too."""
    monkeypatch.setattr(core, "LONG_ENOUGH", 0.0)


@contextmanager
def counted(monkeypatch: Any, most: float = np.inf):
    """Calls of the engine, the last of which is never answered."""
    calls = [0]
    with monkeypatch.context() as patch:
        for name in ("map_reduce", "map"):
            patch.setattr(Threads, name, _limited(getattr(Threads, name), calls, most))
        yield calls


def _limited(function: Callable[..., Any], calls: list[int], most: float) -> Callable[..., Any]:
    def limited(*args: Any, **given: Any) -> Any:
        calls[0] += 1
        if calls[0] > most:
            raise Killed
        return function(*args, **given)

    return limited


def bits(model: Any) -> dict[str, Any]:
    """All that a fit left behind but the time it took."""
    found = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "certificate_"}
    if "history_" in found:
        history = found.pop("history_")
        found["path"] = [record._replace(seconds=0.0) for record in history], history.restarts, history.events
    return {name: value.tobytes() if isinstance(value, np.ndarray) else repr(value) for name, value in found.items()}


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "auto": (lambda: unveil.GaussianMixture(3, n_init=2, max_iter=30, random_state=0), X),
    "incremental": (lambda: unveil.GaussianMixture(3, max_iter=6, schedule="incremental", random_state=0), X),
    "stepwise": (lambda: unveil.GaussianMixture(3, max_iter=6, schedule="stepwise", random_state=0), X),
    "lbfgs": (lambda: unveil.GaussianMixture(3, max_iter=9, schedule="lbfgs", random_state=0), X),
    "sparse": (lambda: unveil.GaussianMixture(4, max_iter=16, expectation=Sparse(2, 4), random_state=0), X),
    "sampled": (lambda: unveil.GaussianMixture(3, max_iter=9, expectation="sampled", random_state=0), X),
    "bounds": (lambda: unveil.KMeans(9, n_init=2, algorithm="elkan", max_iter=20, random_state=0), X),
    "seeding": (lambda: unveil.KMeans(9, n_init=2, init="k-means||", random_state=0), X),
    "holes": (lambda: unveil.FactorAnalysis(2, max_iter=12), HOLES),
    "map": (lambda: unveil.GenerativeTopographicMap(max_iter=8, random_state=0), X),
    "sources": (lambda: unveil.ICA(3, algorithm="parallel", max_iter=12, tol=1e-300, random_state=0), X),
    "curve": (lambda: unveil.PrincipalCurve(max_iter=4), X[:2000]),
    "robust": (lambda: unveil.PCA(2, robust=True, random_state=0), X),
    "kernel": (lambda: unveil.KernelKMeans(3, n_init=2, random_state=0), FEW),
    "samples": (lambda: unveil.KMedoids(3, method="clara", random_state=0), X),
    "grammar": (lambda: unveil.PCFG(n_nonterminals=2, max_iter=6, random_state=0), WORDS),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_every_loop_goes_on_where_it_was(name, patient, monkeypatch, tmp_path):
    make, data = CASES[name]
    path = tmp_path / "night.ckpt"
    with counted(monkeypatch) as calls:
        alone = make().fit(data)
    total, made = calls[0], 0
    least = max(total // 2, 8)
    for most in (least, least, np.inf):
        with counted(monkeypatch, most) as calls, suppress(Killed):
            with unveil.checkpoint(path, every=0):
                again = make().fit(data)
            break
        made += calls[0]
    made += calls[0]
    assert bits(again) == bits(alone)
    assert not path.exists()
    assert made < total + 2 * least or total <= least  # it was resumed, not begun anew


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (lambda: unveil.GaussianMixture(3, n_init=3, random_state=0), FEW),
        (lambda: unveil.KMeans(5, n_init=5, random_state=0), FEW),
        (lambda: unveil.KMedoids(4, n_init=3, random_state=0), FEW),
        (lambda: unveil.KMedoids(4, random_state=0), FEW),
        (lambda: unveil.GaussianHMM(2, n_init=2, max_iter=20, random_state=0), FEW),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_kept_of_compiled_climbs_is_what_they_gave(make, data, patient, tmp_path):
    path = tmp_path / "night.ckpt"
    alone = make().fit(data)
    for _ in range(2):
        with unveil.checkpoint(path, every=0, keep=True):
            again = make().fit(data)
            assert all(note.ended for note in notebook().notes.values())
            assert notebook().notes
        assert bits(again) == bits(alone)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_selection_and_several_fits_are_resumed(patient, monkeypatch, tmp_path):
    path = tmp_path / "night.ckpt"

    def work() -> list[Any]:
        first = unveil.GaussianMixture(2, max_iter=5, tol=0.0, random_state=0).fit(X)
        best = unveil.select(unveil.GaussianMixture(max_iter=5, random_state=0), X, {"n_components": [1, 2]})
        table = [{name: value for name, value in row.items() if name != "seconds"} for row in best.table]
        return [bits(first), table, bits(best.best_estimator_)]

    with counted(monkeypatch) as calls:
        alone = work()
    total = calls[0]
    with counted(monkeypatch, total // 2), suppress(Killed), unveil.checkpoint(path, every=0):
        work()
    with counted(monkeypatch) as calls, unveil.checkpoint(path, every=0):
        assert work() == alone
    assert calls[0] < total


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_seed_left_to_chance_is_kept(patient, tmp_path):
    path, found = tmp_path / "night.ckpt", []
    for _ in range(2):
        with unveil.checkpoint(path, every=0, keep=True):
            model = unveil.GaussianMixture(3, init_params="random", max_iter=3, tol=0.0)
            found.append(bits(model.fit(X)))
    assert found[0] == found[1]


def begun(path: Any, **options: Any) -> None:
    """A checkpoint of a fit that was ended."""
    with suppress(Killed), unveil.checkpoint(path, every=0), unveil.watch(_after(4)):
        unveil.GaussianMixture(**{"n_components": 3, "random_state": 0, **options}).fit(X)


def _after(passes: int, error: type[BaseException] = Killed) -> Callable[[Any], None]:
    def end(state: Any) -> None:
        if state.iteration >= passes:
            raise error

    return end


def test_what_differs_is_named(patient, tmp_path, monkeypatch):
    path = tmp_path / "night.ckpt"
    begun(path)
    before = path.read_bytes()
    other = X.copy()
    other[7, 1] += 1e-9
    changes = {
        "n_components was 3 and is 4": lambda: unveil.GaussianMixture(4, random_state=0).fit(X),
        "tol was 'auto' and is 0.1": lambda: unveil.GaussianMixture(3, tol=0.1, random_state=0).fit(X),
        "estimator was GaussianMixture and is KMeans": lambda: unveil.KMeans(3, random_state=0).fit(X),
        "X was ndarray float64 20000 x 3": lambda: unveil.GaussianMixture(3, random_state=0).fit(other),
        "sample_weight was not given": lambda: unveil.GaussianMixture(3, random_state=0).fit(X, None, X[:, 0] ** 2),
    }
    for words, fit in changes.items():
        with pytest.raises(CheckpointError, match=r"night\.ckpt.*of other work") as caught, unveil.checkpoint(path):
            fit()
        assert words in str(caught.value)
        assert path.read_bytes() == before
    monkeypatch.setattr(unveil, "__version__", "9.9.9")
    with pytest.raises(CheckpointError, match=r"by unveil 0\.1\.0, and this is unveil 9\.9\.9"):
        begun(path)
    assert path.read_bytes() == before


def test_engine_and_log_may_differ(patient, tmp_path):
    path = tmp_path / "night.ckpt"
    begun(path)
    alone = unveil.GaussianMixture(3, random_state=0).fit(X)
    with unveil.checkpoint(path, every=0):
        again = unveil.GaussianMixture(3, random_state=0, engine=Threads(1)).fit(X)
    assert bits(again) == bits(alone)


def test_a_damaged_file_gives_one_error(patient, tmp_path):
    path = tmp_path / "night.ckpt"
    begun(path)
    whole = path.read_bytes()
    draw = np.random.default_rng(1)
    damaged = [b"", whole[:9], whole[: len(whole) // 2], whole + b"x"]
    for _ in range(40):
        place = int(draw.integers(len(whole)))
        damaged.append(whole[:place] + bytes([whole[place] ^ (1 << int(draw.integers(8)))]) + whole[place + 1 :])
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match=r"night\.ckpt"), unveil.checkpoint(path):
            pass
        assert path.read_bytes() == data
    unveil.KMeans(2, random_state=0).fit(FEW).save(path)
    with pytest.raises(CheckpointError, match="is a model file"), unveil.checkpoint(path):
        pass


def test_interruption_keeps_the_best_so_far_and_the_file(patient, tmp_path):
    path = tmp_path / "night.ckpt"

    def make() -> Any:
        return unveil.GaussianMixture(3, n_init=2, random_state=0)

    alone = make().fit(X)
    ending = unveil.watch(_after(4, KeyboardInterrupt))
    with pytest.warns(UserWarning, match="interrupted"), unveil.checkpoint(path), ending:
        ended = make().fit(X)
    assert not ended.converged_
    assert path.exists()
    with unveil.checkpoint(path, every=60):
        again = make().fit(X)
    assert bits(again) == bits(alone)


def test_a_full_disk_is_said_and_changes_nothing(patient, monkeypatch, tmp_path, caplog):
    path = tmp_path / "night.ckpt"
    begun(path)
    before, write, failing = path.read_bytes(), storage.write, [True]

    def full(*args: Any) -> None:
        if failing[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*args)

    monkeypatch.setattr(storage, "write", full)
    alone = unveil.GaussianMixture(3, random_state=0).fit(X)
    with suppress(Killed), unveil.checkpoint(path, every=0), unveil.watch(_after(9)):
        unveil.GaussianMixture(3, random_state=0).fit(X)
    assert path.read_bytes() == before
    assert sum("cannot be written" in record.message for record in caplog.records) == 1
    failing[0] = False
    with unveil.checkpoint(path, every=0):
        again = unveil.GaussianMixture(3, random_state=0).fit(X)
    assert bits(again) == bits(alone)


def test_sigterm_writes_the_file_and_ends_the_program(tmp_path):
    script = textwrap.dedent(
        """
        import os, signal, sys
        import numpy as np, unveil
        X = np.load("rows.npy")
        options = {"init_params": "random", "schedule": "stepwise", "max_iter": 9, "random_state": 0}
        def end(state):
            if state.iteration == 2 and len(sys.argv) > 1:
                os.kill(os.getpid(), signal.SIGTERM)
        with unveil.checkpoint("night.ckpt"), unveil.watch(end):
            model = unveil.GaussianMixture(3, **options).fit(X)
        print(model.means_.tobytes().hex())
        """
    )
    command = [sys.executable, "-W", "ignore", "-c", script]
    np.save(tmp_path / "rows.npy", FEW)
    ended = subprocess.run([*command, "end"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 128 + signal.SIGTERM, ended.stderr
    assert sorted(os.listdir(tmp_path)) == ["night.ckpt", "rows.npy"]
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    options = {"init_params": "random", "schedule": "stepwise", "max_iter": 9, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = unveil.GaussianMixture(3, **options).fit(FEW)
    assert again.stdout.strip() == alone.means_.tobytes().hex()
    assert os.listdir(tmp_path) == ["rows.npy"]


@pytest.mark.filterwarnings("default")
def test_the_same_command_goes_on(patient, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", X[:3000], delimiter=",", header="a,b,c", comments="")
    options = ["-k", "6", "--start", "random", "--max-iter", "20", "--schedule", "incremental"]
    command = ["fit", "gaussian-mixture", "rows.csv", *options]

    def run(*more: str) -> Any:
        return CliRunner().invoke(app, [*command, *more])

    first = run("-o", "alone.unveil")
    assert first.exit_code == 0, first.stderr
    with unveil.watch(lambda state: state.iteration == 4 and os.kill(os.getpid(), signal.SIGTERM)):
        assert run("-o", "model.unveil", "--checkpoint", "night.ckpt").exit_code == 143
    assert os.path.exists("model.unveil")
    assert os.path.exists("night.ckpt")
    refused = run("-o", "alone.unveil", "--checkpoint", "night.ckpt")
    assert refused.exit_code == 2
    assert "output was 'model.unveil' and is 'alone.unveil'" in refused.stderr
    assert run("-o", "model.unveil", "--checkpoint", "night.ckpt").exit_code == 0
    assert not os.path.exists("night.ckpt")
    found, alone = unveil.load("model.unveil"), unveil.load("alone.unveil")
    assert found.means_.tobytes() == alone.means_.tobytes()
    assert found.n_iter_ == alone.n_iter_


def test_no_checkpoint_within_another(tmp_path):
    inner = unveil.checkpoint(tmp_path / "b")
    with pytest.raises(ValueError, match="within another"), unveil.checkpoint(tmp_path / "a"), inner:
        pass
    with pytest.raises(ValueError, match="every must be"), unveil.checkpoint(tmp_path / "a", every=-1):
        pass
