import importlib.util
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.report import page as module
from unveil.report.page import safe_json
from unveil.report.write import write_report

_spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)

TAGS = """html head meta title style body main header section h1 h2 h3 p bdi div table thead tbody tr th td figure
figcaption script details summary span strong ul li pre code footer"""
ATTRIBUTES = """lang charset http-equiv content name id class scope role aria-label aria-labelledby aria-hidden style
type title"""


class Markup(HTMLParser):
    """Every tag with its attributes, and every script of JSON."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.documents, self._json = [], [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))
        self._json = tag == "script" and ("type", "application/json") in attrs

    def handle_data(self, data):
        if self._json:
            self.documents.append(json.loads(data))
            self._json = False

    def handle_comment(self, data):
        raise AssertionError(f"a comment got in: {data[:80]}")


def safe_table(folder):
    """The same shape of table with harmless names."""
    path = folder / "table.csv"
    text = next(folder.glob("*onerror*.csv")).read_text(encoding="utf-8").splitlines()
    names = [f"c{n}" for n in range(len(hostile.PAYLOADS) + 2)]
    body = [re.sub(r"<script>.*", "word", line) for line in text if re.match(r"-?\d", line)]
    path.write_text("\n".join([",".join(names), *body]))
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    evil = write_report(hostile.write_table(folder), folder / "evil.html", max_components=2)
    good = write_report(safe_table(folder), folder / "good.html", max_components=2)
    return [Markup(report.path.read_text(encoding="utf-8")) for report in (evil, good)]


def test_hostile_names_change_no_tag_and_no_attribute(pages):
    evil, good = pages
    assert [(tag, [name for name, _ in attrs]) for tag, attrs in evil.tags] == [
        (tag, [name for name, _ in attrs]) for tag, attrs in good.tags
    ]
    assert {tag for tag, _ in evil.tags} <= set(TAGS.split())
    assert {name for _, attrs in evil.tags for name, _ in attrs} <= set(ATTRIBUTES.split())


def test_hostile_names_are_shown_as_they_are(pages):
    evil, _ = pages
    shown = json.dumps([document["layout"].get("annotations") for document in evil.documents])
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in shown


def test_labels_of_figures_hold_no_markup_from_the_data(pages):
    evil, good = pages

    def markup(value):
        return sorted(set(re.findall(r"<[^>]*>", json.dumps(value))))

    assert [markup(document) for document in evil.documents] == [markup(document) for document in good.documents]


def test_hostile_names_in_a_single_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"</script><b onclick=x>"\n' + "\n".join(map(str, range(30))))
    report = write_report(path, tmp_path / "r.html", max_components=1)
    markup = Markup(report.path.read_text(encoding="utf-8"))
    assert {tag for tag, _ in markup.tags} <= set(TAGS.split())
    assert {name for _, attrs in markup.tags for name, _ in attrs} <= set(ATTRIBUTES.split())


@given(st.recursive(st.text(), lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts)))
def test_json_is_safe_in_a_script_and_says_the_same(value):
    text = safe_json(value)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert text.isascii()
    assert json.loads(text) == value


def test_scripts_cannot_end_their_element():
    assert module._script("a</script>b<!--c\r\nd") == "a<\\/script>b<\\!--c\nd"


def test_an_old_report_survives_a_failure(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*names):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(np.arange(40.0).reshape(20, 2) ** 2, path, max_components=1)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_report_replaces_an_old_one(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(np.arange(40.0).reshape(20, 2) ** 2, path, max_components=1)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_to_are_named_before_any_work(tmp_path):
    X = np.ones((1, 1))  # would fail as a table, later
    with pytest.raises(IsADirectoryError, match="is a folder, and a file is to be written"):
        write_report(X, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere' does not exist"):
        write_report(X, tmp_path / "nowhere" / "r.html")
