"""Pictures of a page, to be looked at: as on a wide screen, on a phone, in the dark, and on paper.

    python -m tools.look report.html [-o FOLDER] [--scale 1]
    python -m tools.look --tables -o FOLDER

writes NAME-1200.png, NAME-400.png, NAME-dark.png and NAME.pdf, with a PNG of each sheet where `pdftoppm` is there, and
says what the console said, which figures were not drawn, by how much the page is too wide, what axe-core finds serious
and how large the page is. With `--tables` it first makes the pages of six tables: those that the tests open, one of
200,000 rows and one of 300 columns, which takes minutes. A step that does not end within `--limit` seconds is named,
with where it stood, and ends the program: neither a browser that runs a script nor one that prints has a limit of its
own. It needs chromium on the PATH and playwright (the extra `test`).
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

import unveil
from tests.reporting.browser import ARGUMENTS, Look, opened
from tests.reporting.whole import LARGE, SMALL

LOOKS = {"1200": {"width": 1200}, "400": {"width": 400}, "dark": {"width": 1200, "color_scheme": "dark"}}


LIMIT = 900.0  # seconds for a step: the report of 200,000 rows takes 400 where others are at work
GAVE_UP = 3  # exit code


@contextmanager
def within(seconds: float, step: str) -> Iterator[None]:
    """Say what is done, and end the program with words if it takes too long."""
    print(step, flush=True)
    watch = threading.Timer(seconds, _give_up, (step, seconds))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _give_up(step: str, seconds: float) -> None:
    """From a thread of its own, as what hangs cannot be asked; the browser ends with the program."""
    print(f"gave up: {step} did not end within {seconds:g} s", file=sys.stderr, flush=True)
    faulthandler.dump_traceback(file=sys.stderr)
    os._exit(GAVE_UP)


def look(path: Path, folder: Path, scale: float, limit: float = LIMIT) -> list[Path]:
    """Pictures of a page, taken when all of it has been scrolled through."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("look needs a browser: install chromium and put it on the PATH")
    made = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        for name, options in LOOKS.items():
            looking = within(limit, f"looking at {path.name}, {name}")
            with looking, opened(browser, path, device_scale_factor=scale, **options) as seen:
                seen.scroll()
                made.append(seen.picture(folder / f"{path.stem}-{name}.png"))
                for trouble in _troubles(seen):
                    print(f"{name}: {trouble}")
        with within(limit, f"printing {path.name}"), opened(browser, path) as seen:
            seen.until("!document.querySelector('.plot') || Boolean(window.Plotly)")
            pdf = folder / f"{path.stem}.pdf"
            seen.paper(pdf)
            made += _sheets(pdf)
        browser.close()
    return made


def _troubles(seen: Look) -> list[str]:
    """All that should not be so of a page that was read to its end."""
    wide = [f"{seen.overflow()} pixels too wide"] if seen.overflow() else []
    return [*seen.troubles, *(f"not drawn: {name}" for name in seen.undrawn()), *wide, *seen.hurdles()]


def pages(folder: Path, limit: float = LIMIT) -> Iterator[Path]:
    """The pages of all tables that are looked at."""
    for name, table in (SMALL | LARGE).items():
        with within(limit, f"making the report of {name}"):
            path, options = table(folder)
            page = unveil.report(path, **options).save(folder / f"{name}.html")
        yield page


def _sheets(pdf: Path) -> list[Path]:
    """The file, and a PNG of each sheet where there is a program for it."""
    if program := shutil.which("pdftoppm"):
        subprocess.run([program, "-r", "50", "-png", str(pdf), str(pdf.with_suffix("")) + "-sheet"], check=True)
    return [pdf, *sorted(pdf.parent.glob(f"{pdf.stem}-sheet-*.png"))]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.look", description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("--tables", action="store_true", help="make pages of six tables and look at these")
    parser.add_argument("-o", "--output", type=Path, help="the folder of the pictures; that of the page by default")
    parser.add_argument("--scale", type=float, default=1.0, help="pixels of the picture for one of the page")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a step may take")
    asked = parser.parse_args()
    if asked.page is None and not (asked.tables and asked.output):
        parser.error("name a page, or --tables and a folder for them (-o)")
    folder = asked.output or asked.page.parent
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages(folder, asked.limit) if asked.tables else [asked.page]:
        print(f"{page}: {page.stat().st_size:,} bytes")
        for path in look(page, folder, asked.scale, asked.limit):
            print(path)


if __name__ == "__main__":
    main()
