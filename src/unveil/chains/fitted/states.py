"""Likelihoods of sequences, states of their steps given past or all of them, and what is missing of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from unveil.chains.fitted.block_functions import FillIn, FilterStates, LagStates, LogLikelihoods, SmoothStates
from unveil.chains.fitted.chain import FittedChain, whole_number
from unveil.core.arrays import Floats
from unveil.core.protocols import Asking
from unveil.sources.sequences import Sequences

FARTHEST_LAG = 1 << 62  # steps: as good as all, and still a number that kernels take


def log_likelihoods(chain: FittedChain, sequences: Sequences) -> Floats:
    """Of each sequence, (sequences,)."""
    return np.concatenate([values for values, *_ in chain.each(sequences, LogLikelihoods)])


class ChainTotals(NamedTuple):
    """Log-likelihood and weight of all sequences."""

    log_likelihood: float
    weight: float


def totals(chain: FittedChain, sequences: Sequences) -> ChainTotals:
    """Of all sequences; one without weight takes no part, however unlikely it is."""
    return _total(chain.each(sequences, LogLikelihoods))


def summing(chain: FittedChain, sequences: Sequences) -> Asking[ChainTotals]:
    """The same, asked for along with what others ask of the sequences."""
    return _total((yield from chain.asking(sequences, LogLikelihoods)))


def _total(found: Iterable[tuple[Floats, ...]]) -> ChainTotals:
    values, shares, steps = (np.concatenate(part) for part in zip(*found, strict=True))
    counted = shares > 0
    return ChainTotals(float((shares[counted] * values[counted]).sum()), float(steps.sum()))


def posteriors(chain: FittedChain, sequences: Sequences) -> tuple[float, Floats]:
    """Log-likelihood of all sequences, and probabilities of the states given each as a whole, (rows, states)."""
    found = list(chain.each(sequences, SmoothStates))
    total = np.concatenate([values for values, _ in found]).sum()
    return float(total), np.concatenate([table for _, table in found])


def filtered(chain: FittedChain, sequences: Sequences) -> Floats:
    """Probabilities of the states given past and present, (rows, states)."""
    return np.concatenate([table for _, table in chain.each(sequences, FilterStates)])


def smoothed(chain: FittedChain, sequences: Sequences, lag: int | None) -> Floats:
    """Probabilities of the states given the sequence up to `lag` steps ahead, (rows, states); None is all of it."""
    if lag is None:
        return posteriors(chain, sequences)[1]
    if whole_number("lag", lag, 0) == 0:
        return filtered(chain, sequences)
    return np.concatenate(list(chain.each(sequences, LagStates, lag=min(int(lag), FARTHEST_LAG))))


def imputed(chain: FittedChain, sequences: Sequences) -> Any:
    """Rows with their missing cells filled in, as the user knows rows."""
    return chain.emissions.rows_out(np.concatenate(list(chain.each(sequences, FillIn))))
