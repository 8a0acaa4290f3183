"""Histories made up for the tests of the certificate."""

from __future__ import annotations

from typing import Any

from unveil.core.result import History, Record, Status


def history(*objectives: float, status: Status = Status.CONVERGED, gap: float = 0.0, **fields: Any) -> History:
    """A climb through `objectives`, with a log-likelihood that is higher by `gap`."""
    records = tuple(Record(value + gap, value, value, 10.0, float(i)) for i, value in enumerate(objectives))
    return History(records, status=status, **fields)
