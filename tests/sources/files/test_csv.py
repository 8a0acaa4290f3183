"""Text tables, and what is said about those that are none."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

import unveil
from unveil.sources import DataError


def written(tmp_path: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows_of(path: Path, **options: object) -> np.ndarray:
    source = unveil.scan(path, **options)
    rows = np.concatenate([block.rows for block in source.read()])
    assert unveil.scan(path, **options).n_rows == source.n_rows == len(rows)
    return rows


def test_missing_markers_and_truth_values(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b\n1,true\n,false\nNA,true\nNaN,\nnull,true\n?,false\n"",true\ninf,true\n')
    rows = rows_of(path)
    assert np.array_equal(rows[:, 0], [1, *[np.nan] * 6, np.inf], equal_nan=True)
    assert np.array_equal(rows[:, 1], [1, 0, 1, np.nan, 1, 0, 1, 1], equal_nan=True)


def test_whole_numbers_may_turn_to_fractions_past_the_first_block(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n" + "1,2\n" * 1_000_000 + "1.5,2\n" + "1,2\n" * 100_000)
    assert unveil.scan(path).schema() == [("a", "integer"), ("b", "integer")]
    assert rows_of(path)[1_000_000].tolist() == [1.5, 2.0]


def test_a_late_cell_that_does_not_fit_is_missing_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "a,skip,b\n" + "1,x,2\n" * 400_000 + "1,x,oops\n" + "1,x,2\n" * 100_000)
    source = unveil.scan(path)
    for _ in range(2):  # the second pass knows of it
        rows = np.concatenate([block.rows for block in source.read()])
        assert len(rows) == 500_001
        assert np.flatnonzero(np.isnan(rows[:, 1])).tolist() == [400_000]
        assert source.bad["b"].first == ((400_001, "oops"),)
        assert source.bad["b"].of == 500_001


def test_a_late_truth_value_that_does_not_fit(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n" + "1,true\n" * 400_000 + "1,maybe\n" + "1,false\n" * 100_000)
    source = unveil.scan(path)
    rows = np.concatenate([block.rows for block in source.read()])
    assert (rows[0, 1], np.isnan(rows[400_000, 1]), rows[-1, 1]) == (1, True, 0)
    assert source.bad["b"].first == ((400_001, "maybe"),)


def test_too_many_cells_that_do_not_fit_end_a_pass(tmp_path: Path) -> None:
    text = "a,b\n" + "1,2\n" * 200_000 + "1,oops\n1,ouch\n" * 6000 + "1,2\n" * 800_000
    said = r"t\.csv: column 'b' holds 12,000 cells of 1,012,000 that are not numbers, the first in row 200,001: 'oops';"
    source = unveil.scan(written(tmp_path, text))
    with pytest.raises(DataError, match=said):
        list(source.read())
    assert len(rows_of(tmp_path / "t.csv", missing=["oops", "ouch"])) == 1_012_000


def test_odd_names(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbf\n\n,a,"b, c",a,,a.1\n1,2,3,4,5,6\n')
    source = unveil.scan(path)
    assert source.names == ("column 1", "a", "b, c", "a.2", "column 5", "a.1")
    assert rows_of(path).tolist() == [[1, 2, 3, 4, 5, 6]]
    assert rows_of(path, columns=["a.2", "a"]).tolist() == [[4, 2]]


def test_text_with_line_breaks_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, '"a\nb",note\n1,"two\nlines"\n2,"and ""quotes"""\n')
    assert rows_of(path).ravel().tolist() == [1, 2]
    assert unveil.scan(path).skipped == ("note",)


def test_no_line_break_at_the_end(tmp_path: Path) -> None:
    assert rows_of(written(tmp_path, "a\r\n1\r\n2")).ravel().tolist() == [1, 2]


def test_an_empty_column_may_be_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,\n2,NA\n")
    assert unveil.scan(path).skipped == ("b",)
    assert np.isnan(rows_of(path, columns=["b"])).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty; expected a line of column names"),
        ("\n \n", "the file is empty"),
        ("a,b\n", "no rows; expected at least one"),
        ("a,b", "no rows; expected at least one"),
        ("name\nann\nbob\n", r"no column of numbers to read; the columns are 'name' \(text\)"),
        ("a,b\n1,2\n3\n", r"a row \(row 3 of the file.*\) has 1 cells, expected 2"),
        ("a,b\n1,2\n3,4,5\n", r"a row \(row 3 of the file.*\) has 3 cells, expected 2"),
        (b"PAR1\x00\x15\x04\n\x00", "not a text file in UTF-8"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv: " + said) as caught:
        unveil.scan(written(tmp_path, text)).n_rows  # noqa: B018
    assert "\n" not in str(caught.value)


def test_an_encoding_that_is_wrong_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, b"caf\xe9,b\n1,2\n")
    assert unveil.scan(path).names == ("café", "b")
    with pytest.raises(DataError, match=r"t\.csv: cannot be read in the encoding utf-8"):
        unveil.scan(path, encoding="utf-8")


def test_ragged_rows_past_the_first_block(tmp_path: Path) -> None:
    source = unveil.scan(written(tmp_path, "a,b\n" + "1,2\n" * 1_100_000 + "3\n"))
    with pytest.raises(DataError, match=r"a row \(row 1,100,002 of the file"):
        list(source.read())


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst"])
def test_cut_gzip_and_text_that_is_not_packed(name: str, tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(DataError, match=re.escape(name)):
        rows_of(written(tmp_path, whole[: len(whole) // 2], name))
    assert len(rows_of(written(tmp_path, b"a,b\n1,2\n", name))) == 1


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a\n1\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"t\.csv: no permission to read it"):
        unveil.scan(path)


def test_lines_longer_than_the_head(tmp_path: Path) -> None:
    names = ",".join(f"{j:0>200}" for j in range(6000))
    path = written(tmp_path, names + "\n" + (",".join(["1.5"] * 6000) + "\n") * 2)
    assert rows_of(path, columns=[f"{5999:0>200}"]).tolist() == [[1.5], [1.5]]
