"""Likelihoods of sequences, states of their steps given past or all of them, and what is missing of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.fitted.block_functions import FillIn, FilterStates, LagStates, LogLikelihoods, SmoothStates
from unveil.chains.fitted.chain import FittedChain, whole_number
from unveil.core.arrays import Floats
from unveil.sources.sequences import Sequences

FARTHEST_LAG = 1 << 62  # steps: as good as all, and still a number that kernels take


def log_likelihoods(chain: FittedChain, sequences: Sequences) -> Floats:
    """Of each sequence, (sequences,)."""
    return np.concatenate([values for values, *_ in chain.each(sequences, LogLikelihoods)])


def weighted_log_likelihood(chain: FittedChain, sequences: Sequences) -> tuple[float, float]:
    """Log-likelihood and weight of all sequences; one without weight takes no part, however unlikely it is."""
    found = zip(*chain.each(sequences, LogLikelihoods), strict=True)
    values, shares, steps = (np.concatenate(part) for part in found)
    counted = shares > 0
    return float((shares[counted] * values[counted]).sum()), float(steps.sum())


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
