"""The soak of mutated model files in short: a few of every kind, on small models of several classes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.soak_files.__main__ import main
from benchmarks.soak_files.mutations import IN_PLACE, LAID_OUT, mutant
from benchmarks.soak_files.use import check
from unveil.storage.file import ModelFileError, read

MODELS = Path(__file__).parents[1] / "data" / "models" / "0.1-format-2"
QUICK = (
    "KernelKMeans",
    "KMeans",
    "GaussianMixture-diag",
    "CategoricalMixture-numbers",
    "PCA",
    "PoissonHMM",
    "PCFG-held",
)
FILES = 210


def test_every_mutated_file_is_refused_or_obeys_the_laws(tmp_path, capsys):
    for name in QUICK:
        for ending in ("unveil", "json"):
            shutil.copy(MODELS / f"{name}.{ending}", tmp_path)
    code = main(["--files", str(FILES), "--workers", "1", "--models", str(tmp_path)])
    told = capsys.readouterr().out
    assert code == 0, told
    assert sum(int(line.split()[-1]) for line in told.splitlines()) == FILES


def test_there_is_no_other_than_the_digest_that_a_file_was_given(tmp_path):
    data, path, kinds = (MODELS / "KMeans.unveil").read_bytes(), tmp_path / "model.unveil", set()
    for seed in range(300):
        made = mutant(data, seed)
        kinds.add(made.kind)
        path.write_bytes(made.data)
        if made.sealed or made.data == data:
            continue
        with pytest.raises(ModelFileError):
            read(path)
    assert kinds == IN_PLACE.keys() | LAID_OUT.keys()


def test_a_seed_says_all_about_a_mutation():
    data = (MODELS / "PCA.unveil").read_bytes()
    assert [mutant(data, seed) for seed in range(50)] == [mutant(data, seed) for seed in range(50)]


@pytest.mark.parametrize(
    ("verb", "row"), [("predict_proba", [0.5, 0.4]), ("predict_proba", [1.5, -0.5]), ("transform", [np.nan])]
)
def test_laws(verb, row):
    with pytest.raises(AssertionError):
        check(verb, np.array([row]))
