"""pomegranate, https://pomegranate.readthedocs.io, on PyTorch.

It adds nothing to covariances, so the others run with reg_covar=0. Its classes follow the precision of their
parameters: float64 as for the others, or float32, which is PyTorch's default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from pomegranate.distributions import Bernoulli, Categorical, Normal
from pomegranate.gmm import GeneralMixtureModel
from pomegranate.hmm import DenseHMM

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


def gaussian_chain(arrays: Arrays, precision: str) -> Run:
    """DenseHMM of Normal."""

    def normals() -> list[Any]:
        return [Normal(*(torch.tensor(part) for part in pair)) for pair in _pairs(arrays, "means", "covariances")]

    return _chain(arrays, precision, normals, {"means": "means", "covariances": "covs"})


def categorical_chain(arrays: Arrays, precision: str) -> Run:
    """DenseHMM of Categorical."""

    def categories() -> list[Any]:
        return [Categorical(torch.tensor(one[None], dtype=getattr(torch, precision))) for one in arrays["emissions"]]

    return _chain(arrays, precision, categories, {"emissions": "probs"})


def _pairs(arrays: Arrays, *names: str) -> Any:
    return zip(*(arrays[name] for name in names), strict=True)


def _chain(arrays: Arrays, precision: str, distributions: Callable[[], list[Any]], parameters: dict[str, str]) -> Run:
    """DenseHMM, which also learns where sequences end; that is left out of what it is judged by."""
    dtype: torch.dtype = getattr(torch, precision)
    torch.set_default_dtype(dtype)
    torch.set_num_threads(cores())
    rows = arrays["rows"]
    sequences = torch.tensor(rows.reshape(len(arrays["lengths"]), -1, rows.shape[1]))

    def run(steps: int) -> Arrays:
        parts = distributions()
        edges, starts = (torch.tensor(arrays[name], dtype=dtype) for name in ("transition", "start"))
        model = DenseHMM(parts, edges=edges, starts=starts, max_iter=steps, tol=0.0).fit(sequences)
        found = {"start": torch.exp(model.starts), "transition": torch.exp(model.edges)}
        found |= {ours: torch.stack([getattr(part, theirs) for part in parts]) for ours, theirs in parameters.items()}
        solution = {name: value.numpy().astype("float64") for name, value in found.items()}
        solution["transition"] = solution["transition"] / solution["transition"].sum(axis=1, keepdims=True)
        if "emissions" in solution:
            solution["emissions"] = solution["emissions"][:, 0]
        return solution

    return run


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
