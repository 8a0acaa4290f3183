"""What a user gives of a chain: in its place at the start, and shown as it was given, to the last bit, if it stays put.

A fit works in a frame: rows, and the means of states with them, less a vector that suits the data, and there and back
again is not the identity in floating point. Tables are made to sum to 1, and rates kept off 0, too. So nothing that is
fixed is shown by way of the fit's own numbers: it is noted before the fit begins, goes along with the stream, and is
put in its place among the fitted attributes. Tables hold NaN where an entry moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.model.constraints import CHAIN, allowed_steps, first_states
from unveil.chains.model.model import MarkovParams
from unveil.core.arrays import Floats
from unveil.estimation.emissions.base import Emission
from unveil.estimation.masks import fixed_entries, probabilities


def in_place(estimator: Any, params: MarkovParams, shift: Floats) -> MarkovParams:
    """First parameters with what the user gave in place."""
    k, steps = estimator.n_components, estimator.transitions
    model, emission = estimator._model(shift), estimator._emission()
    start = probabilities("startprob_init", estimator.startprob_init, (k,), first_states(steps, k))
    transition = probabilities("transmat_init", estimator.transmat_init, (k, k), allowed_steps(steps, k))
    if start is not None:
        model.start_rule.check(start, "startprob_init")
    if transition is not None:
        model.transition_rule.check(transition, "transmat_init")
    return MarkovParams(
        params.start if start is None else start,
        params.transition if transition is None else transition,
        model.family.settled(emission.placed(params.emissions, emission.given(shift))),  # what is tied is equal
    )


def noted(estimator: Any, emission: Emission, recalled: bool) -> dict[str, Floats]:
    """What stays of each parameter, from the attributes where a fit goes on from them, or else as a start gives it."""
    given = {}
    for name in (*CHAIN, *emission.names):
        stays, value = (
            _stays(estimator, emission, name),
            getattr(estimator, name + ("_" if recalled else "_init"), None),
        )
        if stays is not None and value is not None:
            given[name] = np.where(stays, emission.as_shown(name, value), np.nan)
    return given


def handed_back(estimator: Any, emission: Emission, given: dict[str, Floats]) -> dict[str, Floats]:
    """Put what is given in its place among the attributes; the part of it that still stays is returned."""
    left = {}
    for name, table in given.items():
        stays = _stays(estimator, emission, name)
        here = np.zeros(table.shape, dtype=np.bool_) if stays is None else stays & ~np.isnan(table)
        if here.any():
            left[name] = np.where(here, table, np.nan)
            shown = emission.as_shown(name, getattr(estimator, f"{name}_"))
            setattr(estimator, f"{name}_", emission.as_attribute(name, np.where(here, table, shown)))
    return left


def _stays(estimator: Any, emission: Emission, name: str) -> Any:
    """Which entries of a parameter stay where they are; None where none does."""
    if name in CHAIN:
        return fixed_entries(estimator.fixed, name, (estimator.n_components,) * (1 + CHAIN.index(name)))
    return emission.fixed(estimator.fixed, estimator.tied, name, emission.shapes()[name])
