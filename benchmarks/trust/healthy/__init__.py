"""Fits that nothing is wrong with: models on data drawn from them, from 50 rows to 50,000, and well-known tables.

Nothing here is tuned to pass. A density is asked about data that it describes exactly, with rows enough for its
parameters, so whatever speaks against one of these is a false alarm; only the `known` tables are real, and they are
those that the literature fits with the same model.
"""

from __future__ import annotations

from benchmarks.trust.healthy import chains, clusterings, known, mixtures, projections
from benchmarks.trust.healthy.case import Healthy

PARTS = (mixtures, clusterings, projections, chains, known)
HEALTHY: dict[str, Healthy] = {case.name: case for part in PARTS for case in part.CASES}
