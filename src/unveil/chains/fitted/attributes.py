"""Fitted attributes that somebody may have set by hand: one that does not fit to the others is refused by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.arrays import Floats
from unveil.estimation.masks import table_of

COVARIANCE_ASYMMETRY = 1e-6  # that rounding may cause, as a share of the largest entry


def check_attributes(estimator: Any) -> None:
    """Refuse attributes of a hidden Markov model that are no numbers or have the wrong shape, by their names."""
    held = vars(estimator)
    if "startprob_" not in held:
        return  # it knows its parameters by other names
    estimator._validate_params()
    k = len(_numbers("startprob_", held["startprob_"], ("n_components",)))
    steps = _numbers("transmat_", held["transmat_"], ("n_components", "n_components"))
    if steps.shape != (k, k):
        raise ValueError(f"transmat_ must have shape {(k, k)}, as startprob_ has {k} states, got {steps.shape}")
    parts, width = getattr(estimator, "n_mix", 1), getattr(estimator, "n_features_in_", "n_features")
    if "means_" in held:
        _numbers("means_", held["means_"], (k, width) if parts == 1 else (k, parts, width))
        _check_shares(held, k, parts)
    if np.ndim(held.get("covariances_", [])) == 0:
        raise ValueError(f"covars_ must be an array of covariances, got {held['covariances_']!r}")
    if "lambdas_" in held and np.any(_numbers("lambdas_", held["lambdas_"], (k, width)) < 0):
        raise ValueError(f"lambdas_ must be expected counts from 0 on, got {np.asarray(held['lambdas_']).tolist()}")
    if "emissionprob_" in held:
        _check_tables(held["emissionprob_"], k, held.get("categories_"))


def _check_shares(held: dict[str, Any], k: int, parts: int) -> None:
    """Shares of the parts of each state, where states are mixtures."""
    if parts == 1:
        return
    if "weights_" not in held:
        raise NotFittedError(f"weights_, of shape {(k, parts)}, is not there: states of n_mix={parts} parts need it")
    table_of("weights_", held["weights_"], (k, parts))


def _check_tables(shown: Any, k: int, categories: Any) -> None:
    """Probabilities of symbols: a table, or a list of tables for several columns."""
    several = isinstance(shown, list | tuple) and np.ndim(shown[0]) == 2
    tables = list(shown) if several else [shown]
    counts = ["n_symbols"] * len(tables) if categories is None else [max(len(values), 1) for values in categories]
    if len(counts) != len(tables):
        raise ValueError(f"emissionprob_ must have a table for each of {len(counts)} columns, got {len(tables)}")
    for table, count in zip(tables, counts, strict=True):
        _numbers("emissionprob_", table, (k, count))


def _numbers(name: str, value: Any, wanted: tuple[Any, ...]) -> Floats:
    """`value` as finite numbers of a shape, in which words stand for any number."""
    shape = f"({', '.join(map(str, wanted))}{',' if len(wanted) == 1 else ''})"
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers of shape {shape}, got {value!r}") from None
    fits = array.ndim == len(wanted) and all(
        isinstance(size, str) or size == found for size, found in zip(wanted, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array.tolist()}")
    return array


def check_emissions(model: HiddenMarkov, params: MarkovParams, covars: bool) -> None:
    """Refuse emissions of another number of states, and covariances, where there are `covars_`, that are none."""
    states = len(model.family.means(params.emissions))
    if states != len(params.start):
        raise ValueError(f"startprob_ has {len(params.start)} states, but the emissions have {states}")
    if covars:
        family, emissions, _ = model.family.told_apart(params.emissions, params.start)
        dense = family.covariances(emissions)
        away = np.abs(dense - np.swapaxes(dense, 1, 2)).max(axis=(1, 2))
        crooked = away > COVARIANCE_ASYMMETRY * np.abs(dense).max(axis=(1, 2))
        if crooked.any():
            number = int(np.argmax(crooked))
            raise ValueError(f"covars_ must be symmetric, got {dense[number].tolist()} for number {number}")
