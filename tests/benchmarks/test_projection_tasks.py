"""The judges of projections agree with scikit-learn's own figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss

from benchmarks.cases import CASES, QUICK
from benchmarks.ladders import FITS, Ladder
from benchmarks.tasks.components import Sparse, Wide
from benchmarks.tasks.curve import Curve
from benchmarks.tasks.discriminant import Discriminant
from benchmarks.tasks.factors import Factors, closed_form
from benchmarks.tasks.sources import Sources, gradient_norm


@pytest.mark.parametrize("task", [Wide(300, 40, 3), Sparse(400, 60, 3, share=0.1)], ids=lambda task: task.word)
def test_variance_missed(task) -> None:
    arrays = task.arrays()
    table = task.table(arrays)
    dense = table if isinstance(table, np.ndarray) else table.toarray()
    model = PCA(3).fit(dense)
    missed = np.var(dense, axis=0, ddof=1).sum() - model.explained_variance_.sum()
    np.testing.assert_allclose(task.quality(arrays, {"components": model.components_}), missed, rtol=1e-9)
    turned = {"components": np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]) @ model.components_}
    np.testing.assert_allclose(task.quality(arrays, turned), missed, rtol=1e-9)  # another basis of the same plane


def test_sparse_rows_are_as_full_as_asked() -> None:
    task = Sparse(2000, 1000, 4, share=0.01)
    table = task.table(task.arrays())
    assert table.shape == (2000, 1000)
    assert 0.008 < table.nnz / 2e6 <= 0.01  # a word may come twice


def test_log_loss() -> None:
    task = Discriminant(2000, 5, 3)
    arrays = task.arrays()
    model = LinearDiscriminantAnalysis().fit(arrays["rows"], arrays["labels"])
    found = task.quality(arrays, {"coefficients": model.coef_, "intercepts": model.intercept_})
    np.testing.assert_allclose(found, log_loss(arrays["labels"], model.predict_proba(arrays["rows"])), rtol=1e-9)


def test_amari_distance_needs_a_search_that_has_ended() -> None:
    task = Sources(4000, 4)
    arrays = task.arrays()
    ended = FastICA(tol=1e-14, max_iter=400, random_state=0).fit(arrays["rows"]).components_
    assert gradient_norm(ended, arrays["rows"]) < 1e-7
    assert 0 < task.quality(arrays, {"unmixing": ended})[0] < 0.05
    shuffled = -3.0 * ended[[2, 0, 3, 1]]
    np.testing.assert_allclose(task.quality(arrays, {"unmixing": shuffled}), task.quality(arrays, {"unmixing": ended}))
    assert task.quality(arrays, {"unmixing": np.eye(4)})[0] == np.inf


def test_likelihood_with_holes() -> None:
    task = Factors(60, 6, 2)
    arrays = task.arrays()
    found = closed_form(np.nan_to_num(arrays["rows"]), 2)
    covariance = found["loadings"] @ found["loadings"].T + found["noise"] * np.eye(6)
    total = 0.0
    for row in arrays["rows"]:
        there = ~np.isnan(row)
        total += multivariate_normal.logpdf(row[there], found["mean"][there], covariance[np.ix_(there, there)])
    np.testing.assert_allclose(task.quality(arrays, found), -total / 60, rtol=1e-10)


def test_distance_of_a_curve() -> None:
    task = Curve(50, 3)
    arrays = task.arrays()
    assert task.quality(arrays, {"projected": arrays["rows"] + 1.0}) == pytest.approx(150.0)


def test_every_projection_has_a_case_and_grows(monkeypatch) -> None:
    assert {"pca", "lda", "ica", "ppca", "curve"} <= set(CASES)
    assert set(CASES) == set(QUICK)
    monkeypatch.setattr("benchmarks.ladders.FITS", {name: FITS[name] for name in ("PCA", "LinearDiscriminantAnalysis")})
    lines = Ladder((50, 500), n_columns=4, rounds=1).rows(lambda line: None)
    assert [line[:2] for line in lines] == [
        ["PCA", "50"],
        ["PCA", "500"],
        ["LinearDiscriminantAnalysis", "50"],
        ["LinearDiscriminantAnalysis", "500"],
    ]
