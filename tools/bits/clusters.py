"""Cases of clusterings: K-means in all its geometries, medoids, and K-means in a kernel's space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tools.bits import data
from tools.bits.case import EXPECTATIONS, SCHEDULES, Case, feed, fit
from tools.bits.use import briefly
from unveil import KernelKMeans, KMeans, KMedoids

ALGORITHMS = ("auto", "plain", "lloyd", "hamerly", "yinyang", "pruned", "elkan", "kd-tree")
INITS = ("k-means++", "plain-k-means++", "furthest-first", "random", "k-means||")
GEOMETRIES: dict[str, tuple[dict[str, Any], Any]] = {
    "dense": ({}, data.ROWS),
    "single": ({}, data.SINGLE),
    "columns": ({}, np.asfortranarray(data.ROWS)),
    "sparse": ({}, data.SPARSE[:150]),
    "partial": ({"missing": "partial"}, data.HOLES),
    "cosine": ({"metric": "cosine"}, data.ROWS),
    "cosine sparse": ({"metric": "cosine"}, data.SPARSE[:150]),
    "cosine partial": ({"metric": "cosine", "missing": "partial"}, data.HOLES),
    "holes": ({}, data.HOLES),
    "wide": ({}, data.WIDE[:150]),
    "wide partial": ({"missing": "partial"}, data.with_holes(data.WIDE[:150])),
}


def cases() -> Iterator[Case]:
    """All of them."""
    for family in (_kmeans, _starts, _geometries, _medoids, _kernels):
        yield from family()


def _kmeans() -> Iterator[Case]:
    for word in ALGORITHMS:
        for name, X, count in (("rows", data.ROWS, 5), ("middle", data.MIDDLE, 14), ("wide", data.WIDE, 22)):
            yield fit(f"algorithm={word}/{name}", KMeans(count, algorithm=word, random_state=0), X)
    for word in ("keep", "relocate", "drop", "error"):
        for n_init in (1, 3):
            model = KMeans(5, empty_clusters=word, n_init=n_init, random_state=0, init="random")
            yield fit(f"empty_clusters={word},n_init={n_init}/twins", model, data.TWINS)
        lost = np.array([[0.0, 0.0, 0.0, 0.0], [4.0, 1.0, 0.0, 2.0], [99.0, 99.0, 99.0, 99.0]])
        yield fit(f"empty_clusters={word}/lost", KMeans(3, empty_clusters=word, init=lost), data.ROWS)
    for count in (1, 2, 150):
        yield fit(f"n_clusters={count}", KMeans(count, random_state=0), data.ROWS)
    yield fit("tol=0", KMeans(6, tol=0, random_state=0), data.MIDDLE)
    yield fit("max_iter=2", KMeans(6, max_iter=2, random_state=0), data.MIDDLE)
    yield fit("fit_predict", KMeans(3, random_state=0), data.ROWS, sample_weight=data.WEIGHTS)


def _callable(X: Any, n_clusters: int, random_state: Any) -> Any:
    """The first rows."""
    return X[:n_clusters]


def _starts() -> Iterator[Case]:
    for word in INITS:
        for n_init in ("auto", 1, 4):
            for name, X in {"rows": data.ROWS, "middle": data.MIDDLE}.items():
                model = KMeans(7, init=word, n_init=n_init, random_state=0)
                yield fit(f"init={word},n_init={n_init}/{name}", model, X, use=briefly)
    yield fit("init=array", KMeans(3, init=data.ROWS[[0, 50, 100]]), data.ROWS)
    yield fit("init=callable", KMeans(3, init=_callable, n_init=2, random_state=0), data.ROWS)


def _geometries() -> Iterator[Case]:
    for name, (options, X) in GEOMETRIES.items():
        for n_init in (1, 3):
            yield fit(f"{name}/n_init={n_init}", KMeans(4, n_init=n_init, random_state=0, **options), X)
        yield fit(f"{name}/weights", KMeans(4, random_state=0, **options), X, sample_weight=data.WEIGHTS)
        yield feed(f"{name}/partial_fit", KMeans(4, random_state=0, **options), [X[:80], X[80:]])
        for word in (*INITS, "array"):
            init = X[:4] if word == "array" else word
            model = KMeans(4, init=init.toarray() if hasattr(init, "toarray") else init, random_state=0, **options)
            yield fit(f"{name}/init={word}", model, X, use=briefly)
        for word in SCHEDULES:
            yield fit(f"{name}/schedule={word}", KMeans(4, random_state=0, schedule=word, **options), X, use=briefly)
        for word in EXPECTATIONS:
            model = KMeans(4, random_state=0, expectation=word, **options)
            yield fit(f"{name}/expectation={word}", model, X, use=briefly)
        for word in ("relocate", "drop"):
            model = KMeans(20, random_state=0, empty_clusters=word, init="random", n_init=1, **options)
            yield fit(f"{name}/empty_clusters={word}", model, X, use=briefly)


def _spread(one: Any, other: Any) -> float:
    """A dissimilarity of one's own."""
    return float(np.abs(one - other).max() + 0.1 * np.abs(one - other).sum())


