"""Planted failures and healthy fits, examined one by one."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import unveil
from benchmarks.table import duration, markdown
from benchmarks.trust.healthy import HEALTHY, Healthy
from benchmarks.trust.planted import CATALOGUE, Planted
from benchmarks.trust.planted.case import Fitted
from benchmarks.trust.report import Report, share

THIRD = 3  # of the cases, in `make test`
MOST_DOUBTFUL = 3  # healthy fits that may be called doubtful
MOST_MISDESCRIBED = 0.05  # share of them whose model may be said not to describe the data
MOST_UNASKED = 0.1  # share of them of which nobody asks that: curves and grammars have no test
ALLOWED_SECONDS, ALLOWED_FITS = 2.0, 10.0  # an examination takes no longer than the longer of the two
QUESTIONS = ("sound", "describes", "real")
ANSWERS = ("yes", "doubtful", "no", "not examined")


class Examined(NamedTuple):
    """A case and what was said of it."""

    name: str
    model: str
    certificate: Any  # None where there was an error
    seconds: float
    fit_seconds: float = 0.0
    trouble: str = ""

    @property
    def too_long(self) -> bool:
        return self.seconds > max(ALLOWED_SECONDS, ALLOWED_FITS * self.fit_seconds)


def examined(name: str, make: Callable[[], Fitted]) -> Examined:
    """Fit and examine."""
    began = time.perf_counter()
    fit = make()
    took, began = time.perf_counter() - began, time.perf_counter()
    certificate = unveil.examine(fit.model, fit.X, **fit.keywords)
    certificate.findings  # noqa: B018  those that are put off belong to its time
    return Examined(name, type(fit.model).__name__, certificate, time.perf_counter() - began, took)


def _safely(name: str, make: Callable[[], Fitted]) -> Examined:
    """A case that ends in an error is one that was missed, and the others go on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return examined(name, make)
    except Exception as error:
        return Examined(name, "", None, 0.0, trouble=f"{type(error).__name__}: {error}")


def chosen(cases: Mapping[str, Any], third: bool) -> dict[str, Any]:
    """All, or every third of them."""
    return dict([*cases.items()][:: THIRD if third else 1])


def planted(third: bool = False) -> Report:
    """Are all failures caught?"""
    cases: dict[str, Planted] = chosen(CATALOGUE, third)
    found = [_safely(name, case.make) for name, case in cases.items()]
    caught = {one.name: one.certificate is not None and cases[one.name].caught(one.certificate) for one in found}
    missed = [_missed(cases[one.name], one) for one in found if not caught[one.name]]
    rows = [_planted_row(question, cases, found, caught) for question in QUESTIONS]
    text = markdown(("question", "failures planted", "caught", "slowest examination"), rows)
    short = [f"{len(missed)} of {len(cases)} planted failures are not caught"] if missed else []
    return Report("Planted failures", text, (*short, *missed))


def _planted_row(
    question: str, cases: Mapping[str, Planted], found: Sequence[Examined], caught: Mapping[str, bool]
) -> list[str]:
    mine = [one for one in found if cases[one.name].question.split("/")[0] == question]
    slowest = max((one.seconds for one in mine), default=0.0)
    return [question, str(len(mine)), share(sum(caught[one.name] for one in mine), len(mine)), duration(slowest)]


def _missed(case: Planted, one: Examined) -> str:
    said = one.trouble or case.said(one.certificate)
    return f"{case.name}: {said}; asked {' or '.join(sorted(case.verdicts))} for {', '.join(sorted(case.kinds))}"


def healthy(third: bool = False, say: Callable[[str], None] = print) -> Report:
    """Are there few false alarms?"""
    cases: dict[str, Healthy] = chosen(HEALTHY, third)
    found = [_safely(name, case.make) for name, case in cases.items()]
    for line in _alarms(found):
        say(line)
    rows = [[question, *_counted(found, question)] for question in QUESTIONS]
    slowest = max(found, key=lambda one: one.seconds)
    text = markdown(("question", *ANSWERS), rows)
    ended = (
        f"{len(found)} healthy fits; the slowest examination took {duration(slowest.seconds)} ({slowest.name}); "
        f"{sum(one.too_long for one in found)} took longer than both 2 s and ten fits."
    )
    return Report("Healthy fits", f"{text}\n\n{ended}", _too_many(found))


def _counted(found: Iterable[Examined], question: str) -> list[str]:
    counts = Counter(one.certificate.verdicts[question] for one in found if one.certificate is not None)
    return [str(counts[answer]) for answer in ANSWERS]


def _alarms(found: Iterable[Examined]) -> Iterable[str]:
    for one in found:
        if one.trouble:
            yield f"{one.name}: {one.trouble}"
            continue
        for question in ("sound", "describes"):
            reasons = one.certificate.reasons(question)
            if reasons:
                kinds = ", ".join(reason.kind for reason in reasons)
                yield f"{one.name}: {question} {one.certificate.verdicts[question]} ({kinds})"


def _too_many(found: Sequence[Examined]) -> tuple[str, ...]:
    """What is asked of healthy fits, and is not so."""
    certificates = [one.certificate for one in found if one.certificate is not None]
    sound = Counter(certificate.verdicts["sound"] for certificate in certificates)
    described = Counter(certificate.verdicts["describes"] for certificate in certificates)
    missed = [f"{one.name}: {one.trouble}" for one in found if one.trouble]
    if sound["no"]:
        missed.append(f"{sound['no']} healthy fits are said not to be sound; none may be")
    if sound["doubtful"] > MOST_DOUBTFUL:
        missed.append(f"{sound['doubtful']} healthy fits are doubtful; {MOST_DOUBTFUL} may be")
    if described["no"] > MOST_MISDESCRIBED * len(found):
        missed.append(f"{described['no']} of {len(found)} healthy models are said not to describe; 5% may be")
    if sound["not examined"] or described["not examined"] > MOST_UNASKED * len(found):
        unasked = f"{sound['not examined']} and {described['not examined']} of {len(found)}"
        missed.append(f"sound and describes are not examined in {unasked} healthy fits; none and 10% may be")
    return tuple(missed)
