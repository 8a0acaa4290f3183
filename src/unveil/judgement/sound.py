"""Is the fit sound? What the rows add to what the fit said of itself.

A fit judges what is left to gain by how its gains fall off, and no gain tells of what is behind a plateau. Here the
climb is gone on with, from a copy, with leaps, for as many passes as the fit took and more where they cost little: what
it gains is no estimate. Columns are looked at for the steps in which they are rounded, and a component that is narrower
than rounding alone would make it sits on one value (Sheppard, 1898). Rows that are there many times over are counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from unveil.certificate import Finding
from unveil.certificate.checks import remaining_finding
from unveil.certificate.remaining import gain_left
from unveil.core.arrays import Floats
from unveil.core.result import History, Status
from unveil.estimation.degenerate import narrow_findings, steps_of
from unveil.judgement.case import Answer, Case

FURTHER = 2  # times the passes of the fit that the climb is gone on with
CHEAP = 3e8  # cells times components that it may take in any case: about a second
MOST_PASSES = 2000  # of a small table
SETTLED = 1e-12  # nats per row and pass, at which the end has come: on a saddle gains are tiny for a long time
OVER = 1e-3  # share of what was gained, below which a last gain says that the climb is at its end
CLIMBS = ("auto", "batch", "squarem")  # schedules whose passes can be gone on with by leaps
OFTEN_REPEATED = 0.5  # share of the rows that have been there before: a table of so few different rows is made of words
#                       or of copies, and weights would say the same


def examine_soundness(case: Case) -> Answer:
    """What the rows say besides: steps of columns, repeated rows, and what going on with the climb gains."""
    if not hasattr(case.model, "_emission") or not getattr(case.model, "history_", None):
        return Answer()
    return Answer((*_remaining(case), *_rows_findings(case)))


def _rows_findings(case: Case) -> Iterator[Finding]:
    """Rounded columns and repeated rows, of a table of numbers."""
    if hasattr(case.model, "transmat_") or not hasattr(case.model, "covariance_type"):
        return  # steps in time may well stay the same; and without a spread there is none to be too small
    rows = case.rows[0]
    yield from narrow_findings(case.model, steps_of(rows))
    yield from _repeated(rows)


def _repeated(rows: Floats) -> Iterator[Finding]:
    """Rows that are there many times over count as so many independent ones, which they hardly are."""
    share = 1.0 - len(np.unique(rows, axis=0)) / len(rows)
    if share > OFTEN_REPEATED:
        message = f"{share:.0%} of the rows repeat another to the last digit: a density has no use for that"
        remedy = "look for copies, or take a family for whole numbers or categories"
        yield Finding("repeated_rows", "doubt", message, share, kind="repeated_rows", remedy=remedy)


def _remaining(case: Case) -> Iterator[Finding]:
    """What the climb gains where it is gone on with, and what is left then."""
    history: History = case.model.history_
    if history.status is Status.STREAMING or not history.monotone or not _goes_on(case.model):
        return
    if not (case.thorough or _at_hand(case.X)):
        return
    further = _continued(case)
    if further is None or not further:
        return
    left, last = _measured(further.heights)
    for finding in remaining_finding(left, last, further[-1].weight):
        yield replace(finding, message=f"{finding.message}, as {len(further)} more passes show")


def _at_hand(X: Any) -> bool:
    """Whether rows are in memory: every pass over those of a file or a cluster would read them again."""
    return isinstance(X, list | tuple) or (hasattr(X, "shape") and not callable(getattr(X, "compute", None)))


def _measured(heights: Sequence[float]) -> tuple[float, float]:
    """What a climb that was gone on with gained in all and has left, and its last gain."""
    if len(heights) < 2:
        return 0.0, 0.0
    gained, last, left = heights[-1] - heights[0], heights[-1] - heights[-2], gain_left(heights)
    over = last <= OVER * gained  # a gain so small may be rounding, and rounding has no end
    return gained + (left if isfinite(left) else 0.0 if over else left), last


def _goes_on(model: Any) -> bool:
    """Whether the climb is one that leaps can go on with."""
    return model.schedule in CLIMBS and model.expectation == "exact"


def _continued(case: Case) -> History | None:
    """The climb from where the model stands, on a copy of it; None where it cannot go on."""
    model, history = case.model, case.model.history_
    work = history[-1].weight * max(int(getattr(model, "n_features_in_", 1)), 1) * model.n_components
    passes = max(FURTHER * len(history), min(int(CHEAP / max(work, 1.0)), MOST_PASSES))
    copy = deepcopy(model)
    copy.set_params(warm_start=True, schedule="squarem", tol=SETTLED, max_iter=passes, verbose=0)
    given = {"sample_weight": case.sample_weight, "lengths": case.lengths}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            copy.fit(case.X, **{name: value for name, value in given.items() if value is not None})
        except (ValueError, TypeError, np.linalg.LinAlgError):  # a start or a schedule of the user's own
            return None
    found: History = copy.history_
    return found
