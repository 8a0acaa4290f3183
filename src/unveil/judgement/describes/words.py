"""How findings of a description are said: names of columns, severity by chance and by what it costs, remedies."""

from __future__ import annotations

from typing import Any

from unveil.certificate import Finding

LEVEL = 0.05  # of all tests of an examination together
MATTERS = 0.04  # nats a row: about what a Gaussian loses on t of five degrees of freedom. A model that loses as much in
#                 one respect is wrong in it
SHOWS = 0.01  # nats a row: about what it loses on a logistic distribution; less is of no consequence


def severity_of(p_value: float, effect: float) -> str:
    """*no* needs both: that it is no chance, and that it matters."""
    if p_value > LEVEL:
        return "fine"
    return "warning" if effect >= MATTERS else "doubt" if effect >= SHOWS else "note"


def column_name(model: Any, column: int) -> str:
    """What users call a column."""
    names = getattr(model, "feature_names_in_", None)
    return f"column {column}" if names is None else f"column {str(names[column])!r}"


def said(kind: str, severity: str, message: str, value: float | None = None, remedy: str = "") -> Finding:
    """A finding on how a model describes the data; its name is its kind."""
    return Finding(kind, severity, message, value, "describes", kind, remedy)
