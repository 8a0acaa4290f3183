import os
import subprocess
import sys

import pytest
from typer.main import get_command

import unveil
from unveil.cli.app import app

VERBS = ("report", "fit", "predict", "transform", "select", "sample", "show", "parse", "compare", "models", "demo")
VERBS += ("warm-up",)
HEAVY = ("numpy", "scipy", "sklearn", "plotly", "numba", "pyarrow", "safetensors", "jinja2", "pandas", "dask")


def test_help_lists_the_verbs(run):
    for words in ([], ["--help"], ["-h"]):
        result = run(*words)
        assert result.exit_code == 0
        assert all(verb in result.stdout for verb in VERBS)
        assert "Exit codes: 0 done" in result.stdout
        assert "--show-completion" not in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(run, verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    assert "bool" not in result.stdout  # flags take no value


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("verb", ["report", "fit", "models"])
def test_help_fits_its_screen(run, monkeypatch, verb, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = run(verb, "--help").stdout
    assert max(map(len, said.splitlines())) <= columns
    assert "…" not in said  # as tables of typer cut off what has no room
    assert "<str>" not in said  # nor types of Python
    assert "<ModelName>" not in said
    taken = {option for one in get_command(app).commands[verb].params for option in one.opts if option[0] == "-"}
    assert taken <= set(said.replace(",", " ").split())


def test_help_of_fit_says_what_ctrl_c_does(run):
    assert "130" in run("fit", "--help").stdout


def test_version(run):
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"unveil {unveil.__version__}\n")


def test_usage_errors_are_one_line(refused):
    assert "No such command 'bogus'" in refused("bogus")
    assert "Missing argument" in refused("fit", "pca")
    assert "--output" in refused("fit", "pca", "x.csv")
    assert "did you mean kmeans?" in refused("fit", "kmens", "x.csv", "-o", "m")
    assert "'fit'" in refused("fti")
    assert "'--components'" in refused("fit", "pca", "x.csv", "-o", "m", "-k", "0")
    assert "--frobnicate" in refused("show", "x", "--frobnicate")


def test_a_shell_can_complete_models():
    asked = {"_UNVEIL_COMPLETE": "complete_bash", "COMP_WORDS": "unveil fit gauss", "COMP_CWORD": "2"}
    script = "from unveil.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **asked})
    assert ran.stdout.split() == ["gaussian-mixture", "gaussian-hmm"]


def test_nothing_heavy_loads_before_a_verb_runs():
    script = "import sys, unveil.cli.app; print([name for name in sys.argv[1:] if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_console_script_leaves_with_the_exit_code(tmp_path):
    script = "from unveil.cli import main; main()"
    command = [sys.executable, "-c", script, "show", str(tmp_path / "gone.unveil")]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr == f"unveil: error: {tmp_path / 'gone.unveil'}: no such file\n"
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "UNVEIL_TRACEBACK": "1"})
    assert ran.returncode == 1
    assert "ModelFileError" in ran.stderr
    assert "Traceback" in ran.stderr
