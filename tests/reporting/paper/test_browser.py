"""Every kind of block in a real browser: drawn, moved, chosen, printed, and read aloud."""

import re
from dataclasses import replace

import pytest

from tests.reporting.browser import opened
from tests.reporting.paper.rich_page import CERTIFICATE, rich_page
from unveil.reporting.paper.render import render
from unveil.reporting.parts import Cell, FigureBlock, Head, Page, Section, TableBlock

pytestmark = pytest.mark.browser
STEP = "document.querySelector('#plot-em').data[3].x[0]"  # where the mark on the free energy stands


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(render(rich_page()), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def look(browser, path):
    """The page on a wide screen, read to its end."""
    with opened(browser, path) as look:
        look.scroll()
        yield look


@pytest.fixture(autouse=True)
def silence(request):
    """Whatever a test does, the console stays silent and the network is left alone."""
    yield
    if "look" in request.fixturenames:
        assert request.getfixturevalue("look").troubles == []


def test_every_figure_is_drawn(look):
    assert look.undrawn() == []
    assert look.page.locator(".main-svg").count() >= 5
    assert look.page.locator("text.xtitle", has_text="First principal direction").count() == 1
    assert look.overflow() == 0


def test_figures_follow_the_width_of_the_window(look):
    for width in (1, 1300, 1200):  # a picture of a whole page makes windows of one pixel
        look.page.set_viewport_size({"width": width, "height": 900})
        look.page.wait_for_timeout(150)
    look.until(
        "document.querySelector('#plot-heat')._fullLayout.width === document.querySelector('#plot-heat').clientWidth"
    )
    assert look.page.evaluate("document.querySelector('#plot-heat')._fullLayout._size.l") > 40


def test_figures_that_are_not_shown_wait(look):
    assert look.page.locator("#plot-folded .main-svg").count() == 0
    look.page.locator("details.fold summary").click()
    look.until("Boolean(document.querySelector('#plot-folded .main-svg'))")


def test_a_label_under_the_pointer(look):
    look.page.locator("#plot-plane-figure").scroll_into_view_if_needed()
    point = look.page.locator("#plot-plane-figure .points path").nth(10).bounding_box()
    look.page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    label = look.page.locator("#plot-plane-figure .hoverlayer")
    look.until("document.querySelector('#plot-plane-figure .hoverlayer').textContent !== ''")
    assert "row " in label.text_content()


def test_the_slider_moves_the_frames_and_the_button_plays_them(look):
    ellipse = look.page.locator("#plot-em .js-line").first
    slider, label = look.page.get_by_label("Step"), look.page.locator("#em output")
    before = ellipse.get_attribute("d")
    assert label.text_content() == "pass 0 of 11"
    slider.focus()
    look.page.keyboard.press("End")
    assert label.text_content() == slider.get_attribute("aria-valuetext") == "pass 11 of 11"
    after = ellipse.get_attribute("d")
    assert after != before
    look.page.keyboard.press("ArrowLeft")
    assert label.text_content() == "pass 10 of 11"
    look.page.keyboard.press("End")
    button = look.page.locator("#em .play")
    button.press("Enter")
    assert button.text_content() == "Pause"
    look.until("document.querySelector('#em output').textContent === 'pass 2 of 11'")
    button.press("Enter")
    assert button.text_content() == "Play"
    assert ellipse.get_attribute("d") not in (before, after)


def test_another_column_is_chosen(look):
    block = look.page.locator("#densities")
    block.scroll_into_view_if_needed()
    block.locator("select").select_option("4")
    assert block.locator(".choice:visible h3").all_text_contents() == ["x4"]
    look.until("Boolean(document.querySelector('#plot-density-4 .main-svg'))")
    block.locator(".next").click()
    assert block.locator("output").text_content() == "6 of 6"
    block.locator(".next").click()
    assert block.locator(".choice:visible h3").all_text_contents() == ["x0"]


def test_an_address_shows_what_it_points_to(look):
    look.page.evaluate("window.location.hash = 'density-3'")
    look.until("Boolean(document.querySelector('#plot-density-3 .main-svg'))")
    assert look.page.locator("#densities select").input_value() == "3"


def test_a_figure_that_fails_says_so(browser, tmp_path):
    plot = {"data": [{"type": "scatter", "x": [1], "y": [1]}]}
    page = Page("t", "h", [], CERTIFICATE, [Section("s", "S", "", [FigureBlock("f", plot, "alt", "")])], 0)
    file = tmp_path / "page.html"
    file.write_text(render(page).replace('data-figure="f"', 'data-figure="g"'), encoding="utf-8")
    with opened(browser, file) as look:
        look.until("document.getElementById('plot-f').textContent.startsWith('This figure could not be drawn')")
        assert len(look.console) == 1


def test_a_long_list_is_filtered(look):
    block = look.page.locator("#many-densities")
    block.locator("input").fill("x2")
    assert block.locator("option").all_text_contents() == ["x2", *(f"x{n}" for n in range(20, 30))]
    assert block.locator(".choice:visible h3").all_text_contents() == ["x2"]
    block.locator("select").focus()
    look.page.keyboard.press("ArrowDown")
    assert block.locator(".choice:visible h3").all_text_contents() == ["x20"]
    block.locator("input").fill("nothing")
    assert block.locator("output").text_content() == "none of that name"
    block.locator("input").fill("")
    assert block.locator("option").count() == 30
    assert block.locator("select").input_value() == "20"


def test_tables_show_more_and_say_what_words_mean(look):
    table = look.page.locator("#survey")
    assert table.locator("tbody tr:visible").count() == 8
    table.locator("button.all").click()
    assert table.locator("tbody tr:visible").count() == 40
    table.locator("button.all").click()
    table.locator("button.gloss").focus()
    assert look.page.locator("#tip").text_content() == "what the column is taken for"
    look.page.keyboard.press("Escape")
    assert look.page.locator("#tip").is_hidden()


def test_wide_tables_scroll_and_keep_the_names_of_rows(look):
    scroller = look.page.locator("#means .scroller")
    assert "cut-right" in look.page.locator("#means .edge").get_attribute("class")
    scroller.focus()
    assert scroller.evaluate("(node) => node === document.activeElement")
    left = scroller.locator("tbody th").first.bounding_box()["x"]
    scroller.evaluate("(node) => { node.scrollLeft = 5000; }")
    look.until("document.querySelector('#means .edge').classList.contains('cut-left')")
    assert scroller.locator("tbody th").first.bounding_box()["x"] == left
    assert look.page.locator("#group-table .scroller").get_attribute("tabindex") is None


def test_the_contents_follow_the_reader(look):
    look.page.evaluate("document.getElementById('groups').scrollIntoView()")
    look.until("document.querySelector('[aria-current]')?.textContent === 'The groups'")
    assert look.page.locator("#contents").bounding_box()["y"] >= 0  # it stays


def test_a_listing_is_copied(look):
    look.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = look.page.locator(".listing .copy").first
    button.click()
    look.until("document.querySelector('.listing .copy').textContent === 'Copied'")
    assert look.page.evaluate("navigator.clipboard.readText()") == "unveil report table.csv"


def test_a_phone(browser, path):
    phone = {"width": 400, "height": 800, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
    with opened(browser, path, **phone) as look:
        assert not look.page.locator("#contents ol").is_visible()
        look.scroll()
        assert look.overflow() == 0
        assert look.undrawn() == []
        widths = "Array.from(document.querySelectorAll('.plot .main-svg'), (svg) => svg.getBoundingClientRect().width)"
        assert max(look.page.evaluate(widths)) <= 400
        panels = [box.bounding_box() for box in look.page.locator("#plot-em .subplot .gridlayer").all()]
        assert panels[0]["y"] + panels[0]["height"] <= panels[1]["y"]  # below each other
        look.page.locator("#em .play").click()
        look.page.wait_for_timeout(700)  # longer than any step, but for readers who want less motion
        assert look.page.locator("#em output").text_content() == "pass 0 of 11"
        assert look.troubles == []


def test_a_legend_of_several_lines_moves_no_title_over_labels(browser, tmp_path):
    axis = {"automargin": False, "title": {"text": "title", "standoff": 10}}
    groups = [{"type": "scatter", "mode": "markers", "name": f"Group {n}", "legendgroup": str(n)} for n in range(1, 8)]
    data = [{**group, "x": [0, 1], "y": [1, 2]} for group in groups]
    plot = {"data": data, "layout": {"xaxis": axis, "yaxis": axis, "height": 380}}
    page = Page("t", "h", [], CERTIFICATE, [Section("s", "S", "", [FigureBlock("f", plot, "alt", "")])], 0)
    file = tmp_path / "page.html"
    file.write_text(render(page), encoding="utf-8")
    for width in (340, 400, 500):
        with opened(browser, file, width=width) as look:
            look.scroll()
            assert look.hidden_titles() == []


def test_axe_finds_nothing_serious(look):
    assert look.hurdles() == []


def test_the_dark_and_paper(browser, path):
    with opened(browser, path, color_scheme="dark") as look:
        look.until("Boolean(document.querySelector('#plot-plane-figure .main-svg'))")
        assert ink(look) == "rgb(213, 219, 227)"
        assert look.hurdles() == []
        sheets = len(re.findall(rb"/Type\s*/Page\b", look.paper()))
        assert 5 <= sheets <= 15
        look.page.emulate_media(media="print")
        look.until("Boolean(document.querySelector('#plot-em .main-svg'))")
        assert look.undrawn() == []  # without any scrolling
        assert look.page.locator(".choice:visible").count() == 6  # the first three of each list
        assert look.page.evaluate(STEP) == 11  # a replay is printed at its end
        assert ink(look) == "rgb(58, 68, 80)"  # dark schemes are for screens
        look.page.emulate_media(media="screen")
        look.until(f"{STEP} === 0")
        assert ink(look) == "rgb(213, 219, 227)"
        wide = look.page.locator("#plot-plane-figure .main-svg").first.bounding_box()["width"]
        assert wide == pytest.approx(look.page.locator("#plot-plane-figure").bounding_box()["width"], abs=1)
        assert look.troubles == []


def ink(look):
    return look.page.locator("#plot-plane-figure text.xtitle").evaluate("(node) => getComputedStyle(node).fill")


def test_a_browser_that_cannot_unpack_says_so_and_shows_the_tables(browser, path):
    with opened(browser, path) as look:
        look.page.add_init_script("delete window.DecompressionStream")
        look.page.reload()
        words = look.page.locator("#plot-plane-figure").text_content()
        assert words.startswith("This browser is too old to draw the figure")
        assert look.page.locator("#survey tbody tr:visible").count() == 8
        assert look.troubles == []


def test_without_scripts_all_words_and_tables_are_there(browser, path):
    with opened(browser, path, java_script_enabled=False) as look:
        assert look.page.locator("#survey tbody tr:visible").count() == 40
        assert look.page.locator("#many-densities .choice:visible").count() == 30
        assert look.page.locator("noscript p").is_visible()
        assert not look.page.locator(".player").is_visible()


def test_pages_of_hardly_anything_and_of_a_great_deal(browser, tmp_path):
    empty = Page("t", "Nothing was found.", [], CERTIFICATE, [], 0)
    wide = [[Cell("x" * 400), *("1" for _ in range(300))] for _ in range(40)]
    table = TableBlock("wide", [Head("y" * 300), *(Head(f"c{n}", True) for n in range(300))], wide)
    points = {"data": [{"type": "scatter", "x": list(range(500)), "y": list(range(500))}], "layout": {}}
    sections = [Section("wide-table", "z" * 200, "", [table])]
    sections += [Section(f"s{n}", f"Section {n}", "", [FigureBlock(f"f{n}", points, "a", "c")]) for n in range(15)]
    for page in (empty, replace(empty, headline="h" * 300, sections=sections)):
        file = tmp_path / "page.html"
        file.write_text(render(page), encoding="utf-8")
        with opened(browser, file, width=400) as look:
            look.scroll()
            assert look.undrawn() == []
            assert look.overflow() == 0
            assert look.troubles == []


def test_nothing_of_a_name_runs_even_without_the_policy(browser, tmp_path):
    from tests.reporting.paper.test_render import filled, hostile

    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", render(filled(hostile.PAYLOADS)))
    file = tmp_path / "evil.html"
    file.write_text(text, encoding="utf-8")  # the policy would hide a hole
    with opened(browser, file) as look:
        look.scroll()
        look.page.locator("button.gloss").first.focus()
        look.page.wait_for_timeout(200)
        assert look.page.evaluate("typeof window.hacked") == "undefined"
        assert look.troubles == []
