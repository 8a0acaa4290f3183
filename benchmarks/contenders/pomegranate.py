"""pomegranate, https://pomegranate.readthedocs.io, on PyTorch.

It adds nothing to covariances, so the others run with reg_covar=0. Its classes follow the precision of their
parameters: float64 as for the others, or float32, which is PyTorch's default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from pomegranate.distributions import Bernoulli, Normal
from pomegranate.gmm import GeneralMixtureModel

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.machine import cores


def mixture(arrays: Arrays, precision: str) -> Run:
    """GeneralMixtureModel of Normal."""
    return _run(arrays, precision, Normal, {"means": "means", "covariances": "covs"})


def diagonal(arrays: Arrays, precision: str) -> Run:
    """GeneralMixtureModel of Normal with covariance_type="diag"."""

    def normal(means: Any, covs: Any) -> Any:
        return Normal(means, covs, covariance_type="diag")

    return _run(arrays, precision, normal, {"means": "means", "covariances": "covs"})


def bernoulli(arrays: Arrays, precision: str) -> Run:
    """GeneralMixtureModel of Bernoulli, whose check that every cell is 0 or 1 is switched off."""

    def yes_or_no(probs: Any) -> Any:
        return Bernoulli(probs, check_data=False)

    return _run(arrays, precision, yes_or_no, {"probabilities": "probs"})


def _run(arrays: Arrays, precision: str, distribution: Callable[..., Any], parameters: dict[str, str]) -> Run:
    """GeneralMixtureModel of a distribution; `parameters` are the names of its parameters, ours and theirs."""
    dtype: torch.dtype = getattr(torch, precision)
    torch.set_default_dtype(dtype)
    torch.set_num_threads(cores())
    rows, *starts = (torch.tensor(arrays[name], dtype=dtype) for name in ("rows", *parameters))

    def run(steps: int) -> Arrays:
        # Parameters are updated in place, so every fit gets copies.
        parts = [distribution(*(part.clone() for part in start)) for start in zip(*starts, strict=True)]
        priors = torch.tensor(arrays["weights"], dtype=dtype)
        model = GeneralMixtureModel(parts, priors=priors, max_iter=steps, tol=-float("inf")).fit(rows)
        found = {"weights": model.priors}
        found |= {ours: torch.stack([getattr(part, theirs) for part in parts]) for ours, theirs in parameters.items()}
        return {name: value.numpy().astype("float64") for name, value in found.items()}

    return run
