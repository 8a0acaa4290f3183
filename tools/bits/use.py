"""What is done with a fitted model: everything that it can do, or, where there are many cases, the most telling."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import unveil
from tools.bits.digest import attributes

Parts = Iterator[tuple[str, Callable[[], Any]]]
Call = Callable[..., Any]


def briefly(model: Any, X: Any, **given: Any) -> Parts:
    """One answer of each kind: labels or coordinates, and densities."""
    yield from _called(model, X, {name: ROWS[name] for name in ("predict", "transform", "score_samples")}, given)


def in_full(model: Any, X: Any, **given: Any) -> Parts:
    """Everything that a model of rows can do but `standard_errors`, which fits again."""
    yield from _called(model, X, ROWS, given)
    yield from stored(model, X)


def of_chains(model: Any, X: Any, **given: Any) -> Parts:
    """Everything that a hidden Markov model can do."""
    yield from _called(model, X, CHAINS, given)
    yield from stored(model, X)


def of_sentences(model: Any, X: Any, **given: Any) -> Parts:
    """Everything that a grammar can do."""
    yield from _called(model, X, SENTENCES, given)
    yield from stored(model, X)


def nothing(model: Any, X: Any = None, **given: Any) -> Parts:
    """The fit alone."""
    yield from ()


def stored(model: Any, X: Any) -> Parts:
    """Saved and loaded, and gone on with from there where batches add up."""
    yield "load", lambda: attributes(reloaded(model))
    if hasattr(model, "partial_fit") and not hasattr(model, "classes_"):
        yield "load and go on", lambda: attributes(reloaded(model).partial_fit(X))


def reloaded(model: Any) -> Any:
    """The model from a file that it was saved to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.unveil")
        model.save(path)
        return unveil.load(path)


def _called(model: Any, X: Any, table: dict[str, Call], given: dict[str, Any]) -> Parts:
    for name, call in table.items():
        if hasattr(model, name.split()[0]):
            yield name, partial(call, model, X, **given)


def _conditional(model: Any, X: Any) -> Any:
    """Given the first cell of the first column that is there."""
    column = pd.Series(np.asarray(X, dtype=object)[:, 0])
    found = model.conditional({0: column.dropna().iloc[0]})
    return found, found.sample(2)


def _stepped(model: Any, X: Any, lengths: Any = None) -> Any:
    belief: Any = None
    rows = X.iloc[:3].to_dict("records") if hasattr(X, "iloc") else X[:3]
    for row in rows:
        belief = model.step(list(row.values()) if isinstance(row, dict) else row, belief)
    return belief.log_probabilities, belief.probabilities, belief.log_likelihood, belief.steps


def _forecast(model: Any, X: Any, lengths: Any = None) -> Any:
    found = model.forecast(X, 3, lengths=lengths)
    return [_ahead(one) for one in (found if isinstance(found, list) else [found])[:2]]


def _ahead(one: Any) -> Any:
    """All that a forecast says; what it has no answer to (the mean of words) is none."""
    asked: tuple[Call, ...] = (
        lambda: one.mean,
        lambda: one.covariance,
        lambda: one.quantiles([0.1, 0.5]),
        lambda: one.interval(0.8),
        lambda: one.sample(3, random_state=1),
        lambda: one.mixture(2),
    )
    return one.probabilities, [_or_none(call) for call in asked]


def _or_none(call: Call) -> Any:
    try:
        return call()
    except (ValueError, TypeError, AttributeError) as error:
        return type(error).__name__


ROWS: dict[str, Call] = {
    **{
        name: lambda model, X, name=name: getattr(model, name)(X)
        for name in (
            *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"),
            *("score", "aic", "bic", "icl", "density", "impute", "reconstruction_error", "scores", "project"),
            *("distance", "modes"),
        )
    },
    **{
        name: lambda model, X, name=name: getattr(model, name)()
        for name in ("get_covariance", "get_precision", "magnification_factors", "get_feature_names_out")
    },
    "inverse_transform": lambda model, X: model.inverse_transform(model.transform(X)),
    "sample": lambda model, X: model.sample(5),
    "marginal": lambda model, X: model.marginal([1]),
    "conditional": _conditional,
}
"""Of models of rows. `score` of classifiers needs labels, and says so; that is tried where there are any."""

CHAINS: dict[str, Call] = {
    **{
        name: lambda model, X, lengths=None, name=name: getattr(model, name)(X, lengths=lengths)
        for name in (
            *("predict", "predict_proba", "score", "score_samples", "log_likelihoods", "decode", "filter", "smooth"),
            *("path_entropy", "impute", "aic", "bic"),
        )
    },
    "decode by steps": lambda model, X, lengths=None: model.decode(X, lengths, algorithm="map"),
    "smooth with a lag": lambda model, X, lengths=None: model.smooth(X, lengths, lag=2),
    "kbest": lambda model, X, lengths=None: model.kbest(X, 3, lengths),
    "sample": lambda model, X, lengths=None: model.sample(6, random_state=1),
    "sample_paths": lambda model, X, lengths=None: model.sample_paths(X, lengths, n_paths=2, random_state=1),
    "step": _stepped,
    "forecast": _forecast,
    "get_stationary_distribution": lambda model, X, lengths=None: model.get_stationary_distribution(),
    "expected_durations": lambda model, X, lengths=None: model.expected_durations(),
}

SENTENCES: dict[str, Call] = {
    **{
        name: lambda model, X, name=name: getattr(model, name)(X)
        for name in ("score_samples", "score", "perplexity", "aic", "bic", "parse", "predict_proba")
    },
    "prefix_proba": lambda model, X: model.prefix_proba([list(model.words_[:2]), list(model.words_[:1]), []]),
    "next_word": lambda model, X: model.next_word([]),
    "kbest": lambda model, X: model.kbest(X[0], 3),
    "sample": lambda model, X: model.sample(4, random_state=1),
    "text": lambda model, X: str(model.grammar_),
}
