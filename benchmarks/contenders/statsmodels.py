"""statsmodels, https://www.statsmodels.org: PCA that fills in missing cells by least squares on the plane."""

from __future__ import annotations

import numpy as np
from statsmodels.multivariate.pca import PCA

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.factors import closed_form


def factors(arrays: Arrays) -> Run:
    """PCA with missing="fill-em"; the noise is that of the filled rows, as in the closed form."""
    rows, count = arrays["rows"], int(arrays["n_components"])

    def run(steps: int) -> Arrays:
        model = PCA(rows, ncomp=count, missing="fill-em", standardize=False, tol_em=1e-4, max_em_iter=1000)
        return closed_form(np.asarray(model._adjusted_data), count)

    return run
