"""Hidden Markov models on sequences of their own kind, and a grammar on its own sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

import unveil
from benchmarks.trust.healthy.case import Healthy, Shape, centres, drawn_from
from benchmarks.trust.planted.case import Fitted

MOVES = 0.1  # probability to leave a state
LENGTH = 100  # of each sequence, where there are several
GRAMMAR = """
    S -> NP VP [1.0]
    VP -> V NP [0.8] | VP PP [0.2]
    NP -> NP PP [0.2] | 'astronomers' [0.3] | 'ears' [0.2] | 'stars' [0.3]
    PP -> P NP [1.0]
    P -> 'with' [1.0]
    V -> 'saw' [0.7] | 'heard' [0.3]
"""
EXPANSIONS: dict[str, tuple[tuple[float, str], ...]] = {
    "S": ((1.0, "NP VP"),),
    "VP": ((0.8, "V NP"), (0.2, "VP PP")),
    "NP": ((0.2, "NP PP"), (0.3, "astronomers"), (0.2, "ears"), (0.3, "stars")),
    "PP": ((1.0, "P NP"),),
    "P": ((1.0, "with"),),
    "V": ((0.7, "saw"), (0.3, "heard")),
}


def states(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """A state stays, or moves to any other."""
    path = np.zeros(shape.n, dtype=np.intp)
    for step in range(1, shape.n):
        jump = int(random.integers(1, shape.k)) if shape.k > 1 and random.random() < MOVES else 0
        path[step] = (path[step - 1] + jump) % shape.k
    return path


def numbers(random: np.random.Generator, shape: Shape) -> np.ndarray:
    return np.asarray(centres(shape.k, shape.d)[states(random, shape)] + random.standard_normal((shape.n, shape.d)))


def close_numbers(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """States three standard deviations apart: neighbours in time tell which it is."""
    return np.asarray(
        3.0 / 7.0 * centres(shape.k, shape.d)[states(random, shape)] + random.standard_normal((shape.n, shape.d))
    )


def symbols(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """`d` symbols, each state with its own likely ones."""
    path = states(random, shape)
    mine = shape.d * path // shape.k + random.integers(0, shape.d // shape.k, shape.n)
    return np.where(random.random(shape.n) < 0.85, mine, random.integers(0, shape.d, shape.n))[:, None]


def counts(random: np.random.Generator, shape: Shape) -> np.ndarray:
    rates = 3.0 * 4.0 ** np.arange(shape.k)
    return random.poisson(rates[states(random, shape)][:, None], (shape.n, shape.d))


def mixed(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """A number, a count and a word."""
    path = states(random, shape)
    rows = np.empty((shape.n, 3), dtype=object)
    rows[:, 0] = 5.0 * path + random.standard_normal(shape.n)
    rows[:, 1] = [*map(int, random.poisson(3.0 + 4.0 * path))]
    rows[:, 2] = np.array([*"abc"])[np.where(random.random(shape.n) < 0.8, path, random.integers(0, 3, shape.n))]
    return rows


def sentence(random: np.random.Generator, symbol: str = "S") -> str:
    """One of the grammar's."""
    if symbol not in EXPANSIONS:
        return symbol
    odds, made = zip(*EXPANSIONS[symbol], strict=True)
    children = made[random.choice(len(made), p=odds)].split()
    return " ".join(sentence(random, child) for child in children)


def grammar(n: int) -> Healthy:
    def make() -> Fitted:
        random = np.random.default_rng(n)
        said = [sentence(random) for _ in range(n)]
        return Fitted(unveil.PCFG(GRAMMAR).fit(said), said, {})

    return Healthy(f"PCFG, {n} sentences", make)


def _in_sequences(model: Any, draw: Any, shape: tuple[int, int, int]) -> Healthy:
    lengths = np.full(shape[0] // LENGTH, LENGTH)
    return drawn_from(model, draw, shape, "in sequences", lengths=lengths)


def _gaussian(k: int, **options: Any) -> Any:
    return unveil.GaussianHMM(k, random_state=0, **options)


CASES = (
    *(
        drawn_from(_gaussian(k), numbers, (n, d, k))
        for n, d, k in ((200, 1, 2), (500, 2, 2), (1000, 2, 3), (3000, 3, 4), (20_000, 1, 2))
    ),
    drawn_from(_gaussian(2), close_numbers, (800, 1, 2), "close"),
    drawn_from(_gaussian(3, covariance_type="diag"), numbers, (600, 3, 3), "diag"),
    _in_sequences(_gaussian(2), numbers, (1000, 2, 2)),
    *(
        drawn_from(unveil.CategoricalHMM(k, random_state=0), symbols, (n, d, k))
        for n, d, k in ((500, 4, 2), (2000, 6, 3), (5000, 8, 2))
    ),
    _in_sequences(unveil.CategoricalHMM(2, random_state=0), symbols, (1000, 4, 2)),
    *(
        drawn_from(unveil.PoissonHMM(k, random_state=0), counts, (n, d, k))
        for n, d, k in ((300, 1, 2), (1000, 1, 3), (2000, 2, 2))
    ),
    _in_sequences(unveil.PoissonHMM(2, random_state=0), counts, (800, 1, 2)),
    *(drawn_from(unveil.MixedHMM(k, random_state=0), mixed, (n, 3, k)) for n, k in ((400, 2), (1500, 3))),
    _in_sequences(unveil.MixedHMM(2, random_state=0), mixed, (800, 3, 2)),
    *(grammar(n) for n in (100, 400, 1500)),
)
