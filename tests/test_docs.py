"""Every example of the README, of docs/ and of examples/ runs, in Python and in a shell; links lead on.

Of docs/clustering.md also: its table of algorithms is that of the code, and its pictures are what its script draws.
"""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.places import ROOT
from unveil.cli.app import VERBS, app
from unveil.cli.errors import EXIT_CODES
from unveil.clusters.assignment import choice
from unveil.clusters.kmeans.empty import POLICIES
from unveil.clusters.kmeans.geometry import MISSING
from unveil.clusters.kmeans.kmeans import ALGORITHMS, KMeans
from unveil.clusters.kmeans.starts import STARTS
from unveil.judgement.criteria.clusterings import CLUSTERINGS

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
CLUSTERING = (ROOT / "docs" / "clustering.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks, f"{page.name} shows no example"
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def commands(page: Path) -> list[list[str]]:
    """The words of every line of a page's shell examples that calls unveil, without the name itself."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line and line[0] == "unveil"]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
@pytest.mark.filterwarnings("default")
def test_commands_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "data.csv").symlink_to(ROOT / "examples" / "data" / "faithful.csv")  # what pages call a table of yours
    for words in commands(page):
        code, output = in_a_process(words) if words[0] == "warm-up" else here(words)
        assert code == 0, (words, output)


def here(words: list[str]) -> tuple[int, str]:
    """A command in this process, which saves starting another."""
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output


def in_a_process(words: list[str]) -> tuple[int, str]:
    """A command by itself: warm-up speaks of all kernels of a process, and other tests have made some of their own."""
    run = [sys.executable, "-c", "from unveil.cli import main; main()", *words]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_page_on_the_command_line_is_complete():
    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    verbs = {verb.__name__.replace("_", "-") for panel in VERBS.values() for verb in panel}
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == verbs
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)] == list(EXIT_CODES)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_run_from_anywhere(script, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert f"python examples/{script.name}" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_a_page_lead_to_its_headings(page):
    text = page.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_files_that_the_architecture_names_exist():
    named = re.findall(r"`(\w+/[\w/]+\.py)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / "src" / "unveil" / name).exists() and not (ROOT / name).exists()]


# -- docs/clustering.md ------------------------------------------------------------------------------------------------


def test_the_table_of_algorithms_is_that_of_the_code():
    """Copy the table from `unveil.clusters.assignment.choice` to the page where this fails."""
    _, table, limit = str(choice.__doc__).strip().split("\n\n")
    assert table in CLUSTERING
    assert limit in CLUSTERING


@pytest.mark.parametrize("word", [*ALGORITHMS, *STARTS, *POLICIES, *MISSING, "stepwise", "cosine"])
def test_every_word_is_explained(word):
    assert f'"{word}"' in CLUSTERING.replace("\\|", "|")


@pytest.mark.parametrize("name", [name for name in CLUSTERINGS if name != "votes"])
def test_every_criterion_is_in_the_table(name):
    assert re.search(rf"^\|.*`{name}`", CLUSTERING, re.M)


def test_the_verdict_on_the_page_is_what_is_said():
    from unveil import select

    rows = np.loadtxt(ROOT / "examples" / "data" / "faithful.csv", delimiter=",", skiprows=1)
    outcome = select(KMeans(n_init=5, random_state=0), rows / rows.std(axis=0), {"n_clusters": range(1, 11)})
    assert outcome.verdict() in " ".join(CLUSTERING.split())


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that draws."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    found: ModuleType = importlib.import_module("clustering_figures")
    return found


def test_the_script_draws_all_pictures_of_the_page(figures, tmp_path):
    figures.draw_all(tmp_path, n_rows=500, n_ring=100, sizes=4)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == set(re.findall(r"images/(clustering-[\w-]+\.svg)", CLUSTERING))
    assert drawn == {path.name for path in (ROOT / "docs" / "images").glob("clustering-*")}
    for path in tmp_path.iterdir():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert "nan" not in path.read_text(encoding="utf-8")


def test_the_costs_of_the_picture_never_rise(figures):
    for start in figures.STARTS:
        fitted = KMeans(figures.GROUPS, init=start, tol=0, random_state=0).fit(figures.groups(500))
        assert np.all(np.diff(fitted.history_.free_energy) >= 0)
