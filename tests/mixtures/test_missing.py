"""Missing cells in every mixture, against an oracle that takes one row at a time and sums over what is there."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import bernoulli, multivariate_normal, poisson
from sklearn.base import clone
from sklearn.datasets import load_iris

import unveil
from tests import laws
from tests.oracles.mixtures import structured
from unveil import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    PoissonMixture,
    StudentMixture,
    engines,
    schedules,
)
from unveil.core.protocols import Block

Floats = NDArray[np.float64]
NAN = np.nan
IRIS: Floats = load_iris().data
HOLES = np.random.default_rng(0).random(IRIS.shape) < 0.2
SEEN = np.where(HOLES, NAN, IRIS)
ALL_MODELS = ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]


def dense(model: GaussianMixture) -> Floats:
    return np.asarray(model._emission().structure.dense(model.covariances_, *model.means_.shape))


def joint(weights: Floats, means: Floats, covariances: Floats, rows: Floats) -> Floats:
    """log p(x, s) of what is there, by scipy, row by row."""
    out = np.tile(np.log(weights), (len(rows), 1))
    for number, row in enumerate(rows):
        there = np.flatnonzero(~np.isnan(row))
        for k in range(len(weights) if len(there) else 0):
            covariance = covariances[k][np.ix_(there, there)]
            out[number, k] += multivariate_normal(means[k, there], covariance).logpdf(row[there])
    return out


def oracle_step(
    weights: Floats, means: Floats, covariances: Floats, rows: Floats, structure: str, shares: Floats
) -> tuple[Floats, Floats, Floats]:
    """One EM step on what is there: every row filled in with its conditional mean and covariance, one at a time."""
    q = joint(weights, means, covariances, rows)
    q = np.exp(q - logsumexp(q, axis=1, keepdims=True)) * shares[:, None]
    k, d = means.shape
    filled, spread = np.empty((len(rows), k, d)), np.zeros((len(rows), k, d, d))
    for number, row in enumerate(rows):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        for c in range(k):
            back = covariances[c][np.ix_(m, o)] @ np.linalg.inv(covariances[c][np.ix_(o, o)])
            filled[number, c, o] = row[o]
            filled[number, c, m] = means[c, m] + back @ (row[o] - means[c, o])
            spread[number, c][np.ix_(m, m)] = covariances[c][np.ix_(m, m)] - back @ covariances[c][np.ix_(o, m)]
    counts = q.sum(axis=0)
    centres = np.einsum("nk,nkd->kd", q, filled) / counts[:, None]
    away = filled - centres
    scatters = np.einsum("nk,nki,nkj->kij", q, away, away) + np.einsum("nk,nkij->kij", q, spread)
    return counts / counts.sum(), centres, structured(scatters, counts, structure)


def fitted(model: Any, rows: Any, **more: Any) -> Any:
    return model.set_params(random_state=0, init_params="kmeans").fit(rows, **more)


# -- the Gaussian against its oracle -----------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ALL_MODELS)
def test_log_density_and_responsibilities_are_those_of_what_is_there(structure: str) -> None:
    model = fitted(GaussianMixture(3, covariance_type=structure, max_iter=300), SEEN)
    expected = joint(model.weights_, model.means_, dense(model), SEEN)
    log_density = logsumexp(expected, axis=1)
    np.testing.assert_allclose(model.score_samples(SEEN), log_density, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(SEEN), np.exp(expected - log_density[:, None]), rtol=0, atol=1e-9)
    assert model.score(SEEN) == pytest.approx(log_density.mean(), abs=1e-11)
    assert model.history_.largest_fall() < 1e-8
    assert model.certificate_["bound"].severity == "fine"


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", ["auto", engines.Threads(2)])
def test_an_em_step_is_that_of_the_oracle(structure: str, weighted: bool, engine: Any) -> None:
    random = np.random.default_rng(4)
    rows = SEEN.copy()
    rows[7] = NAN  # nothing seen at all
    shares = random.integers(0, 4, len(rows)).astype(np.float64) if weighted else np.ones(len(rows))
    begin = fitted(GaussianMixture(3, covariance_type=structure, max_iter=4, tol=0.1, reg_covar=0.0), rows)
    start = {"weights_init": begin.weights_, "means_init": begin.means_, "precisions_init": begin.precisions_}
    one = GaussianMixture(3, covariance_type=structure, max_iter=1, reg_covar=0.0, engine=engine, **start)
    with pytest.warns(UserWarning, match="not converged"):
        one.fit(rows, sample_weight=shares if weighted else None)
    weights, means, covariances = oracle_step(begin.weights_, begin.means_, dense(begin), rows, structure, shares)
    np.testing.assert_allclose(one.weights_, weights, rtol=1e-9)
    np.testing.assert_allclose(one.means_, means, rtol=1e-9)
    np.testing.assert_allclose(dense(one), covariances, rtol=1e-8, atol=1e-10)
    before = logsumexp(joint(begin.weights_, begin.means_, dense(begin), rows), axis=1)
    assert one.history_[0].log_likelihood == pytest.approx(shares @ before, abs=1e-9 * len(rows))


@pytest.mark.parametrize("structure", ["VVI", "EEE", "VEV", "VVV"])
def test_imputation_beats_the_column_means(structure: str) -> None:
    model = fitted(GaussianMixture(3, covariance_type=structure), SEEN)
    found = model.impute(SEEN)
    np.testing.assert_array_equal(found[~HOLES], IRIS[~HOLES])
    error, plain = (np.sqrt(np.mean((one - IRIS)[HOLES] ** 2)) for one in (found, _by_column_means()))
    assert error < 0.6 * plain


def _by_column_means() -> Floats:
    return np.where(HOLES, np.nanmean(SEEN, axis=0), IRIS)


def test_imputed_cells_are_conditional_expectations() -> None:
    model = fitted(GaussianMixture(2), SEEN)
    row = np.array([5.0, NAN, 4.0, NAN])
    given = model.conditional(row)
    np.testing.assert_allclose(model.impute(row[None])[0, [1, 3]], given.weights_ @ given.means_, rtol=1e-10)


# -- rows and columns of which nothing is seen -------------------------------------------------------------------------


def discrete(random: np.random.Generator) -> Floats:
    groups = random.integers(2, size=300)
    return random.poisson(np.where(groups[:, None] == 1, 6.0, 0.7), size=(300, 4)).astype(np.float64)


def tables() -> dict[str, tuple[Any, Any]]:
    """An estimator of each kind that takes missing cells, and rows for it."""
    counts = discrete(np.random.default_rng(1))
    holes = np.random.default_rng(2).random(counts.shape) < 0.2
    numbers = {
        "gaussian": (GaussianMixture(2), np.where(HOLES, NAN, IRIS)),
        "bernoulli": (BernoulliMixture(2, binarize=2.0), np.where(holes, NAN, counts)),
        "poisson": (PoissonMixture(2), np.where(holes, NAN, counts)),
        "categorical": (CategoricalMixture(2), np.where(holes, NAN, np.minimum(counts, 3))),
    }
    frame = pd.DataFrame(np.where(holes, NAN, counts), columns=list("abcd"))
    frame["c"] = [None if np.isnan(cell) else "many" if cell > 2 else "few" for cell in frame["c"]]
    return {**numbers, "mixed": (MixedMixture(2, families={"a": "count"}), frame)}


KINDS = ["gaussian", "bernoulli", "poisson", "categorical", "mixed"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_which_nothing_is_seen_say_nothing(kind: str) -> None:
    model, rows = tables()[kind]
    empty = _emptied(rows)
    fitted(model, rows)
    np.testing.assert_allclose(model.score_samples(empty)[:3], 0.0, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(empty)[:3], np.tile(model.weights_, (3, 1)), rtol=1e-9)
    longer = pd.concat([rows, empty[:3]]) if isinstance(rows, pd.DataFrame) else np.concatenate([rows, empty[:3]])
    shares = np.concatenate([np.ones(len(rows)), np.full(3, 7.0)])
    settings = {"max_iter": 2000, "tol": 1e-8}
    plain = fitted(model.set_params(**settings), rows)
    total = plain.score(rows) * len(rows)
    padded = fitted(model.set_params(**settings), longer, sample_weight=shares)
    assert padded.score(rows) * len(rows) == pytest.approx(total, rel=1e-5)


def _emptied(rows: Any) -> Any:
    if isinstance(rows, np.ndarray):
        return np.full_like(rows, NAN)
    return pd.DataFrame({name: pd.Series([None] * len(rows), dtype=rows[name].dtype) for name in rows})


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_a_column_of_which_nothing_is_seen_is_an_error(kind: str) -> None:
    model, rows = tables()[kind]
    rows = rows.copy()
    rows[:, 2] = NAN
    with pytest.raises(ValueError, match="no value in column 2"):
        fitted(model, rows)


def test_a_mixed_column_of_which_nothing_is_seen_is_an_error() -> None:
    model, rows = tables()["mixed"]
    for number, name in ((0, "a"), (2, "c"), (3, "d")):
        with pytest.raises(ValueError, match=f"no value in column ({number}|'{name}')"):
            fitted(model, rows.assign(**{name: [None] * len(rows) if name == "c" else NAN}))


def test_a_column_seen_only_in_rows_without_weight_is_an_error() -> None:
    rows = SEEN.copy()
    rows[5:, 1] = NAN
    with pytest.raises(ValueError, match="no value in column 1"):
        GaussianMixture(2).fit(rows, sample_weight=np.repeat([0.0, 1.0], [5, 145]))


def test_infinity_is_not_missing() -> None:
    rows = SEEN.copy()
    rows[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        GaussianMixture(2).fit(rows)


def test_a_family_that_takes_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="NaN"):
        StudentMixture(2).fit(SEEN)
    with pytest.raises(ValueError, match="NaN"):
        StudentMixture(2).fit(unveil.scan(written(tmp_path)))


# -- the other families against scipy ----------------------------------------------------------------------------------


def _bernoulli(model: Any, row: Floats) -> Floats:
    there = ~np.isnan(row)
    return np.asarray(bernoulli.logpmf(row[there] > 2.0, model.probabilities_[:, there]).sum(axis=1))


def _poisson(model: Any, row: Floats) -> Floats:
    there = ~np.isnan(row)
    return np.asarray(poisson.logpmf(row[there], model.rates_[:, there]).sum(axis=1))


def _categorical(model: Any, row: Floats) -> Floats:
    there = np.flatnonzero(~np.isnan(row))
    return sum((np.log(model.probabilities_[j][:, int(row[j])]) for j in there), np.zeros(2))


@pytest.mark.parametrize(
    ("kind", "score"), [("bernoulli", _bernoulli), ("poisson", _poisson), ("categorical", _categorical)]
)
def test_families_of_independent_columns(kind: str, score: Callable[[Any, Floats], Floats]) -> None:
    model, rows = tables()[kind]
    fitted(model, rows)
    expected = np.stack([np.log(model.weights_) + score(model, row) for row in rows])
    np.testing.assert_allclose(model.score_samples(rows), logsumexp(expected, axis=1), rtol=0, atol=1e-9)
    assert model.history_.largest_fall() < 1e-8
    q = np.exp(expected - logsumexp(expected, axis=1, keepdims=True))
    if kind != "categorical":
        filled = np.where(np.isnan(rows), q @ model.means_, rows > 2.0 if kind == "bernoulli" else rows)
        np.testing.assert_allclose(model.impute(rows), filled, rtol=1e-9)


@pytest.mark.parametrize("kind", ["bernoulli", "poisson"])
def test_the_step_of_independent_columns_counts_what_is_there(kind: str) -> None:
    """At the optimum a mean is the share-weighted average of the cells that are there."""
    model, rows = tables()[kind]
    fitted(model.set_params(tol=1e-13, max_iter=5000), rows)
    q, seen = model.predict_proba(rows), ~np.isnan(rows)
    cells = np.where(seen, rows > 2.0 if kind == "bernoulli" else rows, 0.0)
    np.testing.assert_allclose(model.means_, (q.T @ cells) / (q.T @ seen), rtol=1e-4)


# -- the same by every route -------------------------------------------------------------------------------------------


def written(folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table({f"c{j}": SEEN[:, j] for j in range(4)}), path)
    return path


def test_scans_and_frames_and_arrays_agree(tmp_path: Path) -> None:
    plain = fitted(GaussianMixture(3), SEEN)
    scanned = fitted(GaussianMixture(3), unveil.scan(written(tmp_path)))
    framed = fitted(GaussianMixture(3), pd.DataFrame(SEEN, columns=[f"c{j}" for j in range(4)]))
    for other in (scanned, framed):
        assert other.means_.tobytes() == plain.means_.tobytes()
        assert other.lower_bounds_ == plain.lower_bounds_
    np.testing.assert_array_equal(scanned.impute(unveil.scan(written(tmp_path))), plain.impute(SEEN))


@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_threads_change_no_bit(kind: str) -> None:
    model, rows = tables()[kind]
    source, found = laws.cut_often(rows, np.arange(len(rows)) % 3.0), []
    for threads in (1, 2, 5):
        one = fitted(clone(model).set_params(engine=engines.Threads(threads), tol=1e-5), source)
        found.append((one.means_.tobytes(), tuple(one.lower_bounds_), one.impute(source).tobytes()))
    assert found[0] == found[1] == found[2]


def test_the_default_start_takes_them() -> None:
    model = GaussianMixture(3, random_state=0).fit(SEEN)
    assert model.score(SEEN) > fitted(GaussianMixture(3), SEEN).score(SEEN) - 0.01
    assert model.certificate_.ok


def test_float32_cells() -> None:
    plain, single = fitted(GaussianMixture(3), SEEN), fitted(GaussianMixture(3), SEEN.astype(np.float32))
    assert single.score(SEEN) == pytest.approx(plain.score(SEEN), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_weight_two_equals_the_row_twice(kind: str) -> None:
    model, rows = tables()[kind]
    begin = fitted(model.set_params(warm_start=True, max_iter=3, tol=1.0), rows).set_params(tol=1e-6, max_iter=500)
    times = np.random.default_rng(5).integers(0, 3, len(rows))
    picked = np.repeat(np.arange(len(rows)), times)
    repeated = rows.iloc[picked] if isinstance(rows, pd.DataFrame) else rows[picked]
    weighted = copy.copy(begin).fit(rows, sample_weight=times)
    doubled = copy.copy(begin).fit(repeated)
    np.testing.assert_allclose(weighted.lower_bounds_, doubled.lower_bounds_, rtol=1e-9)
    np.testing.assert_allclose(weighted.weights_, doubled.weights_, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("schedule", "expectation"),
    [
        ("incremental", "exact"),
        ("squarem", "exact"),
        (schedules.Stepwise(batch_rows=64), "exact"),
        ("batch", "sparse"),
        ("batch", "hard"),
        ("batch", "sampled"),
        ("batch", "annealed"),
    ],
)
def test_every_variant_takes_missing_cells(kind: str, schedule: Any, expectation: str) -> None:
    model, rows = tables()[kind]
    best = fitted(model.set_params(tol=1e-5, max_iter=500), rows).score(rows)
    model.set_params(schedule=schedule, expectation=expectation, tol=1e-4)
    found = fitted(model, rows)
    assert found.score(rows) > best - (0.15 if expectation in ("hard", "sampled") else 0.02)
    if found.history_.monotone:
        assert found.history_.largest_fall() <= 1e-9 * abs(found.history_[-1].objective)


def test_holes_of_independent_columns_cost_no_tile_for_each_pattern():
    """Random holes make a pattern of nearly every row, and a tile of each would take a hundred times as long."""
    random = np.random.default_rng(5)
    X = random.poisson(4.0, (600, 9)).astype(float)
    X[random.random(X.shape) < 0.3] = np.nan
    model = MixedMixture(2, families=dict.fromkeys(range(9), "count"), random_state=0).fit(X)
    fitted, block = model._mixture(), Block(0, 0, X)
    assert len(list(fitted.model.scored(fitted.plan, block))) == 1
    joint = fitted.model.log_joint(fitted.plan, block)
    alone = [fitted.model.log_joint(fitted.plan, Block(0, 0, row[None])) for row in X[:50]]
    assert np.allclose(joint[:50], np.concatenate(alone), rtol=1e-12)


def test_starts_of_all_sizes_are_drawn_from_the_same_rows():
    """So that whatever they begin with (merges of pairs, say) is found once for a whole comparison."""
    X = np.random.default_rng(6).poisson(4.0, (20_000, 4)).astype(float)
    kinds = dict.fromkeys(range(4), "count")
    samples = []
    for k in (2, 8):
        model = MixedMixture(k, families=kinds, random_state=0, max_iter=1)
        source = model._opened(X)
        model.random_seed_ = 0
        samples.append(model._sample(model._model(model._frame(source)), source).rows)
    assert np.array_equal(*samples)
