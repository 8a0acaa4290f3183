"""One planted failure: how it is made, and what has to be said of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

NO = frozenset({"no"})
SUSPECT = frozenset({"no", "doubtful"})  # where a fit is wrong by degrees

DEGENERATE = frozenset({"floor", "point", "line", "few_rows", "rows_per_parameter", "condition", "empty"})
CUT_OFF = frozenset({"converged", "not_converged", "remaining_gain"})
SHAPES = frozenset({"margin", "tails", "skew", "dependence", "distance", "bounded", "discrete", "shape"})
COUNTS = frozenset({"dispersion", "zeros", "margin", "tails", "distance"})
UNREAL = frozenset({"one_mode", "overlap", "unstable", "null", "merged"})
SEED = 7  # of all planted tables


class Fitted(NamedTuple):
    """A model, what it was fitted to, and what else `examine` is told."""

    model: Any
    X: Any
    keywords: Mapping[str, Any]


@dataclass(frozen=True)
class Planted:
    """A failure that has to be caught.

    Parameters
    ----------
    name : str
    make : callable
        Draws the table and fits the model.
    question : str
        Which of the three it is about; two joined by a slash where either may tell.
    verdicts : frozenset of str
        Answers that are right.
    kinds : frozenset of str
        Reasons that name the trouble; one of them has to be given.
    """

    name: str
    make: Callable[[], Fitted]
    question: str
    verdicts: frozenset[str]
    kinds: frozenset[str]

    def caught(self, certificate: Any) -> bool:
        """Whether the verdict is right and for a right reason."""
        return any(
            certificate.verdicts[question] in self.verdicts and self._named(certificate, question)
            for question in self.question.split("/")
        )

    def _named(self, certificate: Any, question: str) -> bool:
        return bool(self.kinds & {reason.kind for reason in certificate.reasons(question)})

    def said(self, certificate: Any) -> str:
        """The verdict and the reasons in short."""
        words = []
        for question in self.question.split("/"):
            kinds = ", ".join(dict.fromkeys(reason.kind for reason in certificate.reasons(question)))
            words.append(f"{question} {certificate.verdicts[question]} ({kinds})")
        return "; ".join(words)


def fitted(model: Any, X: Any, **keywords: Any) -> Fitted:
    """The model on the rows; that it complains is meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Fitted(clone(model).fit(X, **keywords), X, keywords)


def random(stream: int = 0) -> np.random.Generator:
    """Numbers of a table."""
    return np.random.default_rng([SEED, stream])
