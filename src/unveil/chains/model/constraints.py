"""Words and arrays that say how the parameters of a chain may move, into the rules that its M step follows.

`transitions` says which steps are possible at all, `fixed` which entries stay at the value that they start from, `tied`
which entries share one value. For the probabilities of states these become `Stochastic` rules; what they say of the
emissions goes to the family (`unveil.families.held.family`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.model.probability_table import Stochastic, banded, left_right
from unveil.core.arrays import Mask
from unveil.estimation.masks import array_of, fixed_entries, tied_entries

CHAIN = ("startprob", "transmat")  # parameters that every chain has
WORDS = '"any", "left-right", ("banded", width) or a boolean array of shape (n_components, n_components)'


def allowed_steps(transitions: Any, k: int) -> Mask | None:
    """Which steps from state to state are possible, (k, k); None where all are.

    >>> allowed_steps("left-right", 3).astype(int).tolist()
    [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    """
    if isinstance(transitions, str):
        if transitions == "any":
            return None
        if transitions == "left-right":
            return left_right(k)
    elif isinstance(transitions, tuple) and len(transitions) == 2 and isinstance(transitions[0], str):
        word, width = transitions
        if word == "banded" and isinstance(width, int | np.integer) and not isinstance(width, bool) and width >= 0:
            return banded(k, int(width))
    else:
        return _step_mask(transitions, k)
    raise ValueError(f"transitions must be {WORDS}, got {transitions!r}")


def _step_mask(transitions: Any, k: int) -> Mask:
    mask = array_of("transitions", transitions, (k, k))
    if mask.dtype.kind != "b" and not np.all((mask == 0) | (mask == 1)):
        raise ValueError(f"transitions must be {WORDS}, got an array of {mask.dtype}")
    mask = mask.astype(np.bool_)
    if not mask.any(axis=1).all():
        state = int(np.argmin(mask.any(axis=1)))
        raise ValueError(f"transitions must leave every state a way to go on, but state {state} has none")
    return mask


def first_states(transitions: Any, k: int) -> Mask | None:
    """Which states a sequence may begin with: from left to right it is the first."""
    if isinstance(transitions, str) and transitions == "left-right":
        return np.arange(k) == 0
    return None


def is_ordered(allowed: Mask | None) -> bool:
    """Whether states can only be left for later ones, so that time tells which comes when."""
    return allowed is not None and len(allowed) > 1 and not np.any(np.tril(allowed, -1))


def start_rule(k: int, transitions: Any, fixed: Any, tied: Any, prior: Any) -> Stochastic:
    """How the probabilities of first states are re-estimated."""
    return _rule("startprob", (k,), first_states(transitions, k), fixed, tied, prior)


def transition_rule(k: int, transitions: Any, fixed: Any, tied: Any, prior: Any) -> Stochastic:
    """How the probabilities of steps are re-estimated."""
    return _rule("transmat", (k, k), allowed_steps(transitions, k), fixed, tied, prior)


def _rule(name: str, shape: tuple[int, ...], allowed: Mask | None, fixed: Any, tied: Any, prior: Any) -> Stochastic:
    held = fixed_entries(fixed, name, shape)
    free = None if held is None else ~held
    labels, alpha = tied_entries(tied, name, shape), concentration(f"{name}_prior", prior, shape)
    return Stochastic(_table(allowed), _table(free), _table(labels), alpha)


def _table(mask: Any) -> Any:
    """A mask as a table, if of one row, as which rules see what they are for."""
    return None if mask is None else np.atleast_2d(mask)


def concentration(argument: str, prior: Any, shape: tuple[int, ...]) -> Any:
    """Parameters of a Dirichlet prior: one number, or one for each entry."""
    given = np.asarray(1.0 if prior is None else prior, dtype=np.float64)
    if not np.all(np.isfinite(given) & (given >= 1)):
        raise ValueError(f"{argument} must hold finite numbers of at least 1, got {prior!r}")
    if given.ndim == 0:
        return float(given)
    if given.shape not in (shape, shape[-1:]):
        raise ValueError(f"{argument} must be a number or an array of shape {shape}, got shape {given.shape}")
    return np.ascontiguousarray(np.broadcast_to(given, shape))
