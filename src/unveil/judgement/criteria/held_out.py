"""How likely is what a fit has not seen? The one criterion that no model can talk its way around.

Rows of a table, sentences and sequences are dealt to five folds; each fold is scored by a fit of the others. A chain of
few sequences is cut in time instead: the fit sees the first four fifths of each, and is scored by the rest given them,

    log p(later | earlier) = log p(earlier, later) - log p(earlier)

which is how well it forecasts. Either way it is a mean per row (a step of a sequence, a sentence of a grammar).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.judgement.criteria.criteria import Criterion, Fitted
from unveil.judgement.criteria.fits import fitted

FOLDS = 5  # as is usual: each fit sees four fifths of the rows
SEEN_SHARE = 0.8  # share of a sequence that is seen, where there are few


class FoldScore(NamedTuple):
    """Log-likelihood of what was held out, and how many rows that was."""

    log_likelihood: float
    rows: float


def held_out(seen: Fitted) -> float:
    """Mean log-likelihood of a row that was not seen."""
    parts = list(_chains(seen) if is_chain(seen.estimator) else _tables(seen))
    return sum(part.log_likelihood for part in parts) / sum(part.rows for part in parts)


def is_chain(estimator: Any) -> bool:
    """Whether rows are steps of sequences to an estimator."""
    return hasattr(estimator, "log_likelihoods")


def sequences_of(X: Any, lengths: Any = None) -> list[Any]:
    """A table as a list of sequences of some lengths; a list of sequences as it is."""
    from sklearn.utils import _safe_indexing

    from unveil.chains.input import handed
    from unveil.sources.sequences import checked_lengths

    if callable(getattr(X, "read", None)):
        raise ValueError("X must be in memory to be cut into sequences, got a scan; fit and compare by hand instead")
    table, own = handed(X)
    known = own if lengths is None else checked_lengths(lengths, len(table))
    ends = np.cumsum([len(table)] if known is None else known)
    return [
        _safe_indexing(table, np.arange(end - length, end))
        for length, end in zip(np.diff(ends, prepend=0), ends, strict=True)
    ]


def _chains(seen: Fitted) -> Iterator[FoldScore]:
    """Sequences in folds, or their later parts."""
    sequences = sequences_of(seen.X)
    if seen.sample_weight is not None:
        raise ValueError("sample_weight is not taken together with criterion='held_out' for sequences")
    if len(sequences) >= FOLDS:
        for fold in range(FOLDS):
            rest = [one for number, one in enumerate(sequences) if number % FOLDS != fold]
            mine = [one for number, one in enumerate(sequences) if number % FOLDS == fold]
            yield FoldScore(float(_again(seen, rest).score(mine)), sum(map(len, mine)))
        return
    heads = [one[: max(int(SEEN_SHARE * len(one)), 1)] for one in sequences]
    model = _again(seen, heads)
    yield FoldScore(float(model.score(sequences) - model.score(heads)), sum(map(len, sequences)) - sum(map(len, heads)))


def _tables(seen: Fitted) -> Iterator[FoldScore]:
    """Rows or sentences in folds, dealt at random from a fixed seed: neighbours in a table are often alike."""
    from sklearn.utils import _safe_indexing

    count = len(seen.X)
    dealt = np.random.default_rng(0).permutation(count)
    for fold in range(min(FOLDS, count)):
        mine, rest = np.sort(dealt[fold::FOLDS]), np.sort(np.delete(dealt, np.s_[fold::FOLDS]))
        weights = np.ones(count) if seen.sample_weight is None else seen.sample_weight
        model = _again(seen, _safe_indexing(seen.X, rest), None if seen.sample_weight is None else weights[rest])
        scores = np.asarray(model.score_samples(_safe_indexing(seen.X, mine)), dtype=np.float64)
        yield FoldScore(float(weights[mine] @ scores), float(weights[mine].sum()))


def _again(seen: Fitted, X: Any, weights: NDArray[np.float64] | None = None) -> Any:
    """The same model, fitted to part of the rows."""
    return fitted(seen.estimator, {}, X, weights)


HELD_OUT = Criterion("held_out", "held-out log-likelihood", held_out, ("score",), sign=1, costly=True)
