"""How clear a choice is, in plain words: the lead over the runner-up, and whether the grid was wide enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from unveil.judgement.criteria.criteria import CLEAR_LEAD, Criterion

Naming = Callable[[Mapping[str, Any]], str]


class Standing(NamedTuple):
    """How the winner stands against the rest."""

    best: Mapping[str, Any]
    score: float
    runner_up: Mapping[str, Any] | None  # None when nothing else could be fitted
    lead: float  # difference in the criterion to the runner-up
    edges: tuple[str, ...]  # parameters whose best value is the last that was tried
    failed: int  # combinations that could not be fitted
    passed_over: int  # combinations whose fit is degenerate
    degenerate: str  # why the winner itself is degenerate, where nothing else is left
    unconverged: bool  # did the winner stop before it converged?
    undone: int = 0  # combinations that were not reached


def decisive(rule: Criterion, standing: Standing) -> bool:
    """Is there a clear answer?"""
    close = bool(rule.evidence) and standing.lead < CLEAR_LEAD
    return not (close or standing.edges or rule.trend or standing.degenerate)


def say(rule: Criterion, standing: Standing, name: Naming | None = None) -> str:
    """The verdict, two to four sentences; `name` puts a combination into words of its own."""
    name = name or combination
    clear = "" if decisive(rule, standing) else "No clear answer. "
    parts = [f"{clear}Best by {rule.title}: {name(standing.best)} ({rule.title} {standing.score:,.1f})."]
    parts += [_lead(rule, standing, name)]
    parts += [_edge(name, standing.best[name]) for name in standing.edges]
    parts += [f"{rule.title[:1].upper()}{rule.title[1:]} alone cannot choose: {rule.trend}."] if rule.trend else []
    return " ".join([*parts, *caveats(standing)])


def caveats(standing: Standing) -> list[str]:
    """What else there is to know, whatever decided."""
    parts = ["The winner stopped before it converged."] if standing.unconverged else []
    parts += [f"It is degenerate: {standing.degenerate}."] if standing.degenerate else []
    parts += [_count(standing.passed_over, "degenerate and passed over")] if standing.passed_over else []
    parts += [_count(standing.failed, "impossible to fit")] if standing.failed else []
    parts += [_left(standing.undone)] if standing.undone else []
    return parts


def combination(params: Mapping[str, Any]) -> str:
    """A combination as parameters and values."""
    return ", ".join(f"{name} = {value}" for name, value in params.items()) or "the estimator as given"


def _lead(rule: Criterion, standing: Standing, name: Naming) -> str:
    if standing.runner_up is None:
        return "There was nothing to compare it with."
    words = rule.words(standing.lead)
    worth = f", {words}" if words else ""
    if words and standing.lead >= CLEAR_LEAD:
        worth = f"; the evidence for the best is {words}"
    return f"The runner-up, {name(standing.runner_up)}, is {standing.lead:,.1f} behind{worth}."


def _edge(name: str, value: Any) -> str:
    return f"The best {name}, {value}, is at the edge of what was tried; widen the grid."


def _count(count: int, what: str) -> str:
    return f"{count} combination{' was' if count == 1 else 's were'} {what}; the table says why."


def _left(count: int) -> str:
    return f"Interrupted: {count} combination{' was' if count == 1 else 's were'} not tried."
