"""pomegranate, https://pomegranate.readthedocs.io, on PyTorch.

It adds nothing to covariances, so the others run with reg_covar=0. Its classes follow the precision of their
parameters: float64 as for the others, or float32, which is PyTorch's default.
"""

from __future__ import annotations

import torch
from pomegranate.distributions import Normal
from pomegranate.gmm import GeneralMixtureModel

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.machine import cores


def mixture(arrays: Arrays, precision: str) -> Run:
    """GeneralMixtureModel of Normal."""
    dtype: torch.dtype = getattr(torch, precision)
    torch.set_default_dtype(dtype)
    torch.set_num_threads(cores())
    rows, means, covariances = (torch.tensor(arrays[name], dtype=dtype) for name in ("rows", "means", "covariances"))

    def run(steps: int) -> Arrays:
        # Parameters are updated in place, so every fit gets copies.
        parts = [Normal(mean.clone(), cov.clone()) for mean, cov in zip(means, covariances, strict=True)]
        priors = torch.tensor(arrays["weights"], dtype=dtype)
        model = GeneralMixtureModel(parts, priors=priors, max_iter=steps, tol=-float("inf")).fit(rows)
        return {
            "weights": model.priors.numpy().astype("float64"),
            "means": torch.stack([part.means for part in parts]).numpy().astype("float64"),
            "covariances": torch.stack([part.covs for part in parts]).numpy().astype("float64"),
        }

    return run
