"""`examine` takes what `fit` took: frames, arrays, weights, classes; and says who cannot be examined."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import unveil
from unveil.certificate import FitWarning

RANDOM = np.random.default_rng(0)
GROUPS = np.repeat([[0.0], [1.0]], 60, axis=0)
NUMBERS = pd.DataFrame(RANDOM.normal(size=(120, 3)) + 6 * GROUPS, columns=list("abc"))
COUNTS = pd.DataFrame(RANDOM.poisson(2 + 7 * GROUPS, size=(120, 3)), columns=list("abc"))
BITS = pd.DataFrame((RANDOM.random((120, 5)) < 0.1 + 0.8 * GROUPS).astype(int), columns=list("abcde"))
WORDS = pd.DataFrame(np.where(BITS, "yes", "no"), columns=list("pqrst"))
MIXED = pd.concat([NUMBERS, WORDS], axis=1)

CASES = {
    "PCA": (unveil.PCA(1), NUMBERS),
    "ProbabilisticPCA": (unveil.ProbabilisticPCA(1), NUMBERS),
    "FactorAnalysis": (unveil.FactorAnalysis(1), NUMBERS),
    "ICA": (unveil.ICA(2, random_state=0), NUMBERS),
    "PrincipalCurve": (unveil.PrincipalCurve(), NUMBERS),
    "GenerativeTopographicMap": (unveil.GenerativeTopographicMap(), NUMBERS),
    "KMeans": (unveil.KMeans(2, random_state=0), NUMBERS),
    "KMedoids": (unveil.KMedoids(2, random_state=0), NUMBERS),
    "KernelKMeans": (unveil.KernelKMeans(2, random_state=0), NUMBERS),
    "GaussianMixture": (unveil.GaussianMixture(2, random_state=0), NUMBERS),
    "PoissonMixture": (unveil.PoissonMixture(2, random_state=0), COUNTS),
    "BernoulliMixture": (unveil.BernoulliMixture(2, random_state=0), BITS),
    "CategoricalMixture": (unveil.CategoricalMixture(2, random_state=0), WORDS),
    "MixedMixture": (unveil.MixedMixture(2, random_state=0), MIXED),
    "GaussianHMM": (unveil.GaussianHMM(2, random_state=0), NUMBERS),
    "CategoricalHMM": (unveil.CategoricalHMM(2, random_state=0), WORDS[["p"]]),
    "MixedHMM": (unveil.MixedHMM(2, random_state=0), MIXED),
}


@pytest.mark.parametrize("name", CASES)
def test_frames_and_arrays_get_the_same_verdicts(name):
    model, frame = CASES[name]
    found = []
    for table in (frame, frame.to_numpy()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model.fit(table)
        found.append(unveil.examine(model, table).verdicts)  # a warning would be an error here
    assert found[0] == found[1]
    assert set(found[0].values()) <= {"yes", "doubtful", "no", "not examined"}
    assert found[0]["sound"] != "not examined"


def test_classes_are_given_to_a_discriminant():
    y = GROUPS.ravel().astype(int)
    model = unveil.LinearDiscriminantAnalysis().fit(NUMBERS, y)
    assert unveil.examine(model, NUMBERS, y).verdicts["describes"] == "yes"


def test_a_file_is_examined_as_a_table(tmp_path):
    path = tmp_path / "rows.csv"
    NUMBERS.to_csv(path, index=False)
    model = unveil.GaussianMixture(2, random_state=0).fit(unveil.scan(path))
    assert unveil.examine(model, unveil.scan(path)).verdicts == unveil.examine(model, NUMBERS).verdicts


def test_thorough_looks_at_more_rows():
    X = np.concatenate([NUMBERS.to_numpy()] * 60) + RANDOM.normal(size=(7200, 3)) * 0.1
    model = unveil.KMeans(2, random_state=0).fit(X)
    verdicts = [unveil.examine(model, X, thorough=thorough).verdicts["real"] for thorough in (False, True)]
    assert verdicts == ["yes", "yes"]
