"""Whole pages as text: a hostile table changes no tag, nothing points to the network, a seed gives the same bytes."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

import unveil
from tests.reporting.paper.test_render import ATTRIBUTES, TAGS, Markup
from tests.reporting.study.made import blobs

_spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)


def safe_table(folder):
    """The same table with harmless names."""
    text = next(folder.glob("*onerror*.csv")).read_text(encoding="utf-8").splitlines()
    names = [f"column {n} of the table" for n in range(len(hostile.PAYLOADS) + 2)]
    body = [re.sub(r"<script>.*", "word", line) for line in text if re.match(r"-?\d", line)]
    path = folder / "table.csv"
    path.write_text("\n".join([",".join(names), *body]))
    return path


def text_of(data, path, **options):
    return unveil.report(data, max_components=2, **options).save(path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    evil = text_of(hostile.write_table(folder), folder / "evil.html")
    return evil, text_of(safe_table(folder), folder / "good.html")


@pytest.fixture(scope="module")
def pages(texts):
    return [Markup(text) for text in texts]


def test_hostile_names_change_no_tag_and_no_attribute(pages):
    evil, good = (
        [(tag, sorted(name for name, _ in attrs if name != "class")) for tag, attrs in page.tags] for page in pages
    )  # short words have a class of their own
    assert evil == good
    assert {tag for tag, _ in evil} <= set(TAGS.split())
    assert {name for _, names in evil for name in names} <= set(ATTRIBUTES.split())


def test_hostile_names_are_shown_as_they_are(pages):
    evil, _ = pages
    assert "<script>window.hacked=1</script>" in evil.text
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in json.dumps(evil.figures())


def test_labels_of_figures_hold_no_markup_from_the_data(pages):
    evil, good = (sorted(set(re.findall(r"<[^>]*>", json.dumps(page.figures())))) for page in pages)
    assert evil == good


def test_a_hostile_name_of_a_single_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"</script><b onclick=x>"\n' + "\n".join(str(n**1.5) for n in range(30)))
    markup = Markup(text_of(path, tmp_path / "r.html"))
    assert {tag for tag, _ in markup.tags} <= set(TAGS.split())
    assert {name for _, attrs in markup.tags for name, _ in attrs} <= set(ATTRIBUTES.split())


def test_nothing_points_to_the_network(texts, pages):
    for text, page in zip(texts, pages, strict=True):
        places = [value for _, attrs in page.tags for name, value in attrs if name in ("href", "src", "action")]
        assert [place for place in places if not place.startswith(("#", "data:"))] == []
        words = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        assert re.findall(r"https?://[^\s\"'<]+|url\((?!data:)[^)]*\)|@import", words) == []
        assert "default-src 'none'" in text
        assert "unsafe-eval" not in text[:4000]


def test_the_same_seed_gives_the_same_page_but_for_the_date(tmp_path):
    rows = np.round(blobs(90).to_numpy(), 3)
    one, two = (re.sub(r"on \d{4}-\d\d-\d\d \d\d:\d\d[^,]*,", "", text_of(rows, tmp_path / "r.html")) for _ in "ab")
    assert one == two
