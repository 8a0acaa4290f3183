"""Three questions about a fit, three verdicts, and the findings that they rest on.

| question | what is asked |
|---|---|
| sound | is the fit an optimum that means something: converged, agreed on, no component on a point? |
| describes | does the model describe the data: margins, tails, dependence? |
| real | are the groups real: apart from each other, and there again in other rows? |

A finding belongs to a question. It is "fine", a "note" (worth knowing, and common in good fits), a "doubt" or a
"warning" (it speaks against the fit). A verdict is *no* where there is a warning, *doubtful* where there is a doubt,
*yes* where something was fine, and *not examined* otherwise. `fit` answers the first question; `unveil.examine` all.
Some checks take longer than a small fit and hardly ever speak against one: these are made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from unveil.core.declared import Declared, ListOf, OrNone, RecordOf, Word, bounds, counts
from unveil.core.once import cached_property

SEVERITIES = ("warning", "doubt", "note", "fine")  # the worst first
QUESTIONS = {
    "sound": "Is the fit sound?",
    "describes": "Does the model describe the data?",
    "real": "Are the groups real?",
}
ANSWERS = {"warning": "no", "doubt": "doubtful", "fine": "yes", "note": "not examined"}
"""What follows of the severities that are there, the first that is."""

LIGHTS = {"yes": "#2e7d32", "doubtful": "#b26a00", "no": "#c62828", "not examined": "#757575"}
"""Colours of the answers; the words stand beside them."""


class FitWarning(UserWarning):
    """A fit that is not sound: its certificate holds a warning."""


class NotConvergedWarning(FitWarning, ConvergenceWarning):  # type: ignore[misc]
    """A fit that ended before it converged; also what scikit-learn warns with."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, the figure behind the words where there is one, and what to try.

    Parameters
    ----------
    name : str
        What was checked; a certificate looks findings up by it.
    severity : {"fine", "note", "doubt", "warning"}
    message : str
        What was found, in words.
    value : float, optional
        The figure behind them.
    question : {"sound", "describes", "real"}
        Which of the three it is about.
    kind : str
        The kind of trouble, one word for all estimators; the name where there is no other.
    remedy : str
        What to try, where something can be done.
    """

    name: str
    severity: str
    message: str
    value: float | None = None
    question: str = "sound"
    kind: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        if not self.kind:
            object.__setattr__(self, "kind", self.name)

    @property
    def words(self) -> str:
        """The message and what to try."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a fit was checked for.

    Attributes
    ----------
    findings : tuple of Finding
        All that was found; ``certificate["support"]`` looks one up by name.
    verdicts : dict
        *yes*, *doubtful*, *no* or *not examined*, by question.
    clusters : tuple of int or None
        The cluster of each component, where that was examined.
    ok : bool
        Whether "sound" is not *no*.

    Examples
    --------
    >>> from unveil.certificate import Certificate, Finding
    >>> fall = Finding("bound", "fine", "the free energy never fell", 0.0)
    >>> certificate = Certificate((fall, Finding("support", "note", "component 1 stands for only 2.5 rows", 2.5)))
    >>> print(certificate)
    Is the fit sound? Yes.
      note     component 1 stands for only 2.5 rows
      fine     the free energy never fell
    Does the model describe the data? Not examined.
    Are the groups real? Not examined.
    >>> certificate["support"].value, "overlap" in certificate
    (2.5, False)
    """

    at_once: tuple[Finding, ...]
    later: Callable[[], Iterable[Finding]] | None = field(default=None, repr=False)
    clusters: tuple[int, ...] | None = None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All of them; asked for the first time, the checks that were put off are made."""
        return self.at_once if self.later is None else (*self.at_once, *self.later())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Certificate):
            return NotImplemented
        return self.findings == other.findings and self.clusters == other.clusters

    def __hash__(self) -> int:
        return hash((self.findings, self.clusters))

    def __reduce__(self) -> Any:
        return Certificate, (self.findings, None, self.clusters)  # a copy or a pickle needs no more than the words

    @property
    def verdicts(self) -> dict[str, str]:
        """The answer to each question."""
        return {question: self._answer(question) for question in QUESTIONS}

    @property
    def ok(self) -> bool:
        """Whether nothing says that the fit is not sound."""
        return self._answer("sound") != "no"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of the findings that speak against the fit."""
        return tuple(finding.words for finding in self.findings if finding.severity == "warning")

    @property
    def verdict(self) -> str:
        """All three answers in a line."""
        return " ".join(f"{asked} {self._answer(question).capitalize()}." for question, asked in QUESTIONS.items())

    def reasons(self, question: str) -> tuple[Finding, ...]:
        """What speaks against a yes to `question`, the worst first."""
        return tuple(found for found in self._worst_first(question) if found.severity in ("warning", "doubt"))

    def _answer(self, question: str) -> str:
        severities = {finding.severity for finding in self.findings if finding.question == question}
        return next((answer for severity, answer in ANSWERS.items() if severity in severities), "not examined")

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"{name!r} was not checked; there are {', '.join(self) or 'no findings'}")

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)

    def __iter__(self) -> Iterator[str]:
        return (finding.name for finding in self.findings)

    def __str__(self) -> str:
        lines = []
        for question, asked in QUESTIONS.items():
            lines += [f"{asked} {self._answer(question).capitalize()}."]
            lines += [f"  {found.severity:8} {found.words}" for found in self._worst_first(question)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        parts = []
        for question, asked in QUESTIONS.items():
            answer = self._answer(question)
            light = f'<span style="color:{LIGHTS[answer]}">\N{BLACK CIRCLE}</span>'
            found = ((escape(each.severity), escape(each.words)) for each in self._worst_first(question))
            rows = "".join(f"<tr><td>{severity}</td><td>{words}</td></tr>" for severity, words in found)
            parts += [f"<p>{light} {escape(asked)} <b>{answer.capitalize()}.</b></p><table>{rows}</table>"]
        return "".join(parts)

    def _worst_first(self, question: str) -> list[Finding]:
        """Findings of a question by severity, in the order of the checks where it is equal."""
        ranks = {severity: rank for rank, severity in enumerate(SEVERITIES)}
        about = [finding for finding in self.findings if finding.question == question]
        return sorted(about, key=lambda finding: ranks.get(finding.severity, len(ranks)))

    @classmethod
    def declared(cls) -> Declared:
        """What one from a file must be."""
        words = {"severity": Word(SEVERITIES), "question": Word(tuple(QUESTIONS))}
        finding = RecordOf(Finding, {**words, "value": OrNone(bounds(gaps=True))})
        return RecordOf(cls, {"findings": ListOf(finding, tuple), "clusters": OrNone(ListOf(counts(), tuple))})

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, for a file."""
        clusters = None if self.clusters is None else list(self.clusters)
        findings = [asdict(finding) for finding in self.findings]
        return {"verdicts": self.verdicts, "findings": findings, "clusters": clusters}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote down."""
        clusters = plain.get("clusters")
        known = None if clusters is None else tuple(int(cluster) for cluster in clusters)
        return cls(tuple(_finding(one) for one in plain["findings"]), clusters=known)


def _finding(plain: Mapping[str, Any]) -> Finding:
    """A finding from a file; older ones hold no figures and know one question only."""
    name, severity, message = (str(plain[key]) for key in ("name", "severity", "message"))
    value = plain.get("value")
    question, kind, remedy = (
        str(plain.get("question", "sound")),
        str(plain.get("kind", "")),
        str(plain.get("remedy", "")),
    )
    return Finding(name, severity, message, None if value is None else float(value), question, kind, remedy)
