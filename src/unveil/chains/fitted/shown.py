"""What a notebook is told of a fitted chain: its states, how long they last, and where they lead."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.estimation.html.card import Card, climbed, listed
from unveil.estimation.html.grid import Grid


def card(model: Any) -> Card:
    """States, shares of the steps, expected stays, the likelihood; transitions as a grid."""
    states = len(model.startprob_)
    shares = getattr(model, "occupancy_", None)
    seen = shares if shares is not None and np.all(np.isfinite(shares)) else model.get_stationary_distribution()
    results = [
        ("states", f"{states}, with {listed(seen)} of the steps"),
        ("stays", f"{listed(model.expected_durations(), '.3g')} steps on average"),
        ("parameters", f"{model.n_parameters():,}"),
        *climbed(model, "step"),
    ]
    names = tuple(f"state {number + 1}" for number in range(states))
    table = np.asarray(model._chain().plan.transition)
    return Card(results, Grid("chance to go from a row's state to a column's", names, names, table, written=True))
