"""A model from a file in use: all that may be asked of it, and the laws that its answers obey.

What a file legitimately says may make a question that was a fair one unfair (a column has another name, a word is not
known any more, `partial_fit` goes by other arguments): the library says so by a ValueError, and these are `DECLINED`.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.data.models.record import plain, rebuilt

DECLINED = (
    *("changed since partial_fit began", "call fit anew", "`fit` begins anew", "not implemented for"),
    *(
        "feature names should match",
        "was not there at fit time",
        "were not there",
        "not seen at fit",
        "kept no moments",
        *("have no density", "not one of the classes", "must be from 0 to"),
    ),
)
SUM_TOLERANCE, DRAWN = 1e-6, 3
VERBS = (
    *("predict", "predict_proba", "score_samples", "transform", "decision_function", "filter", "log_likelihoods"),
    *("impute", "parse", "decode"),
)


def used(model: Any, asked: Mapping[str, Any], batch: Mapping[str, Any] | None) -> str:
    """A digest of all answers; an AssertionError where they break a law."""
    said = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        for verb, answer in _answers(model, dict(asked), batch):
            check(verb, answer)
            said.update(json.dumps([verb, plain(answer)], default=str).encode())
    return said.hexdigest()


def _answers(model: Any, asked: dict[str, Any], batch: Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
    for verb in VERBS if asked else ():
        if hasattr(model, verb):
            told = "of constituents" if verb == "predict_proba" and hasattr(model, "grammar_") else verb
            yield told, declined(lambda verb=verb: getattr(model, verb)(**asked))
    if hasattr(model, "sample"):
        yield "sample", declined(lambda: [str(model.set_params(random_state=0).sample(DRAWN))])
    if hasattr(model, "forecast") and asked:
        yield "forecast", declined(lambda: [str(model.forecast(asked["X"], 2))])
    yield "certificate_", str(getattr(model, "certificate_", ""))
    yield "history_", [float(one.largest_fall()) for one in [getattr(model, "history_", None)] if one is not None]
    yield "card", len(model._repr_html_inner())
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "again"))
    if batch is not None:
        moved = declined(lambda: model.partial_fit(**batch))
        if moved is not None and hasattr(model, "predict"):
            yield "partial_fit", declined(lambda: model.predict(**asked))


def declined(answer: Callable[[], Any]) -> Any:
    """An answer; None where the library says why there is none."""
    try:
        return answer()
    except (ValueError, NotImplementedError) as error:
        if any(words in str(error) for words in DECLINED):
            return None
        raise


def check(verb: str, answer: Any) -> None:
    """Raise an AssertionError where an answer breaks a law."""
    if isinstance(answer, list | tuple):  # an answer for each sequence, say
        for one in answer:
            check(verb, one)
    if not isinstance(answer, np.ndarray):
        return
    if verb == "predict_proba":
        assert np.all(answer >= 0), "a probability is negative"
        assert np.all(np.abs(answer.sum(axis=-1) - 1) <= SUM_TOLERANCE), "probabilities do not sum to 1"
    assert answer.dtype.kind != "f" or not np.isnan(answer).any(), f"{verb} is NaN"
    assert verb != "predict" or answer.dtype.kind != "i" or np.all(answer >= 0), "a label is negative"


def questions(path: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What a model is asked, and the batch that it goes on with, as written down beside its file."""
    said = json.loads(path.with_suffix(".json").read_text())
    asked, batch = rebuilt(said["asked"]), said["batch"]
    return asked, None if batch is None else rebuilt(batch)
