"""Pictures of a page, to be looked at: as on a wide screen, on a phone, in the dark, and on paper.

    python -m tools.look report.html [-o FOLDER] [--scale 1]

writes NAME-1200.png, NAME-400.png, NAME-dark.png and NAME.pdf, with a PNG of each sheet where `pdftoppm` is there, and
says what the console said. It needs chromium on the PATH and playwright (the extra `test`).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.reporting.browser import ARGUMENTS, opened

LOOKS = {"1200": {"width": 1200}, "400": {"width": 400}, "dark": {"width": 1200, "color_scheme": "dark"}}


def look(path: Path, folder: Path, scale: float) -> list[Path]:
    """Pictures of a page, taken when all of it has been scrolled through."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("look needs a browser: install chromium and put it on the PATH")
    made = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        for name, options in LOOKS.items():
            with opened(browser, path, device_scale_factor=scale, **options) as seen:
                seen.scroll()
                made.append(seen.picture(folder / f"{path.stem}-{name}.png"))
                for trouble in seen.troubles:
                    print(f"{name}: {trouble}")
        with opened(browser, path) as seen:
            seen.until("!document.querySelector('.plot') || Boolean(window.Plotly)")
            pdf = folder / f"{path.stem}.pdf"
            seen.paper(pdf)
            made += _sheets(pdf)
        browser.close()
    return made


def _sheets(pdf: Path) -> list[Path]:
    """The file, and a PNG of each sheet where there is a program for it."""
    if program := shutil.which("pdftoppm"):
        subprocess.run([program, "-r", "50", "-png", str(pdf), str(pdf.with_suffix("")) + "-sheet"], check=True)
    return [pdf, *sorted(pdf.parent.glob(f"{pdf.stem}-sheet-*.png"))]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.look", description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="the folder of the pictures; that of the page by default")
    parser.add_argument("--scale", type=float, default=1.0, help="pixels of the picture for one of the page")
    asked = parser.parse_args()
    folder = asked.output or asked.page.parent
    folder.mkdir(parents=True, exist_ok=True)
    for path in look(asked.page, folder, asked.scale):
        print(path)


if __name__ == "__main__":
    main()
