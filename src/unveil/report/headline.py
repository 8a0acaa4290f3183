"""The paragraph at the top: how many groups there are, and whether the mixture describes the rows.

It follows the three verdicts. What is not sound is said first; groups that are not real are none; how much evidence
BIC has for a number of components is told only where every component is a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unveil.judgement.criteria.criteria import CLEAR_LEAD
from unveil.report.analysis import Analysis
from unveil.report.words import combination, count, listed, shape_of, spelled, weighted
from unveil.selection.judged import STRONG
from unveil.selection.outcome import merit
from unveil.selection.verdict import caveats

VERBS = {
    "no": ("comes closest to the density", "come closest to the density"),
    "not examined": ("was fitted", "were fitted"),
}
DOUBTS = {"sound": "whether the fit is sound", "describes": "whether the mixture describes the rows"}


def summary(analysis: Analysis) -> str:
    """The whole of it."""
    rows, columns = count(analysis.n_rows, "row"), count(len(analysis.table.names), "column")
    parts = [f"{rows}, {columns} of numbers.", *_unsound(analysis), groups(analysis), *_shares(analysis)]
    parts += [*_undescribed(analysis), *_doubts(analysis), *confidence(analysis)]
    if analysis.plane is not None and len(analysis.names) > 2:
        share = float(analysis.plane.share.sum())
        parts += [f"Two directions carry {share:.0%} of the variance of {len(analysis.names)} columns."]
    return " ".join(parts)


def choice(analysis: Analysis) -> str:
    """The outcome of the comparison."""
    selection, noun = analysis.selection, analysis.naming.noun
    best = f"{combination(selection.best_params_, noun)} (BIC {selection.best_score_:,.1f})"
    others = [analysis.naming.say(words) for words in caveats(selection.standing)]
    return " ".join([groups(analysis), f"Best by BIC: {best}.", *confidence(analysis), *others])


def groups(analysis: Analysis) -> str:
    """How many groups there are."""
    size, other = analysis.judged.n_clusters, better(analysis)
    if size is None:
        return f"How many groups there are is not clear: {other or _first(analysis, 'real') or 'it was not examined'}."
    number = f"There are {spelled(size) if size > 1 else 'no'} groups"
    number = "Groups were not looked for" if size == 1 and _alone(analysis) else number
    if other:
        return f"{number}: {other}."
    if analysis.naming.apart:
        return f"{number}, {shape_of(analysis)}."
    return f"{number}: {_components(analysis)}."


def confidence(analysis: Analysis) -> list[str]:
    """How clear BIC is about the number of components and their shape."""
    selection, standing, noun = analysis.selection, analysis.selection.standing, analysis.naming.noun
    if standing.runner_up is None:
        return ["There was nothing else to compare it with."]
    if standing.edges:
        return [f"More {noun}s than were tried might describe the rows better still."]
    parts = _number(analysis, selection.table[selection.best_index_])
    runner_up = standing.runner_up
    if runner_up["n_components"] == selection.n_components and standing.lead < CLEAR_LEAD:
        as_well = combination(runner_up, noun)
        parts += [f"The shape is less clear: {as_well} would do as well (BIC differs by {standing.lead:.1f})."]
    return parts


def _number(analysis: Analysis, best: Mapping[str, Any]) -> list[str]:
    """The best against the next best of another size."""
    rule, noun = analysis.selection.rule, analysis.naming.noun
    fitted = [row for row in analysis.selection.table if row["error"] is None and not row["degenerate"]]
    others = [row for row in fitted if row["n_components"] != best["n_components"]]
    if best["degenerate"] or not others:
        return []
    rival = max(others, key=lambda row: merit(rule, row))
    lead, other = abs(best["bic"] - rival["bic"]), combination(rival, noun)
    if lead < CLEAR_LEAD:
        return [f"BIC alone does not settle the number: {other} would do as well (it differs by {lead:.1f})."]
    if not analysis.naming.apart:
        return [f"The next best number by BIC, {other}, is {lead:,.1f} behind."]
    return [f"The evidence of BIC against the next best number, {other}, is {rule.words(lead)} ({lead:,.1f})."]


def _components(analysis: Analysis) -> str:
    """What the components of the mixture are, where they are no groups of their own."""
    k, described = len(analysis.model.weights_), analysis.judged.certificate.verdicts["describes"]
    one, several = VERBS.get(described, ("describes the density", "describe the density"))
    said = f"one component {one}" if k == 1 else f"{spelled(k)} components {several}"
    if _alone(analysis):
        return f"{said}, and more were not tried"
    if k == 1:
        return f"{said}, and no split into several explains the rows better"
    return f"{said}; they form one cluster" if analysis.judged.n_clusters == 1 else f"{said}; {merged(analysis)}"


def _alone(analysis: Analysis) -> bool:
    """Was a single component all that was tried?"""
    return max(analysis.selection.grid["n_components"]) == 1


def merged(analysis: Analysis) -> str:
    """Which components are one group."""
    found = analysis.naming.merged
    parts = [
        f"components {listed([str(member + 1) for member in members])} are {analysis.naming.cluster(cluster)}"
        for cluster, members in found
    ]
    return "; ".join(parts)


def better(analysis: Analysis) -> str:
    """Another model that describes the rows clearly better, and so has the say in how many groups there are."""
    others = analysis.judged.alternatives
    if not others or others[0].gain <= STRONG:
        return ""
    other, k = others[0], others[0].n_components
    size = f"{spelled(k)} component{'' if k == 1 else 's'}"
    better = f"with {analysis.naming.say(other.words)}, {size} would describe the rows better"
    return f"{better} (BIC is lower by {other.gain:,.1f})"


def _shares(analysis: Analysis) -> list[str]:
    """How large the groups are, where they are those of the mixture."""
    clusters = analysis.naming.clusters
    if not analysis.naming.grouped:
        return []
    homes = [[component] for component in range(len(clusters))]
    if not analysis.naming.apart:
        homes = [analysis.naming.members(cluster) for cluster in sorted(set(clusters))]
    shares = {group.number: group.share for group in analysis.groups}
    sizes = [f"{sum(shares.get(component, 0.0) for component in home):.0%}" for home in homes]
    return [f"They hold {listed(sizes, 12)} of the {'weight' if weighted(analysis) else 'rows'}."]


def _unsound(analysis: Analysis) -> list[str]:
    if analysis.judged.certificate.verdicts["sound"] != "no":
        return []
    return [f"The fit is not sound: {_first(analysis, 'sound')}."]


def _undescribed(analysis: Analysis) -> list[str]:
    if analysis.judged.certificate.verdicts["describes"] != "no":
        return []
    return [f"The mixture does not describe the rows: {_first(analysis, 'describes')}."]


def _doubts(analysis: Analysis) -> list[str]:
    verdicts = analysis.judged.certificate.verdicts
    doubts = [words for question, words in DOUBTS.items() if verdicts[question] == "doubtful"]
    return [f"It is doubtful {listed(doubts)}; the verdicts below say why."] if doubts else []


def _first(analysis: Analysis, question: str) -> str:
    """The worst that was found, and the first of what can be tried."""
    reasons = analysis.judged.certificate.reasons(question)
    if not reasons:
        return ""
    remedy = next((reason.remedy for reason in reasons if reason.remedy), "")
    return analysis.naming.say("; ".join(part for part in (reasons[0].message, remedy) if part))
