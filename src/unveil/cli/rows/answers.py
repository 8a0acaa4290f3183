"""What a fitted model says of rows, as columns by name: its answers, and the rows in the model's own coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Answer = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
"""From rows, and what the model takes beside them (lengths of sequences), to columns."""


def answers_of(estimator: Any) -> Answer:
    """What `unveil predict` writes: the first of `ANSWERS` whose mark the model has, else its coordinates."""
    return _first_of(ANSWERS, estimator) or coordinates_of(estimator)


def coordinates_of(estimator: Any) -> Answer:
    """What `unveil transform` writes: scores on directions, distances to centres, probabilities of components."""
    found = _first_of(COORDINATES, estimator)
    if found is None:
        raise ValueError(f"{type(estimator).__name__} has no coordinates of rows; unveil parse is for sentences")
    return found


def _first_of(table: Mapping[str, Callable[..., dict[str, Any]]], estimator: Any) -> Answer | None:
    for mark, answer in table.items():
        if hasattr(estimator, mark):
            return lambda rows, extra: answer(estimator, rows, **extra)
    return None


# -- answers -----------------------------------------------------------------------------------------------------------


def _mixture(estimator: Any, rows: Any) -> dict[str, Any]:
    """The cluster and component of each row; components of one cluster have their probabilities added."""
    import numpy as np

    chances = estimator.predict_proba(rows)
    component = np.asarray(estimator.predict(rows))
    clusters = np.asarray(getattr(estimator, "clusters_", np.arange(chances.shape[1])))
    same = clusters[component][:, None] == clusters[None, :]
    answer = {"cluster": clusters[component], "component": component, "probability": (chances * same).sum(axis=1)}
    return answer | _probabilities(chances) | {"log_density": estimator.score_samples(rows)}


def _states(estimator: Any, rows: Any, lengths: Any = None) -> dict[str, Any]:
    import numpy as np

    chances, state = estimator.predict_proba(rows, lengths), np.asarray(estimator.predict(rows, lengths))
    return {"state": state, "probability": chances[np.arange(len(state)), state], **_probabilities(chances)}


def _trees(estimator: Any, sentences: Any) -> dict[str, Any]:
    import numpy as np

    parsed = estimator.parse(sentences)
    trees = np.array(["" if best.tree is None else str(best.tree) for best in parsed], dtype=object)
    best = np.array([best.log_probability for best in parsed])
    return {"log_probability": estimator.score_samples(sentences), "tree": trees, "log_probability_of_tree": best}


def _clusters(estimator: Any, rows: Any) -> dict[str, Any]:
    import numpy as np

    labels = estimator.predict(rows)
    return {"cluster": labels, "distance": estimator.transform(rows)[np.arange(len(labels)), labels]}


def _classes(estimator: Any, rows: Any) -> dict[str, Any]:
    chances = estimator.predict_proba(rows)
    by_class = {f"probability_{name}": column for name, column in zip(estimator.classes_, chances.T, strict=True)}
    return {"class": estimator.predict(rows), "probability": chances.max(axis=1), **by_class}


# -- coordinates -------------------------------------------------------------------------------------------------------


def _responsibilities(estimator: Any, rows: Any) -> dict[str, Any]:
    return _probabilities(estimator.predict_proba(rows))


def _smoothed(estimator: Any, rows: Any, lengths: Any = None) -> dict[str, Any]:
    return _probabilities(estimator.predict_proba(rows, lengths))


def _distances(estimator: Any, rows: Any) -> dict[str, Any]:
    return {f"distance_{k}": column for k, column in enumerate(estimator.transform(rows).T)}


def _map(estimator: Any, rows: Any) -> dict[str, Any]:
    return _numbered("map", estimator.transform(rows)) | {"log_density": estimator.score_samples(rows)}


def _curve(estimator: Any, rows: Any) -> dict[str, Any]:
    return {"coordinate": estimator.transform(rows)[:, 0], "distance": estimator.distance(rows)}


def _scores(estimator: Any, rows: Any) -> dict[str, Any]:
    word = {"FactorAnalysis": "factor", "ICA": "source", "LinearDiscriminantAnalysis": "axis"}
    return _numbered(word.get(type(estimator).__name__, "pc"), estimator.transform(rows))


def _numbered(word: str, columns: Any) -> dict[str, Any]:
    return {f"{word}{number}": column for number, column in enumerate(columns.T, start=1)}


def _probabilities(chances: Any) -> dict[str, Any]:
    return {f"probability_{k}": column for k, column in enumerate(chances.T)}


ANSWERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "grammar_": _trees,
    "transmat_": _states,
    "classes_": _classes,
    "lattice_": _map,
    "predict_proba": _mixture,
    "n_clusters": _clusters,
}
"""What a model has to say, by the attribute that marks its kind; the first that it has counts."""
COORDINATES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "transmat_": _smoothed,
    "lattice_": _map,
    "points_": _curve,
    "n_clusters": _distances,
    "transform": _scores,
    "weights_": _responsibilities,
}
