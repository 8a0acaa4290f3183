"""Lines below a table are left out and said; a row of another length anywhere else is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

import unveil
from unveil.sources import DataError
from unveil.sources.files.reading import open_reading
from unveil.sources.files.text.footers import FOOTER_LINES

ROWS = "".join(f"{j},{j}.5,w{j % 3}\n" for j in range(1, 40))
TOP = "n,x,word\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "t.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    "below",
    [
        "Source: World Bank, 2020\n",
        "Source: World Bank, 2020, p. 5, and others\n",
        "\nTotal,780\n",
        '"Total",780\n* provisional\n',
        "(39 rows)\n",
        "Notes, see below, of the office, and more\nSource: x",
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_footers_are_left_out_and_said(tmp_path: Path, below: str, late: bool) -> None:
    rows = ROWS * (2000 if late else 1)  # beyond the sample
    file = written(tmp_path, TOP + rows + below)
    reading = open_reading(file)
    assert reading.n_rows == rows.count("\n") == sum(batch.num_rows for batch in reading.batches())
    assert reading.kinds == {"n": "integer", "x": "number", "word": "text"}
    assert not reading.bad
    (said,) = (sentence for sentence in reading.said if "left out" in sentence)
    lines = below.split("\n")
    assert all(repr(line)[1:-1] in said for line in lines)
    scan = unveil.scan(file)
    assert sum(len(block.rows) for block in scan.read()) == scan.n_rows == reading.n_rows
    assert said in scan.said


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (TOP + "1,2,a\nTotal,3\n4,5,b\n", "row 3 of the file, .* has 2 cells, expected 3"),  # a row follows
        (TOP + "Total,3\n" + ROWS * 3000, "row 2 of the file, .* has 2 cells"),
        (TOP + ROWS + "40,40\n", "row 41 of the file, .* has 2 cells"),  # cut off
        ("w,n\na,1\nb,2\nc, d,3\n", "row 4 of the file, .* has 3 cells"),  # a separator too many
        (TOP + ROWS + "note\n" * (FOOTER_LINES + 1), "row 41 of the file, .* has 1 cells"),
    ],
)
def test_rows_of_another_length(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(DataError, match=error):
        open_reading(written(tmp_path, text))


def test_footer_below_blank_lines_and_comments(tmp_path: Path) -> None:
    text = "\n# made by hand\n\n" + TOP + "\n1,2,a\n\n# half\n2,3,b\n\nSource: x\n"
    reading = open_reading(written(tmp_path, text))
    assert reading.n_rows == 2
    assert "The last line of t.csv is no row of the table, left out: 'Source: x'." in reading.said
