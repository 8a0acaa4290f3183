"""princurve, the principal curves of R, with its smoothing spline and its own stopping rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.contenders import r_process
from benchmarks.contenders.interface import Arrays, Run

SCRIPT = Path(__file__).with_suffix(".R")


def curve(arrays: Arrays) -> Run:
    """principal_curve with smoother="smooth_spline"."""
    rows = arrays["rows"]
    process = r_process.started(SCRIPT, [str(size) for size in rows.shape], rows)

    def run(steps: int) -> Arrays:
        passes, file = r_process.ask(process, SCRIPT.stem, str(steps)).split()
        projected = np.fromfile(file).reshape(rows.shape, order="F")
        return {"projected": projected, "passes": np.array(int(passes))}

    return run
