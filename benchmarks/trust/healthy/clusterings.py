"""Clusterings of round groups of one size, with as many clusters as there are groups."""

from __future__ import annotations

import unveil
from benchmarks.trust.healthy.case import drawn_from
from benchmarks.trust.healthy.mixtures import spheres

SHAPES = ((60, 2, 2), (150, 2, 3), (300, 4, 3), (500, 2, 5), (1000, 6, 4), (3000, 2, 8), (10_000, 5, 5), (50_000, 3, 4))
CASES = (
    *(drawn_from(unveil.KMeans(k, random_state=0), spheres, (n, d, k)) for n, d, k in SHAPES),
    *(drawn_from(unveil.KernelKMeans(k, gamma=0.05, random_state=0), spheres, (n, d, k)) for n, d, k in SHAPES[:4]),
    *(drawn_from(unveil.KMedoids(k, random_state=0), spheres, (n, d, k)) for n, d, k in SHAPES[:5]),
)
