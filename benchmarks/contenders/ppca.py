"""The package ppca: probabilistic PCA with holes by EM on standardised columns."""

from __future__ import annotations

import contextlib
import io

import numpy as np
from ppca import PPCA

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.factors import closed_form


def factors(arrays: Arrays) -> Run:
    """PPCA; it keeps the filled rows, whose closed form is judged."""
    rows, count = arrays["rows"], int(arrays["n_components"])

    def run(steps: int) -> Arrays:
        model = PPCA()
        with contextlib.redirect_stdout(io.StringIO()):
            model.fit(rows.copy(), d=count, tol=1e-4)
        return closed_form(np.asarray(model.data * model.stds + model.means), count)

    return run
