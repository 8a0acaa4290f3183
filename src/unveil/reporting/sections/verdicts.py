"""Three verdicts, and how the fit went."""

from __future__ import annotations

from unveil.certificate import Certificate
from unveil.plot.climb import convergence
from unveil.reporting import words
from unveil.reporting.parts import Block, Fold, Section, Text, Verdicts
from unveil.reporting.sections.common import figure
from unveil.reporting.study.analysis import Analysis

NATS = "Nats are units of log-likelihood: a model that gains one nat a row makes every row 2.7 times as likely."


def verdicts(analysis: Analysis, lights: Certificate) -> Section:
    """The findings behind the lights, in the names of the page, and the climb."""
    model = analysis.model
    state = "converged" if model.converged_ else "did not converge"
    sampled = analysis.found.sampled < analysis.rows.n_rows
    origin = ", the best of several fits to a sample" if sampled else ""
    climb = f"The fit {state} after {words.count(model.n_iter_, 'pass', 'passes')} over the rows{origin}."
    plot = figure("climb", convergence(model.history_), "Log-likelihood at each pass")
    lead = "Is the fit sound, does the model describe the rows, and are the groups real? What each answer rests on:"
    blocks: list[Block] = [Verdicts(lights), Text(NATS, quiet=True), Fold("How the fit climbed", [Text(climb), plot])]
    return Section("verdicts", "Three verdicts", lead, blocks)
