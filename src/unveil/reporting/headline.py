"""The answer: one sentence that says how many groups there are or that there are none, and what it rests on.

It follows the three verdicts. What is not sound is said first; groups that are not real are none; how much evidence
BIC has for a number of components is told only where every component is a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unveil.judgement.criteria.criteria import CLEAR_LEAD
from unveil.plot.labels import plain
from unveil.plot.structures import SHAPES
from unveil.reporting.naming import PageNaming, naming_of
from unveil.reporting.study.analysis import Analysis
from unveil.reporting.study.modelling import is_wide
from unveil.reporting.words import count, kinds_of, listed, percent, shape_of, spelled
from unveil.selection.outcome import merit

VERBS = {
    "no": ("comes closest to the density", "come closest to the density"),
    "not examined": ("was fitted", "were fitted"),
}
DOUBTS = {"sound": "whether the fit is sound", "describes": "whether the model describes the rows"}
BIC = "BIC, which weighs how well a mixture fits against how many numbers it takes"
PARTS = "parts that add up to the density; they need not be groups"
UNUSED_TOLD = 6  # columns that are not modelled and are named


def naming(analysis: Analysis) -> PageNaming:
    """What the page calls components, groups and columns."""
    return naming_of(analysis.found.judged, len(analysis.model.weights_), analysis.rows.names)


def headline(analysis: Analysis) -> str:
    """One sentence: how many groups there are, or that there are none, and the gravest doubt about it."""
    verdicts = analysis.found.judged.certificate.verdicts
    answer = _answer(analysis)
    if verdicts["sound"] == "no":
        return f"{answer}, but the fit is not sound: {_first(analysis, 'sound')}."
    if verdicts["describes"] == "no" and (analysis.found.judged.n_clusters or 0) > 1:
        return f"{answer}, though the model does not describe them in every respect."
    return f"{answer}."


def _answer(analysis: Analysis) -> str:
    size = analysis.found.judged.n_clusters
    rows = count(analysis.rows.n_rows, "row")
    if size in (None, 1) and analysis.found.selection.undone:
        return f"Whether there are groups among the {rows} is not known: the time was over before that was found out"
    if size is None:
        return f"How many groups there are among the {rows} is not clear"
    if size > 1:
        return f"There are {spelled(size)} groups among the {rows}"
    if _alone(analysis):
        if analysis.settings.max_components == 1:
            return f"Groups were not looked for among the {rows}, since a single component was all that was tried"
        return f"Groups were not looked for among the {rows}: too few of them differ"
    undescribed = analysis.found.judged.certificate.verdicts["describes"] == "no" and len(analysis.model.weights_) > 1
    if is_wide(analysis.rows) or undescribed:
        return f"No groups are to be seen among the {rows}"
    return f"There are no groups among the {rows}: they form one whole"


def rests_on(analysis: Analysis) -> list[str]:
    """What the answer rests on and what was left out, a sentence each."""
    parts = [_used(analysis), *_left_out(analysis), *_sizes(analysis), _density(analysis), *_undescribed(analysis)]
    parts += [*_unclear(analysis), *_doubts(analysis), *confidence(analysis), *many_columns(analysis)]
    parts += [*_over_time(analysis), *_cut(analysis)]
    return parts


def summary(analysis: Analysis) -> str:
    """All of it in one paragraph, for a terminal."""
    return " ".join([headline(analysis), *rests_on(analysis)])


def _used(analysis: Analysis) -> str:
    prepared, rows = analysis.prepared, analysis.rows
    every = len(prepared.table.names)
    columns = f"{len(rows.names):,} of {every:,} columns" if len(rows.names) < every else count(every, "column")
    holes = imputed(analysis)
    used = f"It rests on {count(rows.n_rows, 'row')} and {columns}, {kinds_of(rows)}"
    return (
        f"{used}; {count(holes, 'row')} with missing cells {_were(holes)} used as far as they go."
        if holes
        else f"{used}."
    )


def imputed(analysis: Analysis) -> int:
    """Rows with missing cells that were used all the same."""
    import numpy as np

    return int(np.isnan(analysis.rows.coded).any(axis=1).sum())


def _were(amount: int) -> str:
    return "was" if amount == 1 else "were"


def _left_out(analysis: Analysis) -> list[str]:
    unused = [role for role in analysis.prepared.roles if not role.used]
    said = [f"{plain(role.name)} ({role.role})" for role in unused]
    parts = [f"Not part of the model: {listed(said, UNUSED_TOLD)}."] if said else []
    gone = analysis.prepared.table.n_rows - analysis.rows.n_rows
    if gone:
        why = (
            "in which nothing is known" if analysis.rows.weights is None else "of weight 0 or in which nothing is known"
        )
        parts.append(f"{count(gone, 'row')} {why} {_were(gone)} left out.")
    return parts


def _sizes(analysis: Analysis) -> list[str]:
    """How large the groups are."""
    if not analysis.grouped:
        return []
    sizes = [percent(group.share) for group in analysis.grouping.groups]
    return [f"The groups hold {listed(sizes, 12)} of the {'rows' if analysis.rows.weights is None else 'weight'}."]


def _density(analysis: Analysis) -> str:
    """Which mixture it is."""
    k, described = len(analysis.model.weights_), analysis.found.judged.certificate.verdicts["describes"]
    one, several = VERBS.get(described, ("describes the density", "describe the density"))
    gloss = f" ({PARTS})" if naming(analysis).noun != "group" else ""
    said = f"one component {one}" if k == 1 else f"{spelled(k)} components{gloss} {several}"
    shape = shape_of(analysis.model, len(analysis.rows.numeric))
    said += f", {shape}" if shape and k > 1 else ""
    name, adopted = type(analysis.model).__name__, analysis.found.adopted
    said += f", with {naming(analysis).say(adopted)}" if adopted and adopted != name else ""
    merged = f"; {joined(analysis)}" if analysis.grouped and naming(analysis).merged else ""
    return f"Of the mixtures that were compared ({name}), {said}{merged}."


def joined(analysis: Analysis) -> str:
    """Which components are one group."""
    names = naming(analysis)
    parts = [
        f"components {listed([str(member + 1) for member in members])} are {names.cluster(cluster)}"
        for cluster, members in names.merged
    ]
    return "; ".join(parts)


def confidence(analysis: Analysis) -> list[str]:
    """How clear BIC is about the number of components and their shape."""
    selection, noun = analysis.found.selection, naming(analysis).noun
    standing = selection.standing
    if not analysis.found.is_winner or standing.runner_up is None:
        return []
    if standing.edges:
        return [f"More {noun}s than were tried might describe the rows better still."]
    parts = _number(analysis, selection.table[selection.best_index_])
    runner_up = standing.runner_up
    if runner_up["n_components"] == selection.n_components and standing.lead < CLEAR_LEAD:
        by = "" if parts else f" by {BIC}"
        said = f"{_rival(runner_up, noun)} would do as well{by}"
        parts += [f"The shape is less clear: {said} (BIC differs by {standing.lead:.1f})."]
    return parts


def many_columns(analysis: Analysis) -> list[str]:
    """What so many columns for so few rows mean."""
    rows, directions = analysis.rows, analysis.found.directions
    if not is_wide(rows):
        return []
    shape = f"{count(len(rows.names), 'column')} for {count(rows.n_rows, 'row')}"
    if directions:
        along = (
            "the one direction that carries" if directions == 1 else f"the {spelled(directions)} directions that carry"
        )
        return [
            f"With {shape} BIC asks more for a group than it can gain; along {along} more variance than chance the "
            "groups are clear, and the model begins with them."
        ]
    return [] if analysis.grouped else [f"With {shape} only groups that are far apart can be seen."]


def _number(analysis: Analysis, best: Mapping[str, Any]) -> list[str]:
    """The best against the next best of another size."""
    selection, names = analysis.found.selection, naming(analysis)
    rule, noun = selection.rule, names.noun
    usable = (row for row in selection.table if row["error"] is None and not row["degenerate"])
    fitted = [row for row in usable if not row.get("same_as")]
    others = [row for row in fitted if row["n_components"] != best["n_components"]]
    if best["degenerate"] or not others:
        return []
    rival = max(others, key=lambda row: merit(rule, row))
    lead, other = abs(best["bic"] - rival["bic"]), _rival(rival, noun)
    if lead < CLEAR_LEAD:
        return [f"{BIC}, does not settle the number alone: {other} would do as well (it differs by {lead:.1f})."]
    if not names.apart:
        return [f"By {BIC}, the next best number is {other}, {lead:,.1f} behind."]
    words = rule.words(lead)
    return [f"By {BIC}, the evidence against the next best number, {other}, is {words} ({lead:,.1f})."]


def _rival(params: Mapping[str, Any], noun: str) -> str:
    """A number of components and their shape, in words that need no mathematics."""
    k, word = params["n_components"], params.get("covariance_type")
    shape = f" ({SHAPES[word]})" if word is not None and k > 1 else ""
    return f"{spelled(k)} {noun}{'' if k == 1 else 's'}{shape}"


def _alone(analysis: Analysis) -> bool:
    """Was a single component all that was tried?"""
    return max(analysis.found.selection.grid["n_components"]) == 1


def _undescribed(analysis: Analysis) -> list[str]:
    if analysis.found.judged.certificate.verdicts["describes"] != "no":
        return []
    first = _first(analysis, "describes")
    gloss = " (a nat less makes a row 2.7 times less likely)" if " nats a row" in first else ""
    return [f"The model does not describe the rows: {first}{gloss}."]


def _unclear(analysis: Analysis) -> list[str]:
    if analysis.found.judged.n_clusters is not None:
        return []
    return [f"The number of groups is not clear: {_first(analysis, 'real') or 'it was not examined'}."]


def _doubts(analysis: Analysis) -> list[str]:
    verdicts = analysis.found.judged.certificate.verdicts
    doubts = [words for question, words in DOUBTS.items() if verdicts[question] == "doubtful"]
    return [f"It is doubtful {listed(doubts)}; the verdicts on the page say why."] if doubts else []


def _over_time(analysis: Analysis) -> list[str]:
    if analysis.time is None:
        return []
    k, name = analysis.time.n_states, plain(analysis.time.name)
    if k == 1:
        return [f"In the order of {name} there is no change of regime."]
    return [f"In the order of {name} the rows go through {spelled(k)} regimes."]


def _cut(analysis: Analysis) -> list[str]:
    cut = analysis.settings.clock.cut
    return [f"The time limit cut this short: {listed(cut)}."] if cut else []


def _first(analysis: Analysis, question: str) -> str:
    """The worst that was found, and the first of what can be tried."""
    reasons = analysis.found.judged.certificate.reasons(question)
    if not reasons:
        return ""
    tried = next((reason.remedy for reason in reasons if reason.remedy), "")
    return naming(analysis).say("; ".join(part for part in (reasons[0].message, tried) if part))
