"""The mark of a mixture: the best of ten fits by scikit-learn that is sound by unveil's guard against artefacts.

The likelihood of a mixture has no maximum: a component may shrink around a few rows. So the best of many fits is often
an artefact, which `unveil.estimation.degenerate` tells from a fit; those are passed over. Nothing here is timed.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.ordinary.judges import MIXTURE
from benchmarks.tasks.base import Arrays

FITS = 10
MOST_ROWS = 10_000
REGULARISER = 1e-6  # of covariances, the default of both libraries
LEARNT = {"weights": "weights_", "means": "means_", "covariances": "covariances_"}


class Mark(NamedTuple):
    """What the best sound fit reached."""

    value: float  # log-likelihood per row; not a number where no fit was sound
    sound: int  # fits of ten


def best_sound(arrays: Arrays) -> Mark:
    """Of ten fits from ten seeds, one by one."""
    first, k = FITS * int(arrays["seed"]), int(arrays["k"])
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some do not converge
        for seed in range(first, first + FITS):
            model = GaussianMixture(k, random_state=seed).fit(arrays["rows"])
            solution = {name: getattr(model, attribute) for name, attribute in LEARNT.items()}
            if spurious(arrays, solution) is None:
                values.append(MIXTURE.worth(arrays, solution))
    return Mark(max(values, default=np.nan), len(values))


def spurious(arrays: Arrays, solution: Arrays) -> str | None:
    """Why the guard takes a fit with full covariances for an artefact, whoever made it; None where it does not."""
    from unveil.estimation.degenerate import degeneracy, steps_of

    fitted = SimpleNamespace(
        covariance_type="full",
        reg_covar=REGULARISER,
        history_=[SimpleNamespace(weight=float(len(arrays["rows"])))],
        **{attribute: solution[name] for name, attribute in LEARNT.items()},
    )
    return degeneracy(fitted, steps_of(arrays["rows"]))
