"""How columns go together: a map of correlations and associations, and the pairs that go together most."""

from __future__ import annotations

from unveil.plot.columns.correlations import association, correlations
from unveil.plot.labels import plain
from unveil.plot.marks.frame import NUMBERS
from unveil.reporting import words
from unveil.reporting.parts import Block, Section, Text
from unveil.reporting.sections.common import NAME_LENGTH, figure, sentence
from unveil.reporting.study.analysis import Analysis

STRONG, NOTABLE = 0.7, 0.3  # of a correlation or an association
PAIRS_TOLD = 5
SCALE = (
    f"0 is nothing in common and 1 all, with a minus where one falls as the other grows (a correlation); from "
    f"{NOTABLE} on it is notable, from {STRONG} on strong."
)


def together(analysis: Analysis) -> Section | None:
    """The map; nothing for a single column."""
    if len(analysis.rows.names) < 2:
        return None
    found = association(analysis.rows.frame, analysis.rows.names)
    pairs = found.pairs(NOTABLE)
    signed = {name for name, kind in zip(found.names, found.kinds, strict=True) if kind in NUMBERS}
    said = [
        f"{plain(a, NAME_LENGTH)} and {plain(b, NAME_LENGTH)} ({value:{'+' if {a, b} <= signed else ''}.2f})"
        for a, b, value in pairs[:PAIRS_TOLD]
    ]
    strong = sum(abs(value) >= STRONG for _, _, value in pairs)
    if not pairs:
        lead = "No two columns go together notably: knowing one says little of another."
    elif len(pairs) == 1:
        lead = f"Two columns go together {'strongly' if strong else 'notably'}: {said[0]}."
    else:
        strongly = {0: "none", len(pairs): "all"}.get(strong, words.spelled(strong))
        amount = sentence(words.spelled(len(pairs)))
        lead = f"{amount} pairs of columns go together notably, {strongly} of them strongly."
    blocks: list[Block] = [Text(f"Most of all {words.listed(said)}.")] if len(said) > 1 else []
    blocks += [*_copies(analysis), Text(SCALE, quiet=True)]
    if len(analysis.rows.names) > 2:  # of two columns all is said
        plot = correlations(found)
        blocks.append(figure("correlations", plot, "Map of how strongly every two columns go together"))
    return Section("together", "How columns go together", lead, blocks)


def _copies(analysis: Analysis) -> list[Block]:
    """Columns that say what another says already."""
    copies = [role for role in analysis.prepared.roles if role.role == "near-copy"]
    said = [f"{plain(role.name, NAME_LENGTH)} (of {plain(role.copy_of, NAME_LENGTH)})" for role in copies]
    return [Text(f"Left out of the model as near-copies: {words.listed(said)}.")] if said else []
