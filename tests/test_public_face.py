"""What tools see of unveil is what it is: types for users, one list of names, packages that hold both."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import unveil
from unveil.core.lazy import HOMES, homes_in
from unveil.estimation.base import Estimator
from unveil.estimation.persistence import estimator_names

ROOT = Path(__file__).parents[1]
SOURCE = Path(unveil.__file__).parent
STUBS = sorted(SOURCE.rglob("__init__.pyi"))
FLOATS = "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]"

REVEALED = {
    "GaussianMixture(2, random_state=0)": "unveil.mixtures.gaussian.GaussianMixture",
    "GaussianMixture(2).fit(X)": "unveil.mixtures.gaussian.GaussianMixture",
    "GaussianMixture(2).fit(X).weights_": FLOATS,
    "GaussianMixture(2).fit(X).means_": FLOATS,
    "GaussianMixture(2).fit(X).converged_": "bool",
    "GaussianMixture(2).fit(X).certificate_": "unveil.certificate.certificate.Certificate",
    "KMeans(2).fit(X).history_": "unveil.core.result.History",
    "unveil.PCA(1).fit(X)": "unveil.projections.pca.pca.PCA",
    "unveil.FactorAnalysis(1).fit(X)": "unveil.projections.factors.factor_analysis.FactorAnalysis",
    "unveil.GaussianHMM(2).fit(X, lengths=[3])": "unveil.chains.gaussian.GaussianHMM",
    "unveil.GaussianHMM(2).fit(X).means_": FLOATS,
    "unveil.PCFG().fit(['a a'])": "unveil.grammar.pcfg.pcfg.PCFG",
    'select(KMeans(), X, {"n_clusters": [1, 2]})': "unveil.selection.outcome.Selection",
    "unveil.load('model.unveil')": "Any",
    "unveil.scan('table.csv')": "unveil.sources.files.scan.Scan",
    "unveil.engines.Threads(workers=2)": "unveil.engines.threads.Threads",
    "unveil.schedules.Stepwise(decay=0.7)": "unveil.schedules.stepwise.Stepwise",
    "unveil.expectations.Hard()": "unveil.expectations.hard.Hard",
    "unveil.families.Poisson()": "unveil.families.poisson.Poisson",
    "unveil.plot.choice": "def (selection: Any) -> Any",
    "unveil.information.entropy([0.5, 0.5])": "Any",
    "unveil.__version__": "str",
}
"""What a type checker is to say of expressions that users write."""
WRONG = {
    "unveil.KMedian": 'Module has no attribute "KMedian"; maybe "KMeans"?',
    "unveil.families.Gamma": 'Module has no attribute "Gamma"',
    "unveil.engines.Threads(worker=2)": 'Unexpected keyword argument "worker" for "Threads"',
    "unveil.watch(3)": 'Argument 1 to "watch" has incompatible type "int"',
}
OPENING = "import unveil\nfrom unveil import GaussianMixture, KMeans, select\n\nX = [[0.0], [1.0], [9.0]]\n"


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_a_stub_is_the_one_list_of_the_names_of_its_package(stub: Path) -> None:
    name = ".".join(("unveil", *stub.parent.relative_to(SOURCE).parts))
    package, homes = importlib.import_module(name), homes_in(stub.read_text())
    assert HOMES[name] == homes
    assert dir(package) == sorted(package.__all__)
    assert set(package.__all__) - {"__version__"} == set(homes)
    for shown, home in homes.items():
        found = getattr(package, shown)
        assert getattr(found, "__module__", home) == home or home == name  # where it is defined, not a stop on the way
    with pytest.raises(AttributeError, match=rf"module '{name}' has no attribute 'Nothing'; it has .*{min(homes)}"):
        package.Nothing  # noqa: B018


def checked(script: Path) -> list[str]:
    """What mypy says, as strict as it can be, of a user's script: a line of words for each of its lines."""
    flags = ["--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={script.parent}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, script.name],
        capture_output=True,
        text=True,
        cwd=script.parent,
        env=os.environ | {"MYPYPATH": str(SOURCE.parent)},
        timeout=300,
    )
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()[:-1]  # the last counts the errors


def test_a_type_checker_knows_what_users_write(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    lines = [*(f"reveal_type({expression})" for expression in REVEALED), *WRONG]
    script.write_text(OPENING + "\n".join(lines) + "\n")
    said = checked(script)
    wanted = [f'note: Revealed type is "{kind}"' for kind in REVEALED.values()]
    wanted += [f"error: {words}" for words in WRONG.values()]
    assert len(said) == len(wanted), said
    for number, (line, words) in enumerate(zip(said, wanted, strict=True), OPENING.count("\n") + 1):
        assert line.startswith(f"user.py:{number}: {words}")


def test_public_classes_are_estimators_and_can_be_saved() -> None:
    assert len(estimator_names()) == 21
    assert all(issubclass(getattr(unveil, name), Estimator) for name in estimator_names())


def test_what_is_installed_brings_its_types_along(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling builds the packages")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,), (archive,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    typed = {f"unveil/{path.relative_to(SOURCE).as_posix()}" for path in (*STUBS, SOURCE / "py.typed")}
    assert typed <= set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(archive) as files:
        assert typed <= {name.partition("/src/")[2] for name in files.getnames()}


def test_files_that_contributors_are_sent_to_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|tools|benchmarks|docs)/[\w/.]+)`|\]\(([\w/.]+)\)", text)
    paths = [ROOT / (code or link) for code, link in named]
    assert len(paths) > 15
    assert not [path for path in paths if "NAME" not in path.name and not path.exists()]
