"""A chain in chunks gives what the chain in one piece gives, and the same bits however the chunks were shared out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.chains.kernels.test_smooth import chain
from unveil.chains.kernels.long_chain import CUTS, Cuts, smooth_long
from unveil.chains.kernels.smooth import smooth, smooth_coded

Floats = NDArray[np.float64]
SMALL = Cuts(chunk=512, piece=128)


def plain(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    return [function(item) for item in items]


def backwards(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """In another order, in case chunks touched each other's rows."""
    return plain(function, list(items)[::-1])[::-1]


def threaded(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(function, items))


def check(scores: Floats, start: Floats, transition: Floats, weight: float = 1.0, cuts: Cuts = SMALL) -> None:
    whole, out, other = np.empty(scores.shape), np.empty(scores.shape), np.empty(scores.shape)
    lengths = np.array([len(scores)])
    truth = smooth(scores, lengths, start, transition, np.array([weight]), whole)
    found = smooth_long(scores, start, transition, weight, out, plain, cuts=cuts)
    assert found[0] == pytest.approx(truth[0][0], rel=1e-12)
    np.testing.assert_allclose(out, whole, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found[1], truth[1], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found[2], truth[2], rtol=1e-10, atol=1e-10)
    for share in (backwards, threaded):
        again = smooth_long(scores, start, transition, weight, other, share, cuts=cuts)
        np.testing.assert_array_equal(other, out)
        assert again[0] == found[0]
        np.testing.assert_array_equal(again[1], found[1])
        np.testing.assert_array_equal(again[2], found[2])


@pytest.mark.parametrize("k", [1, 2, 4, 5, 16, 33])
@pytest.mark.parametrize("n", [1, 2, 511, 768, 769, 1024, 3000])
def test_as_in_one_piece(k: int, n: int) -> None:
    check(*chain(k, k, n), weight=2.5)


STICKY = np.array([[0.99999, 0.00001, 0.0], [0.0, 0.99999, 0.00001], [0.00001, 0.0, 0.99999]])
ODD = {
    "sticky": STICKY,
    "left-right": np.array([[0.99, 0.005, 0.005], [0.0, 0.99, 0.01], [0.0, 0.0, 1.0]]),
    "no way across": np.eye(3),
    "cycle": np.roll(np.eye(3), 1, axis=1),
    "tiny": np.array([[1.0, 1e-120, 1e-300], [0.5, 0.5, 1e-200], [1e-60, 0.5, 0.5]]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("scale", [0.01, 3.0, 500.0])
def test_chains_that_do_not_forget(name: str, scale: float) -> None:
    """Guess and truth never agree, or only late; scores far apart take log space."""
    scores = np.random.default_rng(0).normal(0, scale, (2500, 3))
    check(scores, np.array([0.5, 0.5, 0.0]), ODD[name])
    check(scores, np.full(3, 1 / 3), ODD[name], weight=0.5)


@pytest.mark.parametrize("step", [0, 5, 511, 512, 513, 1700, 2499])
def test_impossible(step: int) -> None:
    scores, start, transition = chain(2, 3, 2500)
    scores[step] = -np.inf
    out = np.full(scores.shape, np.nan)
    value, starts, transitions = smooth_long(scores, start, transition, 1.0, out, plain, cuts=SMALL)
    assert value == -np.inf
    assert not out.any()
    assert not starts.any()
    assert not transitions.any()


def test_in_place() -> None:
    scores, start, transition = chain(2, 3, 2500)
    out = np.empty(scores.shape)
    smooth_long(scores, start, transition, 1.0, out, plain, cuts=SMALL)
    smooth_long(scores, start, transition, 1.0, scores, plain, cuts=SMALL)
    np.testing.assert_array_equal(scores, out)


def test_a_million_steps() -> None:
    check(*chain(1, 2, 1_000_000), cuts=CUTS)


def test_sizes_fit() -> None:
    assert CUTS.piece < CUTS.chunk // 2 < CUTS.split


@pytest.mark.parametrize("k", [1, 3, 16])
@pytest.mark.parametrize("n", [1, 769, 3000])
@pytest.mark.parametrize("zeros", [False, True])
def test_codes_of_levels(k: int, n: int, zeros: bool) -> None:
    """Steps that show one of few levels, some of them missing, some levels impossible in some states."""
    random = np.random.default_rng(n + k)
    levels = np.ascontiguousarray(np.log(random.dirichlet(np.ones(6), k).T))
    if zeros:
        levels[0, : k - 1] = -np.inf
        levels[1, 1:] = -np.inf
    _, start, transition = chain(n, k, 1)
    transition = 0.9 * transition + 0.1 / k
    codes = random.integers(-1, 6, n)
    whole, out, other = (np.empty((n, k)) for _ in range(3))
    truth = smooth_coded(codes, levels, np.array([n]), start, transition, np.array([2.0]), whole)
    found = smooth_long(levels, start, transition, 2.0, out, plain, codes, SMALL)
    assert found[0] == pytest.approx(truth[0][0], rel=1e-12)
    np.testing.assert_allclose(out, whole, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found[2], truth[2], rtol=1e-10, atol=1e-10)
    again = smooth_long(levels, start, transition, 2.0, other, threaded, codes, SMALL)
    np.testing.assert_array_equal(other, out)
    np.testing.assert_array_equal(again[2], found[2])
