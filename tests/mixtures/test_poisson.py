import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from scipy.special import logsumexp
from scipy.stats import poisson

import unveil
from unveil import PoissonMixture

random = np.random.default_rng(2)
GROUP = random.integers(0, 2, 120)
TABLE = random.poisson(np.where(GROUP[:, None], [2.0, 7.0, 1.0], [9.0, 3.0, 1.5])).astype(float)
HOLED = np.where(random.random(TABLE.shape) < 0.2, np.nan, TABLE)

# Deaths of women aged 80 and over, days by number of deaths in The Times of London, 1910-1912 (Hasselblad 1969)
DEATHS = np.arange(10.0)[:, None]
DAYS = np.array([162, 267, 271, 185, 111, 61, 27, 8, 3, 1])


@pytest.fixture(scope="module")
def model():
    return PoissonMixture(2, random_state=0).fit(HOLED)


def test_london_times_deaths_reach_the_known_optimum():
    fitted = PoissonMixture(2, schedule="squarem", tol=1e-15, max_iter=10_000, random_state=0)
    fitted.fit(DEATHS, sample_weight=DAYS)
    assert fitted.score(DEATHS, sample_weight=DAYS) * DAYS.sum() == pytest.approx(-1989.945859883, abs=1e-8)
    assert fitted.rates_.ravel() == pytest.approx([2.663, 1.256], abs=1e-3)
    assert fitted.weights_ == pytest.approx([0.6401, 0.3599], abs=1e-3)


def test_frequencies_equal_rows():
    start = np.where(DEATHS > 2, [0.9, 0.1], [0.2, 0.8])
    ours = PoissonMixture(2, responsibilities_init=start).fit(DEATHS, sample_weight=DAYS)
    repeated = np.repeat(DEATHS, DAYS, axis=0)
    theirs = PoissonMixture(2, responsibilities_init=np.repeat(start, DAYS, axis=0)).fit(repeated)
    np.testing.assert_allclose(ours.rates_, theirs.rates_, rtol=1e-9)
    assert ours.bic(DEATHS, sample_weight=DAYS) == pytest.approx(theirs.bic(repeated))


def test_log_likelihood_of_cells_that_are_there(model):
    cells = poisson.logpmf(HOLED[:, None, :], model.rates_)
    joint = np.log(model.weights_) + np.nansum(np.where(np.isnan(HOLED[:, None, :]), 0.0, cells), axis=2)
    np.testing.assert_allclose(model.score_samples(HOLED), logsumexp(joint, axis=1), rtol=1e-12)


def test_em_by_hand_agrees():
    q = np.where(GROUP[:, None] == 1, [0.8, 0.2], [0.3, 0.7])
    fitted = PoissonMixture(2, responsibilities_init=q, tol=1e-14, max_iter=3000).fit(HOLED)
    there, filled = ~np.isnan(HOLED), np.nan_to_num(HOLED)
    for _ in range(300):
        weights, rates = q.mean(axis=0), (q.T @ filled) / (q.T @ there)
        cells = np.where(there[:, None, :], poisson.logpmf(filled[:, None, :], rates), 0.0)
        joint = np.log(weights) + cells.sum(axis=2)
        q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(fitted.rates_, rates, rtol=1e-5)
    np.testing.assert_allclose(fitted.weights_, weights, rtol=1e-5)


