"""Hidden Markov chains by enumeration of all paths, and by plain recursions with sixty digits: slow, and right."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Known(NamedTuple):
    log_likelihood: float
    posteriors: Floats
    transitions: Floats


def all_paths(scores: Floats, start: Floats, transition: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Every path, in lexical order, and its joint log-probability."""
    paths = np.array(list(itertools.product(range(len(start)), repeat=len(scores))), dtype=np.int64)
    with np.errstate(divide="ignore"):
        logs, steps = np.log(start), np.log(transition)
    values = logs[paths[:, 0]] + scores[0, paths[:, 0]]
    for t in range(1, len(scores)):
        values = values + steps[paths[:, t - 1], paths[:, t]] + scores[t, paths[:, t]]
    return paths, values


def enumerated(scores: Floats, start: Floats, transition: Floats) -> Known:
    """Likelihood, posteriors and expected transitions as sums over all paths."""
    paths, values = all_paths(scores, start, transition)
    posteriors, transitions = np.zeros(scores.shape), np.zeros(transition.shape)
    if values.max() == -np.inf:
        return Known(-np.inf, posteriors, transitions)
    shares = np.exp(values - values.max())
    log_likelihood = float(values.max() + np.log(shares.sum()))
    shares /= shares.sum()
    for t in range(len(scores)):
        np.add.at(posteriors[t], paths[:, t], shares)
    for t in range(1, len(scores)):
        np.add.at(transitions, (paths[:, t - 1], paths[:, t]), shares)
    return Known(log_likelihood, posteriors, transitions)


def exact(scores: Floats, start: Floats, transition: Floats) -> Known:
    """The same by forward and backward in numbers of sixty digits, which do not underflow."""
    with mpmath.workdps(60):
        return _exact(scores, start, transition)


def _exact(scores: Floats, start: Floats, transition: Floats) -> Known:
    n, k = scores.shape
    states = range(k)
    steps: Any = [[mpmath.mpf(float(value)) for value in row] for row in transition]
    emissions: Any = [[mpmath.exp(float(s)) if s > -np.inf else mpmath.mpf(0) for s in row] for row in scores]
    there: Any = [[mpmath.mpf(float(start[j])) * emissions[0][j] for j in states]]
    for t in range(1, n):
        sums = [mpmath.fsum(there[-1][i] * steps[i][j] for i in states) for j in states]
        there.append([sums[j] * emissions[t][j] for j in states])
    back: Any = [[mpmath.mpf(1)] * k]
    for t in range(n - 1, 0, -1):
        here = [emissions[t][j] * back[0][j] for j in states]
        back.insert(0, [mpmath.fsum(steps[i][j] * here[j] for j in states) for i in states])
    total = mpmath.fsum(there[-1])
    if total == 0:
        return Known(-np.inf, np.zeros((n, k)), np.zeros((k, k)))
    posteriors = [[float(there[t][j] * back[t][j] / total) for j in states] for t in range(n)]
    counts = [
        [
            float(
                mpmath.fsum(there[t - 1][i] * steps[i][j] * emissions[t][j] * back[t][j] for t in range(1, n)) / total
            )
            for j in states
        ]
        for i in states
    ]
    return Known(float(mpmath.log(total)), np.array(posteriors), np.array(counts))
