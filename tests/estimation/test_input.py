"""What users hand in: arrays, frames, scans, weights; and the errors that name row, column or argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.typing import NDArray

import unveil
from unveil import PCA, BernoulliMixture, GaussianMixture, KMeans
from unveil.estimation.input import frame_of, refuse_nonfinite, sample_of
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
ESTIMATORS = {
    "kmeans": lambda: KMeans(2, random_state=0),
    "gaussian": lambda: GaussianMixture(2, random_state=0),
    "bernoulli": lambda: BernoulliMixture(2, random_state=0),
    "pca": lambda: PCA(),
}
by_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def table(n_rows: int = 400) -> Floats:
    random = np.random.default_rng(0)
    return random.normal(size=(n_rows, 3)) + 6 * random.integers(2, size=(n_rows, 1)) - 3


def scanned(folder: Path, X: Floats, **columns: Any) -> Any:
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(pa.table(dict(zip("abc", X.T, strict=True)) | columns), path)
    return unveil.scan(path, columns=["a", "b", "c"], weight="w" if "w" in columns else None)


def parameters(model: Any) -> bytes:
    names = ("means_", "cluster_centers_", "components_")
    return b"".join(np.ascontiguousarray(getattr(model, name)).tobytes() for name in names if hasattr(model, name))


@by_estimator
def test_frames_are_tables_with_names(make: Any) -> None:
    X = table()
    plain = make().fit(X)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        model = make().fit(frame)
        assert parameters(model) == parameters(plain)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(plain, "feature_names_in_")


@by_estimator
def test_a_scan_is_a_table_with_names(make: Any, tmp_path: Path) -> None:
    scan = scanned(tmp_path, table())
    model = make().fit(scan)
    assert parameters(model) == parameters(make().fit(table()))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    use = model.transform if hasattr(model, "transform") else model.predict
    np.testing.assert_array_equal(use(scan), use(pd.DataFrame(table(), columns=list("abc"))))
    other = unveil.scan(tmp_path / "table.parquet", columns=["b", "a", "c"])
    with pytest.raises(ValueError, match=r"X has columns \['b', 'a', 'c'\], but .* was fitted on \['a', 'b', 'c'\]"):
        use(other)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        use(unveil.scan(tmp_path / "table.parquet", columns=["a", "b"]))


def missing_cells_are_taken_from_everywhere(make: Any, tmp_path: Path) -> None:
    X = table(20_000)
    X[19_876, 1] = X[3, 0] = np.nan
    plain = make().fit(X)
    assert parameters(plain) == parameters(make().fit(scanned(tmp_path, X))) == parameters(make().fit(ArraySource(X)))
    assert np.all(np.isfinite(plain.score_samples(X)))


@by_estimator
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_cells_that_are_no_numbers_are_refused(make: Any, value: float, name: str, tmp_path: Path) -> None:
    if np.isnan(value) and getattr(make(), "_takes_missing", False):
        missing_cells_are_taken_from_everywhere(make, tmp_path)
        return
    X = table(20_000)
    X[19_876, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {name}"):
        make().fit(X)
    with pytest.raises(ValueError, match=f"Input X contains {name}: row 19876, column 'b'"):
        make().fit(scanned(tmp_path, X))
    with pytest.raises(ValueError, match=f"Input X contains {name}: row 19876, column 1"):
        make().fit(ArraySource(X))


@pytest.mark.parametrize("expectation", ["exact", "hard"])
@pytest.mark.parametrize("schedule", ["batch", "stepwise"])
def test_cells_that_no_start_looked_at_are_refused_too(expectation: str, schedule: str) -> None:
    X = table(20_000)
    X[19_876, 1] = np.inf
    begin = {"weights_init": [0.5, 0.5], "means_init": [[-3.0] * 3, [3.0] * 3], "precisions_init": [np.eye(3)] * 2}
    with pytest.raises(ValueError, match="Input X contains infinity: row 19876, column 1"):
        GaussianMixture(2, **begin, expectation=expectation, schedule=schedule).fit(ArraySource(X))


@by_estimator
def test_cells_that_are_no_numbers_are_refused_after_the_fit_too(make: Any, tmp_path: Path) -> None:
    model = make().fit(scanned(tmp_path, table()))
    X = table(20_000)
    X[19_876, 1] = np.inf
    scan = scanned(tmp_path, X)
    uses = [getattr(model, name) for name in ("predict", "score_samples", "transform", "score") if hasattr(model, name)]
    for use in uses:
        with pytest.raises(ValueError, match=r"Input X contains infinity: row 19876, column ('b'|1)"):
            use(scan)


@by_estimator
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(399), r"sample_weight must have shape \(400,\), one weight a row, got \(399,\)"),
        (np.ones((400, 1)), r"sample_weight must have shape \(400,\), one weight a row, got \(400, 1\)"),
        (np.r_[np.ones(399), -1.0], "sample_weight must be finite and not negative, got -1.0 in row 399"),
        (np.r_[np.nan, np.ones(399)], "sample_weight must be finite and not negative, got nan in row 0"),
        (np.zeros(400), "sample_weight must have a positive entry, got zeros only"),
    ],
)
def test_wrong_weights_are_named(make: Any, weights: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().fit(table(), sample_weight=weights)


@by_estimator
def test_one_number_is_a_weight_for_every_row(make: Any) -> None:
    one, all_ = make().fit(table(), sample_weight=1.0), make().fit(table(), sample_weight=np.ones(400))
    assert parameters(one) == parameters(all_)


@by_estimator
def test_the_weights_of_a_scan_count_in_the_fit_and_after_it(make: Any, tmp_path: Path) -> None:
    weights = np.random.default_rng(1).integers(1, 5, 400).astype(np.float64)
    scan = scanned(tmp_path, table(), w=weights)
    frame = pd.DataFrame(table(), columns=list("abc"))
    model = make().fit(scan)
    assert parameters(model) == parameters(make().fit(frame, sample_weight=weights))
    if hasattr(model, "lower_bound_"):
        assert model.score(scan) == pytest.approx(model.score(frame, sample_weight=weights), rel=1e-12)
        assert model.bic(scan) == pytest.approx(model.bic(frame, sample_weight=weights), rel=1e-12)
        assert model.aic(scan) == pytest.approx(model.aic(frame, sample_weight=weights), rel=1e-12)


@by_estimator
def test_few_rows_with_weight_in_a_long_table(make: Any) -> None:
    X = table(80_000)
    weights = np.zeros(80_000)
    weights[79_000:79_100] = 1.0
    weighted, cut = make().fit(X, sample_weight=weights), make().fit(X[79_000:79_100])
    if hasattr(weighted, "means_"):
        np.testing.assert_allclose(np.sort(weighted.means_, axis=0), np.sort(cut.means_, axis=0), atol=1e-2)
    elif hasattr(weighted, "cluster_centers_"):
        assert weighted.inertia_ == pytest.approx(cut.inertia_, rel=1e-6)
    else:
        np.testing.assert_allclose(weighted.explained_variance_, cut.explained_variance_, rtol=1e-9)


@by_estimator
def test_tables_that_are_none(make: Any) -> None:
    with pytest.raises(ValueError, match=r"0 sample|minimum of"):
        make().fit(np.empty((0, 3)))
    with pytest.raises(ValueError, match="Expected 2D array"):
        make().fit(np.ones(5))
    with pytest.raises(ValueError, match="could not convert"):
        make().fit([["a", "b"], ["c", "d"]])


def test_the_frame_is_the_mean_of_the_first_partition() -> None:
    X = table(18_000)
    np.testing.assert_allclose(frame_of(ArraySource(X)), X[:16384].mean(axis=0), rtol=1e-13)


def test_a_sample_is_all_of_a_small_table_and_a_part_of_a_large_one() -> None:
    X = np.arange(100_000.0)[:, None]
    rows, weights = sample_of(ArraySource(X[:500]), 0, 3)
    np.testing.assert_array_equal(rows, X[:500])
    assert weights is None
    rows, weights = sample_of(ArraySource(X, X[:, 0]), 0, 3)
    assert len(np.unique(rows)) == len(rows) == 1 << 16
    np.testing.assert_array_equal(rows[:, 0], weights)
    np.testing.assert_array_equal(sample_of(ArraySource(X), 0, 3)[0], rows)


def test_a_finite_source_is_not_refused() -> None:
    refuse_nonfinite(ArraySource(table()))


@pytest.mark.parametrize("gone", [slice(0, 5), slice(0, 16384), slice(18_000, 18_010)])
def test_rows_without_weight_are_no_rows_wherever_they_lie(gone: slice) -> None:
    X, weights = table(20_000), np.ones(20_000)
    X[gone], weights[gone] = 1e12, 0.0
    kept = X[weights > 0]
    variances = PCA().fit(X, sample_weight=weights).explained_variance_
    np.testing.assert_allclose(variances, PCA(svd_solver="full").fit(kept).explained_variance_, rtol=1e-8)
    begin = {"weights_init": [0.5, 0.5], "means_init": [[-3.0] * 3, [3.0] * 3], "precisions_init": [np.eye(3)] * 2}
    weighted, cut = GaussianMixture(2, **begin).fit(X, sample_weight=weights), GaussianMixture(2, **begin).fit(kept)
    assert weighted.lower_bound_ == pytest.approx(cut.lower_bound_, rel=1e-9)
    np.testing.assert_allclose(weighted.means_, cut.means_, rtol=1e-8)
    drawn = KMeans(2, random_state=0, tol=0).fit(X, sample_weight=weights)
    assert drawn.inertia_ == pytest.approx(KMeans(2, random_state=0, tol=0).fit(kept).inertia_, rel=1e-9)


def test_weights_that_are_no_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="sample_weight must be numbers, one for each row"):
        KMeans(1).fit([[1.0], [2.0]], sample_weight=["much", "little"])


def test_infinities_of_both_signs_are_named() -> None:
    rows = np.array([[1.0, 2.0], [np.inf, -np.inf]])
    with pytest.raises(ValueError, match="infinity: row 1, column 0"):
        refuse_nonfinite(ArraySource(rows))
