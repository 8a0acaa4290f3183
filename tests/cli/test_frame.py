import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.cli.frame import MANY_VALUES, Frame, read_frame
from unveil.sources import DataError


def test_types_are_kept_and_holes_are_told(people):
    frame = read_frame(people)
    assert frame.columns == ["height", "visits", "smoker", "town", "times"]
    assert frame.skipped == ("name", "born")
    assert (frame.n_rows, frame.n_columns, len(frame)) == (80, 5, 80)
    assert np.isnan(frame.to_series(0)).any()
    whole = [cell for cell in frame.to_series(1) if cell is not None]
    assert len(whole) < 80
    assert all(isinstance(cell, int) for cell in whole)
    assert set(frame.to_series(3)) == {"York", "Bath", None}


def test_columns_in_the_order_asked_for_and_weights(people):
    frame = read_frame(people, ["town", "height"], "times")
    assert frame.names == ("town", "height")
    assert frame.weights.sum() == 120
    assert frame.skipped == ()


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow", "tsv", "csv.gz"])
def test_every_format_gives_the_same(people, tmp_path, ending):
    table, path = pyarrow.csv.read_csv(people), tmp_path / f"other.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif ending == "feather":
        pyarrow.feather.write_feather(table, path)
    elif ending == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    else:
        text = Path(people).read_bytes()
        path.write_bytes(gzip.compress(text) if ending == "csv.gz" else text.replace(b",", b"\t"))
    one, two = read_frame(people, ["height", "visits"]), read_frame(str(path), ["height", "visits"])
    for number in range(2):
        np.testing.assert_array_equal(one.to_series(number), two.to_series(number))


def test_categories_of_a_file_are_words(tmp_path):
    towns = pa.array(["York", None, "Bath"]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({"town": towns}), tmp_path / "t.parquet")
    assert read_frame(str(tmp_path / "t.parquet")).to_series(0).tolist() == ["York", None, "Bath"]


def test_several_files_follow_each_other(tmp_path):
    (tmp_path / "a.csv").write_text("x,w\n1,u\n")
    (tmp_path / "b.csv").write_text("w,x\nv,2.5\n")
    frame = read_frame(str(tmp_path / "*.csv"))
    assert frame.to_series(0).tolist() == [1.0, 2.5]
    assert frame.to_series(1).tolist() == ["u", "v"]


def test_words_that_hardly_repeat_are_left_out_unless_asked_for(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("key,x\n" + "".join(f"k{row},{row}\n" for row in range(MANY_VALUES + 1)))
    assert read_frame(str(path)).skipped == ("key",)
    assert read_frame(str(path), ["key"]).names == ("key",)


def test_arrays_are_scanned(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    assert read_frame(str(tmp_path / "x.npy")).n_columns == 2


def test_batches_hold_all_rows(people):
    frame = read_frame(people)
    parts = list(frame.batches(33))
    assert [len(part) for part in parts] == [33, 33, 14]
    assert np.concatenate([part.to_series(3) for part in parts]).tolist() == frame.to_series(3).tolist()


def test_estimators_take_it_for_a_frame():
    frame = Frame(
        {"size": np.array([1.0, 1.1, 9.0, 9.2] * 3), "town": np.array(["a", "a", "b", None] * 3, dtype=object)}
    )
    model = unveil.MixedMixture(2, random_state=0).fit(frame)
    assert model.kinds_ == ["number", "category"]
    assert len(set(model.predict(frame)[:3])) == 2


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("", {}, "the file is empty"),
        ("a,b\n", {}, "no rows"),
        ("a,b\n1,2\n3\n", {}, "has 1 cells, expected 2"),
        ("a,b\n1,x\ninf,y\n", {}, "column 'a' holds infinity at row 1"),
        ("a\n1970-01-02\n", {}, "no column of numbers or of words"),
        ("a,b\n1,2\n", {"columns": ["c"]}, "no column 'c'; the columns are a, b"),
        ("a,b\n1,2\n", {"columns": ["a", "a"]}, "'a' more than once"),
        ("a,b\n1,2\n", {"columns": ["a"], "weight": "a"}, "'a' more than once"),
        ("a,b\n1,x\n", {"weight": "b"}, "column 'b' holds words, expected numbers as weights"),
        ("a,b\n1,-2\n", {"weight": "b"}, "weight 'b' must be finite and not negative"),
        ("a\n1970-01-02\n", {"columns": ["a"]}, "column 'a' is of kind date"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, content, options, said):
    path = tmp_path / "d.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=said):
        read_frame(str(path), **options)


def test_files_with_other_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("y\n1\n")
    with pytest.raises(DataError, match=r"b.csv: its columns are not those of a.csv"):
        read_frame(str(tmp_path))
