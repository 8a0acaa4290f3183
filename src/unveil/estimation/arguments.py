"""Arguments against what an estimator says they may be, as scikit-learn's `_validate_params` does.

That asks `inspect` for their names and makes the constraints anew at every call, which takes longer than a small fit.
Words and numbers that were found valid once are not looked at again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sklearn.utils._param_validation import validate_parameter_constraints

PLAIN = (int, float, str, bool, type(None))  # types whose values never change
MOST_KEPT = 1000  # per class: a seed may be different every time

_valid: dict[type, set[tuple[str, type, Any]]] = {}


def validate(estimator: Any) -> None:
    """Raise scikit-learn's error for the first argument that is not as it should be.

    >>> from unveil import KMeans
    >>> validate(KMeans(2))
    """
    kind: Any = type(estimator)
    known = _valid.setdefault(kind, set())
    given = ((name, getattr(estimator, name)) for name in _checked(kind))
    left = {name: value for name, value in given if type(value) not in PLAIN or (name, type(value), value) not in known}
    if not left:
        return
    validate_parameter_constraints(kind._parameter_constraints, left, caller_name=kind.__name__)
    if len(known) > MOST_KEPT:
        known.clear()
    known.update((name, type(value), value) for name, value in left.items() if type(value) in PLAIN)


@cache
def _checked(kind: Any) -> tuple[str, ...]:
    """Arguments of which something is said."""
    return tuple(name for name in kind._get_param_names() if name in kind._parameter_constraints)
