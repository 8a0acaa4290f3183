import hashlib
import json
import os
import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file

from unveil.storage import file
from unveil.storage.file import ModelFileError, read, write

ARRAYS = {"means": np.arange(6.0).reshape(2, 3), "labels": np.array([0, 1, 1], dtype=np.int32)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.unveil"


@pytest.fixture
def written(path):
    write(path, {"class": "Thing"}, ARRAYS)
    return path


def forge(path, header, tensors=None, payload=b""):
    """A safetensors file made by hand, so that it can lie."""
    metadata = {} if header is None else {"unveil": header if isinstance(header, str) else json.dumps(header)}
    text = json.dumps({"__metadata__": metadata, **(tensors or {})}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + payload)
    return path


def test_round_trip_keeps_header_and_arrays(written):
    header, arrays = read(written)
    assert header["class"] == "Thing"
    assert header["format_version"] == file.FORMAT_VERSION
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable


@settings(max_examples=40, deadline=None)
@given(
    array=hnp.arrays(
        st.sampled_from(["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    order=st.sampled_from("CF"),
    reverse=st.booleans(),
)
def test_any_array_comes_back_with_its_bits_and_layout(tmp_path_factory, array, order, reverse):
    array = np.asarray(array, order=order)
    array = array[::-1] if reverse and array.ndim else array
    path = tmp_path_factory.mktemp("any") / "a"
    write(path, {}, {"a": array})
    back = read(path)[1]["a"]
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.tobytes() == array.astype(back.dtype).tobytes()
    if array.flags.f_contiguous or array.flags.c_contiguous:
        assert back.flags.f_contiguous == array.flags.f_contiguous
        assert back.flags.c_contiguous == array.flags.c_contiguous


def test_header_cannot_overrule_what_the_file_says_of_itself(path):
    write(path, {"format_version": 99, "arrays": {}}, ARRAYS)
    assert read(path)[0]["format_version"] == file.FORMAT_VERSION


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([{}], dtype=object), np.array([1j]), [1.0]])
def test_what_is_no_array_of_numbers_is_refused_and_nothing_is_written(path, array):
    with pytest.raises(TypeError, match="array 'a' must hold"):
        write(path, {}, {"a": array})
    assert not path.exists()


def test_failure_while_writing_keeps_the_old_file(written, monkeypatch):
    before = written.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(written, {}, {})
    assert written.read_bytes() == before
    assert len(list(written.parent.iterdir())) == 1


@pytest.mark.parametrize("length", [0, 1, 8, 9, 30, 200, -24, -1])
def test_truncated_at_any_point_is_refused(written, length):
    written.write_bytes(written.read_bytes()[:length])
    with pytest.raises(ModelFileError, match=r"model\.unveil: .*(empty|not a model file|damaged or cut short)"):
        read(written)


def test_missing_file_and_folder(path):
    with pytest.raises(ModelFileError, match=r"model\.unveil: no such file"):
        read(path)
    path.mkdir()
    with pytest.raises(ModelFileError, match="is a folder, expected a model file"):
        read(path)


def test_file_without_permission(written, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(file.Path, "open", refuse)
    with pytest.raises(ModelFileError, match="no permission to read it"):
        read(written)


@pytest.mark.parametrize("content", [b"a,b\n1,2\n3,4\n", b"\x80\x04\x95" + b"x" * 50, b"PK\x03\x04" + b"\0" * 40])
def test_foreign_file(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="not a model file written by unveil"):
        read(path)


def test_safetensors_of_someone_else(path):
    save_file({"a": np.ones(2)}, path)
    with pytest.raises(ModelFileError, match="a safetensors file, but not a model file written by unveil"):
        read(path)


def test_every_byte_counts(written):
    whole = written.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        written.write_bytes(changed)
        with pytest.raises(ModelFileError):
            read(written)


def test_a_digest_made_anew_is_one(written):
    """As docs/format.md has it: by other means than `write`."""
    whole = written.read_bytes()
    digest = re.search(rb'"sha256":"([0-9a-f]{64})"', whole)[1]
    assert hashlib.sha256(whole.replace(digest, b"0" * 64)).hexdigest().encode() == digest
    changed = whole.replace(digest, b"0" * 64).replace(np.float64(5.0).tobytes(), np.float64(7.0).tobytes())
    written.write_bytes(changed.replace(b"0" * 64, hashlib.sha256(changed).hexdigest().encode()))
    assert read(written)[1]["means"].ravel().tolist() == [0, 1, 2, 3, 4, 7]


def test_files_of_the_first_format_have_no_digest_and_that_is_said(path, caplog):
    forge(path, {"format_version": 1, "arrays": {}})
    assert read(path)[1] == {}
    assert "format 1, which has no digest" in caplog.text
    forge(path, {"format_version": 2, "arrays": {}})
    with pytest.raises(ModelFileError, match="its digest is not that of its content"):
        read(path)


def test_newer_format_says_which_versions(path):
    forge(path, {"format_version": 9, "library_version": "7.1", "arrays": {}})
    with pytest.raises(ModelFileError, match=r"written by unveil 7\.1 in format 9; this is unveil \d"):
        read(path)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        '{"format_version": NaN}',
        "[" * 100_000,
        '{"format_version": ' + "9" * 5000 + "}",
        {},
        {"format_version": "1"},
        {"format_version": True},
        {"format_version": 0},
        {"format_version": 1},
        {"format_version": 1, "arrays": ["a"]},
        {"format_version": 1, "arrays": {"a": "diagonal"}},
        {"format_version": 1, "arrays": {"a": []}},
    ],
    ids=lambda header: str(header)[:30],
)
def test_malformed_header(path, header):
    with pytest.raises(ModelFileError, match="the header of the model file is malformed"):
        read(forge(path, header))


def test_arrays_that_are_missing_or_too_many_are_named(path):
    forge(path, {"format_version": 1, "arrays": {"means": "rows"}})
    with pytest.raises(ModelFileError, match="lacks arrays that its header lists: 'means'"):
        read(path)
    forge(path, {"format_version": 1, "arrays": {}}, {"b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"1")
    with pytest.raises(ModelFileError, match="has arrays that its header lacks: 'b'"):
        read(path)


@pytest.mark.parametrize(
    "tensor",
    [
        {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]},
        {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 0]},
        {"dtype": "Q7", "shape": [0], "data_offsets": [0, 0]},
    ],
    ids=str,
)
def test_sizes_that_lie_are_refused_without_taking_memory(path, tensor):
    forge(path, {"format_version": 1, "arrays": {"a": "rows"}}, {"a": tensor})
    with pytest.raises(ModelFileError, match="damaged or cut short"):
        read(path)


def test_huge_header_length_is_refused(path):
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(ModelFileError, match="damaged or cut short"):
        read(path)


def test_messages_are_one_line(path):
    forge(path, {"format_version": 3, "library_version": "1\n2", "arrays": {}})
    with pytest.raises(ModelFileError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
