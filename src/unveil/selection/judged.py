"""What becomes of a comparison's winner: three verdicts on it, and how many groups there are.

How many components describe a density and how many groups there are are two questions. The winner by BIC answers the
first, its certificate the second: components without a valley between them are one group. Where the winner does not
describe the rows, other kinds of models may (`alternatives`): heavier tails, the log of skewed columns, another shape
of the components. Where it takes several components for a group, the log of skewed columns may take one. What describes
them clearly better has the say in how many groups there are.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from unveil.certificate import Certificate
from unveil.core.arrays import Floats
from unveil.core.loop import unwatched
from unveil.judgement.case import Case
from unveil.judgement.examine import examine, is_examined
from unveil.judgement.real.mixtures import examine_groups
from unveil.judgement.rows import looked_at
from unveil.selection.alternatives import MOST_ROWS, Alternative, tried

logger = logging.getLogger("unveil")

STRONG = 10.0  # a difference of BIC that Kass and Raftery call very strong


class Judged(NamedTuple):
    """The winner's certificate, the number of groups (None where that is not clear), and what else was tried."""

    certificate: Certificate
    n_clusters: int | None
    alternatives: tuple[Alternative, ...] = ()


NOT_JUDGED = Judged(Certificate(()), None)


def judged(best: Any, X: Any, weights: Floats | None, grid: Mapping[str, tuple[Any, ...]]) -> Judged:
    """Examine the winner of a comparison; a mixture is told which cluster each of its components belongs to.

    Ctrl-C ends the examination, not the comparison.
    """
    if not is_examined(best):
        return NOT_JUDGED
    try:
        return _judged(best, X, weights, grid)
    except KeyboardInterrupt:
        logger.warning("select: interrupted; the best model was not examined")
        return NOT_JUDGED


def _judged(best: Any, X: Any, weights: Floats | None, grid: Mapping[str, tuple[Any, ...]]) -> Judged:
    certificate = examine(best, X, sample_weight=weights)
    if certificate.clusters is None:
        return Judged(certificate, None)
    best.clusters_ = np.array(certificate.clusters, dtype=np.intp)
    others: tuple[Alternative, ...] = ()
    undescribed = certificate.verdicts["describes"] in ("no", "doubtful")
    if undescribed or number_of_groups(certificate) != len(certificate.clusters):
        rows, counted = looked_at(best, X, weights, MOST_ROWS, 0)
        with unwatched():
            others = tuple(tried(best, rows, counted, grid if undescribed else None))
            if others and others[0].gain > STRONG:
                return Judged(certificate, _groups(others[0], counted), others)
    return Judged(certificate, number_of_groups(certificate), others)


def number_of_groups(certificate: Certificate) -> int | None:
    """How many groups a mixture has; 1 where there are none, None where that is not clear."""
    answer = certificate.verdicts["real"]
    if answer == "doubtful" or certificate.clusters is None:
        return None
    return len(set(certificate.clusters)) if answer == "yes" else 1


def _groups(alternative: Alternative, weights: Floats | None) -> int | None:
    """How many groups the components of an alternative form."""
    found = examine_groups(Case(alternative.model, alternative.rows, sample_weight=weights))
    return number_of_groups(Certificate(found.findings, clusters=found.clusters))
