"""How strongly classes are separate, against the definitions, row by projected row; and singular covariances."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import linalg, stats
from scipy.special import multigammaln
from sklearn.datasets import load_iris

from unveil import LinearDiscriminantAnalysis
from unveil.engines import Threads
from unveil.projections.discriminant.scatter import ClassScatter, gather
from unveil.projections.discriminant.separation import evidence, polished, refuse_singular, whitening
from unveil.sources import ArraySource
from unveil.sources.files.labelled import Labelled

Floats = NDArray[np.float64]
X, y = load_iris(return_X_y=True)


def scatter_of(rows: Floats, labels: Any) -> ClassScatter:
    codes = np.asarray(labels, np.uint8)
    return gather(Threads(1), Labelled(ArraySource(rows), codes), codes, int(codes.max()) + 1)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("kind", ["shared", "spherical"])
def test_strength_is_that_of_the_projected_rows(solver: str, kind: str) -> None:
    model = LinearDiscriminantAnalysis(solver, covariance_type=kind).fit(X, y)
    projected = model.transform(X)
    means = np.stack([projected[y == k].mean(axis=0) for k in range(3)])[y]
    total, within = np.sum((projected - projected.mean(axis=0)) ** 2, axis=0), np.sum((projected - means) ** 2, axis=0)
    np.testing.assert_allclose(model.bayes_factor_, (total - within) / 2, rtol=1e-10)
    signal = np.var(means, axis=0)
    np.testing.assert_allclose(model.signal_to_noise_, signal, rtol=1e-10)  # the noise of the model is 1
    if kind == "shared":
        np.testing.assert_allclose(np.mean((projected - means) ** 2, axis=0), 1.0)


def test_every_solver_finds_the_same_strength() -> None:
    models = [LinearDiscriminantAnalysis(solver, unbiased=True).fit(X, y) for solver in ("svd", "lsqr", "eigen")]
    for model in models[1:]:
        np.testing.assert_allclose(model.signal_to_noise_, models[0].signal_to_noise_, rtol=1e-9)
    wide = LinearDiscriminantAnalysis(n_components=1, unbiased=True).fit(X, y)
    assert wide.bayes_factor_.tolist() == models[0].bayes_factor_[:1].tolist()


def marginal(rows: Floats, mean: Floats, scale: Floats) -> Any:
    """Log marginal likelihood of one Gaussian under a normal-inverse-Wishart prior of strength 1 and dof d + 2."""
    n, d = rows.shape
    centred = rows - rows.mean(axis=0)
    way = rows.mean(axis=0) - mean
    after = scale + centred.T @ centred + n / (1 + n) * np.outer(way, way)
    before = d + 2
    return (
        -0.5 * n * d * np.log(np.pi)
        + multigammaln(0.5 * (before + n), d)
        - multigammaln(0.5 * before, d)
        + 0.5 * before * np.linalg.slogdet(scale)[1]
        - 0.5 * (before + n) * np.linalg.slogdet(after)[1]
        - 0.5 * d * np.log1p(n)
    )


def test_evidence_by_the_chain_rule() -> None:
    """p(rows | labels) = product of predictive densities of each class given the rows before, covariance shared."""
    rows, labels = X[::10, :2], y[::10]
    scale, mean = np.cov(rows.T, bias=True), rows.mean(axis=0)
    log_classes = 0.0
    for i in range(len(rows)):  # multivariate t, row by row
        before, own = rows[:i], rows[:i][labels[:i] == labels[i]]
        psi = scale.copy()
        for k in range(3):
            group = before[labels[:i] == k]
            if len(group):
                centred, way = group - group.mean(axis=0), group.mean(axis=0) - mean
                psi = psi + centred.T @ centred + len(group) / (1 + len(group)) * np.outer(way, way)
        dof = 4 + i - 1
        strength = 1 + len(own)
        centre = (mean + own.sum(axis=0)) / strength
        shape = psi * (strength + 1) / (strength * dof)
        log_classes += stats.multivariate_t.logpdf(rows[i], centre, shape, dof)
    wanted = log_classes - marginal(rows, mean, scale)
    np.testing.assert_allclose(evidence(scatter_of(rows, labels)), wanted, rtol=1e-9)


def test_evidence_speaks_for_classes_that_are_there_and_against_others() -> None:
    drawn = np.random.default_rng(0).integers(0, 3, len(y))
    for kind in ("shared", "spherical"):
        make = LinearDiscriminantAnalysis(covariance_type=kind)
        assert make.fit(X, y).evidence_ > 100
        assert make.fit(X, drawn).evidence_ < 0
    assert evidence(scatter_of(X, np.zeros(len(X)))) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("spherical", [False, True])
def test_evidence_does_not_depend_on_units_or_place(spherical: bool) -> None:
    turn = linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    change = 3 * turn if spherical else np.random.default_rng(2).normal(size=(4, 4))
    plain, changed = (evidence(scatter_of(rows, y), spherical) for rows in (X, X @ change + 100))
    np.testing.assert_allclose(changed, plain, rtol=1e-8)
    doubled = np.column_stack([X, X[:, 0]])  # a column twice says nothing new
    if not spherical:
        np.testing.assert_allclose(evidence(scatter_of(doubled, y)), plain, rtol=1e-8)


def test_a_singular_covariance_is_refused_by_the_column() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 4))
    rows[:, 2] = rows[:, 0] - 2 * rows[:, 1]
    with pytest.raises(linalg.LinAlgError, match="column 2 of X does not vary, or follows"):
        refuse_singular(np.cov(rows.T))
    refuse_singular(np.cov(rows[:, [0, 1, 3]].T))


def test_polishing_brings_unit_noise_where_the_covariance_lost_it() -> None:
    covariance = np.array([[1.0, 1.0 - 1e-7], [1.0 - 1e-7, 1.0]])
    basis = whitening(covariance, 0.0, np.ones(2)).basis * [1.0, 1.0001]
    exact = mpmath.matrix(basis.tolist()).T * mpmath.matrix(covariance.tolist()) * mpmath.matrix(basis.tolist())
    seen = np.array(exact.tolist(), dtype=float)
    better = mpmath.matrix(polished(basis, seen).tolist())
    noise = better.T * mpmath.matrix(covariance.tolist()) * better
    np.testing.assert_allclose(np.array(noise.tolist(), dtype=float), np.eye(2), atol=1e-9)
