"""Directions, factors, sources, classes, curves and sheets that describe their rows, and some that do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from unveil import (
    ICA,
    PCA,
    FactorAnalysis,
    GenerativeTopographicMap,
    LinearDiscriminantAnalysis,
    PrincipalCurve,
    ProbabilisticPCA,
)
from unveil.judgement.describes.discriminant import box
from unveil.judgement.describes.eigenvalues import Eigenvalues, parallel_analysis, separation
from unveil.judgement.describes.ica import dependence
from unveil.judgement.describes.normality import is_flat
from unveil.judgement.examine import examine

R = np.random.default_rng(400)
N = 400
FACTORS = R.normal(size=(N, 2)) @ (R.normal(size=(2, 6)) * 2)
NOISE = R.normal(size=(N, 6))
UNEVEN = np.array([0.1, 0.2, 0.5, 1, 2, 0.5])
UNITS = np.array([1, 1, 1, 1000, 1, 1])
THREE = R.normal(size=(N, 3)) @ (R.normal(size=(3, 8)) * 2) + R.normal(size=(N, 8))
SOURCES = np.c_[R.uniform(-1, 1, N), R.laplace(size=N), R.exponential(size=N)] @ R.normal(size=(3, 3))
TURN = R.random(N) * 3.1
ARC = np.c_[np.cos(TURN), np.sin(TURN)] * 5 + R.normal(size=(N, 2)) * 0.3
LABELS = R.integers(0, 3, N)
CLASSES = np.array([[0, 0], [4, 0], [0, 4]])[LABELS]

CASES = {
    "pca": (PCA(2), FACTORS + 0.5 * NOISE, "yes", ""),
    "pca of noise": (PCA(1), NOISE, "no", "equal_eigenvalues"),
    "pca of all noise": (PCA(), NOISE, "no", "equal_eigenvalues"),
    "pca between equals": (PCA(2), NOISE * [3, 1, 1, 1, 1, 0.3], "no", "equal_eigenvalues"),
    "pca of units": (PCA(2), (FACTORS + NOISE) * UNITS, "no", "scale"),
    "pca scaled": (PCA(2, scale=True), (FACTORS + 0.5 * NOISE) * UNITS, "yes", ""),
    "probabilistic": (ProbabilisticPCA(2), FACTORS + 0.5 * NOISE, "yes", ""),
    "uneven noise": (ProbabilisticPCA(2), FACTORS + UNEVEN * NOISE, "no", "covariances"),
    "factors": (FactorAnalysis(2), FACTORS + (UNEVEN + 0.3) * NOISE, "yes", ""),
    "too few factors": (FactorAnalysis(1), THREE, "no", "covariances"),
    "heavy factors": (FactorAnalysis(2), (FACTORS + NOISE) / np.sqrt(R.chisquare(3, (N, 1)) / 3), "no", "tails"),
    "sources": (ICA(3, random_state=0), SOURCES, "yes", ""),
    "gaussian sources": (ICA(3, random_state=0), NOISE[:, :3], "no", "gaussian"),
    "arc": (PrincipalCurve(), ARC, "yes", ""),
    "cloud": (PrincipalCurve(), NOISE[:, :2], "no", "residual"),
    "line": (PrincipalCurve(), NOISE[:, :2] * [6, 0.3], "doubtful", "line"),
    "sheet": (GenerativeTopographicMap(1, random_state=0), ARC, "yes", ""),
    "plane": (GenerativeTopographicMap(1, random_state=0), NOISE[:, :3] * [5, 1, 1], "doubtful", "line"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_the_verdict_on_a_projection(name):
    model, X, answer, kind = CASES[name]
    certificate = examine(model.fit(X), X)
    assert certificate.verdicts["describes"] == answer, str(certificate)
    assert not kind or kind in {finding.kind for finding in certificate.reasons("describes")}


DISCRIMINANTS = {
    "classes": (CLASSES + NOISE[:, :2], "yes", ""),
    "one class": (NOISE[:, :2], "no", "separation"),
    "covariances": (CLASSES + NOISE[:, :2] * np.array([0.5, 1, 4])[LABELS][:, None], "no", "covariances"),
    "lognormal": (CLASSES + np.exp(NOISE[:, :2]), "no", "skew"),
}


@pytest.mark.parametrize("name", DISCRIMINANTS)
def test_the_verdict_on_a_discriminant(name):
    X, answer, kind = DISCRIMINANTS[name]
    certificate = examine(LinearDiscriminantAnalysis().fit(X, LABELS), X, y=LABELS)
    assert certificate.verdicts["describes"] == answer, str(certificate)
    assert not kind or kind in {finding.kind for finding in certificate.reasons("describes")}


def test_a_discriminant_without_classes_is_not_examined():
    X = DISCRIMINANTS["classes"][0]
    assert examine(LinearDiscriminantAnalysis().fit(X, LABELS), X).verdicts["describes"] == "not examined"


def test_equal_eigenvalues_are_called_apart_in_one_table_of_twenty():
    random = np.random.default_rng(401)
    apart = 0
    for _ in range(400):
        rows = random.normal(size=(200, 2))
        values = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
        apart += separation(Eigenvalues(values, 1, 200.0))[0].severity != "warning"
    assert 5 <= apart <= 36  # 20 are expected


def test_parallel_analysis_counts_factors():
    random = np.random.default_rng(402)
    rows = random.normal(size=(300, 3)) @ random.normal(size=(3, 12)) * 2 + random.normal(size=(300, 12))
    assert parallel_analysis(rows, random) == 3
    assert parallel_analysis(random.normal(size=(300, 12)), random) <= 1


def test_box_is_the_likelihood_ratio():
    left = R.normal(size=(300, 2))
    labels = np.arange(300) % 3
    pooled = np.linalg.slogdet(left.T @ left / 300)[1]
    parts = [np.linalg.slogdet(left[labels == c].T @ left[labels == c] / 100)[1] for c in range(3)]
    assert box(left, labels) == pytest.approx(pooled - np.mean(parts))
    assert 300 * box(left, labels) < chi2(6).ppf(0.999)


def test_sources_that_are_large_together_depend():
    random = np.random.default_rng(403)
    scale = np.exp(random.normal(size=(500, 1)))
    assert dependence(random.normal(size=(500, 3)) * scale)[0].severity == "warning"
    spoken = sum(dependence(random.normal(size=(200, 3)))[0].severity != "fine" for _ in range(200))
    assert spoken <= 20  # ten are expected


def test_factors_of_columns_that_depend_are_examined_but_for_normality():
    rows = np.random.default_rng(404).normal(size=(200, 5))
    twice = np.column_stack([rows, rows[:, 0]])
    found = examine(FactorAnalysis(1, random_state=0).fit(twice), twice)
    assert found.verdicts["sound"] == "doubtful"
    assert found["normality"].severity == "note"
    assert is_flat(twice)
    assert not is_flat(rows)


@pytest.mark.parametrize(("seed", "loading", "verdict"), [(405, 0.0, "doubtful"), (407, 0.7, "yes")])
def test_factors_of_independent_columns_are_chance(seed, loading, verdict):
    random = np.random.default_rng(seed)
    rows = loading * random.normal(size=(300, 1)) + random.normal(size=(300, 6))
    found = examine(FactorAnalysis(1, random_state=0).fit(rows), rows)
    assert found.verdicts["describes"] == verdict
    assert found["parallel_analysis"].severity == ("doubt" if loading == 0.0 else "fine")


@pytest.mark.parametrize("heavy", [False, True])
def test_rows_of_a_map_are_as_likely_as_its_own(heavy):
    random = np.random.default_rng(406)
    along = random.uniform(-2, 2, 600)
    noise = random.standard_t(2.5, size=(600, 2)) if heavy else random.normal(size=(600, 2))
    rows = np.column_stack([along, along**2]) + 0.2 * noise
    found = examine(GenerativeTopographicMap(1, random_state=0).fit(rows), rows)
    assert (found.verdicts["describes"] == "yes") is not heavy
    if heavy:
        assert found["tails"].severity in ("warning", "doubt")
