"""Hidden Markov models of symbols."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas
import pytest

from tests.data import hmmlearn_paths as peer
from tests.places import DATA
from unveil import CategoricalHMM
from unveil.chains.model.emissions import RowChunk, _patterns
from unveil.chains.model.model import HiddenMarkov, MarkovMemo, MarkovParams
from unveil.core.protocols import Block
from unveil.expectations import Exact
from unveil.families.categorical import Categorical, CategoricalParams

PATHS = json.loads((DATA / "hmmlearn.json").read_text())
GIVEN = {"startprob_init": peer.START, "transmat_init": peer.TRANSITION, "emissionprob_init": peer.EMISSIONS}


def casino() -> CategoricalHMM:
    """A fair die, and one that shows a six half of the time."""
    model = CategoricalHMM(2, random_state=0)
    model.startprob_ = np.array([0.5, 0.5])
    model.transmat_ = np.array([[0.95, 0.05], [0.1, 0.9]])
    model.emissionprob_ = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    return model


ROLLS = casino().sample(4000, random_state=1)[0].astype(float)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_likelihood_path_is_that_of_hmmlearn():
    model = CategoricalHMM(3, regularise=None, max_iter=15, tol=0.0, **GIVEN).fit(peer.SYMBOLS, peer.LENGTHS)
    np.testing.assert_allclose(model.history_.log_likelihood, PATHS["categorical"], rtol=0, atol=1e-8)


def test_the_dishonest_casino():
    model = CategoricalHMM(2, random_state=0).fit(ROLLS)
    assert model.certificate_.ok
    assert model.score(ROLLS) > casino().score(ROLLS)
    np.testing.assert_allclose(model.emissionprob_, casino().emissionprob_, atol=0.06)
    np.testing.assert_allclose(model.transmat_, casino().transmat_, atol=0.05)
    assert model.emissionprob_.shape == (2, 6)


def test_several_starts_leave_the_saddle():
    """Where all states are alike is a stationary point, 40 or so below the maximum."""
    heights = [CategoricalHMM(2, random_state=seed, tol=1e-5).fit(ROLLS).score(ROLLS) for seed in range(4)]
    assert np.ptp(heights) < 1.0


def test_a_chain_that_is_annealed_does_not_melt():
    honest = CategoricalHMM(2)
    honest.startprob_, honest.transmat_ = np.array([0.5, 0.5]), np.array([[0.95, 0.05], [0.1, 0.9]])
    honest.emissionprob_ = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    X = [honest.sample(300, random_state=seed)[0] for seed in range(6)]
    given = {"startprob_init": [0.5, 0.5], "transmat_init": honest.transmat_, "emissionprob_init": honest.emissionprob_}
    exact, annealed = (CategoricalHMM(2, expectation=word, **given).fit(X) for word in ("exact", "annealed"))
    assert annealed.converged_
    assert annealed.score(X) == pytest.approx(exact.score(X), abs=0.2)


def test_healthy_or_feverish():
    model = CategoricalHMM(2)
    model.startprob_, model.transmat_ = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]]
    model.emissionprob_ = [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]
    X = [[0], [1], [2]]
    assert np.exp(model.score(X)) == pytest.approx(0.03628)
    log_probability, states = model.decode(X)
    assert np.exp(log_probability) == pytest.approx(0.01512)
    assert states.tolist() == [0, 0, 1]


# -- symbols -----------------------------------------------------------------------------------------------------------


def test_numbers_from_zero_on_are_their_own_places():
    X = np.array([0, 2, 2, 0, 4, 4, 0, 2, 0, 0, 4, 4])[:, None]
    model = CategoricalHMM(2, random_state=0).fit(X)
    assert model.emissionprob_.shape == (2, 5)
    np.testing.assert_allclose(model.emissionprob_[:, [1, 3]], 0.0, atol=1e-9)
    assert CategoricalHMM(1, n_features=7).fit(X).emissionprob_.shape == (1, 7)
    with pytest.raises(ValueError, match="n_features=3 says that symbols are the numbers 0 to 2, but column 0 holds 4"):
        CategoricalHMM(1, n_features=3).fit(X)


def test_a_table_that_is_given_says_how_many_symbols_there_are():
    few = ROLLS[ROLLS < 4][:300, None]
    table = casino().emissionprob_
    model = CategoricalHMM(2, emissionprob_init=table, random_state=0, tol=1e-4).fit(few)
    assert model.emissionprob_.shape == (2, 6)
    model = casino().set_params(warm_start=True, tol=1e-4).fit(few)
    assert model.emissionprob_.shape == (2, 6)
    wrong = casino().set_params(warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True goes on from the attributes"):
        wrong.fit(2.0 * ROLLS)


def test_other_numbers_are_categories():
    model = CategoricalHMM(2, random_state=0, tol=1e-4).fit(ROLLS + 1)
    assert model.categories_[0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert model.emissionprob_.shape == (2, 6)
    zero = CategoricalHMM(2, random_state=0, tol=1e-4).fit(ROLLS)
    np.testing.assert_array_equal(model.emissionprob_, zero.emissionprob_)


def test_words():
    names = np.array(["one", "two", "three", "four", "five", "six"])
    words = names[ROLLS.ravel().astype(int)]
    model = CategoricalHMM(2, random_state=0, tol=1e-4).fit([words[:1000], words[1000:3000], words[3000:]])
    assert model.categories_[0].tolist() == sorted(names)
    six = model.emissionprob_[:, sorted(names).index("six")]
    np.testing.assert_allclose(np.sort(six), [1 / 6, 0.5], atol=0.08)
    assert model.predict(words[:5, None]).shape == (5,)
    assert set(model.sample(20)[0].ravel()) <= set(names)
    frame = pandas.DataFrame({"roll": pandas.Categorical(words)})
    named = CategoricalHMM(2, random_state=0, tol=1e-4).fit(frame, [1000, 2000, 1000])
    np.testing.assert_array_equal(named.emissionprob_, model.emissionprob_)
    assert list(named.feature_names_in_) == ["roll"]


def test_several_columns():
    X = np.concatenate([ROLLS, (ROLLS > 3).astype(float)], axis=1)
    model = CategoricalHMM(2, random_state=0, tol=1e-4).fit(X)
    assert [table.shape for table in model.emissionprob_] == [(2, 6), (2, 2)]
    again = CategoricalHMM(2)
    again.startprob_, again.transmat_, again.emissionprob_ = model.startprob_, model.transmat_, model.emissionprob_
    assert again.score(X) == pytest.approx(model.score(X))


def test_a_symbol_never_seen():
    model = CategoricalHMM(2, random_state=0, tol=1e-4).fit(ROLLS)
    strange = [[0.0], [77.0], [1.0]]
    assert model.score(strange) == pytest.approx(model.score([[0.0], [np.nan], [1.0]]))
    with pytest.raises(ValueError, match="column 0 holds 77 in row 1, which was not there at fit time"):
        model.set_params(handle_unknown="error").score(strange)
    never = CategoricalHMM(2, n_features=9, random_state=0, tol=1e-4).fit(ROLLS)
    assert np.isfinite(never.score([[8.0]]))


def test_a_large_vocabulary():
    X = (np.arange(4000) * 7919 % 1201)[:, None]
    model = CategoricalHMM(1).fit(X)
    assert model.emissionprob_.shape == (1, 1201)
    with pytest.raises(ValueError, match="more than 1000 different numbers"):
        CategoricalHMM(1).fit(np.random.default_rng(0).normal(size=(2000, 1)))


def test_missing_steps():
    X = ROLLS.copy()
    X[100:200] = np.nan
    model = CategoricalHMM(2, random_state=0).fit(X)
    np.testing.assert_allclose(model.emissionprob_, casino().emissionprob_, atol=0.06)
    posterior = model.predict_proba(X)
    assert np.abs(posterior[150] - model.get_stationary_distribution()).max() < 0.05


# -- rules -------------------------------------------------------------------------------------------------------------


def test_fixed_and_tied_tables():
    fair = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    fixed = {"emissionprob": [True, False]}
    model = CategoricalHMM(2, emissionprob_init=fair, fixed=fixed, random_state=0, tol=1e-5).fit(ROLLS)
    np.testing.assert_array_equal(model.emissionprob_[0], fair[0])
    assert model.n_parameters() == 1 + 2 + 5
    labels = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, -1]])
    model = CategoricalHMM(2, emissionprob_init=fair, tied={"emissionprob": labels}, tol=1e-5).fit(ROLLS)
    np.testing.assert_allclose(model.emissionprob_[0], 1 / 6)
    assert np.ptp(model.emissionprob_[1, :5]) < 1e-12
    assert model.n_parameters() == 1 + 2 + 1


def test_a_prior_on_the_tables():
    even = CategoricalHMM(2, emissionprob_prior=1e6, random_state=0, n_init=1).fit(ROLLS[:200])
    np.testing.assert_allclose(even.emissionprob_, 1 / 6, atol=1e-3)
    assert even.history_.largest_fall() <= 1e-6


@pytest.mark.parametrize(
    "table", [np.ones((2, 6)), np.full((2, 5), 0.2), np.full((2, 6), -1.0)], ids=["sum", "shape", "sign"]
)
def test_starts_that_cannot_be(table):
    with pytest.raises(ValueError, match="emissionprob_init must"):
        CategoricalHMM(2, emissionprob_init=table).fit(ROLLS)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize(
    ("X", "lengths"),
    [
        (np.zeros((20, 1)), None),
        (ROLLS[:30], np.ones(30, dtype=int)),
        (np.array([[0], [1]]), [1, 1]),
        ([["a"]] * 5, None),
    ],
    ids=["constant", "length one", "two", "one word"],
)
def test_degenerate_sequences(X, lengths):
    model = CategoricalHMM(2, random_state=0).fit(X, lengths)
    assert np.isfinite(model.score(X, lengths))
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1.0)


# -- many symbols ------------------------------------------------------------------------------------------------------


def test_many_symbols_are_counted_as_few_are():
    """Statistics by codes against those by indicators of all symbols, with missing steps and weights of sequences."""
    random = np.random.default_rng(0)
    rows = random.integers(0, 90, (500, 1)).astype(np.float64)
    rows[[3, 77]] = np.nan
    model = HiddenMarkov(Categorical((90,)), 3, np.zeros(1))
    tables = CategoricalParams(random.dirichlet(np.ones(90), 3))
    params = MarkovParams(np.full(3, 1 / 3), random.dirichlet(np.ones(3), 3), tables)
    block = Block(0, 0, rows, lengths=np.array([200, 300]), sequence_weights=np.array([2.0, 0.5]))
    memo = model._remember(block)
    assert memo.chunks[0].codes is not None
    assert memo.chunks[0].levels is None
    found, _ = model.expect(model.prepare(params), block, Exact(), memo, np.random.default_rng)
    tiles = (RowChunk(slice(0, 500), _patterns(rows), None, None),)
    wanted, _ = model.expect(model.prepare(params), block, Exact(), MarkovMemo(tiles), np.random.default_rng)
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.scores(model.prepare(params), block)[[3, 4]][0], 0.0)


@pytest.mark.filterwarnings("ignore:.*(not converged|rows per free parameter)")
def test_symbols_as_many_as_steps_take_no_table_of_both():
    X = np.random.default_rng(0).permutation(20_000)[:, None]
    CategoricalHMM(2, max_iter=1, random_state=0).fit(X[:500])
    tracemalloc.start()
    try:
        CategoricalHMM(4, max_iter=2, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6  # steps times symbols would be 3.2 GB
