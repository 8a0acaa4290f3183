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
from unveil.judgement.examine import asked, examiners_of, is_examined
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


def judged(
    best: Any, X: Any, weights: Floats | None, grid: Mapping[str, tuple[Any, ...]], adopting: bool = False
) -> Judged:
    """Examine the winner of a comparison; a mixture is told which cluster each of its components belongs to.

    A caller who is `adopting` takes an alternative that is clearly better in the winner's place, and examines that:
    neither the winner's groups nor its own are looked at here where there is one, which would take longest.
    Ctrl-C ends the examination, not the comparison.
    """
    if not is_examined(best):
        return NOT_JUDGED
    try:
        return _judged(best, X, weights, grid, adopting)
    except KeyboardInterrupt:
        logger.warning("select: interrupted; the best model was not examined")
        return NOT_JUDGED


def _judged(best: Any, X: Any, weights: Floats | None, grid: Mapping[str, tuple[Any, ...]], adopting: bool) -> Judged:
    case = Case(best, X, sample_weight=weights)
    if examiners_of(best).real is not examine_groups:
        return Judged(asked(case), None)
    first = asked(case, ("sound", "describes"))
    undescribed = first.verdicts["describes"] in ("no", "doubtful")
    others = _others(case, grid) if undescribed else ()
    if adopting and _is_better(others):
        return Judged(first, None, others)
    certificate = asked(case)
    best.clusters_ = np.array(certificate.clusters, dtype=np.intp)
    if not undescribed and number_of_groups(certificate) != len(best.clusters_):
        others = _others(case, None)
    if _is_better(others):
        return Judged(certificate, None if adopting else _groups(others[0], case), others)
    return Judged(certificate, number_of_groups(certificate), others)


def _is_better(others: tuple[Alternative, ...]) -> bool:
    """Is the best of them clearly better than the winner?"""
    return bool(others) and others[0].gain > STRONG


def _others(case: Case, grid: Mapping[str, tuple[Any, ...]] | None) -> tuple[Alternative, ...]:
    rows, weights = case.once("some rows", _some_rows)
    with unwatched():
        return tuple(tried(case.model, rows, weights, grid))


def _some_rows(case: Case) -> tuple[Floats, Floats | None]:
    return looked_at(case.model, case.X, case.sample_weight, MOST_ROWS, 0)


def number_of_groups(certificate: Certificate) -> int | None:
    """How many groups a mixture has; 1 where there are none, None where that is not clear."""
    answer = certificate.verdicts["real"]
    if answer == "doubtful" or certificate.clusters is None:
        return None
    return len(set(certificate.clusters)) if answer == "yes" else 1


def _groups(alternative: Alternative, case: Case) -> int | None:
    """How many groups the components of an alternative form."""
    _, weights = case.once("some rows", _some_rows)
    with unwatched():
        found = examine_groups(Case(alternative.model, alternative.rows, sample_weight=weights))
    return number_of_groups(Certificate(found.findings, clusters=found.clusters))
