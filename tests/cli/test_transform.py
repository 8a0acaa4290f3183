import numpy as np
import pyarrow.csv
import pytest

import unveil


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("pca", ["pc1", "pc2"]),
        ("kmeans", ["distance_1", "distance_2"]),
        ("gaussian-mixture", ["probability_1", "probability_2"]),
        ("gaussian-hmm", ["probability_1", "probability_2"]),
    ],
)
def test_coordinates(run, faithful, word, names):
    assert run("fit", word, faithful, "-k", 2, "-o", "m").exit_code == 0
    assert run("transform", "m", faithful, "-o", "out.csv").exit_code == 0
    found = pyarrow.csv.read_csv("out.csv").to_pydict()
    assert list(found) == ["row", *names]
    model, X = unveil.load("m"), unveil.scan(faithful)
    method = model.transform if hasattr(model, "transform") else model.predict_proba
    np.testing.assert_array_equal(np.column_stack([found[name] for name in names]), method(X))


def test_discriminants_and_grammars(run, refused, species, tmp_path):
    assert run("fit", "discriminant", species, "--label", "species", "-o", "m").exit_code == 0
    assert run("transform", "m", species).stdout.startswith('"row","axis1","axis2"\n1,')
    unveil.PCFG("S -> 'a' [0.5] | 'a' S [0.5]").fit(["a", "a a"]).save(tmp_path / "g")
    assert "PCFG has no coordinates of rows; unveil parse is for sentences" in refused("transform", "g", species)
