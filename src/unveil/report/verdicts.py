"""The three verdicts as traffic lights with words: each question, its answer, the reasons, and what to try."""

from __future__ import annotations

from typing import Any

from unveil.certificate import Certificate, Finding
from unveil.certificate.certificate import LIGHTS, QUESTIONS, SEVERITIES
from unveil.judgement.case import LOOKED_AT
from unveil.report.analysis import Analysis
from unveil.report.headline import better
from unveil.report.naming import PageNaming


def lights(analysis: Analysis) -> list[dict[str, Any]]:
    """A light for each question."""
    return [_light(analysis.judged.certificate, question, analysis.naming) for question in QUESTIONS]


def notes(analysis: Analysis) -> list[str]:
    """What readers of the verdicts have to know besides."""
    found = []
    if analysis.usable.n_rows > LOOKED_AT:
        found += [f"The second and the third question were asked of a reproducible sample of {LOOKED_AT:,} rows."]
    if other := better(analysis):
        found += [
            f"The verdicts are on the mixture of this page; {other}, and has the say in how many groups there are."
        ]
    return found


def _light(certificate: Certificate, question: str, naming: PageNaming) -> dict[str, Any]:
    answer = certificate.verdicts[question]
    about = [finding for finding in certificate.findings if finding.question == question]
    about.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    told = [_told(finding, naming) for finding in about if finding.severity != "fine"]
    fine = [_told(finding, naming) for finding in about if finding.severity == "fine"]
    return {
        "name": question,
        "question": QUESTIONS[question],
        "answer": answer,
        "colour": LIGHTS[answer],
        "told": told,
        "fine": fine,
    }


def _told(finding: Finding, naming: PageNaming) -> dict[str, str]:
    """A finding and its remedy, in the names of the page."""
    message, remedy = naming.say(finding.message), naming.say(finding.remedy).removeprefix("try ")
    return {"severity": finding.severity, "message": message, "remedy": remedy}
