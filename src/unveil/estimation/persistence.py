"""Estimators to model files and back.

A file names its class, its parts and nothing else that could be imported: an estimator is looked up among the public
names of unveil, parts in closed tables and in what the estimator's class says of its own, so a file can ask for no
other object in the world. Parameters that are tied to a process (a client of a cluster, a generator, a function) are
stored as their default, and that is said.
"""

from __future__ import annotations

import inspect
import logging
from datetime import UTC, datetime
from numbers import Integral
from typing import Any

from unveil.core.lazy import HOMES, found
from unveil.storage.atomic import PathLike
from unveil.storage.file import ModelFileError, read, write
from unveil.storage.parts import StorableParts
from unveil.storage.values import Arrays

logger = logging.getLogger("unveil")

RECORDS = {
    "History": "unveil.core.result:History",
    "Certificate": "unveil.certificate:Certificate",
    "Stream": "unveil.estimation.scaffold:Stream",
    "Running": "unveil.schedules.stepwise:Running",
    "Statistics": "unveil.core.statistics:Statistics",
    "CompoundParams": "unveil.families.compound:CompoundParams",
    "GaussianParams": "unveil.families.gaussian:GaussianParams",
    "BernoulliParams": "unveil.families.bernoulli:BernoulliParams",
    "PoissonParams": "unveil.families.poisson:PoissonParams",
    "ExponentialParams": "unveil.families.exponential:ExponentialParams",
    "CategoricalParams": "unveil.families.categorical:CategoricalParams",
    "StudentParams": "unveil.families.student:StudentParams",
    "ProductParams": "unveil.families.product:ProductParams",
    "NormalInverseWishart": "unveil.families.priors:NormalInverseWishart",
}
"""Classes that fitted attributes of any estimator may be of, besides numbers, words and arrays."""


def write_estimator(estimator: Any, path: PathLike) -> None:
    """Write a fitted estimator to a model file."""
    from numpy import asarray
    from sklearn.utils.validation import check_is_fitted

    from unveil.sources.dask import is_dask

    check_is_fitted(estimator)
    cls = type(estimator)
    if _known_class(cls.__name__) is not cls:
        raise TypeError(f"only unveil's own estimators can be saved, got {cls.__qualname__}; pickle may do")
    arrays: Arrays = {}
    header = _described(estimator)
    header["parameters"], header["not_kept"] = _stored_parameters(estimator, arrays)
    kept = {name: value for name, value in vars(estimator).items() if _is_kept(cls, name)}
    fitted = {name: asarray(value) if is_dask(value) else value for name, value in kept.items()}
    records = StorableParts({**RECORDS, **estimator._own_parts})
    header["attributes"] = {name: records.encode(value, name, arrays) for name, value in fitted.items()}
    _check_opens(header, arrays)
    write(path, header, arrays)
    for name, value in header["not_kept"].items():
        logger.warning("%s: %s=%s was not kept; a loaded model has the default", path, name, value)


def _check_opens(header: dict[str, Any], arrays: Arrays) -> None:
    """Refuse what would be refused when the file is opened: better now, while the model is there."""
    try:
        _rebuilt(header, arrays)
    except Exception as error:
        said = f"{header['class']} cannot be saved, since its file would not open"
        raise ValueError(f"{said}: {_said(error)}") from error


def load(path: PathLike) -> Any:
    """The estimator in a model file. No code in the file is run: it holds numbers and words only.

    Parameters
    ----------
    path : path
        A file written by ``estimator.save(path)`` or ``unveil fit``.

    Returns
    -------
    estimator
        Fitted, with the parameters it was saved with; it predicts the same bits.

    Examples
    --------
    >>> import pathlib, tempfile, unveil
    >>> model = unveil.KMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.unveil")
    ...     model.save(path)
    ...     sorted(unveil.load(path).cluster_centers_.ravel().tolist())
    [0.5, 9.5]
    """
    header, arrays = read(path)
    try:
        return _rebuilt(header, arrays)
    except Exception as error:  # whatever a part or a check may raise of values that no save wrote
        raise ModelFileError(f"{path}: the model file is malformed: {_said(error)}") from error


def _described(estimator: Any) -> dict[str, Any]:
    """What a header says for people and tools; loading uses the class alone."""
    given, drawn = getattr(estimator, "random_state", None), getattr(estimator, "random_seed_", None)
    seed = int(given) if isinstance(given, Integral) else drawn
    return {
        "class": type(estimator).__name__,
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", ())] or None,
        "seed": seed if isinstance(seed, int) else None,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _rebuilt(header: dict[str, Any], arrays: Arrays) -> Any:
    """The estimator that a header and its arrays describe."""
    from sklearn.utils.validation import check_is_fitted

    from unveil.estimation.declarations import check_loaded
    from unveil.estimation.registry import PARTS

    cls = _known_class(header.get("class"))
    parameters, attributes = _section(header, "parameters"), _section(header, "attributes")
    unknown = sorted(parameters.keys() - inspect.signature(cls).parameters.keys())
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}")
    parts, records = StorableParts(PARTS | cls._own_parts), StorableParts(RECORDS | cls._own_parts)
    stored = {name: parts.decode(value, arrays) for name, value in parameters.items()}
    estimator = cls(**(getattr(cls, "_of_older_files", {}) | stored))
    for name, stored in attributes.items():
        if not _is_kept(cls, name):
            raise ValueError(f"{name!r} cannot be an attribute of a fitted {cls.__name__}")
        setattr(estimator, name, records.decode(stored, arrays))
    check_is_fitted(estimator)
    check_loaded(estimator, {name: vars(estimator)[name] for name in attributes})
    return estimator


def estimator_names() -> list[str]:
    """The estimators: those of unveil's public names that are written as classes are."""
    return sorted(name for name in HOMES["unveil"] if name[0].isupper())


def _known_class(name: Any) -> Any:
    """The estimator that unveil shows as `name`."""
    if not isinstance(name, str) or name not in estimator_names():
        raise ValueError(f"class {name!r:.60} is not known; unveil has {', '.join(estimator_names())}")
    return found("unveil", name)


def _section(header: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of the header that maps names to values."""
    section = header.get(name)
    if not isinstance(section, dict):
        raise ValueError(f"its header has no {name}")
    return section


def _stored_parameters(estimator: Any, arrays: Arrays) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters as they are stored, and those that could not be, with how they looked."""
    from unveil.estimation.registry import PARTS

    parts, stored, not_kept = StorableParts(PARTS | estimator._own_parts), {}, {}
    signature = inspect.signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        try:
            stored[name] = parts.encode(value, f"parameter {name}", arrays)
        except TypeError:
            stored[name] = parts.encode(signature[name].default, f"parameter {name}", arrays)
            not_kept[name] = f"{value!r:.80}"
    return stored, not_kept


def _is_kept(cls: Any, name: str) -> bool:
    """Is `name` what a fit leaves behind? It ends, and does not begin, with an underscore, and the class has none."""
    if name in cls._resumed_from:
        return True
    return name.endswith("_") and not name.startswith("_") and name.isidentifier() and not hasattr(cls, name)


def _said(error: BaseException) -> str:
    """What `error` says, on one line; a missing key says nothing but its name."""
    text = " ".join(str(error).split())[:200]
    return f"{text} is missing" if isinstance(error, KeyError) else text or type(error).__name__
