"""Words into objects: the one place where a string names a part.

Inside there are objects only. Each table maps a word to "module:Class", imported when it is asked for, so that a fit
on threads never loads Dask. No table names a module above this one: what belongs to a subject lives there, and the
estimators themselves are the public names that ``unveil/__init__.pyi`` lists.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

ENGINES = {"threads": "unveil.engines.threads:Threads", "dask": "unveil.engines.dask:Dask"}
SCHEDULES = {
    "batch": "unveil.schedules.batch:Batch",
    "incremental": "unveil.schedules.incremental:Incremental",
    "stepwise": "unveil.schedules.stepwise:Stepwise",
    "gradient": "unveil.schedules.gradient:Gradient",
    "ascent": "unveil.schedules.ascent:Ascent",
    "lbfgs": "unveil.schedules.ascent:LBFGS",
    "squarem": "unveil.schedules.squarem:Squarem",
}
EXPECTATIONS = {
    "exact": "unveil.expectations.exact:Exact",
    "hard": "unveil.expectations.hard:Hard",
    "sampled": "unveil.expectations.sampled:Sampled",
    "sparse": "unveil.expectations.sparse:Sparse",
    "annealed": "unveil.expectations.annealed:Annealed",
}
STRUCTURES = {  # scikit-learn's words, then mclust's: volume, shape and orientation equal, varying or identity
    "full": "unveil.families.covariance.structure:Full",
    "tied": "unveil.families.covariance.structure:Tied",
    "diag": "unveil.families.covariance.structure:Diagonal",
    "spherical": "unveil.families.covariance.structure:Spherical",
    "EII": "unveil.families.covariance.diagonals:EII",
    "VII": "unveil.families.covariance.structure:Spherical",
    "EEI": "unveil.families.covariance.diagonals:EEI",
    "VEI": "unveil.families.covariance.diagonals:VEI",
    "EVI": "unveil.families.covariance.diagonals:EVI",
    "VVI": "unveil.families.covariance.structure:Diagonal",
    "EEE": "unveil.families.covariance.structure:Tied",
    "VEE": "unveil.families.covariance.ellipsoids:VEE",
    "EVE": "unveil.families.covariance.ellipsoids:EVE",
    "VVE": "unveil.families.covariance.ellipsoids:VVE",
    "EEV": "unveil.families.covariance.ellipsoids:EEV",
    "VEV": "unveil.families.covariance.ellipsoids:VEV",
    "EVV": "unveil.families.covariance.ellipsoids:EVV",
    "VVV": "unveil.families.covariance.structure:Full",
}
FAMILIES = {
    "number": "unveil.families.gaussian:Gaussian",
    "count": "unveil.families.poisson:Poisson",
    "yes/no": "unveil.families.bernoulli:Bernoulli",
    "category": "unveil.families.categorical:Categorical",
    "waiting time": "unveil.families.exponential:Exponential",
}
"""What a column may be taken for."""
PARTS = {path.split(":")[1]: path for table in (ENGINES, SCHEDULES, EXPECTATIONS) for path in table.values()}
"""Parts that may stand in a parameter of any estimator, by class name: what a model file may mention."""


@cache
def lookup(path: str) -> Any:
    """The object at "module:name"."""
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


def resolve(argument: str, value: Any, table: Mapping[str, str], method: str) -> Any:
    """`value` itself if it is an object with `method`, or a new object of the class that the word names."""
    if isinstance(value, str):
        if value not in table:
            raise ValueError(f"{argument} must be one of {', '.join(map(repr, table))} or an object, got {value!r}")
        return lookup(table[value])()
    if not callable(getattr(value, method, None)):
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, table))} or an object, got {value!r}")
    return value
