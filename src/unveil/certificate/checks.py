"""What the path of a fit says of it: how it ended, whether the bound fell, whether starts agree, what was mended.

These checks read the public attributes of an estimator alone (`history_`, and `weights_` or the cluster sizes where
there are any), so they can be made again from a saved model. What the parameters say is `unveil.certificate.figures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import isfinite, isnan

import numpy as np

from unveil.certificate.certificate import Certificate, Finding
from unveil.certificate.figures import finite, judge
from unveil.certificate.remaining import gain_left
from unveil.core.result import History, Status

ROUNDING = 1e-9  # a fall of the objective below this share of its size is rounding, not a fault
AGREEMENT = 1e-6  # restarts whose objectives differ by less than this share found the same optimum
NEARLY_EMPTY = 5.0  # a component that stands for fewer rows than this is hardly supported by the data
ONE_ROW = 1.5  # rows: a cluster that stands for fewer is one row by itself
LEFT_PER_ROW = 1e-3  # nats: a hundred times what the default rule leaves,
LEAST_ROWS = 1000.0  # and a nat in all, which a comparison of models may turn on
NOTHING = 1e-2  # share of that below which a single gain says that nothing much is left
SEVERAL_STARTS = 3  # of two starts that differ one is always the best alone
CLEARLY_WORSE = 1e-3  # nats per row, and one nat at least: no two ends of one climb are so far apart
CLEARLY_DEARER = 0.01  # share of the objective, where that is a cost in units of the data

EVENTS = {
    "floored": ("note", "a component had to be kept from degenerating (variance or probability at its floor)", ""),
    "reseeded": ("note", "a component that no row belonged to was put elsewhere", ""),
    "taken_back": ("note", "a leap would have lowered the bound and was taken back", ""),
    "shortened": ("note", "a step had to be shortened until it climbed", ""),
    "empty": ("warning", "a component had no rows and kept its parameters", "ask for fewer components"),
    "emptied": ("note", "a cluster had no rows", ""),
    "relocated": ("note", "a cluster that had no rows was moved to the row furthest from its centre", ""),
    "polished": ("note", "rows moved one by one, each to a lower cost, where the passes had ended: {count}", ""),
    "dropped": ("note", "clusters that had no rows in the end and were dropped: {count}", ""),
    "singular_rows": ("note", "a row had too few cells to determine its scores, and took the shortest that fit", ""),
    "singular_columns": (
        "note",
        "a column had too few cells to determine its coefficients, and moved no further than needed",
        "",
    ),
    "left_empty": (
        "warning",
        "clusters left without rows: {count}; fewer rows differ than n_clusters, or the start was unlucky",
        "fewer n_clusters, more n_init or another policy for empty_clusters may help",
    ),
}
"""Severity, words and remedy of what is reported; what is not listed counts as a warning.

