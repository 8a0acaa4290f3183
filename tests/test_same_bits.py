"""Same bits everywhere: one hash for every number of threads, every storage and a cluster of worker processes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import unveil
from unveil import (
    ICA,
    PCA,
    PCFG,
    BernoulliMixture,
    CategoricalHMM,
    FactorAnalysis,
    GaussianHMM,
    GaussianMixture,
    GenerativeTopographicMap,
    KMeans,
    LinearDiscriminantAnalysis,
    PrincipalCurve,
    ProbabilisticPCA,
)
from unveil.engines import Dask, Threads

N_ROWS = 40_000
ATTRIBUTES = (
    *("weights_", "means_", "covariances_", "probabilities_", "lower_bounds_"),
    *("startprob_", "transmat_", "emissionprob_", "occupancy_"),
    *("cluster_centers_", "inertia_", "labels_", "n_iter_"),
    *("components_", "explained_variance_", "mean_", "noise_variance_", "mixing_", "outlier_weights_"),
    *("points_", "coordinates_", "distance_", "coefficients_", "coef_", "intercept_", "scalings_"),
)
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "kmeans": lambda **parts: KMeans(4, random_state=0, tol=1e-2, **parts),
    **{
        f"kmeans-{word}": lambda word=word, **parts: KMeans(9, random_state=0, algorithm=word, tol=1e-2, **parts)
        for word in ("hamerly", "yinyang", "elkan", "kd-tree")
    },
    "kmeans-cosine": lambda **parts: KMeans(4, random_state=0, metric="cosine", tol=1e-2, **parts),
    "kmeans-missing": lambda **parts: KMeans(4, random_state=0, missing="partial", tol=1e-2, **parts),
    "kmeans-polished": lambda **parts: KMeans(4, random_state=0, n_init=2, tol=1e-2, **parts),
    "kmeans-stepwise": lambda **parts: KMeans(5, random_state=0, schedule="stepwise", **parts),
    "full": lambda **parts: GaussianMixture(3, random_state=0, tol=1e-4, **parts),
    "full-random": lambda **parts: GaussianMixture(3, random_state=0, init_params="random", tol=1e-2, **parts),
    "full-hard": lambda **parts: GaussianMixture(3, random_state=0, expectation="hard", **parts),
    "full-stepwise": lambda **parts: GaussianMixture(3, random_state=0, schedule="stepwise", tol=1e-3, **parts),
    "diag": lambda **parts: GaussianMixture(3, random_state=0, covariance_type="diag", **parts),
    "tied": lambda **parts: GaussianMixture(3, random_state=0, covariance_type="tied", **parts),
    "spherical": lambda **parts: GaussianMixture(3, random_state=0, covariance_type="spherical", **parts),
    "bernoulli": lambda **parts: BernoulliMixture(2, random_state=0, binarize=1.0, **parts),
    "chain": lambda **parts: GaussianHMM(3, random_state=0, n_init=1, tol=1e-3, **parts),
    "pca": lambda **parts: PCA(**parts),
    "pca-randomized": lambda **parts: PCA(2, svd_solver="randomized", random_state=0, **parts),
    "pca-robust": lambda **parts: PCA(2, robust=True, random_state=0, **parts),
    "ppca": lambda **parts: ProbabilisticPCA(1, **parts),
    "ppca-em": lambda **parts: ProbabilisticPCA(1, schedule="squarem", tol=1e-4, **parts),
    "factors": lambda **parts: FactorAnalysis(1, **parts),
    "ica": lambda **parts: ICA(random_state=0, tol=1e-4, gaussianity_level=1.0, **parts),
    "curve": lambda **parts: PrincipalCurve(tol=1e9, **parts),
    "map": lambda **parts: GenerativeTopographicMap(lattice_shape=7, basis_shape=3, tol=1e-2, **parts),
}
ON_A_CLUSTER = (
    *("kmeans", "kmeans-yinyang", "kmeans-kd-tree", "kmeans-cosine", "kmeans-missing"),
    *("full", "diag", "bernoulli", "pca", "pca-randomized", "pca-robust"),
    *("ppca", "ppca-em", "factors", "ica", "curve", "map", "chain"),
)


def rows() -> NDArray[np.float64]:
    random = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [0.0, 5.0, 3.0]])
    labels = random.choice(3, N_ROWS, p=[0.5, 0.3, 0.2])
    return centres[labels] + random.normal(size=(N_ROWS, 3)) @ np.array(
        [[1.0, 0.5, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 0.6]]
    )


ROWS = rows()
WEIGHTS = np.random.default_rng(2).integers(0, 4, N_ROWS).astype(np.float64)


def hashed(model: Any) -> str:
    """A hash over all that was fitted."""
    digest = hashlib.sha256()
    for name in ATTRIBUTES:
        if hasattr(model, name):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(getattr(model, name)).tobytes())
    return digest.hexdigest()


@cache
def wanted(name: str) -> str:
    """The hash of an estimator on one thread."""
    return hashed(ESTIMATORS[name](engine=Threads(1)).fit(ROWS))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    """BLAS has the threads that it has for users."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("same-bits")
    np.save(folder / "rows.npy", ROWS)
    table = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1], "c": ROWS[:, 2], "w": WEIGHTS})
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=7777)
    for part in range(3):  # a folder of files whose ends are no ends of partitions
        (folder / "parts").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(table[part * 15_000 : (part + 1) * 15_000], folder / "parts" / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("threads", [2, 5])
def test_threads(name: str, threads: int) -> None:
    assert hashed(ESTIMATORS[name](engine=Threads(threads)).fit(ROWS)) == wanted(name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_storage(name: str, stored: Path) -> None:
    make = ESTIMATORS[name]
    routes = {
        "map": np.load(stored / "rows.npy", mmap_mode="r"),
        "columns side by side": np.asfortranarray(ROWS),
        "npy scan": unveil.scan(stored / "rows.npy"),
        "parquet scan": unveil.scan(stored / "rows.parquet", columns=["a", "b", "c"]),
        "folder scan": unveil.scan(stored / "parts", columns=["a", "b", "c"]),
    }
    assert {route: hashed(make().fit(data)) for route, data in routes.items()} == dict.fromkeys(routes, wanted(name))


@pytest.mark.parametrize("name", ON_A_CLUSTER)
def test_a_cluster(name: str, stored: Path, client: Client) -> None:
    make = ESTIMATORS[name]
    assert hashed(make(engine=Dask(client)).fit(ROWS)) == wanted(name)
    collection = dask.array.from_array(ROWS, chunks=(9_999, 2))
    assert hashed(make().fit(collection)) == wanted(name)


def test_every_algorithm_of_kmeans_gives_the_same_bits() -> None:
    words = ("hamerly", "yinyang", "elkan", "kd-tree")
    plain = hashed(KMeans(9, random_state=0, algorithm="plain", tol=1e-2).fit(ROWS))
    assert {wanted(f"kmeans-{word}") for word in words} == {plain}


def test_a_scan_on_a_cluster(stored: Path, client: Client) -> None:
    scan = unveil.scan(stored / "rows.parquet", columns=["a", "b", "c"])
    assert hashed(ESTIMATORS["diag"](engine="dask").fit(scan)) == wanted("diag")


LENGTHS = np.array([1, 20_000, 3, 5_000, 4_996, 10_000])


def test_sequences(stored: Path, client: Client) -> None:
    """Of all lengths, with weights and holes, wherever the steps are."""
    holes = ROWS.copy()
    holes[100:110] = np.nan
    holes[5_000:6_000:3, 1] = np.nan
    np.save(stored / "holes.npy", holes)
    given = {"lengths": LENGTHS, "sample_weight": WEIGHTS, "sequence_weight": [1, 2, 0, 1, 1, 3]}

    def fitted(engine: Any, data: Any = holes) -> str:
        model = GaussianHMM(2, random_state=0, n_init=1, max_iter=8, tol=0.1, covariance_type="diag", engine=engine)
        return hashed(model.fit(data, **given))

    want = fitted(Threads(1))
    assert {fitted(engine) for engine in (Threads(2), Threads(5), Dask(client))} == {want}
    assert fitted("auto", unveil.scan(stored / "holes.npy")) == want


def test_one_chain_that_is_cut_into_pieces() -> None:
    symbols = (np.arange(100_000)[:, None] // 700 + np.random.default_rng(3).integers(0, 2, (100_000, 1))) % 3
    models = [
        CategoricalHMM(3, random_state=0, n_init=1, max_iter=6, tol=0.1, engine=Threads(count)).fit(symbols)
        for count in (1, 2, 5)
    ]
    assert len({hashed(model) for model in models}) == 1
    assert len({model.predict_proba(symbols).tobytes() for model in models}) == 1
    assert len({model.predict(symbols).tobytes() for model in models}) == 1


def test_sentences(client: Client) -> None:
    random = np.random.default_rng(4)
    sentences = [["ab"[int(letter)] for letter in random.integers(0, 2, random.integers(1, 9))] for _ in range(400)]

    def fitted(engine: Any) -> str:
        options = {"n_nonterminals": 3, "random_state": 0, "max_iter": 6, "tol": 0.1}
        return hashed(PCFG(engine=engine, **options).fit(sentences))

    assert {fitted(engine) for engine in (Threads(2), Threads(5), Dask(client))} == {fitted(Threads(1))}


def test_classes(stored: Path, client: Client) -> None:
    labels = (ROWS[:, 1] > 2.0).astype(int) + (ROWS[:, 0] > 2.0)
    want = hashed(LinearDiscriminantAnalysis(engine=Threads(1)).fit(ROWS, labels))
    for engine in (Threads(2), Threads(5), Dask(client)):
        assert hashed(LinearDiscriminantAnalysis(engine=engine).fit(ROWS, labels)) == want
    scan = unveil.scan(stored / "rows.parquet", columns=["a", "b", "c"])
    assert hashed(LinearDiscriminantAnalysis().fit(scan, labels)) == want
    collection = dask.array.from_array(ROWS, chunks=(9_999, 3))
    assert hashed(LinearDiscriminantAnalysis().fit(collection, labels)) == want


@pytest.mark.parametrize("name", ["kmeans", "full", "pca", "ppca", "ica"])
def test_weights(name: str, stored: Path, client: Client) -> None:
    make = ESTIMATORS[name]
    want = hashed(make(engine=Threads(1)).fit(ROWS, sample_weight=WEIGHTS))
    assert hashed(make(engine=Threads(2)).fit(ROWS, sample_weight=WEIGHTS)) == want
    assert hashed(make().fit(unveil.scan(stored / "rows.parquet", columns=["a", "b", "c"], weight="w"))) == want
    assert hashed(make(engine=Dask(client)).fit(ROWS, sample_weight=WEIGHTS)) == want
    collection = dask.array.from_array(ROWS, chunks=(9_999, 3))
    assert hashed(make(engine=Dask(client)).fit(collection, sample_weight=WEIGHTS)) == want


@pytest.mark.parametrize("name", ["kmeans", "full", "pca"])
def test_float32(name: str, stored: Path) -> None:
    light = ROWS.astype(np.float32)
    np.save(stored / f"light-{name}.npy", light)
    want = hashed(ESTIMATORS[name](engine=Threads(1)).fit(light))
    assert hashed(ESTIMATORS[name](engine=Threads(2)).fit(light)) == want
    assert hashed(ESTIMATORS[name]().fit(unveil.scan(stored / f"light-{name}.npy"))) == want


@pytest.mark.parametrize("name", ["kmeans", "full", "bernoulli", "pca"])
def test_what_is_said_of_rows(name: str, stored: Path, client: Client) -> None:
    model = ESTIMATORS[name]().fit(unveil.scan(stored / "parts", columns=["a", "b", "c"]))
    use = "transform" if name == "pca" else "predict"
    scan = unveil.scan(stored / "rows.parquet", columns=["a", "b", "c"])
    answers = {
        getattr(model.set_params(engine=engine), use)(scan).tobytes()
        for engine in ("threads", Threads(1), Dask(client))
    }
    assert len(answers) == 1


def test_a_collection_runs_on_the_cluster_that_holds_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with weights or a threshold on it: the rows are not brought here."""
    used: list[str] = []
    original = Dask.map_reduce

    def watched(self: Dask, *given: Any) -> Any:
        used.append("dask")
        return original(self, *given)

    monkeypatch.setattr(Dask, "map_reduce", watched)
    collection = dask.array.from_array(ROWS[:18_000], chunks=(8_000, 3))
    for fit in (
        lambda: PCA().fit(collection),
        lambda: PCA().fit(collection, sample_weight=WEIGHTS[:18_000]),
        lambda: BernoulliMixture(2, random_state=0).fit(collection),
    ):
        used.clear()
        fit()
        assert used
