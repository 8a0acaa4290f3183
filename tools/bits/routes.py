"""Cases of routes: engines, files and collections, with tables of several partitions."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import unveil
from tools.bits import data
from tools.bits.case import SCHEDULES, Case, Parts, Use, seeded
from tools.bits.chains import brief
from tools.bits.grammars import MANY
from tools.bits.use import briefly, nothing
from unveil.engines import Dask, Threads

Make = Callable[..., Any]
TABLES: dict[str, Make] = {
    "PCA": lambda **o: unveil.PCA(2, **o),
    "PCA/randomized": lambda **o: unveil.PCA(2, svd_solver="randomized", random_state=0, **o),
    "PCA/robust": lambda **o: unveil.PCA(2, robust=True, random_state=0, **o),
    "ProbabilisticPCA": lambda **o: unveil.ProbabilisticPCA(1, random_state=0, **o),
    "FactorAnalysis": lambda **o: unveil.FactorAnalysis(1, random_state=0, **o),
    "ICA": lambda **o: unveil.ICA(random_state=0, tol=1e-4, gaussianity_level=1.0, **o),
    "PrincipalCurve": lambda **o: unveil.PrincipalCurve(max_iter=2, **o),
    "GenerativeTopographicMap": lambda **o: unveil.GenerativeTopographicMap(
        lattice_shape=5, basis_shape=3, max_iter=3, **o
    ),
    **{
        f"KMeans/{word}": lambda word=word, **o: unveil.KMeans(5, random_state=0, tol=1e-2, algorithm=word, **o)
        for word in ("auto", "plain", "hamerly", "yinyang", "elkan", "kd-tree")
    },
    "KMeans/cosine": lambda **o: unveil.KMeans(4, random_state=0, metric="cosine", tol=1e-2, **o),
    "KMeans/k-means||": lambda **o: unveil.KMeans(4, random_state=0, init="k-means||", tol=1e-2, **o),
    "KMeans/polished": lambda **o: unveil.KMeans(4, random_state=0, n_init=2, tol=1e-2, **o),
    "KMeans/stepwise": lambda **o: unveil.KMeans(4, random_state=0, schedule="stepwise", max_iter=3, **o),
    "KMedoids/clara": lambda **o: unveil.KMedoids(3, method="clara", n_init=1, random_state=0, **o),
    "KernelKMeans/nystroem": lambda **o: unveil.KernelKMeans(3, method="nystroem", n_landmarks=40, random_state=0, **o),
    **{
        f"GaussianMixture/{word}": lambda word=word, **o: unveil.GaussianMixture(
            3, covariance_type=word, random_state=0, init_params="kmeans", max_iter=4, **o
        )
        for word in ("full", "tied", "diag", "spherical", "VEV")
    },
    "GaussianMixture/random": lambda **o: unveil.GaussianMixture(
        3, random_state=0, init_params="random", max_iter=3, **o
    ),
    "GaussianMixture/sampled": lambda **o: unveil.GaussianMixture(
        3, random_state=0, init_params="kmeans", expectation="sampled", max_iter=3, **o
    ),
    "StudentMixture": lambda **o: unveil.StudentMixture(3, random_state=0, init_params="kmeans", max_iter=3, **o),
    "BernoulliMixture": lambda **o: unveil.BernoulliMixture(2, random_state=0, binarize=1.0, max_iter=5, **o),
    "MixedMixture": lambda **o: unveil.MixedMixture(2, random_state=0, init_params="kmeans", max_iter=3, **o),
}
CHAINS: dict[str, tuple[Make, Any]] = {
    "GaussianHMM": (lambda **o: unveil.GaussianHMM(3, **_quick(o)), data.LONG),
    "GaussianHMM/n_mix=2": (lambda **o: unveil.GaussianHMM(2, n_mix=2, **_quick(o)), data.LONG),
    "CategoricalHMM": (lambda **o: unveil.CategoricalHMM(3, **_quick(o)), data.LONG_SYMBOLS),
    "PoissonHMM": (lambda **o: unveil.PoissonHMM(3, **_quick(o)), data.LONG_SYMBOLS.astype(float)),
    "MixedHMM": (lambda **o: unveil.MixedHMM(2, **_quick(o)), pd.DataFrame(data.LONG, columns=["a", "b"])),
}
ENGINES: dict[str, Make] = {
    "threads": lambda: "threads",
    "Threads(1)": partial(Threads, 1),
    "Threads(3)": partial(Threads, 3),
}
SCHEDULED = ("GaussianMixture/full", "BernoulliMixture", "GenerativeTopographicMap", "KMeans/auto")
SEVERAL = ("PCA", "KMeans/auto", "GaussianMixture/full")  # on all kinds of files
COLUMNS = ["a", "b", "c"]


def _quick(options: dict[str, Any]) -> dict[str, Any]:
    return {"random_state": 0, "n_init": 1, "init_params": "kmeans", "max_iter": 3, **options}


def _grammar(**options: Any) -> Any:
    return unveil.PCFG(n_nonterminals=3, random_state=0, max_iter=3, **options)


def cases() -> Iterator[Case]:
    """All of them."""
    for family in (_tables, _chains, _clusters, _files, _other_files):
        yield from family()


@contextmanager
def cluster() -> Iterator[None]:
    """Closes the cluster that cases may have started."""
    try:
        yield
    finally:
        if client.cache_info().currsize:
            client().close()
            client().cluster.close()


@cache
def client() -> Any:
    """A cluster within this process, started when the first case asks for it."""
    from distributed import Client, LocalCluster

    return Client(LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None))


def _dask() -> Dask:
    return Dask(client())


def _case(
    name: str, make: Make, rows: Any, use: Use = nothing, on: Any = None, engine: Make | None = None, **given: Any
) -> Case:
    """A fit to `rows`, or to what they return where they are to be opened first."""

    def run() -> Parts:
        model = seeded(make() if engine is None else make(engine=engine()))
        yield "fit", lambda: model.fit(rows() if callable(rows) else rows, **given)
        yield from use(model, on() if callable(on) else on, **{key: given[key] for key in given.keys() & {"lengths"}})

    return Case(f"route/{name}", run)


def _tables() -> Iterator[Case]:
    """Threads."""
    X, W, holes = data.LARGE, data.LARGE_WEIGHTS, data.LARGE_HOLES
    for name, make in TABLES.items():
        for word, engine in ENGINES.items():
            yield _case(f"{name}/{word}", make, X, briefly, X[:50], engine)
        yield _case(f"{name}/weights", make, X, briefly, X, sample_weight=W)
        yield _case(f"{name}/single", make, X.astype(np.float32), briefly, X[:50])
        yield _case(f"{name}/holes", make, holes, briefly, holes[:50])
    for name, schedule, word in product(SCHEDULED, SCHEDULES, ("Threads(1)", "Threads(3)")):
        make = partial(TABLES[name], schedule=schedule)
        yield _case(f"{name}/schedule={schedule}/{word}", make, X, engine=ENGINES[word])
    for solver, (word, engine) in product(("svd", "eigen"), ENGINES.items()):
        make, name = partial(unveil.LinearDiscriminantAnalysis, solver), "LinearDiscriminantAnalysis"
        yield _case(f"{name}/{solver}/{word}", make, X, briefly, X[:50], engine, y=data.LARGE_GROUPS)


def _chains() -> Iterator[Case]:
    """The same of sequences and sentences."""
    for word, engine in ENGINES.items():
        for name, (make, X) in CHAINS.items():
            for label, lengths in {"one": None, "several": data.LONG_LENGTHS}.items():
                yield _case(f"{name}/{label}/{word}", make, X, brief, X, engine, lengths=lengths)
        yield _case(f"PCFG/{word}", _grammar, MANY, engine=engine)


def _clusters() -> Iterator[Case]:
    """A cluster of Dask, and collections that it holds."""
    X, W = data.LARGE, data.LARGE_WEIGHTS
    pieces = dask.array.from_array(X, chunks=(6_000, 2))
    for name, make in TABLES.items():
        yield _case(f"{name}/dask", make, X, briefly, X[:50], _dask)
    for name in (*SEVERAL, "ICA", "BernoulliMixture"):
        yield _case(f"{name}/collection", TABLES[name], lambda: pieces, briefly, lambda: pieces, _dask)
        yield _case(f"{name}/collection with weights", TABLES[name], lambda: pieces, engine=_dask, sample_weight=W)
    for name, (make, steps) in CHAINS.items():
        yield _case(f"{name}/dask", make, steps, engine=_dask, lengths=data.LONG_LENGTHS)
    make = unveil.LinearDiscriminantAnalysis
    yield _case("LinearDiscriminantAnalysis/dask", make, X, engine=_dask, y=data.LARGE_GROUPS)
    yield _case("PCFG/dask", _grammar, MANY, engine=_dask)


@cache
def _folder() -> Path:
    """Files of all kinds that hold the same rows."""
    folder = tempfile.TemporaryDirectory(prefix="bits")
    atexit.register(folder.cleanup)
    place = Path(folder.name)
    np.save(place / "rows.npy", data.LARGE)
    np.save(place / "holes.npy", data.LARGE_HOLES)
    np.save(place / "steps.npy", data.LONG)
    table = pa.table({"a": data.LARGE[:, 0], "b": data.LARGE[:, 1], "c": data.LARGE[:, 2], "w": data.LARGE_WEIGHTS})
    pyarrow.parquet.write_table(table, place / "rows.parquet", row_group_size=7777)
    pyarrow.csv.write_csv(table, place / "rows.csv")
    pyarrow.feather.write_feather(table, place / "rows.feather")
    (place / "parts").mkdir()
    for part in range(2):
        pyarrow.parquet.write_table(table[part * 12_000 : (part + 1) * 12_000], place / "parts" / f"{part}.parquet")
    return place


def _scan(file: str, columns: list[str] | None = COLUMNS, weight: str | None = None) -> Any:
    return unveil.scan(_folder() / file, columns=columns, weight=weight)


FILES: dict[str, Callable[[], Any]] = {
    "map": lambda: np.load(_folder() / "rows.npy", mmap_mode="r"),
    "npy": lambda: _scan("rows.npy", None),
    "npy with holes": lambda: _scan("holes.npy", None),
    "parquet": lambda: _scan("rows.parquet"),
    "parquet with weights": lambda: _scan("rows.parquet", weight="w"),
    "folder": lambda: _scan("parts"),
    "csv": lambda: _scan("rows.csv"),
    "feather": lambda: _scan("rows.feather"),
    "columns": lambda: np.asfortranarray(data.LARGE),
    "frame": lambda: pd.DataFrame(data.LARGE, columns=COLUMNS),
}


def _files() -> Iterator[Case]:
    """Rows that are read while they are needed."""
    for name, make in TABLES.items():
        for word, opened in FILES.items():
            if name in SEVERAL or word in ("npy", "parquet with weights", "npy with holes", "frame"):
                yield _case(f"{name}/{word}", make, opened)
    for name in SEVERAL:
        yield _case(f"{name}/answers of a scan", TABLES[name], data.LARGE, briefly, FILES["csv"])


def _other_files() -> Iterator[Case]:
    """Sequences and classes in files, and tables out."""
    steps = partial(_scan, "steps.npy", None)
    yield _case("GaussianHMM/npy", CHAINS["GaussianHMM"][0], steps, lengths=data.LONG_LENGTHS)
    make = unveil.LinearDiscriminantAnalysis
    yield _case("LinearDiscriminantAnalysis/parquet", make, FILES["parquet"], y=data.LARGE_GROUPS)
    yield Case("route/set_output", _frames)


def _frames() -> Parts:
    """Tables out, with names."""
    frame = pd.DataFrame(data.ROWS, columns=list("abcd"))
    for make in (unveil.PCA, unveil.ProbabilisticPCA, unveil.KMeans, unveil.PrincipalCurve):
        model = seeded(make()).set_output(transform="pandas")
        yield f"{make.__name__}", partial(model.fit_transform, frame)
