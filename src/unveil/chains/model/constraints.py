"""Words and arrays that say how the parameters of a chain may move, into the rules that its M step follows.

`transitions` says which steps are possible at all, `fixed` which entries stay at the value that they start from, `tied`
which entries share one value. For the probabilities of states these become `Stochastic` rules; what they say of the
emissions goes to the family (`unveil.families.held.family`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.chains.model.probability_table import Stochastic, banded, left_right
from unveil.core.arrays import Floats, Labels, Mask

ROUNDING = 1e-12  # by which a sum of probabilities may miss 1
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
    mask = _array("transitions", transitions, (k, k))
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


def fixed_entries(fixed: Any, name: str, shape: tuple[int, ...]) -> Mask | None:
    """Which entries of a parameter stay as they are; None where none does.

    A mask may have one entry for each state in place of the whole shape.
    """
    given = (fixed or {}).get(name)
    if given is None:
        return None
    if isinstance(given, bool | np.bool_):
        return np.ones(shape, dtype=np.bool_) if given else None
    mask = _spread(f"fixed[{name!r}]", given, shape)
    if mask.dtype.kind != "b":
        raise ValueError(f"fixed[{name!r}] must be True or a boolean array of shape {shape}, got one of {mask.dtype}")
    return mask if mask.any() else None


def tied_entries(tied: Any, name: str, shape: tuple[int, ...]) -> Labels | None:
    """Labels of the entries of a parameter that share a value, -1 for those that do not; None where none does.

    Labels may have one entry for each state in place of the whole shape: states with the same label then have the same
    parameter, entry by entry.
    """
    given = (tied or {}).get(name)
    if given is None:
        return None
    labels = np.asarray(given)
    if labels.dtype.kind not in "iu":
        raise ValueError(f"tied[{name!r}] must be an integer array of shape {shape}, got one of {labels.dtype}")
    if labels.shape == shape[:1] and len(shape) > 1:
        size = int(np.prod(shape[1:]))
        each = np.arange(size).reshape(shape[1:])
        wide = labels.reshape(-1, *[1] * (len(shape) - 1))
        return np.where(wide < 0, -1, wide * size + each).astype(np.intp)
    return _array(f"tied[{name!r}]", labels, shape).astype(np.intp)


def check_names(argument: str, given: Any, known: tuple[str, ...]) -> None:
    """Refuse a mapping with a parameter that the model does not have."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise ValueError(f"{argument} must be a mapping of parameters to masks, got {type(given).__name__}")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"{argument} must name parameters among {', '.join(map(repr, known))}, got {unknown[0]!r}")


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


def probabilities(argument: str, value: Any, shape: tuple[int, ...], allowed: Mask | None = None) -> Floats | None:
    """What a user gave as a table of probabilities, checked; None where nothing is given."""
    return None if value is None else table_of(argument, value, shape, allowed)


def table_of(argument: str, value: Any, shape: tuple[int, ...], allowed: Mask | None = None) -> Floats:
    """A table of probabilities, checked."""
    table = _array(argument, value, shape).astype(np.float64)
    if not np.all(np.isfinite(table)) or np.any(table < 0) or np.any(np.abs(table.sum(axis=-1) - 1) > 1e-6):
        raise ValueError(f"{argument} must be non-negative and each row sum to 1, got {table.tolist()}")
    if allowed is not None and np.any(table[~allowed] > 0):
        raise ValueError(f"{argument} must be 0 where transitions rules a step out, got {table.tolist()}")
    sums = table.sum(axis=-1, keepdims=True)
    checked: Floats = np.where(np.abs(sums - 1) > ROUNDING, table / sums, table)  # what is right keeps its last bit
    return checked


def _array(argument: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be an array of shape {shape}: {error}") from None
    if array.shape != shape:
        raise ValueError(f"{argument} must have shape {shape}, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{argument} must hold numbers, got {array.dtype}")
    return array


def _spread(argument: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A mask of the whole shape, from one of it or of the states alone."""
    array = np.asarray(value)
    if array.shape == shape[:1] and len(shape) > 1:
        array = array.reshape(-1, *[1] * (len(shape) - 1))
        return np.broadcast_to(array, shape).copy()
    return _array(argument, value, shape)
