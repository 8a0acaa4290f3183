"""Cases of what compares and shows models: selection by every criterion, measures of information, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import unveil
from tools.bits import data
from tools.bits.case import Case, Parts

CLUSTERINGS = (
    *("votes", "inertia", "elbow", "penalised_aic", "penalised_bic", "bic", "silhouette", "gap", "stability"),
)


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _clusterings()
    yield from _densities()
    yield Case("information", _measures)
    yield Case("plot", _plots)


def _clusterings() -> Iterator[Case]:
    """Numbers of clusters compared."""
    sizes, X = {"n_clusters": [1, 2, 3, 4]}, data.ROWS
    for word in CLUSTERINGS:
        yield _select(f"KMeans/{word}", unveil.KMeans(random_state=0), X, sizes, criterion=word)
    yield _select("KMeans/weights", unveil.KMeans(random_state=0), X, sizes, sample_weight=data.WEIGHTS)
    for make in (unveil.KMedoids, unveil.KernelKMeans):
        for word in ("votes", "elbow", "silhouette", "stability"):
            model = make(random_state=0, n_init=1)
            yield _select(f"{make.__name__}/{word}", model, X[:80], {"n_clusters": [2, 3]}, criterion=word)


def _densities() -> Iterator[Case]:
    """Numbers of components, states and directions compared."""
    X = data.ROWS
    for name, table in {"GaussianMixture": X, "PoissonMixture": data.COUNTS, "StudentMixture": X}.items():
        for word in ("auto", "bic", "aic", "icl", "log_likelihood"):
            model = getattr(unveil, name)(random_state=0, init_params="kmeans", max_iter=10)
            yield _select(f"{name}/{word}", model, table, {"n_components": [1, 2, 3]}, criterion=word)
    structured: dict[str, list[Any]] = {"n_components": [2, 3], "covariance_type": ["full", "diag", "EEV"]}
    model = unveil.GaussianMixture(random_state=0, init_params="kmeans", max_iter=10)
    yield _select("GaussianMixture/structures", model, X, structured, sample_weight=data.WEIGHTS)
    for name, (steps, lengths) in {
        "GaussianHMM": (data.NUMBERS, data.LENGTHS),
        "CategoricalHMM": (data.SYMBOLS, None),
        "PoissonHMM": (data.VISITS, data.LENGTHS),
    }.items():
        for word in ("auto", "bic", "aic", "log_likelihood"):
            chain = getattr(unveil, name)(random_state=0, n_init=1, init_params="kmeans", max_iter=5)
            yield _select(f"{name}/{word}", chain, steps, {"n_components": [1, 2, 3]}, criterion=word, lengths=lengths)
    yield _select("ProbabilisticPCA", unveil.ProbabilisticPCA(), data.ROWS, {"n_components": [1, 2]})
    yield _select("FactorAnalysis", unveil.FactorAnalysis(), data.ROWS, {"n_components": [0, 1]})


def _select(name: str, model: Any, X: Any, sizes: dict[str, list[Any]], **given: Any) -> Case:
    def run() -> Parts:
        found = unveil.select(model, X, sizes, **given)
        yield "table", lambda: found.table
        yield "best", lambda: (found.best_index_, found.best_params_, found.best_score_, found.decisive)
        yield "fit", lambda: found.best_estimator_
        yield "verdict", lambda: found.verdict()
        yield "choice", lambda: None if found.choice is None else (found.choice.size, found.choice.votes)

    return Case(f"select/{name}", run)


def _measures() -> Parts:
    info = unveil.information
    p, q = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]), np.array([[0.3, 0.3, 0.4], [0.5, 0.25, 0.25]])
    yield "entropy", lambda: (info.entropy(p), info.entropy(p, base=2))
    yield "kl", lambda: info.kl_divergence(p, q)
    joint = np.log(np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.1]]))
    yield "free energy", lambda: (info.free_energy(q, joint), info.free_energy(q, joint, sample_weight=[2.0, 1.0]))
    yield "log-likelihood", lambda: info.log_likelihood(joint)
    one, other = info.Gaussian([0.0, 1.0], np.eye(2)), info.Gaussian([1.0, 1.0], 2 * np.eye(2))
    yield "gaussians", lambda: info.kl_divergence(one, other)


def _drawn(call: Callable[[], Any]) -> Any:
    return call().to_json()


def _plots() -> Parts:
    """Figures as the browser gets them: they are answers too."""
    plot, X = unveil.plot, data.ROWS
    gaussian = unveil.GaussianMixture(3, random_state=0).fit(X)
    pca = unveil.PCA(2).fit(X)
    curve = unveil.PrincipalCurve(max_iter=5).fit(data.BENT)
    sheet = unveil.GenerativeTopographicMap(lattice_shape=5, basis_shape=3, max_iter=3, random_state=0).fit(X)
    sizes = unveil.select(unveil.KMeans(random_state=0), X, {"n_clusters": [2, 3, 4]})
    figures: dict[str, Callable[[], Any]] = {
        "principal_plane": lambda: plot.principal_plane(pca.transform(X), data.GROUPS),
        "mixture": lambda: plot.mixture(gaussian, X),
        "density": lambda: plot.density(unveil.GaussianMixture(2, random_state=0).fit(X[:, :1]), X[:, :1]),
        "scree": lambda: plot.scree(pca),
        "principal_curve": lambda: plot.principal_curve(curve, data.BENT),
        "manifold": lambda: plot.manifold(sheet, X),
        "selection": lambda: plot.selection(sizes),
        "choice": lambda: plot.choice(sizes),
    }
    for name, call in figures.items():
        yield name, partial(_drawn, call)
