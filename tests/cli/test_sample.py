import numpy as np
import pyarrow.csv

import unveil
from unveil.tables import prepare


def drawn(run, *words):
    done = run("sample", *words, "-o", "drawn.csv", "--force")
    assert done.exit_code == 0, done.output
    return pyarrow.csv.read_csv("drawn.csv").to_pydict()


def test_rows_like_those_of_the_table(run, people):
    assert run("fit", "mixed-mixture", people, "-k", 2, "-o", "m", "--columns", "height,town,smoker").exit_code == 0
    found = drawn(run, "m", "-n", 200, "--seed", 1)
    assert list(found) == ["height", "town", "smoker", "component"]
    assert set(found["town"]) == {"Bath", "York"}
    assert set(found["smoker"]) == {True, False}  # as the table has it, not 0 and 1
    assert abs(np.mean(found["height"]) - 1.7) < 0.05
    assert found == drawn(run, "m", "-n", 200, "--seed", 1)
    assert found != drawn(run, "m", "-n", 200, "--seed", 2)


def test_transforms_are_undone(run, tmp_path):
    model = unveil.GaussianMixture(1).fit(np.log([[10.0], [20.0], [30.0], [15.0]]))
    rows = np.random.default_rng(0).lognormal(3.0, size=(40, 1))
    model.recipe_ = prepare(rows).recipe.with_transforms({"x0": "log"}).to_dict()
    model.save(tmp_path / "m")
    assert 10 < np.median(drawn(run, "m")["x0"]) < 30


def test_sequences_and_projections(run, refused, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    unveil.GaussianHMM(2, random_state=0, max_iter=5, tol=1e9).fit(X).save(tmp_path / "chain")
    assert list(drawn(run, "chain", "-n", 5)) == ["x0", "x1", "state"]
    unveil.ProbabilisticPCA(1).fit(X).save(tmp_path / "plane")
    assert len(drawn(run, "plane", "-n", 7)["x1"]) == 7
    unveil.KMeans(2, random_state=0).fit(X).save(tmp_path / "k")
    assert "KMeans is no density" in refused("sample", "k")
    assert "--force replaces it" in refused("sample", "plane", "-o", "drawn.csv")
