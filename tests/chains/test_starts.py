"""Where chains start."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.chains.model.model import HiddenMarkov
from unveil.chains.model.probability_table import Stochastic
from unveil.chains.starts import STARTS, WINDOW, Progress, Renamed, Runs, occupancy, sample_of, sampled, starts
from unveil.core.protocols import Block
from unveil.families.categorical import Categorical
from unveil.families.gaussian import Gaussian
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences


def regimes(n_steps: int = 600, length: int = 30) -> np.ndarray:
    """Two columns that change together every so often."""
    random = np.random.default_rng(0)
    states = (np.arange(n_steps) // length) % 2
    return 4.0 * states[:, None] + random.normal(size=(n_steps, 2))


def chain(source: Sequences, k: int = 2, **rules: Stochastic) -> HiddenMarkov:
    return HiddenMarkov(Gaussian(), k, np.zeros(source.n_columns), **rules)


def same(params):
    return params


# -- the sample --------------------------------------------------------------------------------------------------------


def test_a_small_table_is_its_own_sample():
    source = Sequences(ArraySource(regimes()), [200, 400], [1.0, 2.0])
    found = sampled(source, seed=0, most=1000, whole=False)
    assert found.lengths.tolist() == [200, 400]
    assert found.sequence_weights.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(found.source.rows, source.source.rows)


def test_some_whole_sequences_of_many():
    rows = np.arange(30_000.0)[:, None]
    source = Sequences(ArraySource(rows, np.where(rows.ravel() % 3, 1.0, 2.0)), np.full(10_000, 3))
    found = sampled(source, seed=0, most=900, whole=False)
    assert found.lengths.tolist() == [3] * 300
    firsts = found.source.rows[::3, 0]
    assert np.all(firsts % 3 == 0)
    assert np.all(np.diff(firsts) > 0)
    assert np.all(np.diff(found.source.rows.reshape(300, 3), axis=1) == 1)
    np.testing.assert_array_equal(found.source.weights, np.where(found.source.rows.ravel() % 3, 1.0, 2.0))


def test_pieces_of_a_long_sequence():
    source = Sequences(ArraySource(np.arange(200_000.0)[:, None]), [200_000])
    found = sampled(source, seed=0, most=8 * WINDOW, whole=False)
    assert found.lengths.tolist() == [WINDOW] * 8
    assert np.all(np.diff(found.source.rows.reshape(8, WINDOW), axis=1) == 1)
    assert sampled(source, seed=0, most=8 * WINDOW, whole=True).lengths.tolist() == [200_000]


def test_sequences_without_weight_are_not_in_the_sample():
    source = Sequences(ArraySource(regimes()), [200, 300, 100], [1.0, 0.0, 1.0])
    assert sampled(source, seed=0, most=1000, whole=False).lengths.tolist() == [200, 100]


# -- first states ------------------------------------------------------------------------------------------------------


def test_progress_goes_through_every_sequence():
    block = Block(0, 0, np.zeros((9, 1)), lengths=np.array([6, 3]))
    states = np.argmax(Progress(np.array([1 / 3, 2 / 3, 1.0])).responsibilities(block, block.rows, 3), axis=0)
    assert states.tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]


def test_runs_are_runs():
    block = Block(0, 0, np.zeros((1000, 1)), lengths=np.array([500, 500]))
    states = np.argmax(Runs(1, 50.0).responsibilities(block, block.rows, 4), axis=0)
    assert 5 < np.count_nonzero(np.diff(states)) < 60
    assert set(states.tolist()) == {0, 1, 2, 3}


def test_another_order_of_states():
    block = Block(0, 0, np.zeros((4, 1)), lengths=np.array([4]))
    start = Progress(np.array([0.5, 1.0]))
    plain = start.responsibilities(block, block.rows, 2)
    np.testing.assert_array_equal(Renamed(start, np.array([1, 0])).responsibilities(block, block.rows, 2), plain[::-1])


@pytest.mark.parametrize("name", STARTS)
def test_every_start_gives_shares(name):
    source = Sequences(ArraySource(regimes()), [350, 250])
    sample = sample_of(chain(source, 3), source, 0, whole=False)
    for start in starts(name, sample, 0, 2, same):
        shares = start.responsibilities(next(iter(source.read())), sample.steps.points, 3)
        assert shares.shape == (3, 600)
        np.testing.assert_allclose(shares.sum(axis=0), 1.0)
        statistics = sample.first(start)
        np.testing.assert_allclose(occupancy(statistics).sum(), 600)
        params = sample.model.first(statistics)
        np.testing.assert_allclose(params.transition.sum(axis=1), 1.0)


def test_random_tables_are_no_saddle():
    random = np.random.default_rng(0)
    source = Sequences(ArraySource(random.integers(0, 6, (2000, 1)).astype(np.float64)), [2000])
    sample = sample_of(HiddenMarkov(Categorical((6,)), 2, np.zeros(1)), source, 0, whole=False)
    for start in starts("random", sample, 0, 4, same):
        table = sample.model.first(sample.first(start)).emissions.probabilities
        assert np.abs(table[0] - table[1]).max() > 0.1
