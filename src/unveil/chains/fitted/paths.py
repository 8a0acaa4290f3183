"""Paths of hidden states: the likeliest, the few likeliest, draws from all of them, and how uncertain they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unveil.chains.fitted.block_functions import BestPaths, DrawPaths, KBestPaths, PathEntropies
from unveil.chains.fitted.chain import FittedChain, whole_number
from unveil.chains.fitted.states import posteriors
from unveil.core.arrays import Floats, Integers
from unveil.estimation.base import seed_of
from unveil.sources.sequences import Sequences


def best_path(chain: FittedChain, sequences: Sequences) -> tuple[float, Integers]:
    """The likeliest path through each sequence: log p(x, path) of all of them, and the states (rows,)."""
    found = list(chain.each(sequences, BestPaths))
    values = np.concatenate([values for values, _ in found])
    return float(values.sum()), np.concatenate([states for _, states in found])


def best_states(chain: FittedChain, sequences: Sequences) -> tuple[float, Integers]:
    """The likeliest state of each step by itself: how many are right in expectation, and the states (rows,)."""
    table = posteriors(chain, sequences)[1]
    return float(table.max(axis=1).sum()), table.argmax(axis=1).astype(np.int64)


DECODERS = {"viterbi": best_path, "map": best_states}


def decode(chain: FittedChain, sequences: Sequences, algorithm: Any) -> tuple[float, Integers]:
    """States by the algorithm of this name."""
    if algorithm not in DECODERS:
        raise ValueError(f"algorithm must be one of {', '.join(map(repr, DECODERS))}, got {algorithm!r}")
    return DECODERS[algorithm](chain, sequences)


def k_best(chain: FittedChain, sequences: Sequences, k: int) -> list[list[tuple[float, Integers]]]:
    """For each sequence, at most `k` pairs of log p(x, path) and states, the likeliest first."""
    whole_number("k", k, 1)
    return [one for block in chain.each(sequences, KBestPaths, k=int(k)) for one in block]


def drawn_paths(chain: FittedChain, sequences: Sequences, n_paths: int, random_state: Any) -> Integers:
    """Paths from their posterior, (paths, rows)."""
    whole_number("n_paths", n_paths, 1)
    drawn = chain.each(sequences, DrawPaths, n_paths=int(n_paths), seed=seed_of(random_state))
    return np.ascontiguousarray(np.concatenate(list(drawn)).T)


def entropies(chain: FittedChain, sequences: Sequences) -> Floats:
    """Of the path given each sequence, in nats, (sequences,)."""
    return np.concatenate(list(chain.each(sequences, PathEntropies)))


def sample(chain: FittedChain, n_samples: int, random_state: Any, first: int | None) -> tuple[Any, Integers]:
    """A sequence drawn from the model, from a state on or from any, and its states."""
    count, k = whole_number("n_samples", n_samples, 1), chain.model.n_components
    start = chain.plan.start if first is None else _certain(first, k)
    random = check_random_state(random_state)
    states = _walk(start, chain.plan.transition, random.random_sample((count, 1)))
    return chain.emissions.draw(states, random), states


def _certain(state: Any, n_states: int) -> Floats:
    """All of the probability on one state."""
    if whole_number("currstate", state, 0) >= n_states:
        raise ValueError(f"currstate must be a state below {n_states}, got {state!r}")
    start = np.zeros(n_states)
    start[int(state)] = 1.0
    return start


def _walk(start: Floats, transition: Floats, uniforms: Floats) -> Integers:
    """States of a chain: a path drawn given observations that say nothing."""
    from unveil.chains.kernels.paths import draw_paths

    count = len(uniforms)
    out, silent = np.empty((count, 1), dtype=np.int64), np.zeros((count, len(start)))
    draw_paths(silent, np.array([count], dtype=np.intp), start, transition, uniforms, out)
    return out[:, 0]
