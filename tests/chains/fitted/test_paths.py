"""Several likeliest paths, and paths drawn from their posterior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.fitted_chains import Enumerated, Given, gaussian_chain, gaussian_scores, random_chain
from unveil.families.categorical import Categorical, CategoricalParams


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 6), st.integers(1, 12))
def test_k_best_paths(seed, k_states, steps, k):
    model = gaussian_chain(seed, k_states)
    X = np.random.default_rng(seed).normal(size=(steps, 2)) * 2
    values, paths = Enumerated(model.start, model.transition, gaussian_scores(model, X)).best(k)
    found = model.kbest(X, k)
    np.testing.assert_allclose([value for value, _ in found], values, atol=1e-10)
    assert [path.tolist() for _, path in found] == paths.tolist()


def test_no_more_paths_than_are_possible():
    start, transition = random_chain(3, 3, sparse=True)
    model = Given(Categorical((2,)), start, transition, CategoricalParams(np.full((3, 2), 0.5)))
    X = np.array([[0.0], [1.0], [0.0]])
    values, paths = Enumerated(start, transition, np.full((3, 3), np.log(0.5))).best(100)
    found = model.kbest(X, 10**12)
    assert len(found) == len(values) < 27
    assert sorted(path.tolist() for _, path in found) == sorted(paths.tolist())


def test_several_sequences_make_several_lists():
    model = gaussian_chain(2)
    X = np.random.default_rng(2).normal(size=(9, 2))
    found = model.kbest(X, 3, [4, 5])
    assert [len(one) for one in found] == [3, 3]
    for one, piece in zip(found, (X[:4], X[4:]), strict=True):
        alone = model.kbest(piece, 3)
        np.testing.assert_allclose([value for value, _ in one], [value for value, _ in alone], rtol=1e-13)
        assert [path.tolist() for _, path in one] == [path.tolist() for _, path in alone]
        assert alone[0][0] == pytest.approx(model.decode(piece)[0])


def test_drawn_paths_come_up_as_often_as_they_should():
    """Each of 27 paths, within five standard deviations of its posterior; the seed is fixed."""
    model = gaussian_chain(7)
    X = np.random.default_rng(7).normal(size=(3, 2))
    oracle = Enumerated(model.start, model.transition, gaussian_scores(model, X))
    shares, count = np.exp(oracle.joint - oracle.log_likelihood), 20_000
    drawn = model.sample_paths(X, n_paths=count, random_state=0)
    assert drawn.shape == (count, 3)
    seen = np.bincount(drawn @ [9, 3, 1], minlength=27)
    deviation = np.sqrt(count * shares * (1 - shares))
    assert np.all(np.abs(seen - count * shares) <= 5 * deviation + 1e-9)


def test_draws_by_seed():
    model = gaussian_chain(7, random_state=5)
    X = np.random.default_rng(7).normal(size=(50, 2))
    first = model.sample_paths(X, [20, 30], n_paths=3)
    np.testing.assert_array_equal(first, model.sample_paths(X, [20, 30], n_paths=3, random_state=5))
    assert not np.array_equal(first, model.sample_paths(X, [20, 30], n_paths=3, random_state=6))


def test_path_entropy_of_a_chain_that_hides_nothing():
    """Emissions that say nothing of sure steps, and of steps that are all open."""
    blank = CategoricalParams(np.full((2, 2), 0.5))
    sure = Given(Categorical((2,)), [1.0, 0.0], np.eye(2)[::-1], blank)
    open_ = Given(Categorical((2,)), [0.5, 0.5], np.full((2, 2), 0.5), blank)
    X = np.zeros((10, 1))
    assert sure.path_entropy(X, [4, 6]).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(open_.path_entropy(X, [4, 6]), np.array([4, 6]) * np.log(2))
