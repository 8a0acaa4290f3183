"""Fitted attributes that somebody may have set by hand: whether they fit together, and whether they changed since.

An attribute that does not fit is refused by its name. What the attributes say is a model that is made ready once, and
kept for as long as they hold the same numbers: a call with one observation takes less time than making it ready.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.exceptions import NotFittedError

from unveil.chains.fitted.belief import digest
from unveil.chains.model.constraints import table_of
from unveil.chains.model.model import HiddenMarkov, MarkovParams, MarkovPlan
from unveil.core.arrays import Floats
from unveil.families.gaussian import Gaussian
from unveil.numerics.blas import single_threaded_blas

ASYMMETRY = 1e-6  # of a covariance, as a share of its largest entry
LARGE = 1 << 22  # bytes of attributes that are not kept a second time
LEARNING = {"schedule", "expectation", "max_iter", "tol", "n_init", "init_params", "warm_start", "random_seed_"}
RECORDS = {"history_", "certificate_", "lower_bound_", "lower_bounds_", "converged_", "n_iter_"}
APART = LEARNING | RECORDS | {"engine", "random_state", "algorithm", "verbose", "verbose_interval"}
"""What the model that attributes describe does not depend on."""


class Planned(NamedTuple):
    """The model that some attributes describe, as it suits a few rows, what every block needs, and a name for it."""

    model: HiddenMarkov
    plan: MarkovPlan
    name: str


_kept: WeakKeyDictionary[Any, tuple[bytes, Planned]] = WeakKeyDictionary()


def planned(estimator: Any, fitted: Callable[[], tuple[HiddenMarkov, MarkovParams]]) -> Planned:
    """The attributes of an estimator made ready: what was kept, if they hold the same as then."""
    found, kept = _fingerprint(estimator), _kept.get(estimator)
    if kept is not None and found == kept[0]:
        return kept[1]
    check_attributes(estimator)
    model, params = fitted()
    _check_emissions(model, params)
    with single_threaded_blas():
        plan = model.prepare(model.recentre(params))
    made = Planned(model.suited_to(1), plan, digest(plan.params, model.shift))
    found = _fingerprint(estimator)  # the first use of attributes set by hand adds to them
    if found is not None:
        _kept[estimator] = (found, made)
    return made


def _fingerprint(estimator: Any) -> bytes | None:
    """All that predictions depend on, as bytes; None where it cannot be told, or would take much room."""
    parts = {name: value for name, value in vars(estimator).items() if name not in APART and name[0] != "_"}
    try:
        found = pickle.dumps(parts, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return found if len(found) <= LARGE else None


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


def _check_emissions(model: HiddenMarkov, params: MarkovParams) -> None:
    """Refuse emissions of another number of states, and covariances that are none."""
    states = len(model.family.means(params.emissions))
    if states != len(params.start):
        raise ValueError(f"startprob_ has {len(params.start)} states, but the emissions have {states}")
    family, emissions, _ = model.family.told_apart(params.emissions, params.start)
    if isinstance(family, Gaussian):
        dense = family.structure.dense(emissions.covariances, *emissions.means.shape)
        away = np.abs(dense - np.swapaxes(dense, 1, 2)).max(axis=(1, 2))
        crooked = away > ASYMMETRY * np.abs(dense).max(axis=(1, 2))
        if crooked.any():
            number = int(np.argmax(crooked))
            raise ValueError(f"covars_ must be symmetric, got {dense[number].tolist()} for number {number}")