Models and schedules report how often something happened. Words with a {count} tell of how things are in the end.
"""
TOLD_ELSEWHERE = frozenset({"tried", "repeated"})  # events that are told of with the restarts


def examine(
    history: History,
    counts: np.ndarray | None = None,
    excuse: str | None = None,
    figures: Mapping[str, float] | None = None,
    later: Callable[[], Mapping[str, float]] | None = None,
    more: Iterable[Finding] = (),
) -> Certificate:
    """Check a fit by its history, by how many rows each component stands for, and by figures of its parameters.

    `excuse` says why the free energy may fall although the schedule promises that it does not. `figures` may hold any
    of the names in `unveil.certificate.figures`; a model that has some climbs a likelihood, in nats. `later` gives more
    of them, when somebody looks. `more` is what is found elsewhere: it stands in place of findings of the same name.

    >>> from unveil.core.result import Record
    >>> climb = tuple(Record(value, value, value, 272.0, 0.0) for value in (-1200.0, -1131.0, -1130.3, -1130.293))
    >>> print(examine(History(climb, status=Status.CONVERGED), figures={"overlap": 0.015}))
    Is the fit sound? Yes.
      note     a single start: other optima were not looked for (n_init starts do)
      fine     converged after 4 passes
      fine     the free energy never fell
      fine     about 7.1e-07 nats are left to gain in all
      fine     components overlap by at most 1.5%
    Does the model describe the data? Not examined.
    Are the groups real? Not examined.
    """
    likely = figures is not None
    findings = [*_convergence(history), *_monotone(history, excuse)]
    findings += [
        *(_remaining(history, "components" in (figures or {})) if likely else ()),
        *_restarts(history, likely, counts is not None and len(counts) == 1),
        *_events(history),
    ]
    if counts is not None:
        findings.extend(_support(counts))
    findings.extend(judge(figures or {}, history, excuse))
    own = tuple(more)
    names = {finding.name for finding in own}
    kept = [finding for finding in findings if finding.name not in names]
    put_off = None if later is None else partial(_judged_later, later, history, excuse)
    return Certificate((*kept, *own), put_off)


def _judged_later(later: Callable[[], Mapping[str, float]], history: History, excuse: str | None) -> Iterator[Finding]:
    return judge(later(), history, excuse)


def _convergence(history: History) -> Iterator[Finding]:
    count = len(history)
    passes = f"{count} pass{'es' if count != 1 else ''}"
    severity, message, remedy = {
        Status.CONVERGED: ("fine", f"converged after {passes}", ""),
        Status.INTERRUPTED: ("warning", f"interrupted after {passes}; the best so far is kept", "fit again"),
        Status.STREAMING: ("note", f"fed batch by batch, {count} so far: convergence is not tested", ""),
        Status.MAX_ITER: ("warning", f"not converged: stopped at the limit of {passes}", "raise max_iter or tol"),
    }[history.status]
    yield Finding("converged", severity, message, float(count), kind="not_converged", remedy=remedy)


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


def _remaining(history: History, components: bool) -> Iterator[Finding]:
    """What is left to gain, by the last gains, where these are those of an ascent.

    Components may move far on their way to the end of a slow climb; a map or a plane hardly does.
    """
    if history.status is Status.STREAMING or not history.monotone or len(history) < 2:
        return
    gained = history[-1].objective - history[-2].objective
    for finding in remaining_finding(gain_left(history.heights), gained, history[-1].weight):
        yield replace(finding, severity="note") if finding.severity == "doubt" and not components else finding


def remaining_finding(left: float, gained: float, weight: float) -> Iterator[Finding]:
    """What to say of nats that are left, where the last pass `gained` some; nothing where nobody knows and few can be.

    >>> next(remaining_finding(3.0, 0.5, 200.0)).words
    'about 3 nats are left to gain in all; lower tol or raise max_iter'
    """
    much, remedy = LEFT_PER_ROW * max(weight, LEAST_ROWS), "lower tol or raise max_iter"
    if isfinite(left):
        severity, message = "doubt" if left > much else "fine", f"about {_amount(left)} nats are left to gain in all"
        yield Finding("remaining_gain", severity, message, left, remedy=remedy if left > much else "")
    elif abs(gained) > NOTHING * much:
        last = f"the last pass gained {gained:.2g} nats"
        why = "too few passes to tell what is left" if isnan(left) else "gains do not shrink: no end is in sight"
        yield Finding(
            "remaining_gain", "doubt" if gained > much or left > 0 else "note", f"{last}; {why}", remedy=remedy
        )


def _amount(nats: float) -> str:
    return f"{nats:,.0f}" if nats >= 100 else f"{nats:.2g}"


def _restarts(history: History, likely: bool, alone: bool) -> Iterator[Finding]:
    """How many starts reached the best objective; the figure is the spread of all."""
    finals = np.nan_to_num(np.array(history.restarts), nan=-np.inf, neginf=-np.inf)
    if history.status is Status.STREAMING:
        return
    if alone and len(finals) < 2:
        yield Finding("restarts", "fine", "one component: where it starts does not matter")
        return
    if len(finals) < 2:
        tried = history.events.get("tried", 1)
        start = f"one climb, from the best of {tried} short runs" if tried > 1 else "a single start"
        searched = "hardly" if tried > 1 else "not"
        message = f"{start}: other optima were {searched} looked for (n_init starts do)"
        yield Finding("restarts", "note", message)
        return
    if not np.isfinite(finals.max()):
        yield Finding("restarts", "note", f"none of {len(finals)} starts completed a pass")
        return
    yield _agreement(_different(finals, history.events.get("repeated", 0)), history[-1].weight if likely else None)


def _different(finals: np.ndarray, repeated: int) -> np.ndarray:
    """The ends of different starts: those that began where another did ended where it did, to the bit."""
    again = [final for final, times in Counter(finals.tolist()).items() for _ in range(times - 1)][:repeated]
    kept = finals.tolist()
    for final in again:
        kept.remove(final)
    return np.array(kept)


def _agreement(finals: np.ndarray, weight: float | None) -> Finding:
    """Whether different starts found the same optimum; `weight` is that of all rows where heights are in nats."""
    falling = np.sort(finals)[::-1]
    best, worst, count = float(falling[0]), float(falling[-1]), len(falling)
    agree = int(np.count_nonzero(best - finals <= AGREEMENT * max(abs(best), 1.0)))
    message = f"{agree} of {count} starts reached the best objective, {best:.6g}; the worst {worst:.6g}"
    message = "all starts began at the same place: other optima were not looked for" if count == 1 else message
    clearly = CLEARLY_DEARER * abs(best) if weight is None else max(CLEARLY_WORSE * weight, 1.0)
    alone = agree == 1 and count >= SEVERAL_STARTS and best - float(falling[1]) > clearly
    severity = "fine" if agree > 1 else "doubt" if alone else "note"
    return Finding("restarts", severity, message, finite(best - worst), remedy="raise n_init" if alone else "")


def _events(history: History) -> Iterator[Finding]:
    for name, count in sorted(history.events.items()):
        if name in TOLD_ELSEWHERE:
            continue
        severity, words, remedy = EVENTS.get(name, ("warning", name, ""))
        said = words.replace("{count}", str(count))
        times = f": {count} time{'s' if count != 1 else ''} over the passes" if said == words else ""
        yield Finding(name, severity, said + times, float(count), remedy=remedy)


def _support(counts: np.ndarray) -> Iterator[Finding]:
    smallest, where = float(np.min(counts)), int(np.argmin(counts))
    if smallest < ONE_ROW:
        message, remedy = f"cluster {where} is {smallest:.3g} row by itself", "ask for fewer clusters"
        yield Finding("support", "doubt", message, smallest, kind="few_rows", remedy=remedy)
    elif smallest < NEARLY_EMPTY:
        yield Finding("support", "note", f"component {where} stands for only {smallest:.3g} rows", smallest)
    else:
        yield Finding("support", "fine", f"the smallest component stands for {smallest:.6g} rows", smallest)
