import pytest

from unveil.cli.options import names_in, protect


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
            protect(str(name), [other, data])
    protect(str(other), [data])
    assert not other.exists()
