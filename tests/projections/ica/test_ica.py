"""ICA: scikit-learn's checks and numbers, sources that are found, ugly tables, and the same bits by every route."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from unveil import ICA
from unveil.certificate import FitWarning
from unveil.engines import Dask, Threads
from unveil.projections.ica.ica import canonical

Floats = NDArray[np.float64]


@pytest.mark.filterwarnings("ignore:ICA")  # the checks feed noise, and little of it
@parametrize_with_checks([ICA(max_iter=50), ICA(algorithm="parallel", tol=1e-4), ICA(orthogonal=False, max_iter=50)])
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def sources(n_rows: int, seed: int = 0, count: int = 5) -> Floats:
    """Laplace, uniform, sine, square wave, Student, and so on."""
    random, time = np.random.default_rng(seed), np.arange(n_rows)
    kinds = (
        lambda: random.laplace(size=n_rows),
        lambda: random.uniform(-1, 1, n_rows),
        lambda: np.sin(time * (0.01 + 0.013 * random.random())),
        lambda: np.sign(np.sin(time * (0.007 + 0.01 * random.random()) + 0.5)),
        lambda: random.standard_t(5, n_rows),
    )
    return np.stack([kinds[place % 5]() for place in range(count)], axis=1)


MIXING = np.random.default_rng(7).normal(size=(5, 5))
ROWS = sources(3000) @ MIXING.T


def amari(components: Floats, mixing: Floats) -> float:
    """Distance of their product from a permutation and scaling: 0 if it is one, at most 1."""
    product, count = np.abs(components @ mixing), len(components)
    across = sum(np.sum(one.sum(axis=1) / one.max(axis=1) - 1) for one in (product, product.T))
    return float(across / (2 * count * (count - 1)))


def gradient_norm(components: Floats, rows: Floats) -> float:
    """Largest entry of the relative gradient of the signed log cosh, by plain NumPy."""
    y = (rows - rows.mean(axis=0)) @ components.T
    y /= y.std(axis=0)
    t = np.tanh(y)
    products = t.T @ y / len(y)
    products *= np.sign((1 - t**2).mean(axis=0) - np.diagonal(products))[:, None]
    return float(np.abs(products - products.T).max() / 2)


def test_the_reference() -> None:
    """FastICA, parallel, log cosh, on a sine and a square wave: mixing as others found it."""
    time = np.linspace(0, 8, 1000)
    sine, square = np.sin(2 * time), np.sign(np.sin(3 * time))
    X = np.column_stack([sine + square, 0.5 * sine + 2 * square])
    for algorithm in ("parallel", "picard"):
        model = ICA(algorithm=algorithm, tol=1e-12, random_state=0).fit(X)
        np.testing.assert_allclose(model.mixing_.T, [[1.03735585, 2.01577100], [0.71793520, 0.40262619]], atol=1e-7)


def cubed(x: Floats) -> tuple[Floats, Floats]:
    return x**3, (3 * x**2).mean(axis=-1)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
@pytest.mark.parametrize(
    ("fun", "fun_args"), [("logcosh", None), ("logcosh", {"alpha": 1.5}), ("exp", None), ("cube", None), (cubed, {})]
)
def test_scikit_learns_fastica(algorithm: str, whiten: str, fun: Any, fun_args: Any) -> None:
    """The same iterations from the same start."""
    settings = {"algorithm": algorithm, "fun": fun, "fun_args": fun_args, "whiten": whiten, "random_state": 3}
    ours = ICA(**settings, tol=1e-13, max_iter=500).fit(ROWS + 10)
    theirs = FastICA(**settings, tol=1e-13, max_iter=500).fit(ROWS + 10)
    product = ours.components_ @ theirs.mixing_
    np.testing.assert_allclose(np.sort(np.abs(product), axis=1)[:, -1], 1.0, atol=1e-8)
    np.testing.assert_allclose(np.sort(np.abs(product), axis=1)[:, :-1], 0.0, atol=1e-8)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_allclose(ours.whitening_, theirs.whitening_, rtol=1e-8)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_no_worse_than_fastica_at_the_same_gradient(seed: int) -> None:
    S = sources(20_000, seed, 8)
    mixing = np.random.default_rng(seed + 50).normal(size=(8, 8))
    ours = ICA(random_state=seed, tol=1e-10).fit(S @ mixing.T)
    theirs = FastICA(tol=1e-15, max_iter=1000, random_state=seed).fit(S @ mixing.T)
    assert amari(ours.components_, mixing) <= amari(theirs.components_, mixing) * (1 + 1e-6)
    assert amari(ours.components_, mixing) < 0.02


@pytest.mark.parametrize("settings", [{}, {"orthogonal": False}, {"fun": "exp"}, {"fun": "cube"}, {"whiten": False}])
def test_light_and_heavy_tails_are_found(settings: dict[str, Any]) -> None:
    centred = ROWS - ROWS.mean(axis=0)
    model = ICA(random_state=0, **settings).fit(centred)
    assert model.converged_
    assert amari(model.components_, MIXING) < 0.1


def test_two_uniform_sources_need_the_extended_density() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (5000, 2)) @ np.array([[2.0, 1.0], [1.0, 1.0]])
    mixing = np.array([[2.0, 1.0], [1.0, 1.0]]).T
    assert amari(ICA(random_state=0).fit(X).components_, mixing) < 0.05
    assert amari(ICA(random_state=0, extended=False).fit(X).components_, mixing) > 0.5


def test_the_gradient_is_gone_also_after_a_start_on_a_sample() -> None:
    S = sources(40_000, 2)
    model = ICA(random_state=0, tol=1e-7).fit(S @ MIXING.T)
    whole = ICA(random_state=0, tol=1e-7, w_init=np.eye(5)).fit(S @ MIXING.T)
    assert gradient_norm(model.components_, S @ MIXING.T) <= 1e-7
    assert model.n_iter_ < whole.n_iter_
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-5)


def test_canonical_form() -> None:
    model = ICA(random_state=0, tol=1e-7).fit(ROWS)
    found = model.transform(ROWS)
    np.testing.assert_allclose(found.std(axis=0), 1.0, rtol=1e-12)
    energies = np.sum(model.mixing_**2, axis=0)
    assert np.all(np.diff(energies) <= 0)
    assert energies.sum() == pytest.approx(ROWS.var(axis=0).sum())  # uncorrelated sources share out the variance
    assert np.all(model.mixing_[np.argmax(np.abs(model.mixing_), axis=0), np.arange(5)] > 0)
    for seed in (1, 2):
        again = ICA(random_state=seed, tol=1e-7).fit(ROWS)
        np.testing.assert_allclose(again.components_, model.components_, atol=1e-5)


def test_equal_entries_have_one_sign() -> None:
    order, signs = canonical(np.array([[1.0, -1.0], [-1.0 - 1e-13, 2.0]]))
    assert order.tolist() == [1, 0]
    assert signs.tolist() == [1.0, 1.0]


def test_there_and_back() -> None:
    model = ICA(random_state=0).fit(ROWS + 4)
    np.testing.assert_allclose(model.inverse_transform(model.transform(ROWS + 4)), ROWS + 4, atol=1e-10)
    np.testing.assert_allclose(model.mixing_, np.linalg.pinv(model.components_), atol=1e-10)
    np.testing.assert_array_equal(model.fit_transform(ROWS), model.transform(ROWS))
    with pytest.raises(ValueError, match="X has 3 columns, but 5 sources"):
        model.inverse_transform(np.ones((2, 3)))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_sources_do_not_depend_on_how_they_were_mixed(seed: int) -> None:
    """Equivariance: another invertible mixing of the same sources, the same sources."""
    other = np.random.default_rng(seed).normal(size=(5, 5)) + 3 * np.eye(5)
    one, two = ICA(random_state=0, tol=1e-10).fit(ROWS), ICA(random_state=0, tol=1e-10).fit(ROWS @ other)
    correlation = np.abs(np.corrcoef(one.transform(ROWS).T, two.transform(ROWS @ other).T)[:5, 5:])
    np.testing.assert_allclose(np.sort(correlation, axis=1)[:, -1], 1.0, atol=1e-7)


@pytest.mark.parametrize("algorithm", ["picard", "parallel", "deflation"])
def test_weights_are_repetitions(algorithm: str) -> None:
    weights = np.random.default_rng(4).integers(0, 3, len(ROWS))
    make = partial(ICA, algorithm=algorithm, random_state=0, tol=1e-11)
    one, two = make().fit(ROWS, sample_weight=weights), make().fit(np.repeat(ROWS, weights, axis=0))
    np.testing.assert_allclose(one.components_, two.components_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(one.kurtosis_, two.kurtosis_, rtol=1e-8)


def test_a_callable_and_weights() -> None:
    weights = np.ones(len(ROWS))
    with pytest.raises(ValueError, match="averaged over rows, which sample_weight cannot enter"):
        ICA(algorithm="parallel", fun=cubed).fit(ROWS, sample_weight=weights)
    whole = ICA(algorithm="parallel", fun=lambda x: (x**3, 3 * x**2), random_state=0)
    np.testing.assert_allclose(
        whole.fit(ROWS, sample_weight=weights).components_,
        ICA(algorithm="parallel", fun="cube", random_state=0).fit(ROWS).components_,
        atol=1e-8,
    )


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_dependent_constant_and_repeated_columns(offset: float) -> None:
    extra = [np.full(len(ROWS), 7.0), ROWS, ROWS[:, 0], ROWS[:, 1] + ROWS[:, 2]]
    model = ICA(random_state=0, tol=1e-7).fit(np.column_stack(extra) + offset)
    assert model.components_.shape == (5, 8)
    assert model.certificate_["rank"].value == 5
    mixing = np.vstack([np.zeros(5), MIXING, MIXING[0], MIXING[1] + MIXING[2]])
    alone = ICA(random_state=0, tol=1e-7).fit(ROWS)
    assert amari(model.components_, mixing) == pytest.approx(amari(alone.components_, MIXING), abs=1e-5)
    with pytest.warns(FitWarning, match="n_components=8, but the rows vary in 5 directions only"):
        ICA(8, random_state=0).fit(np.column_stack(extra) + offset)


def test_an_offset_and_float32() -> None:
    plain = ICA(random_state=0).fit(ROWS)
    far = ICA(random_state=0).fit(ROWS + 1e8)
    np.testing.assert_allclose(far.components_, plain.components_, atol=1e-5)
    light = ICA(random_state=0).fit(ROWS.astype(np.float32))
    np.testing.assert_allclose(light.components_, plain.components_, atol=1e-4)
    assert light.transform(ROWS.astype(np.float32)).dtype == np.float32


def test_fewer_rows_than_columns_and_fewer_components() -> None:
    few = np.random.default_rng(0).laplace(size=(10, 30))
    model = ICA(random_state=0).fit(few)
    assert "cannot be told from Gaussian" in model.certificate_["gaussian"].message
    np.testing.assert_allclose(model.inverse_transform(model.transform(few)), few, atol=1e-9)
    reduced = ICA(3, random_state=0, gaussianity_level=1.0).fit(ROWS)  # sums of sources look Gaussian
    assert reduced.transform(ROWS).shape == (3000, 3)
    assert not reduced.gaussian_.any()


def test_gaussian_sources_are_named() -> None:
    random = np.random.default_rng(3)
    S = np.column_stack([random.laplace(size=4000), random.normal(size=(4000, 2)), random.uniform(-9, 9, 4000)])
    with pytest.warns(FitWarning, match=r"components \d, \d cannot be told .* cannot be separated"):
        model = ICA(random_state=0).fit(S)
    assert sorted(model.gaussian_) == [False, False, True, True]
    assert not model.certificate_.ok
    model = ICA(random_state=0).fit(S[:, [0, 1, 3]])
    assert model.certificate_.ok  # one is what the others leave over
    assert "cannot be told from Gaussian noise (level 0.01)" in model.certificate_["gaussian"].message
    assert model.gaussian_.sum() == 1


def test_noise_that_was_searched_for_structure_is_still_noise() -> None:
    """The usual test is fooled: among ten columns of noise some direction always looks other than Gaussian."""
    noise = np.random.default_rng(0).normal(size=(1000, 10))
    with pytest.warns(FitWarning, match="two or more Gaussian"):
        model = ICA(random_state=0, tol=1e-5).fit(noise)
    assert model.gaussian_.all()
    usual = 1000 * (model.skewness_**2 / 6 + model.kurtosis_**2 / 24)  # Jarque & Bera
    assert usual.max() > 13.8  # chi-squared with two degrees of freedom, level .01 over ten


def test_the_end_of_patience_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged after 2 iterations"):
        model = ICA(random_state=0, max_iter=2, gaussianity_level=1.0).fit(ROWS)
    assert not model.converged_
    assert len(model.gradient_norms_) == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fun": cubed}, "got a callable"),
        ({"fun": "cube", "orthogonal": False}, "needs orthogonal=True"),
        ({"fun_args": {"alpha": 3.0}}, r"alpha must be in \[1,2\], got 3.0"),
        ({"fun": "exp", "fun_args": {"alpha": 1.0}}, "fun_args has 'alpha', which fun='exp' does not take"),
        ({"w_init": np.eye(2)}, r"w_init must have the shape \(5, 5\), got \(2, 2\)"),
        ({"w_init": np.ones((5, 5))}, "w_init must be invertible"),
        ({"whiten": False, "n_components": 2}, "n_components=2 must be None or 5"),
        ({"whiten": True}, "whiten"),
        ({"engine": "gpu"}, "engine"),
    ],
)
def test_what_is_not_taken_is_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ICA(**settings).fit(ROWS)


def test_rows_as_they_are() -> None:
    dependent = np.column_stack([ROWS, ROWS[:, 0]])
    with pytest.raises(ValueError, match="columns of X are linearly dependent"):
        ICA(whiten=False).fit(dependent)
    white = ICA(random_state=0).fit(ROWS).transform(ROWS) @ np.linalg.qr(MIXING)[0]
    theirs = FastICA(whiten=False, random_state=0, tol=1e-13, max_iter=500).fit(white)
    ours = ICA(whiten=False, algorithm="parallel", random_state=0, tol=1e-13, max_iter=500).fit(white)
    product = np.sort(np.abs(ours.components_ @ theirs.mixing_), axis=1)
    np.testing.assert_allclose(product[:, -1], 1.0, atol=1e-8)
    assert not hasattr(ours, "mean_")
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(white)), white, atol=1e-9)


def test_a_start_for_rows_as_they_are() -> None:
    centred = ROWS - ROWS.mean(axis=0)
    free = ICA(whiten=False, random_state=0, tol=1e-10).fit(centred)
    again = ICA(whiten=False, w_init=free.components_, tol=1e-9).fit(centred)
    assert again.n_iter_ == 1
    np.testing.assert_allclose(again.components_, free.components_, rtol=1e-6)


def test_a_second_fit_leaves_nothing_of_the_first() -> None:
    model = ICA(random_state=0).fit(ROWS)
    before = model.transform(ROWS)
    np.testing.assert_array_equal(model.set_params(whiten=False).transform(ROWS), before)
    model.fit(ROWS - ROWS.mean(axis=0))
    assert not hasattr(model, "mean_")
    assert not hasattr(model, "whitening_")


def test_saved_pickled_and_named(tmp_path: Path) -> None:
    model = ICA(random_state=0).fit(ROWS)
    model.save(tmp_path / "model.unveil")
    for other in (unveil.load(tmp_path / "model.unveil"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(ROWS), model.transform(ROWS))
        assert str(other.certificate_) == str(model.certificate_)
    assert model.get_feature_names_out().tolist() == ["ica0", "ica1", "ica2", "ica3", "ica4"]
    assert list(model.set_output(transform="pandas").transform(ROWS).columns) == [f"ica{place}" for place in range(5)]


MANY = sources(40_000, 1) @ MIXING.T
WEIGHTS = np.random.default_rng(2).integers(0, 4, len(MANY)).astype(np.float64)
MAKERS: dict[str, Callable[..., ICA]] = {
    "picard": partial(ICA, random_state=0, tol=1e-4),
    "free": partial(ICA, random_state=0, orthogonal=False, tol=1e-2),
    "parallel": partial(ICA, algorithm="parallel", random_state=0, tol=1e-3),
    "deflation": partial(ICA, algorithm="deflation", fun="exp", random_state=0, tol=1e-3),
}


def bits(model: ICA) -> bytes:
    kept = (model.components_, model.mixing_, model.mean_, model.whitening_, model.kurtosis_, model.gradient_norms_)
    return b"".join(np.ascontiguousarray(value).tobytes() for value in kept)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ica")
    np.save(folder / "rows.npy", MANY)
    table = pa.table({**{f"x{place}": MANY[:, place] for place in range(5)}, "w": WEIGHTS})
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=7777)
    return folder


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


@pytest.mark.parametrize("name", MAKERS)
def test_same_bits_on_threads_and_from_files(name: str, stored: Path) -> None:
    make, columns = MAKERS[name], [f"x{place}" for place in range(5)]
    want = bits(make(engine=Threads(1)).fit(MANY))
    assert bits(make(engine=Threads(2)).fit(MANY)) == want
    assert bits(make(engine=Threads(5)).fit(np.asfortranarray(MANY))) == want
    assert bits(make().fit(unveil.scan(stored / "rows.npy"))) == want
    assert bits(make().fit(unveil.scan(stored / "rows.parquet", columns=columns))) == want


def test_same_bits_on_a_cluster_and_with_weights(stored: Path, client: Client) -> None:
    make, columns = MAKERS["picard"], [f"x{place}" for place in range(5)]
    want = make(engine=Threads(1)).fit(MANY)
    model = make(engine=Dask(client)).fit(dask.array.from_array(MANY, chunks=(9_999, 3)))
    assert bits(model) == bits(want)
    weighted = bits(make(engine=Threads(2)).fit(MANY, sample_weight=WEIGHTS))
    assert bits(make().fit(unveil.scan(stored / "rows.parquet", columns=columns, weight="w"))) == weighted
    assert bits(make(engine=Dask(client)).fit(MANY, sample_weight=WEIGHTS)) == weighted
    scan = unveil.scan(stored / "rows.parquet", columns=columns)
    assert model.transform(scan).tobytes() == want.transform(MANY).tobytes()


def test_small_wide_tables_go_one_way_from_every_source(tmp_path: Path) -> None:
    wide = np.random.default_rng(0).laplace(size=(120, 20))
    np.save(tmp_path / "wide.npy", wide)
    models = [ICA(random_state=0).fit(data) for data in (wide, unveil.scan(tmp_path / "wide.npy"))]
    assert bits(models[0]) == bits(models[1])


def test_a_cell_of_a_scan_that_is_not_a_number_is_named(tmp_path: Path) -> None:
    broken = MANY.copy()
    broken[20_001, 3] = np.nan
    np.save(tmp_path / "broken.npy", broken)
    with pytest.raises(ValueError, match="row 20001, column 3"):
        ICA().fit(unveil.scan(tmp_path / "broken.npy"))
