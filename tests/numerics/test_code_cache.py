"""Compiled code on disk: what cannot be read there is compiled anew, and what cannot be kept is not missed."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import pytest
from numba.core import caching

import unveil
from unveil.numerics import code_cache
from unveil.numerics.jit import kernel

LOST = b"cunveil.numerics.jit\nNoSuchClass\n."  # a pickle of a class that an older version had
SHARED = "import sys; from tests.numerics.test_code_cache import doubled, kernel; print(kernel(doubled)({argument}))"


def doubled(x: float) -> float:
    """What is compiled."""
    return x + x


def again(argument: float = 21) -> tuple[float, int]:
    """The answer of a kernel that knows no more than what lies on disk, as in a new process; was its code there?"""
    fresh = kernel(doubled)
    return fresh(argument), sum(fresh.stats.cache_hits.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for compiled code, that of the user's choice."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "given"))
    return tmp_path / "given"


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> Callable[..., None]:
    """Call it, and nothing can be written but what is below the folders named; root may write where bits forbid it."""
    usual = caching._CacheLocator.ensure_cache_path
    monkeypatch.setattr(code_cache.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    code_cache.private_folder.cache_clear()

    def refuse(*but: Path) -> None:
        def ensure(locator: caching._CacheLocator) -> None:
            if not any(Path(locator.get_cache_path()).is_relative_to(place) for place in but):
                raise PermissionError(13, "read-only", locator.get_cache_path())
            usual(locator)

        monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", ensure)

    return refuse


def test_a_cache_that_cannot_be_read_counts_as_empty(folder: Path) -> None:
    assert again() == (42, 0)
    (index,), (code,) = folder.rglob("*.nbi"), folder.rglob("*.nbc")
    for file, stale in (index, pickle.dumps(numba.__version__) + LOST), (index, b"\0"), (code, LOST):
        assert again() == (42, 1)
        file.write_bytes(stale)
        assert again() == (42, 0)  # compiled anew, and kept
    assert again() == (42, 1)


def test_code_of_another_version_counts_as_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [again(), again()] == [(42, 0), (42, 1)]
    monkeypatch.setattr(unveil, "__version__", "0.0.0")
    assert [again(), again()] == [(42, 0), (42, 1)]


def test_code_of_another_signature_counts_as_nothing(folder: Path) -> None:
    again(21)
    again(0.5)
    one, other = sorted(folder.rglob("*.nbc"))
    shutil.copy(one, other)  # as two processes do that number their files at the same time
    assert again(0.5) == (1.0, 0)
    assert again(0.5) == (1.0, 1)


def test_read_only_places_leave_a_folder_of_the_user_alone(
    read_only: Callable[..., None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "temporary").mkdir()
    read_only(tmp_path / "temporary")
    code_cache._say_once.cache_clear()
    with caplog.at_level(logging.DEBUG, "unveil"):
        assert [again(), again()] == [(42, 0), (42, 1)]
    (made,) = (tmp_path / "temporary").iterdir()
    assert made.stat().st_mode & 0o777 == 0o700
    assert len(caplog.messages) == 1
    assert str(made) in caplog.messages[0]


@pytest.mark.parametrize("obstacle", ["open to others", "a link", "a file", "nothing above it"])
def test_a_folder_that_others_may_write_is_not_used(
    read_only: Callable[..., None], tmp_path: Path, obstacle: str, caplog: pytest.LogCaptureFixture
) -> None:
    above = tmp_path / "temporary"
    place = above / (f"unveil-kernels-{os.getuid()}" if hasattr(os, "getuid") else "unveil-kernels")
    if obstacle != "nothing above it":
        above.mkdir()
    if obstacle == "open to others":
        place.mkdir()
        place.chmod(0o777)
    elif obstacle == "a link":
        place.symlink_to(tmp_path, target_is_directory=True)
    elif obstacle == "a file":
        place.touch()
    read_only(above)
    code_cache._say_once.cache_clear()
    with caplog.at_level(logging.DEBUG, "unveil"):
        assert [again(), again()] == [(42, 0), (42, 0)]  # in memory alone
    assert not list(tmp_path.rglob("*.nb[ic]"))
    assert "memory alone" in caplog.messages[0]


def test_code_that_can_only_be_read_is_used(read_only: Callable[..., None], folder: Path, tmp_path: Path) -> None:
    assert again() == (42, 0)  # as an image is made
    (tmp_path / "temporary").mkdir()
    read_only(tmp_path / "temporary")
    assert again() == (42, 1)
    assert again(0.5) == (1.0, 0)  # kept where that can be
    assert again(0.5) == (1.0, 1)
    read_only()
    assert again() == (42, 1)
    for index in folder.rglob("*.nbi"):
        index.write_bytes(b"\0")
    assert again() == (42, 0)


def test_a_full_disk_and_a_folder_that_goes_away_cost_time_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = kernel(doubled)
    shutil.rmtree(folder)
    folder.write_text("no longer a folder")
    assert fresh(21) == 42
    folder.unlink()
    assert again() == (42, 0)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_dump", full)
    assert again(0.5) == (1.0, 0)


def test_processes_may_write_at_the_same_time(folder: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    calls = [[sys.executable, "-c", SHARED.format(argument=argument)] for argument in (21, 21, 0.5, 0.5)]
    running = [subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, text=True) for call in calls]
    answers = [process.communicate(timeout=60)[0].strip() for process in running]
    assert answers == ["42", "42", "1.0", "1.0"]
    assert [again()[0], again(0.5)[0]] == [42, 1.0]
