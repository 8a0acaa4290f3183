"""A certificate with every fit: what was checked, and whether the answer can be trusted.

It reads the public attributes of an estimator alone (`history_`, and `weights_` or the cluster sizes where there are
any), so it can be made again from a saved model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unveil.core.result import History, Status

ROUNDING = 1e-9  # a fall of the objective below this share of its size is rounding, not a fault
AGREEMENT = 1e-6  # restarts whose objectives differ by less than this share found the same optimum
NEARLY_EMPTY = 5.0  # a component that stands for fewer rows than this is hardly supported by the data


class FitWarning(UserWarning):
    """A fit whose certificate holds a warning."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    name: str
    severity: str  # "fine", "note" or "warning"
    message: str


@dataclass(frozen=True)
class Certificate:
    """What a fit was checked for.

    Examples
    --------
    >>> from unveil.certificate import Certificate, Finding
    >>> print(Certificate((Finding("bound", "fine", "the free energy never fell"),)))
    The fit can be trusted as far as it was checked.
      fine     the free energy never fell
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing worse than a note was found."""
        return all(finding.severity != "warning" for finding in self.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of the findings that speak against the fit."""
        return tuple(finding.message for finding in self.findings if finding.severity == "warning")

    def __str__(self) -> str:
        verdict = "The fit can be trusted as far as it was checked." if self.ok else "The fit needs a second look."
        return "\n".join([verdict, *(f"  {finding.severity:8} {finding.message}" for finding in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, for a file."""
        return {"findings": [asdict(finding) for finding in self.findings]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote down."""
        return cls(tuple(Finding(str(f["name"]), str(f["severity"]), str(f["message"])) for f in plain["findings"]))


def examine(history: History, counts: np.ndarray | None = None, excuse: str | None = None) -> Certificate:
    """Check a fit by its history and, where it has components, by how many rows each stands for.

    `excuse` says why the free energy may fall although the schedule promises that it does not.
    """
    findings = [*_convergence(history), *_monotone(history, excuse), *_restarts(history), *_events(history)]
    if counts is not None:
        findings.extend(_support(counts))
    return Certificate(tuple(findings))


def _convergence(history: History) -> Iterator[Finding]:
    passes = f"{len(history)} pass{'es' if len(history) != 1 else ''}"
    if history.status is Status.CONVERGED:
        yield Finding("converged", "fine", f"converged after {passes}")
    elif history.status is Status.INTERRUPTED:
        yield Finding("converged", "warning", f"interrupted after {passes}; the best so far is kept")
    elif history.status is Status.STREAMING:
        yield Finding("converged", "note", f"fed batch by batch, {len(history)} so far: convergence is not tested")
    else:
        hint = "raise max_iter or tol"
        yield Finding("converged", "warning", f"not converged: stopped at the limit of {passes}; {hint}")


def _monotone(history: History, excuse: str | None) -> Iterator[Finding]:
    if not history.monotone:
        yield Finding("bound", "note", "the schedule does not promise that the free energy rises at every step")
        return
    fall = history.largest_fall()
    if fall > ROUNDING * max(float(np.max(np.abs(history.column("objective")), initial=0.0)), 1.0):
        reason = "theory says it cannot" if excuse is None else excuse
        yield Finding(
            "bound", "warning" if excuse is None else "note", f"the free energy fell by up to {fall:.3g}: {reason}"
        )
    else:
        yield Finding("bound", "fine", "the free energy never fell")


def _restarts(history: History) -> Iterator[Finding]:
    finals = np.array(history.restarts)
    if history.status is Status.STREAMING:
        return
    if len(finals) < 2:
        yield Finding("restarts", "note", "a single start: other optima were not looked for (n_init starts do)")
        return
    best = float(finals.max())
    agree = int(np.count_nonzero(best - finals <= AGREEMENT * max(abs(best), 1.0)))
    message = f"{agree} of {len(finals)} starts reached the best objective, {best:.6g}; the worst {finals.min():.6g}"
    yield Finding("restarts", "fine" if agree > 1 else "note", message)


def _events(history: History) -> Iterator[Finding]:
    words = {
        "floored": "a component had to be kept from degenerating (variance or probability at its floor)",
        "empty": "a component had no rows and kept its parameters",
    }
    for name, count in sorted(history.events.items()):
        message = f"{words.get(name, name)}: {count} time{'s' if count != 1 else ''} over the passes"
        yield Finding(name, "note" if name == "floored" else "warning", message)


def _support(counts: np.ndarray) -> Iterator[Finding]:
    smallest = float(np.min(counts))
    if smallest < NEARLY_EMPTY:
        where = int(np.argmin(counts))
        yield Finding("support", "note", f"component {where} stands for only {smallest:.3g} rows")
    else:
        yield Finding("support", "fine", f"the smallest component stands for {smallest:.6g} rows")
