"""What fitted models are compared by. A criterion is one entry in a table; adding one adds it everywhere.

    BIC = p log n - 2 log L        AIC = 2 p - 2 log L        p parameters, n rows, L the likelihood
    ICL = BIC - 2 sum over rows of the log-probability of the likeliest component

A difference in BIC is about twice the log of a Bayes factor, and Kass and Raftery (Bayes factors, JASA 90, 1995,
section 3.2) say in words how much evidence that is. ICL is the same with the components known, so it takes the same
words; groups that overlap cost it (Biernacki, Celeux and Govaert, IEEE PAMI 22, 2000). For AIC the words follow
Burnham and Anderson (Model selection and multimodel inference, 2002, section 2.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

CLEAR_LEAD = 2.0  # below this difference, both scales of words say that neither model is to be preferred
KASS_RAFTERY = ((CLEAR_LEAD, "barely worth a mention"), (6.0, "positive"), (10.0, "strong"), (math.inf, "very strong"))
BURNHAM_ANDERSON = (
    (CLEAR_LEAD, "barely worth a mention"),
    (4.0, "weak"),
    (10.0, "considerable"),
    (math.inf, "decisive"),
)


class Fitted(NamedTuple):
    """A fitted estimator and what it was fitted to."""

    estimator: Any
    X: Any
    sample_weight: NDArray[np.float64] | None
    study: Any = None  # what criteria of clusterings share
    known: Mapping[str, float] = MappingProxyType({})  # what was measured already, by the names of criteria


def _always(estimator: Any) -> bool:
    return True


def _nothing(line: Sequence[dict[str, Any]]) -> None:
    """Nothing to complete."""


@final
@dataclass(frozen=True)
class Criterion:
    """One way to compare fitted models.

    Parameters
    ----------
    name : str
        As `select` takes it, and the key in the table.
    title : str
        As it is said in sentences and on axes.
    measure : callable
        From `Fitted` to a number, or None where it has none.
    needs : tuple of str
        Attributes an estimator must have, fitted or not, for the criterion to be defined.
    sign : {1, -1}
        1 where larger is better, -1 where smaller is.
    evidence : tuple of (limit, words)
        What a difference below each limit is worth; empty where there is no agreed scale.
    trend : str
        Why the best value proves nothing, for measures that only ever improve as the model grows.
    suits : callable
        Whether an estimator that has all it `needs` means by it what the criterion takes it for.
    also : dict of str to callable
        Further columns of the table that come with it.
    settle : callable
        Completes those rows of the table that differ in the number of clusters only, once they are all there.
    opine : callable or None
        From such rows to an `Opinion`, where the best value is not all there is to say.
    costly : bool
        Whether it takes fits of its own, so that it is computed only where it is asked for.
    """

    name: str
    title: str
    measure: Callable[[Fitted], float | None]
    needs: tuple[str, ...]
    sign: int = -1
    evidence: tuple[tuple[float, str], ...] = ()
    trend: str = ""
    suits: Callable[[Any], bool] = _always
    also: Mapping[str, Callable[[Fitted], Any]] = field(default_factory=dict)
    settle: Callable[[Sequence[dict[str, Any]]], None] = _nothing
    opine: Callable[[Any], Any] | None = None
    costly: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns of the table."""
        return (self.name, *self.also)

    def values(self, fitted: Fitted) -> dict[str, Any]:
        """Its columns of one row."""
        known = fitted.known
        value = known[self.name] if self.name in known else self.measure(fitted)
        return {self.name: value} | {name: measure(fitted) for name, measure in self.also.items()}

    def defined_for(self, estimator: Any) -> bool:
        """Can this criterion be computed for `estimator`?"""
        return all(hasattr(estimator, name) for name in self.needs) and self.suits(estimator)

    def words(self, difference: float) -> str:
        """What a difference is worth, in words; empty where there is no agreed scale."""
        return next((words for limit, words in self.evidence if difference < limit), "")


def _weighted(name: str, fitted: Fitted) -> float:
    """A method of the estimator, which takes weights only when there are any: scikit-learn's own takes none."""
    extra = {} if fitted.sample_weight is None else {"sample_weight": fitted.sample_weight}
    return float(getattr(fitted.estimator, name)(fitted.X, **extra))


def _log_likelihood(fitted: Fitted) -> float:
    if hasattr(fitted.estimator, "log_likelihoods"):  # of whole sequences
        return _weighted("score", fitted)
    scores = np.asarray(fitted.estimator.score_samples(fitted.X), dtype=np.float64)
    return float(scores.sum() if fitted.sample_weight is None else fitted.sample_weight @ scores)


GROWS = "it improves with every further component, so the best value is no evidence by itself"

CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Criterion("bic", "BIC", partial(_weighted, "bic"), ("bic",), evidence=KASS_RAFTERY),
        Criterion("aic", "AIC", partial(_weighted, "aic"), ("aic",), evidence=BURNHAM_ANDERSON),
        Criterion("icl", "ICL", partial(_weighted, "icl"), ("icl",), evidence=KASS_RAFTERY),
        Criterion("log_likelihood", "log-likelihood", _log_likelihood, ("score_samples",), sign=1, trend=GROWS),
    )
}


def pick_criterion(name: str, estimator: Any, criteria: Mapping[str, Criterion] = CRITERIA) -> Criterion:
    """The criterion of that name; ``"auto"`` is the first of `criteria` that is defined for `estimator`."""
    defined = [criterion for criterion in criteria.values() if criterion.defined_for(estimator)]
    if name != "auto" and name not in criteria:
        raise ValueError(f"criterion must be 'auto' or one of {', '.join(map(repr, criteria))}; got {name!r}")
    wanted = [criterion for criterion in defined if name in ("auto", criterion.name)]
    if not wanted:
        known = ", ".join(repr(criterion.name) for criterion in defined) or "none"
        raise ValueError(f"criterion {name!r} is not defined for {type(estimator).__name__}, which has: {known}")
    return wanted[0]
