import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import unveil
from unveil.estimation.lazy import ROW_BY_ROW
from unveil.estimation.persistence import estimator_names

ROWS = np.random.default_rng(3).normal(size=(40_000, 3)) + np.arange(40_000)[:, None] % 2 * 4.0
CHUNKS = (9_999, 2)
CODES = np.random.default_rng(4).integers(2, size=len(ROWS))
MODELS = {
    "KMeans": unveil.KMeans(3, random_state=0),
    "KMedoids": unveil.KMedoids(2, random_state=0),
    "KernelKMeans": unveil.KernelKMeans(2, random_state=0),
    "GaussianMixture": unveil.GaussianMixture(2, random_state=0),
    "BernoulliMixture": unveil.BernoulliMixture(2, binarize=0.0, random_state=0, max_iter=5),
    "StudentMixture": unveil.StudentMixture(2, random_state=0, max_iter=5),
    "PCA": unveil.PCA(2),
    "ProbabilisticPCA": unveil.ProbabilisticPCA(2),
    "FactorAnalysis": unveil.FactorAnalysis(1),
    "ICA": unveil.ICA(2, random_state=0),
    "LinearDiscriminantAnalysis": unveil.LinearDiscriminantAnalysis(),
    "PrincipalCurve": unveil.PrincipalCurve(max_iter=2),
    "GenerativeTopographicMap": unveil.GenerativeTopographicMap(max_iter=2, random_state=0),
}
FEW = {"KMedoids", "KernelKMeans"}  # which look at pairs of rows


@pytest.fixture(autouse=True)
def in_this_thread() -> None:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("name", MODELS)
def test_answers_are_lazy_and_have_the_bits_of_memory(name: str) -> None:
    rows = ROWS[:100] if name in FEW else ROWS
    model = (
        MODELS[name].fit(rows, np.where(CODES[: len(rows)], "b", "a")) if "Linear" in name else MODELS[name].fit(rows)
    )
    asked = [method for method in ROW_BY_ROW if hasattr(model, method)]
    assert asked
    for method in asked:
        if method == "impute" and name == "PCA":
            continue
        known = getattr(model, method)(ROWS)
        lazy = getattr(model, method)(da.from_array(ROWS, chunks=CHUNKS))
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (known.shape, known.dtype)
        assert lazy.compute().tobytes() == known.tobytes(), method


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    made: list[int] = []

    def rows(block: np.ndarray) -> np.ndarray:
        made.append(len(block))
        return block

    model = unveil.KMeans(2, random_state=0).fit(ROWS)
    labels = model.predict(da.from_array(ROWS, chunks=CHUNKS).map_blocks(rows, meta=np.empty((0, 0))))
    assert not made
    assert np.array_equal(labels.compute(), model.predict(ROWS))
    assert sum(made) >= len(ROWS)


def test_frames_are_taken_by_their_names() -> None:
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    model = unveil.GaussianMixture(2, random_state=0).fit(table)
    frame = dd.from_pandas(table, npartitions=4)
    assert model.predict_proba(frame).compute().tobytes() == model.predict_proba(table).tobytes()
    with pytest.raises(ValueError, match="was fitted on"):
        model.predict_proba(frame[["b", "a", "c"]])


def test_what_is_wrong_is_said_at_once_or_with_its_chunk() -> None:
    collection = da.from_array(ROWS, chunks=CHUNKS)
    with pytest.raises(NotFittedError):
        unveil.KMeans(2).predict(collection)
    model = unveil.KMeans(2, random_state=0).fit(ROWS)
    with pytest.raises(ValueError, match="features"):
        model.predict(collection[:, :2])
    holes = ROWS.copy()
    holes[30_000, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN") as caught:
        model.predict(da.from_array(holes, chunks=CHUNKS)).compute()
    assert any("first is row 0" in note for note in caught.value.__notes__)


def test_rows_of_ones_need_not_be_rows_of_the_table() -> None:
    codes = np.repeat([[3.0, 7.0], [5.0, 9.0]], 50, axis=0)
    model = unveil.CategoricalMixture(2, random_state=0).fit(codes)
    lazy = model.predict_proba(da.from_array(codes, chunks=30))
    assert lazy.compute().tobytes() == model.predict_proba(codes).tobytes()


def test_every_estimator_of_rows_is_here() -> None:
    others = {"MixedMixture", "PoissonMixture", "CategoricalMixture", "PCFG"}  # as their likes
    chains = {name for name in estimator_names() if name.endswith("HMM")}
    assert set(estimator_names()) - others - chains == set(MODELS)
