"""All tables by name."""

from __future__ import annotations

from benchmarks.tables import bundled, business, formats, planted, series, strangers, structureless, troubles
from benchmarks.tables.case import Case

PARTS = (bundled, business, formats, troubles, strangers, series, planted, structureless)
CATALOGUE: dict[str, Case] = {case.name: case for part in PARTS for case in part.CASES}
WITHOUT_GROUPS = tuple(case.name for case in structureless.CASES)


def chosen(only: str | None = None, third: bool = False) -> list[Case]:
    """Those of a name, or of the third that `make test` runs, or all."""
    if only is not None and only not in CATALOGUE:
        raise ValueError(f"--only must be a table; got {only!r}; there are {', '.join(CATALOGUE)}")
    return [case for case in CATALOGUE.values() if (only in (None, case.name)) and (case.third or not third)]
