"""What the path of a fit says of it: how it ended, whether the bound fell, whether starts agree, what was mended.

These checks read the public attributes of an estimator alone (`history_`, and `weights_` or the cluster sizes where
there are any), so they can be made again from a saved model. What the parameters say is `unveil.certificate.figures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from unveil.certificate.certificate import Certificate, Finding
from unveil.certificate.figures import finite, judge
from unveil.core.result import History, Status

ROUNDING = 1e-9  # a fall of the objective below this share of its size is rounding, not a fault
AGREEMENT = 1e-6  # restarts whose objectives differ by less than this share found the same optimum
NEARLY_EMPTY = 5.0  # a component that stands for fewer rows than this is hardly supported by the data

EVENTS = {
    "floored": ("note", "a component had to be kept from degenerating (variance or probability at its floor)"),
    "reseeded": ("note", "a component that no row belonged to was put elsewhere"),
    "taken_back": ("note", "a leap would have lowered the bound and was taken back"),
    "shortened": ("note", "a step had to be shortened until it climbed"),
    "empty": ("warning", "a component had no rows and kept its parameters"),
    "emptied": ("note", "a cluster had no rows"),
    "relocated": ("note", "a cluster that had no rows was moved to the row furthest from its centre"),
    "polished": ("note", "rows moved one by one, each to a lower cost, where the passes had ended: {count}"),
    "dropped": ("note", "clusters that had no rows in the end and were dropped: {count}"),
    "singular_rows": ("note", "a row had too few cells to determine its scores, and took the shortest that fit"),
    "singular_columns": (
        "note",
        "a column had too few cells to determine its coefficients, and moved no further than needed",
    ),
    "left_empty": (
        "warning",
        "clusters left without rows: {count}; fewer rows differ than n_clusters, or the start was unlucky: "
        "fewer n_clusters, more n_init or another policy for empty_clusters may help",
    ),
}
"""Severity and words of what is reported; what is not listed counts as a warning.

Models and schedules report how often something happened. Words with a {count} tell of how things are in the end.
"""


def examine(
    history: History,
    counts: np.ndarray | None = None,
    excuse: str | None = None,
    figures: Mapping[str, float] | None = None,
    later: Callable[[], Mapping[str, float]] | None = None,
) -> Certificate:
    """Check a fit by its history, by how many rows each component stands for, and by figures of its parameters.

    `excuse` says why the free energy may fall although the schedule promises that it does not. `figures` may hold any
    of the names in `unveil.certificate.figures`; `later` gives more of them, when somebody looks.

    >>> from unveil.core.result import Record
    >>> climb = tuple(Record(value, value, value, 272.0, 0.0) for value in (-1200.0, -1131.0, -1130.3))
    >>> print(examine(History(climb, status=Status.CONVERGED), figures={"overlap": 0.015}))
    The fit can be trusted as far as it was checked.
      note     a single start: other optima were not looked for (n_init starts do)
      fine     converged after 3 passes
      fine     the free energy never fell
      fine     components overlap by at most 1.5%
    """
    findings = [*_convergence(history), *_monotone(history, excuse), *_restarts(history), *_events(history)]
    if counts is not None:
        findings.extend(_support(counts))
    findings.extend(judge(figures or {}, history, excuse))
    put_off = None if later is None else partial(_judged_later, later, history, excuse)
    return Certificate(tuple(findings), put_off)


def _judged_later(later: Callable[[], Mapping[str, float]], history: History, excuse: str | None) -> Iterator[Finding]:
    return judge(later(), history, excuse)


def _convergence(history: History) -> Iterator[Finding]:
    count = len(history)
    passes = f"{count} pass{'es' if count != 1 else ''}"
    severity, message = {
        Status.CONVERGED: ("fine", f"converged after {passes}"),
        Status.INTERRUPTED: ("warning", f"interrupted after {passes}; the best so far is kept"),
        Status.STREAMING: ("note", f"fed batch by batch, {count} so far: convergence is not tested"),
        Status.MAX_ITER: ("warning", f"not converged: stopped at the limit of {passes}; raise max_iter or tol"),
    }[history.status]
    yield Finding("converged", severity, message, float(count))


def _monotone(history: History, excuse: str | None) -> Iterator[Finding]:
    not_promised = "the schedule does not promise that the free energy rises at every step"
    if history.status is Status.STREAMING:  # batches have objectives of their own, and a stream may have many
        yield Finding("bound", "note", not_promised)
        return
    fall = history.largest_fall()
    if not history.monotone:
        yield Finding("bound", "note", not_promised, finite(fall))
    elif fall > ROUNDING * max(float(np.max(np.abs(history.column("objective")), initial=0.0)), 1.0):
        severity, reason = ("warning", "theory says it cannot") if excuse is None else ("note", excuse)
        yield Finding("bound", severity, f"the free energy fell by up to {fall:.3g}: {reason}", finite(fall))
    else:
        yield Finding("bound", "fine", "the free energy never fell", finite(fall))


def _restarts(history: History) -> Iterator[Finding]:
    """How many starts reached the best objective; the figure is the spread of all."""
    finals = np.nan_to_num(np.array(history.restarts), nan=-np.inf, neginf=-np.inf)
    if history.status is Status.STREAMING:
        return
    if len(finals) < 2:
        tried = history.events.get("tried", 1)
        start = f"one climb, from the best of {tried} short runs" if tried > 1 else "a single start"
        searched = "hardly" if tried > 1 else "not"
        message = f"{start}: other optima were {searched} looked for (n_init starts do)"
        yield Finding("restarts", "note", message)
        return
    best, worst = float(finals.max()), float(finals.min())
    if not np.isfinite(best):
        yield Finding("restarts", "note", f"none of {len(finals)} starts completed a pass")
        return
    agree = int(np.count_nonzero(best - finals <= AGREEMENT * max(abs(best), 1.0)))
    message = f"{agree} of {len(finals)} starts reached the best objective, {best:.6g}; the worst {worst:.6g}"
    yield Finding("restarts", "fine" if agree > 1 else "note", message, finite(best - worst))


def _events(history: History) -> Iterator[Finding]:
    for name, count in sorted(history.events.items()):
        if name == "tried":
            continue  # told of with the restarts
        severity, words = EVENTS.get(name, ("warning", name))
        said = words.replace("{count}", str(count))
        times = f": {count} time{'s' if count != 1 else ''} over the passes" if said == words else ""
        yield Finding(name, severity, said + times, float(count))


def _support(counts: np.ndarray) -> Iterator[Finding]:
    smallest, where = float(np.min(counts)), int(np.argmin(counts))
    if smallest < NEARLY_EMPTY:
        yield Finding("support", "note", f"component {where} stands for only {smallest:.3g} rows", smallest)
    else:
        yield Finding("support", "fine", f"the smallest component stands for {smallest:.6g} rows", smallest)
