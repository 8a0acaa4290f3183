"""Which files are meant."""

from __future__ import annotations

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


def test_unknown_and_mixed_formats(tmp_path: Path) -> None:
    (notes,) = touch(tmp_path, "notes.md")
    with pytest.raises(DataError, match=r"notes\.md: not a known kind of file; its name must end in one of \.csv"):
        find_files(notes)
    touch(tmp_path, "a.csv", "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: not of the same format as a\.csv"):
        find_files(tmp_path)
