import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from tests.places import EXAMPLES
from unveil.cli.app import app

DATA = EXAMPLES


@pytest.fixture
def faithful():
    return str(DATA / "faithful.csv")


@pytest.fixture
def iris():
    return str(DATA / "iris.csv")


@pytest.fixture
def species(tmp_path):
    """Fisher's irises with their names."""
    flowers = load_iris()
    path = tmp_path / "species.csv"
    lines = [",".join(map(str, row)) for row in flowers.data]
    names = flowers.target_names[flowers.target]
    path.write_text("\n".join(["a,b,c,d,species", *map(",".join, zip(lines, names, strict=True))]) + "\n")
    return str(path)


@pytest.fixture
def yes_no(tmp_path):
    """A table of zeros and ones."""
    bits = np.random.default_rng(0).random((60, 3)) < np.repeat([[0.9], [0.1]], 30, axis=0)
    path = tmp_path / "yes_no.csv"
    path.write_text("a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in bits.astype(int)))
    return str(path)


@pytest.fixture
def people(tmp_path):
    """Columns of many kinds, with holes, and two groups in them."""
    generator = np.random.default_rng(0)
    lines = ["height,visits,smoker,town,name,born,times"]
    for number in range(80):
        tall = number % 2
        cells = [f"{generator.normal(1.5 + 0.4 * tall, 0.05):.3f}", str(generator.poisson(1 + 9 * tall))]
        cells += ["true" if generator.random() < 0.1 + 0.8 * tall else "false", ("York", "Bath")[tall]]
        for place in range(4):
            cells[place] = "" if generator.random() < 0.05 else cells[place]
        lines.append(",".join([*cells, f"n{number}", "1970-01-02", str(1 + tall)]))
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder; check what every run owes its user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNVEIL_THREADS", "2")  # put back after a run with --threads

    def invoke(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert "Traceback" not in result.output
        assert not list(tmp_path.glob(".*.part"))
        return result

    return invoke


@pytest.fixture
def refused(run):
    """Run a command that must fail; its one line."""

    def invoke(*words):
        result = run(*words)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("unveil: error: ")
        return lines[0]

    return invoke
