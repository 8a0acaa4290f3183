import io
import sys

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from unveil.cli.output import echo_sentences, table, writer_of

BATCHES = [{"k": np.array([1, 2]), "x": np.array([0.1, 1e-300])}, {"k": np.array([3]), "x": np.array([np.pi])}]
WHOLE = {"k": [1, 2, 3], "x": [0.1, 1e-300, np.pi]}


@pytest.mark.parametrize(
    ("name", "read"),
    [("t.csv", pyarrow.csv.read_csv), ("t.parquet", pyarrow.parquet.read_table), ("T.PQ", pyarrow.parquet.read_table)],
)
def test_tables_grow_batch_by_batch_and_come_back_exactly(tmp_path, name, read):
    path = tmp_path / name
    with table(str(path)) as write:
        for batch in BATCHES:
            write(batch)
            assert not path.exists()
    assert read(path).to_pydict() == WHOLE


def test_csv_on_stdout(monkeypatch):
    stdout = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stdout)
    with table("-") as write:
        for batch in BATCHES:
            write(batch)
    assert stdout.buffer.getvalue().decode().splitlines()[1:] == ["1,0.1", "2,1e-300", "3,3.141592653589793"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_failure_leaves_nothing(tmp_path, name):
    def half() -> None:
        with table(str(tmp_path / name)) as write:
            write(BATCHES[0])
            raise ValueError("row 3 is bad")

    with pytest.raises(ValueError, match="row 3"):
        half()
    assert list(tmp_path.iterdir()) == []


def test_other_endings_are_refused():
    with pytest.raises(ValueError, match=r"t\.xlsx: --output must end in \.csv, \.parquet"):
        writer_of("t.xlsx")


@pytest.mark.parametrize("terminal", [True, False])
def test_sentences_are_folded_on_a_terminal_only(monkeypatch, capsys, terminal):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    echo_sentences(["It rests on\x1b many rows.", "So it is."], indent="  ")
    folded = "  It rests on many\n    rows.\n  So it is.\n"
    assert capsys.readouterr().out == (folded if terminal else "  It rests on many rows.\n  So it is.\n")
