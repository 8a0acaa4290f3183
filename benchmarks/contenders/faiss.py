"""faiss, https://faiss.ai: single precision only, and a fixed number of iterations."""

from __future__ import annotations

import faiss
import numpy as np

from benchmarks.contenders.interface import Arrays, Run


def kmeans(arrays: Arrays) -> Run:
    """Kmeans on all rows; by default it would take a sample of 256 rows per cluster."""
    rows = np.ascontiguousarray(arrays["rows"], dtype=np.float32)
    centres = np.ascontiguousarray(arrays["centres"], dtype=np.float32)

    def run(steps: int) -> Arrays:
        model = faiss.Kmeans(
            rows.shape[1], len(centres), niter=steps, nredo=1, max_points_per_centroid=len(rows), seed=1
        )
        model.train(rows, init_centroids=centres)
        return {"centres": np.asarray(model.centroids), "passes": np.array(steps)}

    return run
