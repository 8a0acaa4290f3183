"""Labels beside rows: codes from whole numbers, words and columns of files; blocks that carry their own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.sources import ArraySource, DataError, with_weights
from unveil.sources.files.labelled import Labelled, column_labels, encode, joined, labels_in, place, without_column


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3, 2]),
        np.array([-5, 10**9, -5]),
        np.array([True, False, True]),
        np.array([200, 3, 200], dtype=np.uint8),
        np.array([2**63 + 1, 2**63], dtype=np.uint64),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([2.0, 1.0, 2.0]),
        np.array(["b", "a", "ccc", "a"]),
        np.array(["b", "a", "ccc", "a"], dtype=object),
        np.array([3, 1, 3], dtype=object),
        np.arange(300)[::-1],
    ],
    ids=str,
)
def test_codes_are_those_of_a_sort(labels: Any) -> None:
    found = encode(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    assert found.classes.tolist() == classes.tolist()
    assert found.codes.tolist() == codes.tolist()
    assert found.codes.dtype.itemsize == (1 if len(classes) <= 256 else 2)


def test_kinds_that_do_not_mix_are_refused() -> None:
    with pytest.raises(ValueError, match="y must hold labels of one kind"):
        encode(np.array(["a", 1, None], dtype=object))


def test_what_is_no_label_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one label"):
        labels_in([])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        labels_in([1.0, np.nan])
    with pytest.raises(ValueError, match="Unknown label type"):
        labels_in([0.5, 1.5])


def test_places_among_other_classes() -> None:
    assert place(encode(np.array(["b", "d"])), np.array(["a", "b", "c", "d"])).tolist() == [1, 3]
    with pytest.raises(ValueError, match="y holds 'e', which is not one of the classes"):
        place(encode(np.array(["b", "e"])), np.array(["a", "b"]))


def test_pieces_join() -> None:
    labels = joined(encode(np.array(piece)) for piece in (["b", "a"], ["c"], ["a", "c"]))
    assert (labels.classes[labels.codes] == ["b", "a", "c", "a", "c"]).all()
    assert labels.classes.tolist() == ["a", "b", "c"]


def test_blocks_carry_their_own_labels_and_weights() -> None:
    rows = np.arange(40_000.0).reshape(20_000, 2)
    codes = (np.arange(20_000) % 7).astype(np.uint8)
    source: Any = Labelled(with_weights(ArraySource(rows), np.arange(20_000.0)), codes)
    blocks = list(source.read())
    assert [len(block.codes) for block in blocks] == [16384, 3616]
    assert np.concatenate([block.codes for block in blocks]).tolist() == codes.tolist()
    assert blocks[1].weights[0] == 16384
    again: Any = next(pickle.loads(pickle.dumps(source)).read([1]))
    assert again.codes.tolist() == codes[16384:].tolist()


def test_a_label_for_each_row() -> None:
    with pytest.raises(ValueError, match="X has 3 rows, y has shape"):
        Labelled(ArraySource(np.ones((3, 1))), np.zeros(2, np.uint8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    words = ["setosa", "virginica", "setosa", "versicolor"] * 50
    table = pa.table(
        {"a": np.arange(200.0), "kind": words, "number": np.arange(200) % 3, "yes": np.arange(200) % 2 == 0}
    )
    pa.parquet.write_table(table, folder / "t.parquet", row_group_size=70)
    pa.feather.write_feather(table, str(folder / "t.feather"))
    coded = table.set_column(1, "kind", table["kind"].dictionary_encode())
    pa.parquet.write_table(coded, folder / "coded.parquet")
    pa.csv.write_csv(table, str(folder / "t.csv"))
    np.save(folder / "t.npy", np.column_stack([np.arange(200.0), np.arange(200) % 3]))
    return folder


@pytest.mark.parametrize("file", ["t.parquet", "t.feather", "coded.parquet", "t.csv"])
def test_a_column_of_words(folder: Path, file: str) -> None:
    labels = column_labels(unveil.scan(folder / file), "kind")
    assert labels.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert labels.codes.tolist() == [0, 2, 0, 1] * 50


@pytest.mark.parametrize("file", ["t.parquet", "t.feather", "t.csv"])
def test_a_column_of_numbers(folder: Path, file: str) -> None:
    scan = unveil.scan(folder / file)
    numbers, yes = column_labels(scan, "number"), column_labels(scan, "yes")
    assert numbers.classes.tolist() == [0, 1, 2]
    assert numbers.classes.dtype.kind == "i"
    assert numbers.codes.tolist() == (np.arange(200) % 3).tolist()
    assert yes.classes.tolist() == [False, True]
    assert without_column(scan, "number").names == ("a", "yes")
    assert without_column(scan, "kind") is scan


def test_a_column_of_an_array(folder: Path) -> None:
    scan = unveil.scan(folder / "t.npy")
    assert column_labels(scan, "x1").classes.tolist() == [0, 1, 2]
    assert without_column(scan, "x1").n_columns == 1


def test_errors_name_the_column(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"got 'kinds'; there are \['a', 'kind'"):
        column_labels(unveil.scan(folder / "t.csv"), "kinds")
    with pytest.raises(ValueError, match="needs X to be a scan, got ndarray"):
        column_labels(np.ones((2, 2)), "kind")  # type: ignore[arg-type]
    (tmp_path / "holes.csv").write_text("a,kind,number\n1,x,1\n2,,2\n3,y,\n")
    for name, row in (("kind", 1), ("number", 2)):
        with pytest.raises(DataError, match=f"column '{name}' has no label in row {row}"):
            column_labels(unveil.scan(tmp_path / "holes.csv"), name)
