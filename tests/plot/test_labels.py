import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.plot.labels import ISOLATED, column_labels, label, plain


@given(st.text())
def test_nothing_that_plotly_interprets_is_left(text):
    shown = label(text)
    assert not re.search(r"[<>$%{]", shown)
    assert all(re.fullmatch(r"&(amp|lt|gt|#37|#36|#123);", entity) for entity in re.findall(r"&[^;]*;?", shown))


@given(st.text())
def test_what_is_shown_is_the_name(text):
    assert html.unescape(label(text)) == plain(text)
    assert plain(text).strip("".join(ISOLATED)).isprintable()
    assert len(plain(text)) <= 40


def test_a_name_from_right_to_left_leaves_the_words_behind_it_where_they_are():
    assert plain("\u05d0\u05e8") == "\u2068\u05d0\u05e8\u2069"
    assert plain("long") == "long"


def test_columns_without_a_name_get_a_number():
    assert column_labels(None, 2) == ["column 1", "column 2"]
    assert column_labels(["a", "\u202e"], 2) == ["a", "column 2"]
    with pytest.raises(ValueError, match="names must hold 3 names, one a column; got 1"):
        column_labels(["a"], 3)
