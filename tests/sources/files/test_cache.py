"""Rows kept on disk: the same cells, one decoding, nothing left behind."""

from __future__ import annotations

import gc
import gzip
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import unveil
from unveil.sources import DataError
from unveil.sources.files import cache, csv, spool

ROWS = np.random.default_rng(1).normal(size=(50_000, 3)).round(3)


@pytest.fixture(name="decoded")
def _decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(cache, "SMALLEST", 1)
    monkeypatch.setattr(cache, "_is_memory", lambda home: False)
    counted, plain = [], csv.chunk_of
    monkeypatch.setattr(csv, "chunk_of", lambda batch, *more: (counted.append(len(batch)), plain(batch, *more))[1])
    return counted


def written(folder: Path, rows: np.ndarray = ROWS, name: str = "t.csv.gz") -> Path:
    lines = ["a,b,w", *(",".join(map(repr, line)) for line in rows.tolist())]
    data = "\n".join(lines).encode()
    (folder / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    return folder / name


def own() -> set[str]:
    return {name for name in os.listdir(spool.folder()) if name.endswith(".part")}


def same(scan, rows: np.ndarray) -> bool:
    blocks = list(scan.read())
    got = np.concatenate([block.rows for block in blocks])
    weights = blocks[0].weights is None or np.concatenate([block.weights for block in blocks])
    return np.array_equal(got, rows[:, : got.shape[1]]) and (weights is True or np.array_equal(weights, rows[:, 2]))


@pytest.mark.parametrize("weight", [None, "w"])
def test_what_is_slow_is_decoded_once(weight: str | None, decoded: list[int], tmp_path: Path) -> None:
    rows, before = abs(ROWS), own()
    scan = unveil.scan(written(tmp_path, rows), weight=weight)
    for _ in range(3):
        assert same(scan, rows)
    assert sum(decoded) == len(rows)
    assert len(own() - before) == 1
    assert len(scan.runs(most=1)) == 4  # packed text cannot be entered in its middle, what is kept can
    block = next(pickle.loads(pickle.dumps(scan)).fetch([2]))
    assert np.array_equal(block.rows, rows[32_768:49_152, : block.rows.shape[1]])
    assert sum(decoded) == len(rows)
    del scan, block
    gc.collect()
    assert own() == before


def test_nothing_is_kept_where_it_should_not(decoded: list[int], tmp_path: Path, monkeypatch) -> None:
    before, path = own(), written(tmp_path)
    assert all(same(scan, ROWS) for scan in [unveil.scan(path, cache=None)] for _ in range(2))
    assert sum(decoded) == 2 * len(ROWS)
    monkeypatch.setattr(cache, "SHARE_OF_DISK", 0.0)
    assert same(unveil.scan(path), ROWS)
    monkeypatch.setattr(cache, "SHARE_OF_DISK", 0.5)
    half = unveil.scan(path).read()
    next(half)
    del half  # a pass that ends early
    gc.collect()
    assert own() == before
    with pytest.raises(DataError, match="cache must be 'auto', a folder or None, got 3"):
        unveil.scan(path, cache=3)


def test_a_folder_keeps_it_for_other_processes(decoded: list[int], tmp_path: Path) -> None:
    path, kept = written(tmp_path), tmp_path / "kept"
    assert same(unveil.scan(path, cache=kept), ROWS)
    decoded.clear()
    again = unveil.scan(path, cache=kept)
    assert again.n_rows == len(ROWS)
    assert same(again, ROWS)
    assert decoded == []
    written(tmp_path, ROWS + 1)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="the file changed while it was in use"):
        list(again.read())
    assert same(unveil.scan(path, cache=kept), ROWS + 1)
    assert len(list(kept.iterdir())) == 2  # what was kept of the file as it was has gone


def test_a_disk_that_fills_ends_no_pass(decoded: list[int], tmp_path: Path, monkeypatch) -> None:
    def full(self, block) -> None:
        self.failed = True

    before = own()
    monkeypatch.setattr(cache.CacheWriter, "add", full)
    scan = unveil.scan(written(tmp_path))
    assert same(scan, ROWS)
    assert same(scan, ROWS)
    assert own() == before


@pytest.mark.skipif(spool.fcntl is None, reason="leftovers are known by their locks")
def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from unveil.sources.files.spool import folder
        print(folder(), flush=True)
        if sys.argv[1] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
    """
    here = os.environ | {"TMPDIR": str(tmp_path)}

    def child(how: str) -> Path:
        command = [sys.executable, "-c", textwrap.dedent(code), how]
        return Path(subprocess.run(command, env=here, capture_output=True, text=True).stdout.strip())

    left = child("die")
    assert left.is_dir()
    child("live")
    assert list(tmp_path.iterdir()) == []
