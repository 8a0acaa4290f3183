"""The plain NumPy chart as a contender: what a competent person has without compiling anything."""

from __future__ import annotations

import numpy as np

from benchmarks.contenders import plain_chart
from benchmarks.contenders.interface import Arrays, Run


def inside_outside(arrays: Arrays) -> Run:
    """One pass: expected counts, and probabilities from them."""
    (parents, lefts, rights), n = arrays["binary"].T, len(arrays["lexical"])
    rules = (0, parents, lefts, rights, arrays["weights"], np.eye(n), np.ascontiguousarray(arrays["lexical"].T))

    def run(steps: int) -> Arrays:
        _, binary, _, words = plain_chart.inside_outside(*rules, list(arrays["sentences"]))
        totals = np.bincount(parents, binary, n) + words.sum(axis=0)
        return {"binary": binary / totals[parents]}

    return run
