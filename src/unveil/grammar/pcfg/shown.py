"""What a notebook is told of a grammar: its symbols and rules, and those that are used most."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.estimation.html.bars import MOST_LINES, NamedBars
from unveil.estimation.html.card import Card, climbed


def card(model: Any) -> Card:
    """Sizes, the likelihood, the rules of most use with their probabilities."""
    rules, used = list(model.rules_), np.asarray(model.counts_)
    probabilities = np.asarray(model.probabilities_)
    results = [
        ("grammar", f"{len(rules):,} rules, {len(model.words_):,} words"),
        ("pruned", f"{len(model.pruned_rules_):,} rules"),
        *climbed(model, "word"),
    ]
    most = np.argsort(-(used if used.any() else probabilities), kind="stable")[:MOST_LINES]
    names = tuple(str(rules[place]) for place in most)
    return Card(results, NamedBars("rules of most use, and how likely", names, probabilities[most]))
