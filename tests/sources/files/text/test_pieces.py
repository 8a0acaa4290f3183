"""Text in pieces that are parsed by themselves: the same cells as from the start, or no pieces at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unveil
from unveil.sources.files.text import pieces

NUMBERS = [f"{j},{j / 7!r},{'' if j % 5 == 0 else -j}" for j in range(300)]
WORDS = [f'{j},"a ""quoted"" word, and\na line break",{j / 3!r}' for j in range(300)]
PLAIN = {
    "numbers": "a,b,c\n" + "\n".join(NUMBERS) + "\n",
    "no last line break": "a,b,c\n" + "\n".join(NUMBERS),
    "returns": "a,b,c\r\n" + "\r\n".join(NUMBERS) + "\r\n",
    "blank lines": "a,b,c\n\n" + "\n\n".join(NUMBERS) + "\n",
    "mark at the start": "\ufeffa,b,c\n" + "\n".join(NUMBERS) + "\n",
    "words over lines": "a,word,c\n" + "\n".join(WORDS) + "\n",
    "without names": "\n".join(NUMBERS) + "\n",
    "fractions late": "a,b\n" + "".join(f"{j},1\n" for j in range(5000)) + "2.5,oops\n" + "7,8\n" * 200,
}
ODD = {
    "comments": "a,b,c\n" + "\n".join(NUMBERS) + "\n# the end\n",
    "a stray quote": "a,word,c\n" + "\n".join(f'{j},5" pipe,{j}' for j in range(300)) + "\n",
    "spaces": "a b c\n" + "\n".join(line.replace(",,", ",NA,").replace(",", " ") for line in NUMBERS[1:4]) * 1 + "\n",
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500)


def cells(blocks) -> np.ndarray:
    return np.concatenate([block.rows for block in blocks])


@pytest.mark.parametrize("name", PLAIN)
def test_pieces_hold_the_cells_of_the_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(PLAIN[name].encode())
    scan = unveil.scan(path, cache=None)
    want = cells(unveil.scan(path, cache=None).read())
    assert scan.n_rows == len(want)
    header = scan._header(0, scan._plan.files[0])
    assert len(header.entries) > 5
    assert np.array_equal(cells(scan.fetch([0])), want, equal_nan=True)
    index, text = header.index, path.read_bytes()
    assert index.offsets[-1] == len(text)
    assert all(text[offset - 1 : offset] == b"\n" for offset in index.offsets[1:-1])


@pytest.mark.parametrize("name", ODD)
def test_what_is_not_plain_is_read_from_its_start(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ODD[name])
    scan = unveil.scan(path, cache=None)
    want = cells(unveil.scan(path, cache=None).read())
    assert scan.n_rows == len(want)
    assert scan._header(0, scan._plan.files[0]).index is None
    assert np.array_equal(cells(scan.fetch([0])), want, equal_nan=True)
