"""Does a linear discriminant describe its classes: one covariance for all, normal within, and apart?

Box's M = sum_c n_c (log det S - log det S_c) is large where covariances differ (Box, A general distribution theory for
a class of likelihood criteria, 1949). Its own law is upset by tails, so it is drawn: labels are shuffled among the rows
less their class means. Classes are apart if Wilks' Lambda = det W / det T is small (Bartlett 1947):

    -(n - 1 - (p + C) / 2) log Lambda ~ chi2(p (C - 1)).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import chi2

from unveil.certificate import Finding
from unveil.core.arrays import Floats, Indices
from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.normality import normality
from unveil.judgement.describes.rows import seen_rows
from unveil.judgement.describes.words import SHOWS, said, severity_of

SHUFFLES = 99
SURE = 0.01  # level at which the means of classes differ
PURPOSE = 17  # of the random numbers drawn here
ROWS_A_COLUMN = 2  # of a class, at least, for its covariance to have a determinant that means something


def examine_discriminant(case: Case) -> Answer:
    """Classes apart, of one covariance, and normal."""
    if case.y is None:
        return Answer((said("description", "note", "without classes (y) nothing is known of a discriminant"),))
    table, known = case.model._labels(case.X, case.y)  # the name of a column, or a label a row
    seen = seen_rows(replace(case, X=table))
    _, labels = np.unique(known.codes[seen.places], return_inverse=True)
    counts = np.bincount(labels)
    if counts.min() < max(ROWS_A_COLUMN * seen.rows.shape[1], 5) or np.any(seen.rows.std(axis=0) == 0):
        return Answer((said("description", "note", "classes are too small to tell whether they are normal"),))
    means = np.stack([seen.rows[labels == label].mean(axis=0) for label in range(len(counts))])
    left = seen.rows - means[labels]
    findings = separation_of_classes(seen.rows, left, len(counts))
    findings += equal_covariances(case, left, labels)
    if not any(found.kind == "covariances" and found.severity in ("warning", "doubt") for found in findings):
        findings += normality(case, left, seen.weights, "rows within classes")
    return Answer(tuple(findings))


def separation_of_classes(rows: Floats, left: Floats, n_classes: int) -> list[Finding]:
    """Whether the means of classes differ at all."""
    n, p = rows.shape
    total = rows - rows.mean(axis=0)
    log_ratio = np.linalg.slogdet(left.T @ left)[1] - np.linalg.slogdet(total.T @ total)[1]
    figure = -(n - 1 - (p + n_classes) / 2) * log_ratio
    p_value = float(chi2.sf(max(figure, 0.0), p * (n_classes - 1)))
    effect = 0.5 * (-log_ratio - p * (n_classes - 1) / n)
    if p_value <= SURE and effect >= SHOWS:
        return [said("separation", "fine", f"the means of the classes are worth {effect:.2g} nats a row", effect)]
    words = f"the means of the classes differ by no more than {'little' if p_value <= SURE else 'chance'}"
    severity = "doubt" if p_value <= SURE else "warning"
    return [said("separation", severity, words, p_value, "other columns are needed to tell the classes apart")]


def equal_covariances(case: Case, left: Floats, labels: Indices) -> list[Finding]:
    """Whether classes share a covariance, by shuffled labels."""
    random = case.random(PURPOSE)
    own = box(left, labels)
    draws = np.array([box(left, random.permutation(labels)) for _ in range(SHUFFLES)])
    p_value = float(1 + np.sum(draws >= own)) / (1 + SHUFFLES)
    effect = max(0.5 * (own - float(draws.mean() + draws.std())), 0.0)
    severity = severity_of(2.0 * p_value, effect)  # one of two tests, the other being that of normality
    if severity == "fine":
        return [said("covariances", "fine", "classes have one covariance as far as can be told", p_value)]
    worst = int(np.argmax([abs(np.linalg.slogdet(np.cov(left[labels == c].T))[1]) for c in np.unique(labels)]))
    name = case.model.classes_[worst] if len(case.model.classes_) > worst else worst
    words = f"classes differ in covariance, {name!s} most: {effect:.2g} nats a row are lost"
    return [
        said("covariances", severity, words, effect, "try a GaussianMixture for each class, or logs of the columns")
    ]


def box(left: Floats, labels: Indices) -> float:
    """Box's M over the number of rows: twice what a row loses by one covariance for all."""
    n, p = left.shape
    pooled = np.linalg.slogdet(left.T @ left / n)[1]
    found = 0.0
    for label in np.unique(labels):
        own = left[labels == label]
        found += len(own) / n * (pooled - np.linalg.slogdet(own.T @ own / len(own) + 1e-300 * np.eye(p))[1])
    return float(found)
