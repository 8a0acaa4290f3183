"""Sparse q over paths against the enumeration of all of them, pass by pass between refreshes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.oracles.chains import Chain, chain_of, enumerate_paths, expect
from unveil.chains.model.model import MarkovMemo
from unveil.chains.model.sparse_em import ActivePaths
from unveil.expectations import Exact, Sparse

Floats = NDArray[np.float64]


def path_logs(chain: Chain, params: Any, first: int, length: int) -> tuple[list[tuple[int, ...]], Floats]:
    """All paths of a sequence, and their joint log-probabilities."""
    scores = enumerate_paths(replace(chain, params=params)).scores[first : first + length]
    paths = list(product(range(chain.model.n_components), repeat=length))
    found = []
    for path in paths:
        steps = sum(np.log(params.transition[path[t - 1], path[t]]) for t in range(1, length))
        found.append(np.log(params.start[path[0]]) + steps + sum(scores[t, s] for t, s in enumerate(path)))
    return paths, np.array(found)


def slow_bound(chain: Chain, then: Any, now: Any, lists: NDArray[np.int64]) -> float:
    """F of q = (1 - w) q_in + w q_off, with q_off the posterior off the lists at `then` and q_in on them `now`.

    Densities of rows are those of `then`: only starts and transitions may differ.
    """
    total, first = 0.0, 0
    for length in chain.lengths.tolist():
        paths, before = path_logs(chain, then, first, length)
        _, after = path_logs(chain, now, first, length)
        on = np.array([all(s in lists[first + t] for t, s in enumerate(path)) for path in paths])
        posterior = np.exp(before - np.logaddexp.reduce(before))
        q = np.where(on, 0.0, posterior)
        if on.any():
            q[on] = posterior[on].sum() * np.exp(after[on] - np.logaddexp.reduce(after[on]))
        held = q > 0
        total += float(np.sum(q[held] * (after[held] - np.log(q[held]))))
        first += length
    return total


@pytest.mark.parametrize("family", ["gaussian", "categorical", "poisson"])
@pytest.mark.parametrize("active", [1, 2, 3])
def test_the_bound_is_that_of_the_q_that_is_meant(family: str, active: int) -> None:
    chain = chain_of(family, 11, [4, 1, 3, 5], 3)
    refreshed, memo = expect(chain, Sparse(active, 10))
    exact, _ = expect(chain, Exact())
    np.testing.assert_allclose(refreshed["log_likelihood"], exact["log_likelihood"], rtol=1e-12)
    np.testing.assert_allclose(refreshed["transitions"], exact["transitions"], atol=1e-12)
    random = np.random.default_rng(0)
    now = replace(chain.params, start=random.dirichlet(np.ones(3)), transition=random.dirichlet(np.ones(3), size=3))
    found, after = expect(chain, Sparse(active, 10), memo, now)
    assert isinstance(after, MarkovMemo)
    assert isinstance(after.active, ActivePaths)
    assert after.active.age == 1
    np.testing.assert_allclose(
        found["free_energy"], slow_bound(chain, chain.params, now, after.active.lists), rtol=1e-10
    )
    np.testing.assert_allclose(found["starts"].sum(), len(chain.lengths))
    np.testing.assert_allclose(found["moments"][:, 0].sum(), len(chain.rows))


def test_full_lists_are_the_posterior() -> None:
    chain = chain_of("gaussian", 12, [6, 4], 3, holes=0.2)
    _, memo = expect(chain, Sparse(3, 10))
    now = replace(chain.params, transition=np.full((3, 3), 1 / 3))
    found, _ = expect(chain, Sparse(3, 10), memo, now)
    exact, _ = expect(chain, Exact(), None, now)
    for name in found:
        np.testing.assert_allclose(found[name], exact[name], atol=1e-9, err_msg=name)


def test_lists_are_drawn_up_anew_when_it_is_time() -> None:
    chain = chain_of("gaussian", 13, [6, 4], 3)
    _, memo = expect(chain, Sparse(1, 3))
    ages = []
    for _ in range(4):
        _, memo = expect(chain, Sparse(1, 3), memo)
        ages.append(memo.active.age)
    assert ages == [1, 2, 0, 1]
