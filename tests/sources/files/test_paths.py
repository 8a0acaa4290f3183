"""Which files are meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unveil.sources import DataError
from unveil.sources.files.paths import find_files


def touch(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).touch()
    return [folder / name for name in names]


def test_a_folder_is_its_known_files_by_name(tmp_path: Path) -> None:
    b, a, _, _ = touch(tmp_path, "b.csv", "a.CSV", ".c.csv", "notes.md")
    (tmp_path / "d.csv").mkdir()
    assert find_files(tmp_path) == (a, b)
    assert find_files(str(tmp_path)) == (a, b)


def test_notes_beside_tables_are_no_tables(tmp_path: Path) -> None:
    a, notes, _ = touch(tmp_path, "a.csv", "notes.txt", "settings.json")
    assert find_files(tmp_path) == (a,)
    a.unlink()
    (tmp_path / "settings.json").unlink()
    assert find_files(tmp_path) == (notes,)


def test_a_list_keeps_its_order_and_a_pattern_sorts(tmp_path: Path) -> None:
    b, a = touch(tmp_path, "b.csv", "a.csv")
    assert find_files([b, str(a)]) == (b, a)
    assert find_files(tmp_path / "*.csv") == (a, b)


def test_a_name_that_looks_like_a_pattern(tmp_path: Path) -> None:
    (odd,) = touch(tmp_path, "a[1].csv")
    assert find_files(odd) == (odd,)


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a,) = touch(tmp_path, "a.csv")
    monkeypatch.chdir(tmp_path)
    assert find_files("a.csv") == (a,)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.csv: no such file or folder"):
        find_files(tmp_path / "x.csv")
    with pytest.raises(FileNotFoundError, match="no file matches this pattern"):
        find_files(tmp_path / "*.csv")
    with pytest.raises(DataError, match=r"no data in this folder; expected files that end in one of \.csv"):
        find_files(tmp_path)
    with pytest.raises(DataError, match="got an empty list"):
        find_files([])


def test_unknown_endings_are_told_by_their_bytes_and_formats_do_not_mix(tmp_path: Path) -> None:
    notes, picture = tmp_path / "notes", tmp_path / "picture"
    notes.write_text("a,b\n1,2\n")
    assert find_files(notes) == (notes,)
    for start, said in ((b"\x89PNG", "not a table but a picture"), (b"ab\0", "neither text nor any of Parquet")):
        picture.write_bytes(start)
        with pytest.raises(DataError, match=rf"picture: .*{said}"):
            find_files(picture)
    touch(tmp_path, "a.csv", "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: not of the same format as a\.csv"):
        find_files(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"pipe\.csv: not a file but a pipe"):
        find_files(tmp_path / "pipe.csv")