def test_impute_gives_expected_counts(model):
    filled = model.impute(HOLED)
    want = model.predict_proba(HOLED) @ model.rates_
    np.testing.assert_allclose(filled, np.where(np.isnan(HOLED), want, HOLED))


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_frames_with_nothing_in_some_cells(frame):
    cells = {f"c{j}": [None if np.isnan(cell) else int(cell) for cell in HOLED[:, j]] for j in range(3)}
    table = frame(cells)
    table = table.convert_dtypes() if frame is pd.DataFrame else table
    fitted = PoissonMixture(2, random_state=0).fit(table)
    np.testing.assert_array_equal(fitted.rates_, PoissonMixture(2, random_state=0).fit(HOLED).rates_)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_give_the_same_bits(tmp_path, ending):
    frame = pd.DataFrame(TABLE.astype(int), columns=list("abc")).assign(days=random.integers(0, 4, len(TABLE)))
    path = tmp_path / f"counts.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    scan = unveil.scan(path, columns=list("abc"), weight="days")
    ours = PoissonMixture(2, random_state=0).fit(scan)
    theirs = PoissonMixture(2, random_state=0).fit(frame[list("abc")], sample_weight=frame["days"])
    np.testing.assert_array_equal(ours.rates_, theirs.rates_)
    np.testing.assert_array_equal(ours.predict_proba(scan), theirs.predict_proba(frame[list("abc")]))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE - 3, "Negative values in data passed to X: column 0 must hold counts"),
        (TABLE + 0.5, r"column 0 must hold counts 0, 1, 2, ..., got \d+.5 in row 0"),
        (pd.DataFrame(TABLE / 3, columns=list("abc")), "column 'a' must hold counts"),
        (np.full((3, 2), np.inf), "infinity"),
        (np.column_stack([TABLE[:, 0], np.full(len(TABLE), np.nan)]), "no value in column 1"),
    ],
)
def test_what_is_no_count_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        PoissonMixture(2).fit(table)


def test_what_is_no_count_in_a_file_is_refused(tmp_path, model):
    pd.DataFrame(TABLE + 0.5, columns=list("abc")).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="column 'a' must hold counts"):
        PoissonMixture().fit(unveil.scan(tmp_path / "table.parquet"))
    with pytest.raises(ValueError, match="must hold counts"):
        model.predict(TABLE + 0.5)
    with pytest.raises(ValueError, match="column 1 must hold counts"):
        model.conditional({1: 0.5})


def test_a_column_of_zeros_has_hardly_a_rate():
    fitted = PoissonMixture(2, random_state=0).fit(np.column_stack([TABLE, np.zeros(len(TABLE))]))
    assert np.all(fitted.rates_[:, 3] < 1e-9)
    assert np.isfinite(fitted.score_samples(np.array([[1.0, 1.0, 1.0, 5.0]]))).all()


def test_a_prior_is_counts_seen_before():
    fitted = PoissonMixture(1, rate_prior=(3.0, 2.0)).fit(TABLE)
    np.testing.assert_allclose(fitted.rates_[0], (TABLE.sum(axis=0) + 2.0) / (len(TABLE) + 2.0))


@pytest.mark.parametrize("prior", [(1.0,), (1.0, 2.0, 3.0), ("a", "b"), [], (0.5, 1.0)])
def test_a_prior_that_is_none_is_refused(prior):
    with pytest.raises(ValueError, match=r"rate_prior must be a pair|Gamma prior needs a shape"):
        PoissonMixture(rate_prior=prior).fit(TABLE)


def test_conditional_is_joint_less_marginal(model):
    given = model.conditional({1: 4})
    rows = TABLE.copy()
    rows[:, 1] = 4
    marginal = model.marginal([1]).score_samples(rows[:, [1]])
    np.testing.assert_allclose(given.score_samples(rows[:, [0, 2]]), model.score_samples(rows) - marginal)


def test_files_and_pickles_bring_back_the_same_bits(model, tmp_path):
    model.save(tmp_path / "m")
    loaded, pickled = unveil.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(HOLED), model.predict_proba(HOLED))
    loaded.partial_fit(TABLE)
    pickled.partial_fit(TABLE)
    np.testing.assert_array_equal(loaded.rates_, pickled.rates_)
    assert not np.array_equal(loaded.rates_, model.rates_)


def test_warm_start_is_cold_for_another_number_of_columns():
    fitted = PoissonMixture(2, warm_start=True, random_state=0).fit(TABLE)
    assert fitted.fit(TABLE).n_iter_ <= 4
    narrow = PoissonMixture(2, random_state=0).fit(TABLE[:, :2])
    np.testing.assert_array_equal(fitted.fit(TABLE[:, :2]).rates_, narrow.rates_)


def test_draws_are_counts(model):
    rows, labels = model.sample(3000)
    assert np.array_equal(rows, np.floor(rows))
    for component in (0, 1):
        np.testing.assert_allclose(rows[labels == component].mean(axis=0), model.rates_[component], rtol=0.15)
