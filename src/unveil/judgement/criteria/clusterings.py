"""The criteria of clusterings: what `select` measures of estimators with `n_clusters`, and which of them vote."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from unveil.judgement.criteria import elbow, gap, penalties, silhouette, stability
from unveil.judgement.criteria.criteria import GROWS, KASS_RAFTERY, Criterion, Fitted
from unveil.judgement.criteria.dissimilarity import has_metric, is_kmeans, metric_of
from unveil.judgement.criteria.opinions import Line, Opinion

CLUSTERING = ("fit", "n_clusters")


def _cost(fitted: Fitted) -> float:
    return float(fitted.estimator.inertia_)


def _unknown(fitted: Fitted) -> None:
    """Nothing yet: it takes all numbers of clusters to tell."""


def _penalised(price: Callable[[float, int, int], float], fitted: Fitted) -> float:
    return price(_cost(fitted), *fitted.estimator.cluster_centers_.shape)


def _bic(fitted: Fitted) -> float | None:
    model, rows = fitted.estimator, fitted.study.rows
    counts = rows.counts(np.asarray(model.labels_), len(model.cluster_centers_))
    return penalties.gaussian_bic(_cost(fitted) * rows.scale, counts, rows.n_columns)


def _studied(name: str, field: str | None = None) -> Callable[[Fitted], Any]:
    """What the study of the rows finds under a name, or a field of it, as plain numbers; None where it finds none."""

    def measure(fitted: Fitted) -> Any:
        found = getattr(fitted.study, name)(fitted.estimator)
        part = found if found is None or field is None else getattr(found, field)
        return part.tolist() if isinstance(part, np.ndarray) else part

    return measure


def _predicts(estimator: Any) -> bool:
    """Can other rows be put to its clusters? Those of a matrix of distances or kernels have no columns to go by."""
    given = (metric_of(estimator), estimator.get_params().get("kernel"))
    return hasattr(estimator, "predict") and "precomputed" not in given


def opine_inertia(line: Line) -> Opinion:
    """None: the cost alone cannot choose."""
    return Opinion("inertia", "inertia", None, f"inertia cannot choose: {GROWS}", voice=False)


INERTIA = Criterion("inertia", "inertia", _cost, CLUSTERING, trend=GROWS, opine=opine_inertia)
ELBOW = Criterion(
    "elbow",
    "elbow",
    _unknown,
    CLUSTERING,
    sign=1,
    also={"chord": _unknown, "kneedle": _unknown},
    settle=elbow.settle,
    opine=elbow.opine,
)
BY_AIC, BY_BIC = (partial(_penalised, price) for price in (penalties.penalised_aic, penalties.penalised_bic))
AIC_PENALTY = Criterion("penalised_aic", "cost + 2Kd", BY_AIC, CLUSTERING, suits=is_kmeans)
BIC_PENALTY = Criterion("penalised_bic", "cost + K log d", BY_BIC, CLUSTERING, suits=is_kmeans)
BIC = Criterion("bic", "BIC", _bic, CLUSTERING, suits=is_kmeans, evidence=KASS_RAFTERY, opine=penalties.opine_bic)
SILHOUETTE = Criterion(
    "silhouette",
    "silhouette",
    _studied("silhouette"),
    CLUSTERING,
    sign=1,
    suits=has_metric,
    also={"silhouette_even": _studied("even_silhouette")},
    opine=silhouette.opine,
)
GAP = Criterion(
    "gap",
    "gap statistic",
    _studied("gap", "value"),
    CLUSTERING,
    sign=1,
    suits=is_kmeans,
    also={"gap_error": _studied("gap", "error")},
    opine=gap.opine,
)
STABILITY = Criterion(
    "stability",
    "stability",
    _studied("stability", "rand"),
    CLUSTERING,
    sign=1,
    suits=_predicts,
    also={"cluster_stability": _studied("stability", "jaccard")},
    opine=stability.opine,
)
VOTES = Criterion("votes", "votes", _unknown, CLUSTERING, sign=1)

CLUSTERINGS: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (VOTES, INERTIA, ELBOW, AIC_PENALTY, BIC_PENALTY, BIC, SILHOUETTE, GAP, STABILITY)
}


def opinion_of(rule: Criterion, line: Line) -> Opinion | None:
    """What a criterion has to say about a line of the table; None for the votes themselves."""
    if rule is VOTES:
        return None
    return (rule.opine or partial(penalties.opine_penalty, rule))(line)