METRICS = (
    *("euclidean", "l2", "manhattan", "l1", "cityblock", "cosine", "haversine", "nan_euclidean", "braycurtis"),
    *("canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard", "mahalanobis", "minkowski"),
    *("rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean"),
)  # not "yule": different rows at distance 0 make a loss of 0, from which perturbations never come back (a known fault)


def _medoids() -> Iterator[Case]:
    yes = np.column_stack([data.BITS > 0, np.ones(150, bool)])  # rows without any yes are at no distance
    for word in METRICS:
        X = {"haversine": data.ROWS[:, :2] / 9.0}.get(word, yes if word in ("dice", "jaccard") else data.ROWS)
        for method in ("fasterpam", "clara"):
            model = KMedoids(3, metric=word, method=method, n_init=2, random_state=0)
            yield fit(f"metric={word},method={method}", model, X)
    yield fit("metric=own", KMedoids(3, metric=_spread, n_init=2, random_state=0), data.ROWS)
    model = KMedoids(3, metric="minkowski", metric_params={"p": 3}, random_state=0)
    yield fit("metric=minkowski,p=3", model, data.ROWS)
    square = np.abs(data.ROWS[:60, None] - data.ROWS[None, :60]).sum(axis=2)
    yield fit("metric=precomputed", KMedoids(3, metric="precomputed", random_state=0), square)
    for word in ("greedy", "lab", "build", "k-medoids++", "random"):
        for n_init in (1, 3):
            model = KMedoids(4, init=word, n_init=n_init, random_state=0)
            yield fit(f"init={word},n_init={n_init}", model, data.ROWS, use=briefly)
    yield fit("init=array", KMedoids(3, init=[0, 50, 100]), data.ROWS)
    for name, X in {"single": data.SINGLE, "sparse": data.SPARSE[:150], "holes": data.HOLES, "wide": data.WIDE}.items():
        yield fit(name, KMedoids(3, n_init=2, random_state=0), X)
    for method in ("fasterpam", "clara"):
        model = KMedoids(3, method=method, n_init=2, random_state=0)
        yield fit(f"weights,method={method}", model, data.ROWS, sample_weight=data.WEIGHTS)
    yield fit("clara/large", KMedoids(5, method="clara", n_init=2, random_state=0), data.LARGE[:9000], use=briefly)
    yield fit("max_iter=1", KMedoids(5, max_iter=1, random_state=0), data.MIDDLE[:600])


KERNELS = ("rbf", "poly", "polynomial", "cosine", "linear", "laplacian", "sigmoid", "additive_chi2", "chi2")


def _product(one: Any, other: Any) -> float:
    """A kernel of one's own."""
    return float(1.0 + one @ other) ** 2


def _kernels() -> Iterator[Case]:
    for word in KERNELS:
        X = np.abs(data.ROWS) if "chi2" in word else data.ROWS
        for method, landmarks in (("exact", None), ("nystroem", 25), ("nystroem", None)):
            model = KernelKMeans(3, kernel=word, method=method, n_landmarks=landmarks, random_state=0)
            yield fit(f"kernel={word},method={method},n_landmarks={landmarks}", model, X)
    yield fit("kernel=own", KernelKMeans(3, kernel=_product, random_state=0), data.ROWS)
    yield fit("kernel=precomputed", KernelKMeans(3, kernel="precomputed", random_state=0), data.ROWS @ data.ROWS.T)
    options: dict[str, dict[str, Any]] = {
        "gamma=scale": {"gamma": "scale"},
        "gamma=2": {"gamma": 2.0},
        "degree=2": {"kernel": "poly", "degree": 2, "coef0": 0.5},
        "init=random": {"init": "random"},
        "init=labels": {"init": data.GROUPS},
        "n_init=4": {"n_init": 4},
        "tol": {"tol": 1e-2},
        "max_iter=1": {"max_iter": 1},
    }
    for label, given in options.items():
        yield fit(label, KernelKMeans(3, random_state=0, **given), data.ROWS)
    tables = {"single": data.SINGLE, "sparse": data.SPARSE[:150], "middle": data.MIDDLE, "holes": data.HOLES}
    for name, X in tables.items():
        yield fit(name, KernelKMeans(4, random_state=0), X, use=briefly)
    for method in ("exact", "nystroem"):
        model = KernelKMeans(3, method=method, random_state=0)
        yield fit(f"weights,method={method}", model, data.ROWS, sample_weight=data.WEIGHTS)
    yield fit("nystroem/large", KernelKMeans(4, method="nystroem", random_state=0), data.LARGE[:9000], use=briefly)
