"""What a fitted model says of rows, as columns by name: its answers, and the rows in the model's own coordinates.

Groups, components and states count from 1, and clusters are those that a report calls groups (`unveil.cli.counting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from unveil.cli.counting import from_one, homes

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
    import pyarrow as pa

    chances = estimator.predict_proba(rows)
    component = np.asarray(estimator.predict(rows))
    clusters = clusters_of(estimator, chances.shape[1])
    if clusters is None:
        cluster, probability = pa.nulls(len(chances), pa.int64()), chances[np.arange(len(chances)), component]
    else:
        cluster = clusters[component]
        probability = (chances * (cluster[:, None] == clusters[None, :])).sum(axis=1)
    answer = {"cluster": cluster, "component": from_one(component), "probability": probability}
    return answer | _probabilities(chances) | {"log_density": estimator.score_samples(rows)}


def clusters_of(estimator: Any, k: int) -> Any:
    """The cluster of each of `k` components, as `rows.csv` has groups: all 1 where none are real, None if unclear."""
    import numpy as np

    if not hasattr(estimator, "clusters_"):
        return from_one(np.arange(k))  # nobody has said which belong together
    answer = estimator.certificate_.verdicts["real"]
    if answer == "doubtful":
        return None
    return np.ones(k, dtype=np.int64) if answer == "no" else homes(estimator.clusters_)


def groups_said(estimator: Any) -> tuple[str, ...]:
    """What is to be known of the clusters of a mixture where they are not its components."""
    if not hasattr(estimator, "clusters_") or estimator.certificate_.clusters is None:
        return ()
    answer = estimator.certificate_.verdicts["real"]
    return (UNREAL[answer],) if answer in UNREAL and len(estimator.weights_) > 1 else ()


UNREAL = {
    "no": "the components are not groups apart (unveil show says why): all rows are in cluster 1",
    "doubtful": "it is not clear how many groups there are (unveil show says why): cluster is empty, component is not",
}


def _states(estimator: Any, rows: Any, lengths: Any = None) -> dict[str, Any]:
    import numpy as np

    chances, state = estimator.predict_proba(rows, lengths), np.asarray(estimator.predict(rows, lengths))
    return {"state": from_one(state), "probability": chances[np.arange(len(state)), state], **_probabilities(chances)}


def _trees(estimator: Any, sentences: Any) -> dict[str, Any]:
    import numpy as np

    parsed = estimator.parse(sentences)
    trees = np.array(["" if best.tree is None else str(best.tree) for best in parsed], dtype=object)
    best = np.array([best.log_probability for best in parsed])
    return {"log_probability": estimator.score_samples(sentences), "tree": trees, "log_probability_of_tree": best}


def _clusters(estimator: Any, rows: Any) -> dict[str, Any]:
    import numpy as np

    labels = estimator.predict(rows)
    return {"cluster": from_one(labels), "distance": estimator.transform(rows)[np.arange(len(labels)), labels]}


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
    return {f"distance_{k}": column for k, column in enumerate(estimator.transform(rows).T, start=1)}


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
    return {f"probability_{k}": column for k, column in enumerate(chances.T, start=1)}


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
