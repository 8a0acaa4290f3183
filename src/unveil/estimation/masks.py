"""What a user may say of the entries of a parameter: given, fixed or tied; words and arrays into checked arrays.

`fixed` names parameters that stay at the value that they start from, `tied` those of which entries share one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from unveil.core.arrays import Array, Floats, Labels, Mask

SUM_ROUNDING = 1e-12  # by which a sum of probabilities may miss 1 and stay as it is
SUM_TOLERANCE = 1e-6  # by which it may miss 1 and be mended


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
    return array_of(f"tied[{name!r}]", labels, shape).astype(np.intp)


def check_names(argument: str, given: Any, known: tuple[str, ...]) -> None:
    """Refuse a mapping with a parameter that the model does not have."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise ValueError(f"{argument} must be a mapping of parameters to masks, got {type(given).__name__}")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"{argument} must name parameters among {', '.join(map(repr, known))}, got {unknown[0]!r}")


def probabilities(argument: str, value: Any, shape: tuple[int, ...], allowed: Mask | None = None) -> Floats | None:
    """What a user gave as a table of probabilities, checked; None where nothing is given."""
    return None if value is None else table_of(argument, value, shape, allowed)


def table_of(argument: str, value: Any, shape: tuple[int, ...], allowed: Mask | None = None) -> Floats:
    """A table of probabilities, checked."""
    table = array_of(argument, value, shape).astype(np.float64)
    if not np.all(np.isfinite(table)) or np.any(table < 0) or np.any(np.abs(table.sum(axis=-1) - 1) > SUM_TOLERANCE):
        raise ValueError(f"{argument} must be non-negative and each row sum to 1, got {table.tolist()}")
    if allowed is not None and np.any(table[~allowed] > 0):
        raise ValueError(f"{argument} must be 0 where transitions rules a step out, got {table.tolist()}")
    sums = table.sum(axis=-1, keepdims=True)
    checked: Floats = np.where(np.abs(sums - 1) > SUM_ROUNDING, table / sums, table)  # what is right keeps its last bit
    return checked


def array_of(argument: str, value: Any, shape: tuple[int, ...]) -> Array:
    """`value` as an array of numbers of `shape`, or an error that names the argument."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be an array of shape {shape}: {error}") from None
    if array.shape != shape:
        raise ValueError(f"{argument} must have shape {shape}, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{argument} must hold numbers, got {array.dtype}")
    return array


def floats_of(name: str, value: Any, shape: tuple[int, ...]) -> Floats | None:
    """`value` as finite float64 numbers of `shape`; None where nothing is given."""
    if value is None:
        return None
    array: Floats = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array


def _spread(argument: str, value: Any, shape: tuple[int, ...]) -> Array:
    """A mask of the whole shape, from one of it or of the states alone."""
    array = np.asarray(value)
    if array.shape == shape[:1] and len(shape) > 1:
        array = array.reshape(-1, *[1] * (len(shape) - 1))
        return np.broadcast_to(array, shape).copy()
    return array_of(argument, value, shape)
