import base64
import gzip
import importlib.util
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from tests.reporting.paper.rich_page import CERTIFICATE, plane, rich_page
from unveil.certificate import Certificate, Finding
from unveil.reporting.paper.packing import digest
from unveil.reporting.paper.render import render
from unveil.reporting.parts import (
    Cell,
    Columns,
    FigureBlock,
    Fold,
    Head,
    Listing,
    Page,
    Replay,
    Section,
    TableBlock,
    Text,
    Verdicts,
)

_spec = importlib.util.spec_from_file_location("hostile", Path(__file__).parents[1] / "hostile.py")
hostile = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)

TAGS = """html head meta title link style script body a div nav details summary ol li main header p bdi h1 ul span
strong noscript section h2 h3 table thead tbody tr th td button svg path dl dt dd figure figcaption label input select
option output pre code footer"""
ATTRIBUTES = """lang charset http-equiv content name rel href class id tabindex style role type scope title open hidden
dir aria-label aria-labelledby aria-hidden aria-describedby aria-expanded viewbox preserveaspectratio d data-figure
value selected autocomplete spellcheck size min max step"""
EMPTY = Page("t", "Nothing was found.", [], CERTIFICATE, [], 0)


class Markup(HTMLParser):
    """Every tag with its attributes, and every script by its type."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.text, self._script = [], [], "", None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))
        self._script = dict(attrs).get("type", "code") if tag == "script" else None

    def handle_data(self, data):
        if self._script:
            self.scripts.append((self._script, data))
            self._script = None
        else:
            self.text += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment got in: {data[:80]}")

    def figures(self):
        """What is compressed in the page."""
        return json.loads(gzip.decompress(base64.b64decode(self.scripts[-2][1])))["value"]


def filled(words):
    """A page whose every text is `words[...]`, by turns."""
    turn = iter(words * 40)
    cell = Cell(next(turn), "alert", next(turn), 0.5, 1)
    spark = Cell(next(turn), spark=[1, 2])
    heads = [Head(next(turn), gloss=next(turn)), Head(next(turn)), Head(next(turn), True)]
    table = TableBlock("table", heads, [[next(turn), cell, spark]] * 3, next(turn), shown=1)
    figure = FigureBlock("plot", plane(), next(turn), next(turn))
    frames = {"data": [{"y": [1]}], "frames": [{"data": [{"y": [2]}]}, {"data": [{"y": [3]}]}]}
    replay = Replay("replay", frames, next(turn), next(turn), [next(turn)])
    choices = {name: [Text(name)] for name in words}
    many = {f"{name} {number}": [Text(name)] for name in words for number in range(3)}
    findings = [Finding(next(turn), "doubt", next(turn), question="real", remedy=next(turn))]
    blocks = [
        Text(next(turn)),
        Text(next(turn), quiet=True),
        table,
        figure,
        replay,
        Columns("few", next(turn), choices),
        Columns("many", next(turn), many),
        Verdicts(Certificate(tuple(findings))),
        Listing(next(turn), next(turn)),
        Fold(next(turn), [Text(next(turn))]),
    ]
    sections = [Section(anchor, next(turn), next(turn), blocks if anchor == "a" else ()) for anchor in "ab"]
    meta = {"version": next(turn), "date": next(turn), "file": next(turn)}
    return Page(next(turn), next(turn), [next(turn), next(turn)], CERTIFICATE, sections, 0, meta)


def test_hostile_text_changes_no_tag_and_no_attribute():
    evil = Markup(render(filled(hostile.PAYLOADS)))
    good = Markup(render(filled([f"{'word' * 8} {number}" for number in range(len(hostile.PAYLOADS))])))

    def shape(markup):
        return [(tag, [name for name, _ in attrs]) for tag, attrs in markup.tags]

    def bare(shapes):
        return [(tag, [name for name in names if name != "class"]) for tag, names in shapes]

    assert bare(shape(evil)) == bare(shape(good))  # short names of rows have a class
    assert {tag for tag, _ in evil.tags} <= set(TAGS.split())
    assert {name for _, attrs in evil.tags for name, _ in attrs} <= set(ATTRIBUTES.split())
    assert "<script>window.hacked=1</script>" in evil.text  # shown as it is


def test_characters_that_turn_text_around_are_shown_as_such():
    text = render(filled(["a\u202eb", "c\u2066d", "e\x00f", "g\ud800h"]))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\ud800]", text)
    assert "a\N{REPLACEMENT CHARACTER}b" in text
    text.encode()


def test_the_policy_admits_the_scripts_of_the_page_and_nothing_else():
    text = render(rich_page())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    admitted = re.search("script-src ([^;]*);", policy).group(1).replace("'", "").split()
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy
    scripts = Markup(text).scripts
    ran = [digest(code) for kind, code in scripts if kind == "code"]
    library = gzip.decompress(base64.b64decode(next(code for kind, code in scripts if kind != "code")))
    assert sorted(admitted) == sorted([*ran, digest(library)])


def test_a_page_is_small_and_holds_its_figures():
    text = render(rich_page())
    assert len(text.encode()) < 1_000_000
    figures = Markup(text).figures()
    assert len(figures["em"]["frames"]) == 12
    assert len(figures) == 40


def test_a_page_without_figures_carries_no_library():
    text = render(EMPTY)
    assert len(text) < 60_000
    assert 'id="contents"' not in text
    assert "<noscript>" not in text
    one = render(replace(EMPTY, sections=[Section("a", "A", "", [Text("x")])]))
    assert 'id="contents"' not in one


def test_lights_lead_to_their_verdicts_where_these_are_on_the_page():
    assert 'href="#verdict-real"' not in render(EMPTY)
    other = Verdicts(Certificate(()))
    text = render(replace(EMPTY, sections=[Section("v", "V", "", [other, Verdicts(CERTIFICATE)])]))
    assert 'href="#verdict-real"' in text
    assert text.count('id="verdict-real"') == 1


def test_many_sections_stay_small():
    x = [number / 7 for number in range(2000)]
    points = {"data": [{"type": "scatter", "mode": "markers", "x": x, "y": x[::-1]}], "layout": {}}
    blocks = [[FigureBlock(f"f{number}", points, "alt", "c"), Text("words " * 100)] for number in range(60)]
    page = replace(EMPTY, sections=[Section(f"s{n}", f"Section {n}", "Lead.", part) for n, part in enumerate(blocks)])
    assert len(render(page)) < 1_000_000


def test_ids_are_unique():
    ids = [dict(attrs)["id"] for _, attrs in Markup(render(rich_page())).tags if "id" in dict(attrs)]
    assert len(ids) == len(set(ids))


def test_the_same_page_has_the_same_bytes():
    assert render(rich_page()) == render(rich_page())
