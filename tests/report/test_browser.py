"""The page in a real browser: figures are drawn, nothing else runs, nothing is fetched."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import EXAMPLES
from unveil.report.write import write_report

_spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)

DATA = EXAMPLES
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=8000",
    "--dump-dom",
]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """From a page to its DOM after scripts ran, and what the console said."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs a browser: install chromium and put it on the PATH")

    def run(path):
        profile = tmp_path_factory.mktemp("profile")
        command = [browser, *FLAGS, f"--user-data-dir={profile}", path.resolve().as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return run


def test_every_figure_is_drawn_and_the_console_is_silent(load, tmp_path):
    report = write_report(DATA / "iris.csv", tmp_path / "r.html", max_components=2)
    dom, console = load(report.path)
    assert console == []
    assert dom.count('class="plot js-plotly-plot"') == 5
    assert dom.count('class="main-svg"') >= 5
    assert "Sepal.Length</text>" in dom


def test_nothing_from_the_data_runs(load, tmp_path):
    report = write_report(hostile.write_table(tmp_path), tmp_path / "evil.html", max_components=2)
    # the witness: a page that would show it if any payload had set window.hacked
    text = report.path.read_text(encoding="utf-8")
    witness = 'setTimeout(function () { document.body.setAttribute("data-hacked", String(window.hacked)); }, 1500);'
    open_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)  # it would hide a hole
    page = tmp_path / "witness.html"
    page.write_text(open_policy.replace("</body>", f"<script>{witness}</script></body>"), encoding="utf-8")
    dom, console = load(page)
    assert console == []
    assert 'data-hacked="undefined"' in dom
    svg = "".join(re.findall(r"<svg.*?</svg>", dom, re.DOTALL))
    assert "window.hacked" in svg  # the names are shown,
    assert not re.search(r"<(a|b|img|script)[ >]", svg)  # not interpreted
