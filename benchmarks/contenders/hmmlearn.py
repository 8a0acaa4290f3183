"""hmmlearn, https://hmmlearn.readthedocs.io, with both of its implementations: "scaling" and "log".

Its prior on covariances is switched off, since the others have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hmmlearn.hmm import CategoricalHMM, GaussianHMM

from benchmarks.contenders.interface import Arrays, Run


def gaussian_chain(arrays: Arrays, implementation: str) -> Run:
    """GaussianHMM with full covariances."""

    def run(steps: int) -> Arrays:
        model = _gaussian(arrays, implementation, steps).fit(arrays["rows"], arrays["lengths"])
        return {
            "start": model.startprob_,
            "transition": model.transmat_,
            "means": model.means_,
            "covariances": model.covars_,
        }

    return run


def categorical_chain(arrays: Arrays, implementation: str) -> Run:
    """CategoricalHMM."""

    def run(steps: int) -> Arrays:
        model = _categorical(arrays, implementation, steps).fit(arrays["rows"], arrays["lengths"])
        return {"start": model.startprob_, "transition": model.transmat_, "emissions": model.emissionprob_}

    return run


def gaussian_chain_decoding(arrays: Arrays) -> Run:
    """decode by Viterbi."""
    model = _gaussian(arrays, "log", 1)
    return lambda steps: {"states": model.decode(arrays["rows"], arrays["lengths"])[1]}


def categorical_chain_decoding(arrays: Arrays) -> Run:
    """decode by Viterbi."""
    model = _categorical(arrays, "log", 1)
    return lambda steps: {"states": model.decode(arrays["rows"], arrays["lengths"])[1]}


def _gaussian(arrays: Arrays, implementation: str, steps: int) -> Any:
    options = {"covars_prior": 0.0, **_options(implementation, steps)}
    model = _started(GaussianHMM(len(arrays["start"]), covariance_type="full", **options), arrays)
    model.means_, model.covars_ = arrays["means"].copy(), arrays["covariances"].copy()
    return model


def _categorical(arrays: Arrays, implementation: str, steps: int) -> Any:
    model = _started(CategoricalHMM(len(arrays["start"]), **_options(implementation, steps)), arrays)
    model.n_features = arrays["emissions"].shape[1]
    model.emissionprob_ = arrays["emissions"].copy()
    return model


def _options(implementation: str, steps: int) -> dict[str, Any]:
    return {"n_iter": steps, "tol": -np.inf, "init_params": "", "implementation": implementation}


def _started(model: Any, arrays: Arrays) -> Any:
    model.startprob_, model.transmat_ = arrays["start"].copy(), arrays["transition"].copy()
    return model
