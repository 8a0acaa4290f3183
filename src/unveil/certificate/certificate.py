"""A certificate with every fit: what was checked, and whether the answer can be trusted.

A finding is "fine", a "note" (worth knowing, and common in good fits) or a "warning" (it speaks against the fit).
Some checks take longer than a small fit and hardly ever speak against one: these are made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from typing import Any

SEVERITIES = ("warning", "note", "fine")  # the worst first


class FitWarning(UserWarning):
    """A fit whose certificate holds a warning."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, and the figure behind the words where there is one."""

    name: str
    severity: str  # "fine", "note" or "warning"
    message: str
    value: float | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a fit was checked for.

    Examples
    --------
    >>> from unveil.certificate import Certificate, Finding
    >>> fall = Finding("bound", "fine", "the free energy never fell", 0.0)
    >>> certificate = Certificate((fall, Finding("support", "note", "component 1 stands for only 2.5 rows", 2.5)))
    >>> print(certificate)
    The fit can be trusted as far as it was checked.
      note     component 1 stands for only 2.5 rows
      fine     the free energy never fell
    >>> certificate["support"].value, "overlap" in certificate
    (2.5, False)
    """

    at_once: tuple[Finding, ...]
    later: Callable[[], Iterable[Finding]] | None = field(default=None, repr=False)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All of them; asked for the first time, the checks that were put off are made."""
        return self.at_once if self.later is None else (*self.at_once, *self.later())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.findings == other.findings

    def __hash__(self) -> int:
        return hash(self.findings)

    def __reduce__(self) -> Any:
        return Certificate, (self.findings,)  # a copy or a pickle needs no more than the words

    @property
    def ok(self) -> bool:
        """Whether nothing worse than a note was found."""
        return all(finding.severity != "warning" for finding in self.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of the findings that speak against the fit."""
        return tuple(finding.message for finding in self.findings if finding.severity == "warning")

    @property
    def verdict(self) -> str:
        """All of it in one sentence."""
        return "The fit can be trusted as far as it was checked." if self.ok else "The fit needs a second look."

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
        return "\n".join([self.verdict, *(f"  {found.severity:8} {found.message}" for found in self._worst_first())])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        cells = ((escape(found.severity), escape(found.message)) for found in self._worst_first())
        rows = "".join(f"<tr><td>{severity}</td><td>{message}</td></tr>" for severity, message in cells)
        return f"<p>{escape(self.verdict)}</p><table>{rows}</table>"

    def _worst_first(self) -> list[Finding]:
        """Findings by severity, in the order of the checks where it is equal."""
        ranks = {severity: rank for rank, severity in enumerate(SEVERITIES)}
        return sorted(self.findings, key=lambda finding: ranks.get(finding.severity, len(ranks)))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, for a file."""
        return {"findings": [asdict(finding) for finding in self.findings]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote down."""
        return cls(tuple(_finding(one) for one in plain["findings"]))


def _finding(plain: Mapping[str, Any]) -> Finding:
    """A finding from a file; older ones hold no figures."""
    name, severity, message = (str(plain[key]) for key in ("name", "severity", "message"))
    value = plain.get("value")
    return Finding(name, severity, message, None if value is None else float(value))
