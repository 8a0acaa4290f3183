"""Whole reports in a real browser: all is drawn, moves and can be read, and nothing of a table runs or is fetched.

`python -m tools.look --tables FOLDER` makes these pages and two large ones, with pictures to be looked at.
"""

import importlib.util
import re
from pathlib import Path

import pytest

import unveil
from tests.reporting.browser import opened
from tests.reporting.whole import SMALL

_spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)

pytestmark = pytest.mark.browser
# what slips into pages where a value is missing or a text is escaped twice
ODD = re.compile(r"\b(nan|NaN|None(?! of)|inf|undefined)\b|\[object|\{\}|&(amp|lt|gt);|<b[ >]|  +\.")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of each table."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, table in SMALL.items():
        path, options = table(folder)
        made[name] = unveil.report(path, max_components=3, **options).save(folder / f"{name}.html")
    return made


@pytest.fixture(scope="module", params=list(SMALL))
def look(request, browser, pages):
    """Each page on a wide screen, read to its end."""
    with opened(browser, pages[request.param]) as look:
        look.scroll()
        yield look
        assert look.troubles == []


def test_every_figure_is_drawn_and_every_word_makes_sense(look):
    assert look.undrawn() == []
    assert look.overflow() == 0
    assert look.page.locator(".plot .main-svg").count() >= 6
    look.page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    words = look.page.locator("main").inner_text()
    assert [found.group() for found in ODD.finditer(words)] == []


def test_the_slider_moves_the_components(look):
    look.page.locator("#figure-replay").scroll_into_view_if_needed()
    frame = "JSON.stringify(document.getElementById('plot-figure-replay').data.map((trace) => [trace.x, trace.y]))"
    before = look.page.evaluate(frame)
    look.page.get_by_label("Step").focus()
    look.page.keyboard.press("End")
    assert look.page.evaluate(frame) != before
    assert look.page.get_by_label("Step").get_attribute("aria-valuetext").endswith("the end")


def test_the_pointer_shows_which_row_it_is(look):
    look.page.locator("#figure-plane").scroll_into_view_if_needed()
    spot = look.page.locator("#plot-figure-plane .points path").nth(5).bounding_box()
    look.page.mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    look.until("/row [0-9]/i.test(document.querySelector('#plot-figure-plane .hoverlayer').textContent)")


def test_axe_finds_nothing_serious(look):
    look.page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    assert look.hurdles() == []


UNREACHED = """() => {
  document.querySelectorAll('details').forEach((node) => { node.open = true; });
  return Array.from(document.querySelectorAll('.scroller')).filter(
    (node) => node.scrollWidth > node.clientWidth && node.tabIndex < 0).length;
}"""  # tables that scroll and that the keyboard does not reach, as soon as folds are open


@pytest.mark.parametrize("name", SMALL)
def test_a_phone_and_paper(browser, pages, name):
    with opened(browser, pages[name], width=400, height=800) as look:
        look.scroll()
        assert look.overflow() == 0
        assert look.undrawn() == []
        assert look.hidden_titles() == []
        assert look.page.evaluate(UNREACHED) == 0
        sheets = look.paper()
        assert len(re.findall(rb"/Type\s*/Page\b", sheets)) >= 4
        assert len(sheets) > 50_000
        assert look.troubles == []


def test_nothing_from_the_data_runs(browser, tmp_path):
    report = unveil.report(hostile.write_table(tmp_path), max_components=2)
    text = report.save(tmp_path / "evil.html").read_text(encoding="utf-8")
    page = tmp_path / "open.html"  # the policy would hide a hole
    page.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text), encoding="utf-8")
    with opened(browser, page) as look:
        look.scroll()
        assert look.undrawn() == []
        for gloss in look.page.locator("button.gloss").all()[:4]:
            gloss.focus()
        look.page.wait_for_timeout(200)
        assert look.page.evaluate("typeof window.hacked") == "undefined"
        drawn = "".join(look.page.evaluate("Array.from(document.querySelectorAll('svg'), (node) => node.outerHTML)"))
        assert "window.hacked" in drawn  # the names are shown,
        assert not re.search(r"<(a|b|img|script)[ >]", drawn)  # not interpreted
        assert look.troubles == []
