"""Cases of directions and curves: PCA and its kin, discriminants, independent components, curves and maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.covariance import OAS

from tools.bits import data
from tools.bits.case import Case, Parts, crossed, feed, fit, grid
from tools.bits.use import briefly, in_full
from unveil import (
    ICA,
    PCA,
    FactorAnalysis,
    GenerativeTopographicMap,
    LinearDiscriminantAnalysis,
    PrincipalCurve,
    ProbabilisticPCA,
)

CLOSED_FORMS = ("auto", "batch", "squarem", "incremental", "stepwise", "gradient", "ascent", "lbfgs")
HALVES = [data.ROWS[:80], data.ROWS[80:]]


def cases() -> Iterator[Case]:
    """All of them."""
    for family in (_pca, _weighted_pca, _factors, _discriminants, _independent, _curves, _maps):
        yield from family()


def _pca() -> Iterator[Case]:
    tables = {"rows": data.ROWS, "single": data.SINGLE, "short": data.SHORT, "wide": data.WIDE, "sparse": data.SPARSE}
    solvers = ("auto", "full", "covariance_eigh", "arpack", "randomized")
    for name, X in tables.items():
        for label, options in crossed(svd_solver=solvers, n_components=(2, None), scale=(False, True)):
            yield fit(f"{name}/{label}", PCA(random_state=0, **options), X, use=briefly)
    for word in (2, 0.9, "mle", None):
        yield fit(f"n_components={word}", PCA(word), data.ROWS)
    yield fit("whiten", PCA(2, whiten=True), data.ROWS)
    yield fit("broad", PCA(5, random_state=0), data.BROAD, on=data.BROAD[:9])
    yield fit("iterated_power=2", PCA(2, svd_solver="randomized", iterated_power=2, random_state=0), data.WIDE)
    yield fit("n_oversamples=3", PCA(2, svd_solver="randomized", n_oversamples=3, random_state=0), data.WIDE)
    yield fit("tol", PCA(2, svd_solver="arpack", tol=1e-3, random_state=0), data.WIDE)
    yield fit("holes", PCA(2), data.HOLES)
    yield feed("partial_fit", PCA(2), HALVES)
    yield feed("partial_fit/scale", PCA(2, scale=True, whiten=True), HALVES, feature_weight=[1.0, 2.0, 0.5, 1.0])
    yield feed("partial_fit/refused", PCA(2, robust=True), HALVES)


def _weighted_pca() -> Iterator[Case]:
    columns: dict[str, Any] = {"feature_weight": [1.0, 2.0, 0.5, 3.0]}
    rows: dict[str, Any] = {"sample_weight": data.WEIGHTS}
    cells: dict[str, Any] = {"cell_weight": data.CELL_WEIGHTS}
    for scale in (False, True):
        for name, given in {"rows": rows, "columns": columns, "cells": cells, "all": {**rows, **columns}}.items():
            yield fit(f"weights/{name},scale={scale}", PCA(2, scale=scale), data.ROWS, **given)
        given = {"cell_weight": np.where(np.isnan(data.HOLES), 0.0, 1.0)}
        yield fit(f"weights/holes,scale={scale}", PCA(2, scale=scale), data.HOLES, on=data.ROWS, **given)
        yield fit(f"weights/cells and rows,scale={scale}", PCA(2, scale=scale), data.ROWS, **cells, **rows)
        model = PCA(2, robust=True, scale=scale, random_state=0)
        spoilt = data.ROWS.copy()
        spoilt[:12] += [30.0, -20.0, 40.0, -10.0]
        yield fit(f"robust,scale={scale}", model, spoilt)
        model = PCA(2, robust=True, scale=scale, random_state=0)
        yield fit(f"robust/weights,scale={scale}", model, spoilt, **rows)
    yield fit("weights/solver=full", PCA(2, svd_solver="full"), data.ROWS, **rows)
    yield fit("weights/solver=randomized", PCA(2, svd_solver="randomized", random_state=0), data.WIDE[:150], **rows)
    yield fit("weights/sparse", PCA(2), data.SPARSE[:150], **rows, use=briefly)
    yield fit("robust/wide", PCA(2, robust=True, random_state=0), data.WIDE, use=briefly)
    yield Case("PCA/scores of cells", _scores_of_cells)


def _scores_of_cells() -> Parts:
    model = PCA(2)
    yield "fit", lambda: model.fit(data.ROWS, cell_weight=data.CELL_WEIGHTS)
    yield "scores", lambda: model.scores(data.ROWS[:20], data.CELL_WEIGHTS[:20])


def _factors() -> Iterator[Case]:
    for cls, words in ((ProbabilisticPCA, (0, 1, 2, "bic", "mle", None)), (FactorAnalysis, (0, 1, 2, "bic", None))):
        tables = {"rows": data.ROWS, "holes": data.HOLES, "scarce": data.SCARCE, "wide": data.WIDE, "short": data.SHORT}
        for name, X in tables.items():
            for word in words if name in ("rows", "holes") else (2,):
                model = cls(word, random_state=0, max_iter=40)
                yield fit(f"{name}/n_components={word}", model, X)
        for word in CLOSED_FORMS:
            for name in ("rows", "holes", "scarce"):
                model = cls(1, schedule=word, max_iter=15, random_state=0)
                yield fit(f"{name}/schedule={word}", model, tables[name], use=briefly)
        for name in ("rows", "holes"):
            model = cls(1, random_state=0, max_iter=20)
            yield fit(f"{name}/weights", model, tables[name], sample_weight=data.WEIGHTS)
            halves = [tables[name][:80], tables[name][80:]]
            yield feed(f"{name}/partial_fit", cls(1, random_state=0), halves, sample_weight=None)
    wide = data.WIDE[:, :12]
    for rotation in ("varimax", "quartimax"):
        yield fit(f"rotation={rotation}", FactorAnalysis(3, rotation=rotation, random_state=0), wide)
    yield fit("noise", FactorAnalysis(2, noise_variance_init=np.full(12, 0.5), random_state=0), wide)


def _discriminants() -> Iterator[Case]:
    X, y = data.ROWS, data.GROUPS
    axes: dict[str, Any] = {"solver": ("svd", "lsqr", "eigen"), "shrinkage": (None, "auto", 0.3)}
    axes |= {"covariance_type": ("shared", "spherical"), "unbiased": (False, True)}
    for label, options in crossed(**axes):
        yield fit(label, LinearDiscriminantAnalysis(store_covariance=True, **options), X, y)
    names = np.array(["one", "two", "three"])[y]
    for name, given in {
        "words": (LinearDiscriminantAnalysis(), X, names),
        "two": (LinearDiscriminantAnalysis(), X, y > 0),
        "priors": (LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5], n_components=1), X, y),
        "estimator": (LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS()), X, y),
        "wide": (LinearDiscriminantAnalysis(), data.WIDE, data.LARGE_GROUPS[:400]),
        "short": (LinearDiscriminantAnalysis(tol=1e-3), data.SHORT, y[:30]),
        "short/auto": (LinearDiscriminantAnalysis("eigen", shrinkage="auto"), data.SHORT, y[:30]),
        "sparse": (LinearDiscriminantAnalysis(), data.SPARSE[:150], y),
        "holes": (LinearDiscriminantAnalysis(), data.HOLES, y),
    }.items():
        yield fit(name, *given)
    yield fit("weights", LinearDiscriminantAnalysis("eigen"), X, y, sample_weight=data.WEIGHTS)
    yield feed("partial_fit", LinearDiscriminantAnalysis(), [(X[:80], y[:80], [0, 1, 2]), (X[80:], y[80:])])
    yield Case("LinearDiscriminantAnalysis/score", _accuracy)


def _accuracy() -> Parts:
    model = LinearDiscriminantAnalysis()
    yield "fit", lambda: model.fit(data.ROWS, data.GROUPS)
    yield "score", lambda: model.score(data.ROWS, data.GROUPS)
    yield "score with weights", lambda: model.score(data.ROWS, data.GROUPS, data.WEIGHTS)


def _slope(x: Any, power: float = 3.0) -> Any:
    """A contrast of one's own."""
    return np.sign(x) * np.abs(x) ** power, power * np.abs(x) ** (power - 1.0)


