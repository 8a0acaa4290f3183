"""Sparse EM for trees: q moves only among the trees made of the likeliest symbols of every span (Neal & Hinton 1998).

At a refresh the posterior is computed, and for every span of a sentence its `active` likeliest symbols are kept, and
those of the likeliest tree. Trees with no other symbol at the top and at the bottom of any chain are "in", the others
"off". With Z_in the sum over the former and w = 1 - Z_in / Z the posterior of the latter,

    q = (1 - w) p(tree | tree is in) + w q_off,      q_off frozen as it was at the refresh,

is the best q of that form until the next refresh. Uses are those of a chart kept to the lists, times 1 - w, plus the
frozen ones; and, per sentence,

    F = (1 - w) log Z_in + (frozen uses) . log p + constant,

of which the constant makes F = log Z at the refresh. So F is exact at every pass, and never falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unveil.core.arrays import Floats, Mask
from unveil.core.protocols import Expectation
from unveil.grammar.charts.best import BestCharts
from unveil.grammar.charts.limits import span_number
from unveil.grammar.charts.spans import likeliest_symbols
from unveil.grammar.pcfg.expectations import Chosen, GrammarPlan, SentenceMemo, gather, spent


@dataclass(frozen=True)
class ActiveSymbols:
    """What a block remembers from a refresh."""

    age: int  # passes since
    allowed: Any  # symbols of the spans, as charts take them
    shares: Floats  # (sentences,): 1 - w, times the sentence's weight
    counts: Floats  # (n_rules,): frozen uses
    constant: float


def within_lists(plan: GrammarPlan, memo: SentenceMemo, expectation: Expectation) -> Chosen:
    """Uses and free energy of a block, and its lists."""
    old: ActiveSymbols | None = memo.lists
    if old is None or old.age + 1 >= expectation.refresh:
        return _refresh(plan, memo, int(expectation.active or 1))
    inner = gather(plan, replace(memo, weights=old.shares), old.allowed)
    bound = spent(old.shares, inner.logs) + inner.nothing + spent(old.counts, plan.log_probabilities) + old.constant
    return Chosen(inner.counts + old.counts, bound, bound, replace(old, age=old.age + 1))


def _refresh(plan: GrammarPlan, memo: SentenceMemo, active: int) -> Chosen:
    """The posterior; the likeliest symbols of each span go on its list, the trees with others are frozen."""
    full = gather(plan, memo)
    allowed = _likeliest(plan, memo, active)
    words = replace(memo, empties=0.0)
    inner_logs = gather(plan, words, allowed).logs
    with np.errstate(invalid="ignore"):
        inside = np.where(np.isfinite(inner_logs), np.exp(np.minimum(inner_logs - full.logs, 0.0)), 0.0)
    shares = memo.weights * inside
    inner = gather(plan, replace(words, weights=shares), allowed)
    wordless = gather(plan, memo.without_words()).counts if memo.empties else 0.0
    frozen = np.maximum(full.counts - inner.counts - wordless, 0.0)
    constant = spent(memo.weights, full.logs) - spent(shares, inner.logs) - spent(frozen, plan.log_probabilities)
    bound = spent(memo.weights, full.logs) + full.nothing
    return Chosen(full.counts, bound, bound, ActiveSymbols(0, allowed, shares, frozen, constant))


def _likeliest(plan: GrammarPlan, memo: SentenceMemo, active: int) -> list[Mask]:
    """Symbols of the spans of each sentence, (spans, n) by length and first word; those of its best tree among them."""
    masks = likeliest_symbols(plan.sums, memo.codes, memo.lengths, active)
    best = BestCharts(plan.best, memo.codes, memo.lengths, memo.spans).find()
    for number, (n, mask) in enumerate(zip(memo.lengths.tolist(), masks, strict=True)):
        first, last, top, base = best.nodes[best.ends[number] : best.ends[number + 1], :4].T
        places = span_number(n, first, last)
        if np.isfinite(best.logs[number]):
            mask[places, top] = mask[places, base] = True
    return masks
