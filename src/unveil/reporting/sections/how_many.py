"""How many groups: the comparison of mixtures in a picture and in words."""

from __future__ import annotations

from typing import Any

from unveil.plot.comparison import criteria
from unveil.plot.scores import selection as score_plot
from unveil.plot.structures import GLOSSES, NAMES
from unveil.reporting import words
from unveil.reporting.headline import confidence, headline, joined, many_columns, naming
from unveil.reporting.naming import PageNaming
from unveil.reporting.parts import Block, Cell, Fold, Head, Section, TableBlock, Text
from unveil.reporting.sections.common import figure, say, sentence
from unveil.reporting.study.analysis import Analysis
from unveil.selection.verdict import caveats

BIC_GLOSS = (
    "BIC, the Bayesian information criterion, is how badly a mixture explains the rows plus a price for every number "
    "that it needs: lower is better. How many components describe the density is one question, how many groups there "
    "are another: components without a valley between them are one group."
)


def how_many(analysis: Analysis) -> Section:
    """BIC over the number of components and the structure, as a figure and a table."""
    outcome, sampled = analysis.found.selection, analysis.found.sampled
    # where another mixture took its place, the groups of the page are not those of the best here
    noun = naming(analysis).noun if analysis.found.is_winner else "component"
    winner = words.combination(outcome.best_params_, noun)
    several = sum(row["error"] is None for row in outcome.table) > 1
    best = f"Best by BIC: {winner} (BIC {outcome.best_score_:,.1f})."
    blocks: list[Block] = [Text(" ".join([best, *confidence(analysis)]))]
    if analysis.found.adopted:
        blocks.append(Text(_adopted(analysis)))
    blocks += [Text(said) for said in many_columns(analysis)]
    if analysis.grouped and naming(analysis).merged:
        blocks.append(Text(f"{sentence(joined(analysis))}."))
    if sampled < analysis.rows.n_rows:
        part = f"{sampled:,} of {analysis.rows.n_rows:,} rows"
        blocks.append(
            Text(f"The comparison ran on a reproducible sample of {part}; the winner was then fitted to all.", True)
        )
    blocks.append(Text(BIC_GLOSS, quiet=True))
    if several:
        drawn = score_plot(outcome)
        blocks.append(figure("bic", drawn, "BIC over the number of components, a line for each structure"))
    if len(outcome.grid["n_components"]) > 1:
        blocks.append(Text("The same question put to other criteria, which weigh fit against size in their own ways:"))
        blocks.append(figure("criteria", criteria(outcome), "Every criterion over the number of components"))
    blocks += [Text(say(analysis, words_), quiet=True) for words_ in caveats(outcome.standing)]
    return Section("how-many", "How many groups?", headline(analysis), [*blocks, _table(analysis)])


def _adopted(analysis: Analysis) -> str:
    other = analysis.found.judged.alternatives[0]
    amount = words.spelled(other.n_components)
    size = f"{amount} {'component describes' if other.n_components == 1 else 'components describe'}"
    return (
        f"None of these describes the rows well; with {say(analysis, _glossed(other.words))}, {size} them better "
        f"(BIC is lower by {other.gain:,.1f}), so that is the model of this report."
    )


def _glossed(name: str) -> str:
    return "Student's distributions, whose tails are heavier than Gaussian ones" if name == "StudentMixture" else name


def _table(analysis: Analysis) -> Fold:
    outcome = analysis.found.selection
    structures = outcome.grid.get("covariance_type", (None,))
    best = tuple(outcome.best_params_.get(name) for name in ("n_components", "covariance_type"))
    cells = {(row["n_components"], row.get("covariance_type")): row for row in outcome.table}
    heads = [Head("components", True), *(_head(structure) for structure in structures)]
    rows: list[list[Cell | str]] = [
        [f"{size}", *(_score(cells.get((size, structure)), (size, structure) == best) for structure in structures)]
        for size in outcome.grid["n_components"]
    ]
    passed = [
        Text(f"Passed over: {words.combination(row)}: {_counted(row['error'] or row['degenerate'])}.", True)
        for number, row in enumerate(outcome.table)
        if number != outcome.best_index_ and (row["error"] or row["degenerate"])
    ]
    return Fold("BIC of every mixture that was tried", [TableBlock("bic-table", heads, rows), *passed])


def _head(structure: str | None) -> Head:
    return Head("BIC", True) if structure is None else Head(NAMES[structure], True, GLOSSES[structure])


def _score(row: dict[str, Any] | None, best: bool) -> Cell:
    if row is None or row["error"] is not None:
        return Cell("\N{EN DASH}", tone="quiet")
    tag = "best" if best else "degenerate" if row["degenerate"] else ""
    return Cell(f"{row['bic']:,.1f}", tone="best" if best else "", tag=tag)


def _counted(message: str) -> str:
    """What is said of a model that was not chosen: components are counted from 1."""
    return PageNaming((), False, ()).say(message)