def _independent() -> Iterator[Case]:
    X = data.SOURCES
    for label, options in crossed(
        algorithm=("picard", "parallel", "deflation"),
        fun={"logcosh": "logcosh", "exp": "exp", "cube": "cube", "own": _slope},
        whiten=("unit-variance", "arbitrary-variance", False),
    ):
        yield fit(label, ICA(random_state=0, max_iter=60, **options), X)
    for label, options in crossed(orthogonal=("auto", True, False), extended=(True, False)):
        yield fit(label, ICA(random_state=0, **options), X, use=briefly)
    for solver in ("eigh", "svd"):
        yield fit(f"whiten_solver={solver}", ICA(2, random_state=0, whiten_solver=solver), X)
    yield fit("w_init", ICA(w_init=np.eye(3)), X)
    yield fit("alpha", ICA(fun_args={"alpha": 1.5}, random_state=0), X)
    for algorithm in ("picard", "parallel", "deflation"):
        model = ICA(2, algorithm=algorithm, random_state=0)
        yield fit(f"weights/{algorithm}", model, X[:150], sample_weight=data.WEIGHTS)
    yield fit("short", ICA(3, random_state=0), data.SHORT, use=briefly)


def _curves() -> Iterator[Case]:
    axes = {"closed": (False, True), "bias_correction": (False, True)}
    for label, options in crossed(smoother=("spline", "local"), degrees_of_freedom=(5.0, "gcv"), **axes):
        X = data.RING if options["closed"] else data.BENT
        yield fit(label, PrincipalCurve(max_iter=15, **options), X)
    yield fit("stretch", PrincipalCurve(stretch=2, max_iter=8), data.BENT)
    yield fit("init", PrincipalCurve(init=data.BENT[::20], max_iter=8, n_points=50), data.BENT)
    yield fit("span", PrincipalCurve(smoother="local", span=0.3, max_iter=8), data.BENT)
    for smoother in ("spline", "local"):
        model = PrincipalCurve(smoother=smoother, max_iter=8)
        yield fit(f"weights/{smoother}", model, data.BENT[:150], sample_weight=data.WEIGHTS)


