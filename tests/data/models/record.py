"""What a model says, as JSON that says it exactly, and back: numbers to the last bit, with their types and shapes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

VERBS = (
    *("predict", "predict_proba", "decision_function", "transform", "score_samples", "impute"),
    *("log_likelihoods", "filter", "kbest", "parse", "aic"),
)


def attributes(model: Any) -> dict[str, Any]:
    """What a fit left behind and a file keeps."""
    return {name: plain(value) for name, value in vars(model).items() if _is_public(name)}


def _is_public(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def answers(model: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the model says of the rows that it is asked about."""
    verbs = [verb for verb in VERBS if asked and hasattr(model, verb)]
    return {verb: plain(_answer(model, verb, dict(asked))) for verb in verbs}


def _answer(model: Any, verb: str, asked: dict[str, Any]) -> Any:
    if verb == "kbest" and "lengths" not in asked:  # of sentences, one at a time
        return [model.kbest(sentence, 2) for sentence in asked["X"]]
    return getattr(model, verb)(**asked, **({"k": 2} if verb == "kbest" else {}))


def gone_on(model: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes after one more batch. How well that went is not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = attributes(model.partial_fit(**batch))
    return {name: value for name, value in found.items() if name not in ("history_", "certificate_")}


def plain(value: Any) -> Any:
    """Numbers, words, lists and dictionaries."""
    if isinstance(value, np.ndarray):
        items = [plain(item) for item in value.ravel().tolist()]
        kind = value.dtype.name if value.dtype.kind in "biuf" else "object"
        return {"dtype": kind, "shape": list(value.shape), "items": items}
    if isinstance(value, pd.DataFrame):
        return {"columns": {name: plain(value[name].to_numpy()) for name in value}}
    if hasattr(value, "to_dict"):  # histories and certificates
        return plain(value.to_dict())
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.item() if isinstance(value, np.generic) else str(value)


def rebuilt(stored: Any) -> Any:
    """Tables and arrays from what `plain` made of them; all else as it is."""
    if isinstance(stored, dict) and stored.keys() == {"dtype", "shape", "items"}:
        return np.array(stored["items"], dtype=stored["dtype"]).reshape(stored["shape"])
    if isinstance(stored, dict) and stored.keys() == {"columns"}:
        return pd.DataFrame({name: rebuilt(column) for name, column in stored["columns"].items()})
    if isinstance(stored, dict):
        return {key: rebuilt(value) for key, value in stored.items()}
    return [rebuilt(item) for item in stored] if isinstance(stored, list) else stored
