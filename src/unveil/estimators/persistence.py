"""Estimators to model files and back.

A file names its class, its parts and nothing else that could be imported: names are looked up in the closed tables of
the registry, so a file can ask for an estimator of unveil and for no other object in the world. Parameters that are
tied to a process (a client of a cluster, a generator, a function) are stored as their default, and that is said.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
from datetime import UTC, datetime
from typing import Any

from unveil.storage.atomic import PathLike
from unveil.storage.file import ModelFileError, read, write
from unveil.storage.values import Arrays, decode, encode

logger = logging.getLogger("unveil")

OBJECTS = {"history_": "unveil.core.result:History", "certificate_": "unveil.certificate:Certificate"}
MISTAKES = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OverflowError)


class Savable:
    """Mixin of the estimators that can be saved."""

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator to a file that `unveil.load` reads.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all, in place of one that may be there.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if _known_class(type(self).__name__) is not type(self):
            raise TypeError(f"only unveil's own estimators can be saved, got {type(self).__qualname__}; pickle may do")
        arrays: Arrays = {}
        header = _described(self)
        header["parameters"], header["not_kept"] = _stored_parameters(self, arrays)
        header["attributes"] = {
            name: _stored_attribute(name, value, arrays) for name, value in vars(self).items() if _is_fitted_name(name)
        }
        header["state"] = encode(self._extra_state(), "state", arrays)
        write(path, header, arrays)
        for name, value in header["not_kept"].items():
            logger.warning("%s: %s=%s was not kept; a loaded model has the default", path, name, value)

    def _extra_state(self) -> dict[str, Any]:
        """What `partial_fit` needs to go on, beyond the public attributes: numbers, words, arrays."""
        return {}

    def _set_extra_state(self, state: dict[str, Any]) -> None:
        """Take back what `_extra_state` gave."""
        if state:
            raise ValueError(f"{type(self).__name__} takes no extra state, got {', '.join(map(repr, state))}")


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
    ...     unveil.load(path).cluster_centers_.tolist()
    [[0.5], [9.5]]
    """
    header, arrays = read(path)
    try:
        return _rebuilt(header, arrays)
    except MISTAKES as error:
        raise ModelFileError(f"{path}: the model file is malformed: {_said(error)}") from error


def _described(estimator: Any) -> dict[str, Any]:
    """What a header says for people and tools; loading uses the class alone."""
    seed = getattr(estimator, "random_state", None)
    return {
        "class": type(estimator).__name__,
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", ())] or None,
        "seed": int(seed) if isinstance(seed, int) else None,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _rebuilt(header: dict[str, Any], arrays: Arrays) -> Any:
    """The estimator that a header and its arrays describe."""
    from sklearn.utils.validation import check_is_fitted

    cls = _known_class(header.get("class"))
    parameters = _section(header, "parameters")
    unknown = sorted(parameters.keys() - inspect.signature(cls).parameters.keys())
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}")
    estimator = cls(**{name: _parameter(value, arrays) for name, value in parameters.items()})
    for name, stored in _section(header, "attributes").items():
        if not _is_fitted_name(name) or hasattr(cls, name):
            raise ValueError(f"{name!r} cannot be an attribute of a fitted {cls.__name__}")
        setattr(estimator, name, _attribute(name, stored, arrays))
    estimator._set_extra_state(decode(header.get("state", {"dict": {}}), arrays))
    check_is_fitted(estimator)
    return estimator


def _known_class(name: Any) -> Any:
    """The estimator that the registry knows by `name`."""
    from unveil.estimators import registry

    if not isinstance(name, str) or name not in registry.ESTIMATORS:
        known = ", ".join(registry.ESTIMATORS)
        raise ValueError(f"class {name!r:.60} is not known; unveil has {known}")
    return registry.lookup(registry.ESTIMATORS[name])


def _section(header: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of the header that maps names to values."""
    section = header.get(name)
    if not isinstance(section, dict):
        raise ValueError(f"its header has no {name}")
    return section


def _stored_parameters(estimator: Any, arrays: Arrays) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters as they are stored, and those that could not be, with how they looked."""
    stored: dict[str, Any] = {}
    not_kept: dict[str, str] = {}
    signature = inspect.signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        try:
            stored[name] = _stored_parameter(value, f"parameter {name}", arrays)
        except TypeError:
            stored[name] = _stored_parameter(signature[name].default, f"parameter {name}", arrays)
            not_kept[name] = f"{value!r:.80}"
    return stored, not_kept


def _stored_parameter(value: Any, name: str, arrays: Arrays) -> Any:
    """A part by the name of its class and its fields; all else as the value it is."""
    from unveil.estimators import registry

    kind = type(value)
    if kind.__name__ in registry.PARTS and kind is registry.lookup(registry.PARTS[kind.__name__]):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        stored = {key: _stored_parameter(item, f"{name}.{key}", arrays) for key, item in fields.items()}
        return {"part": kind.__name__, "fields": stored}
    return encode(value, name, arrays)


def _parameter(stored: Any, arrays: Arrays) -> Any:
    """The value of a parameter, or of a field of a part."""
    from unveil.estimators import registry

    if not (isinstance(stored, dict) and "part" in stored):
        return decode(stored, arrays)
    name = stored["part"]
    if not isinstance(name, str) or name not in registry.PARTS:
        raise ValueError(f"part {name!r:.60} is not known; unveil has {', '.join(registry.PARTS)}")
    fields = _section(stored, "fields")
    return registry.lookup(registry.PARTS[name])(**{key: _parameter(item, arrays) for key, item in fields.items()})


def _is_fitted_name(name: str) -> bool:
    """Is it the name of what a fit leaves behind: one that ends, and does not begin, with an underscore?"""
    return name.endswith("_") and not name.startswith("_") and name.isidentifier()


def _stored_attribute(name: str, value: Any, arrays: Arrays) -> Any:
    return encode(value.to_dict() if name in OBJECTS else value, name, arrays)


def _attribute(name: str, stored: Any, arrays: Arrays) -> Any:
    """The value of a fitted attribute."""
    from unveil.estimators import registry

    value = decode(stored, arrays)
    return registry.lookup(OBJECTS[name]).from_dict(value) if name in OBJECTS else value


def _said(error: BaseException) -> str:
    """What `error` says, on one line; a missing key says nothing but its name."""
    text = " ".join(str(error).split())[:200]
    return f"{text} is missing" if isinstance(error, KeyError) else text or type(error).__name__