def _map(n_components: int = 2, **options: Any) -> GenerativeTopographicMap:
    shape = {"lattice_shape": 6, "basis_shape": 3, "random_state": 0, "max_iter": 8}
    return GenerativeTopographicMap(n_components, **{**shape, **options})


def _maps() -> Iterator[Case]:
    yield from grid(_map, data.ROWS, use=briefly)
    yield from grid(_map, data.HOLES, "/holes", use=briefly)
    for label, options in crossed(n_components=(1, 2), init=("pca", "random"), n_init=(1, 2)):
        yield fit(label, _map(**options), data.ROWS)
    yield fit("holes", _map(), data.HOLES)
    yield fit("weights", _map(1), data.ROWS, sample_weight=data.WEIGHTS)
    yield fit("weights/holes", _map(), data.HOLES, sample_weight=data.WEIGHTS)
    yield fit("shapes", _map(lattice_shape=(7, 4), basis_shape=(3, 2), basis_width=1.5, regularization=0.1), data.ROWS)
    yield fit("default", GenerativeTopographicMap(max_iter=3), data.BENT)
    yield fit("wide", _map(), data.WIDE, use=briefly)
    yield Case("GenerativeTopographicMap/at points", _at_points)


def _at_points() -> Parts:
    model = _map().fit(data.ROWS)
    yield "magnification", lambda: model.magnification_factors([[0.0, 0.1], [0.5, -0.5]])
    yield "inverse", lambda: model.inverse_transform([[0.0, 0.1], [0.5, -0.5]])
    yield from in_full(model, data.HOLES)
