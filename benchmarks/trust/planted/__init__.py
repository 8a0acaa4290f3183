"""Fits that are wrong in a way that is known, with the verdict and the reason that are expected of each.

`CATALOGUE` has them all: degenerate fits (`degenerate.py`), climbs that were cut off or disagree (`climbs.py`), tables
that a density does not describe (`densities.py`), projections of what has no directions (`projections.py`), chains of
what has no states (`chains.py`), and groups claimed where there are none (`groups.py`).
"""

from __future__ import annotations

from benchmarks.trust.planted import chains, climbs, degenerate, densities, groups, projections
from benchmarks.trust.planted.case import Planted

PARTS = (degenerate, climbs, densities, projections, chains, groups)
CATALOGUE: dict[str, Planted] = {case.name: case for part in PARTS for case in part.CASES}
