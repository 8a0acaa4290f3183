"""A page in a real browser: Debian's Chromium, driven by playwright.

`opened(browser, path, width=...)` gives a `Look`, which remembers what the console said, what went wrong and what was
asked of the network, and can scroll, print, take pictures and run axe-core. Tests take the fixture `browser`, one for
each file of tests, which skips with words where there is none.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
OWN = ("file:", "data:", "blob:", "about:")


@dataclass
class Look:
    """A page that is open, and what it did so far."""

    page: Any
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def troubles(self) -> list[str]:
        """All that should not have been."""
        return [*self.console, *self.errors, *self.requests]

    def scroll(self) -> None:
        """Read the page to its end, as somebody would: a screen at a time, until each figure on it is drawn."""
        self.page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        height = self.page.viewport_size["height"]
        top = 0
        while top < self.page.evaluate("document.documentElement.scrollHeight"):
            self.page.evaluate(f"window.scrollTo(0, {top})")
            self.until(f"({_SEEN})().every((node) => node.querySelector('.main-svg'))")
            top += height
        self.page.evaluate("window.scrollTo(0, 0)")

    def until(self, expression: str, seconds: float = 20) -> None:
        """Wait until an expression holds. (Playwright's own way of waiting needs a policy that allows `eval`.)"""
        for _ in range(int(seconds * 50)):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"this did not come true in {seconds} s: {expression}")

    def undrawn(self) -> list[str]:
        """Figures that can be seen by scrolling and are not drawn."""
        return self.page.evaluate(
            "Array.from(document.querySelectorAll('.plot')).filter((node) => node.checkVisibility() "
            "&& !node.querySelector('.main-svg')).map((node) => node.id)"
        )

    def overflow(self) -> int:
        """Pixels by which the page is wider than the screen."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def hidden_titles(self) -> list[str]:
        """Figures in which the title of an axis lies over its labels."""
        return self.page.evaluate(_HIDDEN)

    def picture(self, path: Path) -> Path:
        """The whole page as PNG."""
        self.page.screenshot(path=str(path), full_page=True)
        return path

    def paper(self, path: Path | None = None) -> bytes:
        """The page as PDF."""
        return self.page.pdf(path=str(path) if path else None, format="A4", prefer_css_page_size=True)

    def hurdles(self) -> list[str]:
        """What axe-core finds serious or critical."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        grave = [violation for violation in found if violation["impact"] in ("serious", "critical")]
        return [
            f"{violation['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
            for violation in grave
            for node in violation["nodes"]
        ]


_SEEN = """() => Array.from(document.querySelectorAll('.plot')).filter((node) => {
  const place = node.getBoundingClientRect();
  return node.checkVisibility() && place.bottom > 0 && place.top < window.innerHeight;
})"""

_HIDDEN = """() => Array.from(document.querySelectorAll('.plot')).filter((plot) => {
  const boxes = (what) => Array.from(plot.querySelectorAll(what), (node) => node.getBoundingClientRect());
  const ticks = boxes('.xtick text, .ytick text, .x2tick text, .y2tick text').filter((box) => box.width);
  const titles = boxes('text.xtitle, text.ytitle, text.x2title, text.y2title');
  return titles.some((one) => ticks.some((tick) => one.left < tick.right - 1 && tick.left < one.right - 1
    && one.top < tick.bottom - 2 && tick.top < one.bottom - 2));
}).map((plot) => plot.id)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium for the tests of a file."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs a browser: install chromium and put it on the PATH")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


@contextmanager
def opened(browser: Any, path: Path, *, width: int = 1200, height: int = 900, **options: Any) -> Iterator[Look]:
    """A page file at a width; `options` are those of a context of playwright, such as `color_scheme="dark"`."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    look = Look(page)
    page.on("console", lambda message: look.console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: look.errors.append(str(error)))
    page.on("request", lambda asked: look.requests.append(asked.url) if not asked.url.startswith(OWN) else None)
    try:
        page.goto(path.resolve().as_uri())
        yield look
    finally:
        context.close()
