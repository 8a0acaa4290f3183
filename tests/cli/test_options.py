import pytest

from unveil.cli.options import names_in, pairs_in, protect


@pytest.mark.parametrize(
    ("text", "names"),
    [(None, None), ("a", ["a"]), ("a, b c ,d", ["a", "b c", "d"]), ('"a,b",c', ["a,b", "c"])],
)
def test_names_in_a_list(text, names):
    assert names_in(text) == names


@pytest.mark.parametrize("text", ["", "a,,b", ","])
def test_lists_with_holes_are_refused(text):
    with pytest.raises(ValueError, match="--columns must be names"):
        names_in(text)


def test_inputs_are_protected_under_any_name(tmp_path):
    data, other, link = tmp_path / "data.csv", tmp_path / "other.csv", tmp_path / "link.csv"
    data.write_text("a\n1\n")
    link.symlink_to(data)
    for name in (data, link, tmp_path / "." / "data.csv"):
        with pytest.raises(ValueError, match="is an input and would be overwritten"):
            protect(str(name), [other, data], force=True)
    protect(str(other), [data], force=False)
    assert not other.exists()


def test_a_file_that_is_there_needs_force(tmp_path):
    there = tmp_path / "there.csv"
    there.write_text("mine\n")
    with pytest.raises(FileExistsError, match=r"is there already; --force replaces it"):
        protect(str(there), [], force=False)
    with pytest.raises(FileExistsError):
        protect(str(there), [], force=False, own=lambda path: "unveil" in path.read_text())
    protect(str(there), [], force=False, own=lambda path: "mine" in path.read_text())
    protect(str(there), [], force=True)
    protect("/dev/null", [], force=False)


def test_pairs():
    assert pairs_in("a=id, b=c=number", "--roles") == {"a": "id", "b=c": "number"}
    assert pairs_in(None, "--roles") == {}
    for wrong in ("a", "a=", "=id"):
        with pytest.raises(ValueError, match="--roles must be COLUMN=WORD"):
            pairs_in(wrong, "--roles")
