"""Files of one NumPy array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unveil
from unveil.sources import ArraySource, DataError


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f8", ">f8", "<f4", ">f4", "f2", "i4", "?"])
def test_any_order_and_kind_of_number(order: str, kind: str, tmp_path: Path) -> None:
    rows = np.array(np.random.default_rng(0).integers(0, 2, (9000, 2)), dtype=kind, order=order)
    np.save(tmp_path / "t.npy", rows)
    source = unveil.scan(tmp_path / "t.npy")
    assert source.dtype == (np.float32 if kind in ("<f4", ">f4") else np.float64)
    blocks = list(source.read())
    assert all(block.rows.dtype == source.dtype and block.rows.dtype.isnative for block in blocks)
    assert np.array_equal(np.concatenate([block.rows for block in blocks]), rows)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_map_is_an_array(order: str, tmp_path: Path) -> None:
    rows = np.array(np.random.default_rng(0).standard_normal((9000, 2)), order=order)
    np.save(tmp_path / "t.npy", rows)
    mapped = ArraySource(np.load(tmp_path / "t.npy", mmap_mode="r"))
    for one, other in zip(mapped.read(), ArraySource(rows).read(), strict=True):
        assert one.index == other.index
        assert one.rows.flags.c_contiguous
        assert one.rows.tobytes() == other.rows.tobytes()


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((2, 2, 2)), r"must hold an array of numbers of 1 or 2 dimensions, got \(2, 2, 2\)"),
        (np.array([["a"]]), "must hold numbers, got <U1"),
        (np.array([[1j]]), "must hold numbers, got complex128"),
        (np.array([[None]]), "cannot be read as an .npy array"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros((2, 0)), "no column of numbers"),
    ],
)
def test_arrays_that_are_no_tables(array: np.ndarray, said: str, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=r"t\.npy: " + said):
        unveil.scan(tmp_path / "t.npy")


def test_one_dimension_is_a_column(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([1.5, 2.5]))
    assert next(unveil.scan(tmp_path / "t.npy").read()).rows.tolist() == [[1.5], [2.5]]


def test_fields_are_columns_of_their_own_names_and_types(tmp_path: Path) -> None:
    table = np.zeros(50, dtype=[("size", ">f8"), ("n", "i4"), ("kept", "?")])
    table["size"], table["n"], table["kept"] = np.linspace(0.0, 1.0, 50), np.arange(50), np.arange(50) % 2 == 0
    np.save(tmp_path / "fields.npy", table)
    read = next(unveil.scan(tmp_path / "fields.npy", columns=["n", "size"]).read()).rows
    assert np.array_equal(read, np.column_stack([table["n"], table["size"]]))
    whole = unveil.KMeans(2, random_state=0).fit(unveil.scan(tmp_path / "fields.npy", columns=["size"]))
    assert np.array_equal(whole.labels_, unveil.KMeans(2, random_state=0).fit(table["size"][:, None]).labels_)
    np.save(tmp_path / "words.npy", np.zeros(5, dtype=[("size", "f8"), ("word", "U5")]))
    with pytest.raises(DataError, match="must hold numbers, got <U5 in word"):
        unveil.scan(tmp_path / "words.npy")
