"""What a report left behind, against what is expected: every column and every fact, a line for each that is wrong.

The summary is the one of the documents: ``columns[{name, role, used, alerts}]``, ``rows{read, used, imputed}``,
``model{class, parameters}``, ``components``, ``clusters``, ``verdicts{sound, describes, real}``, ``headline``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.tables.case import Case
from benchmarks.tables.expected import ANSWERS, BEGINS, EXACT, NO, YES, Column, Facts

LARGEST_PAGE = 2_200_000  # bytes
VERDICTS = ("sound", "describes", "real")
SHORTEST_NAME = 3  # of a column that is looked for in the headline: "w" is in many words
LEFT_OUT = re.compile(r"left out|leaving out|not used|not modelled|set aside|ignor|without|dropped", re.IGNORECASE)
NONE = re.compile(r"\b(no|none|not|nothing|single|one|1|without)\b", re.IGNORECASE)
REFUSED = re.compile(r"\b(rows?|empty|nothing|columns?)\b", re.IGNORECASE)  # why a table is no table
SPELLED = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


@dataclass(frozen=True)
class Output:
    """What the command left behind."""

    exit_code: int
    said: str  # on the terminal
    summary: Mapping[str, Any] | None = None
    page: str = ""  # its visible text
    page_bytes: int = 0
    groups: Sequence[Any] | None = None  # of the rows file
    n_rows: int | None = None  # of the rows file
    trouble: str = ""  # why a file could not be read
    seconds: float = 0.0


@dataclass
class Verdict:
    """How many columns and facts are right, and what is wrong, in lines."""

    columns_right: int = 0
    columns: int = 0
    facts_right: int = 0
    facts: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return not self.wrong

    def note(self, complaint: str) -> None:
        """A fact was looked at; an empty complaint is none."""
        self.facts += 1
        self.facts_right += not complaint
        self.wrong += [complaint] * bool(complaint)


def judged(case: Case, output: Output, labels: np.ndarray | None = None) -> Verdict:
    """All of it. Where the command failed, that is the one thing to say."""
    verdict = Verdict(columns=len(case.columns))
    verdict.note(_ended(case.facts, output))
    if verdict.wrong or output.exit_code != 0:
        verdict.columns = 0 if verdict.right else verdict.columns
        return verdict
    if output.summary is None:
        verdict.note(output.trouble or "no summary.json was written")
        return verdict
    _columns(verdict, case, output.summary)
    for complaint in _facts(case, output, labels):
        verdict.note(complaint)
    return verdict


def _ended(facts: Facts, output: Output) -> str:
    last = output.said.strip().rsplit("\n", 1)[-1]
    if "Traceback" in output.said or "unexpected" in last:
        return f"ended in a traceback: {last}"
    if output.exit_code not in facts.exit_codes:
        return f"exit code {output.exit_code}, expected {_or(facts.exit_codes)}: {last}"
    if output.exit_code != 0 and not REFUSED.search(last):
        return f"refused, but not for what is wrong with the table: {last}"
    return ""


def _columns(verdict: Verdict, case: Case, summary: Mapping[str, Any]) -> None:
    """Columns in the order of the file; where their number differs, by name."""
    found = list(summary.get("columns", []))
    if len(found) != len(case.columns):
        verdict.note(f"{len(found)} columns in the summary, {len(case.columns)} in the file")
    known = {given.get("name") for given in found} == {column.name for column in case.columns}  # JSON has no order
    by_place = len(found) == len(case.columns) and not known
    pairs = zip(case.columns, found, strict=True) if by_place else _by_name(case.columns, found)
    for expected, given in pairs:
        complaints = [*_column(expected, given)] if given else [f"{expected.name!r} is not in the summary"]
        verdict.columns_right += not complaints
        verdict.wrong += complaints


def _by_name(columns: Sequence[Column], found: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Column, Any]]:
    named = {given.get("name"): given for given in found}
    return ((expected, named.get(expected.name)) for expected in columns)


def _column(expected: Column, given: Mapping[str, Any]) -> Iterator[str]:
    name, role = str(given.get("name")), given.get("role")
    if (expected.named == EXACT and name != expected.name) or (
        expected.named == BEGINS and not name.startswith(expected.name)
    ):
        yield f"column {expected.name!r} is called {name!r}"
    if role not in expected.roles:
        yield f"{name}: role {role!r}, expected {_or(expected.roles)}"
    must = expected.must_be_used
    if not isinstance(given.get("used"), bool) or (must is not None and given["used"] is not must):
        yield f"{name}: used is {given.get('used')!r}, expected {must!r}"
    alerts = given.get("alerts", [])
    for pattern in expected.alerts:
        if not any(re.search(pattern, str(alert), re.IGNORECASE) for alert in alerts):
            yield f"{name}: no alert says {pattern!r}; there are {alerts!r}"


def _facts(case: Case, output: Output, labels: np.ndarray | None) -> Iterator[str]:
    facts, summary = case.facts, output.summary or {}
    yield from _rows(facts, output, summary.get("rows") or {})
    model = summary.get("model") or {}
    if facts.models is not None:
        yield _among("model", model.get("class"), facts.models)
    if facts.components is not None:
        yield _among("components", summary.get("components"), facts.components)
    if facts.groups is not None:
        yield _among("clusters", summary.get("clusters"), facts.groups)
    verdicts = summary.get("verdicts") or {}
    yield "; ".join(filter(None, (_among(name, verdicts.get(name), ANSWERS) for name in VERDICTS)))
    yield _among("groups are real", verdicts.get("real"), facts.real)
    yield _headline(summary)
    yield _mentioned(case.columns, str(summary.get("headline", "")))
    yield from _copies(facts, summary)
    if facts.agreement is not None and labels is not None:
        yield _agreement(facts.agreement, labels, output.groups)
    yield from _page(facts, output)


def _rows(facts: Facts, output: Output, rows: Mapping[str, Any]) -> Iterator[str]:
    yield _among("rows read", rows.get("read"), {facts.rows})
    if facts.all_used:
        yield _among("rows used", rows.get("used"), {facts.rows})
    imputed = rows.get("imputed")
    yield "" if isinstance(imputed, int) and imputed >= 0 else f"rows imputed: {imputed!r}, expected a count"
    yield "" if output.n_rows == facts.rows else f"the rows file has {output.n_rows} rows, expected {facts.rows}"


def _headline(summary: Mapping[str, Any]) -> str:
    """The headline says what the verdicts say: how many groups, or that there are none."""
    headline, clusters = str(summary.get("headline") or ""), summary.get("clusters")
    real = (summary.get("verdicts") or {}).get("real")
    if not headline.strip():
        return "there is no headline"
    if real == NO and not NONE.search(headline):
        return f"groups are not real, and the headline does not say so: {headline!r}"
    if real == YES and not _says_number(headline, clusters):
        return f"the headline does not say that there are {clusters} groups: {headline!r}"
    return ""


def _says_number(headline: str, number: Any) -> bool:
    if not isinstance(number, int):
        return False
    spelled = SPELLED[number] if number < len(SPELLED) else str(number)
    return re.search(rf"\b({number}|{spelled})\b", headline, re.IGNORECASE) is not None


def _mentioned(columns: Sequence[Column], headline: str) -> str:
    """Keys, copies and constants are no news, except as what was left out."""
    news = " ".join(part for part in re.split(r"[.;]\s|\n", headline) if not LEFT_OUT.search(part))
    named = [
        column.name
        for column in columns
        if column.must_be_used is False and "label" not in column.roles and len(column.name) >= SHORTEST_NAME
        if re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", news)
    ]
    return f"the headline speaks of {', '.join(named)}: {headline!r}" if named else ""


def _copies(facts: Facts, summary: Mapping[str, Any]) -> Iterator[str]:
    used = {given.get("name"): given.get("used") for given in summary.get("columns", [])}
    for pair in facts.one_of:
        kept = [name for name in pair if used.get(name)]
        yield "" if len(kept) == 1 else f"of {' and '.join(pair)} one is to be used; used: {kept}"


def _agreement(least: float, labels: np.ndarray, groups: Sequence[Any] | None) -> str:
    if groups is None:
        return "the rows file has no column of groups"
    if len(groups) != len(labels):
        return f"the rows file has {len(groups)} groups for {len(labels)} rows"
    index = adjusted_rand_score(labels, [str(group) for group in groups])
    return (
        ""
        if index >= least
        else f"groups of rows agree with the planted ones by {index:.2f}, expected {least} at least"
    )


def _page(facts: Facts, output: Output) -> Iterator[str]:
    small = 0 < output.page_bytes <= LARGEST_PAGE
    yield "" if small else f"the page has {output.page_bytes} bytes, expected some, and at most {LARGEST_PAGE}"
    for pattern in facts.page_says:
        found = re.search(pattern, output.page, re.IGNORECASE)
        yield "" if found else f"the page does not say {pattern!r}"
    for pattern in facts.page_never:
        said = re.search(pattern, output.page, re.IGNORECASE)
        yield f"the page says {said.group()!r}" if said else ""


def _among(what: str, given: Any, expected: Any) -> str:
    return "" if given in expected else f"{what}: {given!r}, expected {_or(expected)}"


def _or(values: Any) -> str:
    """Choices in words.

    >>> _or((1, 2, 3))
    '1, 2 or 3'
    """
    words = [str(value) for value in (sorted(values, key=str) if isinstance(values, frozenset) else values)]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
