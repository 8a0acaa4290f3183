"""Groups against a column that the user calls a label: how they agree, and which columns tell the classes apart.

The label takes no part in the model. Agreement is the adjusted Rand index (Hubert and Arabie, 1985): 1 where groups and
classes are the same, 0 where they agree as often as by chance.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.reporting.study.rows import ModelRows

MOST_CLASSES = 50  # beyond, a column is hardly a label
AGREEMENT_WORDS = ((0.9, "almost the same"), (0.65, "much alike"), (0.3, "partly alike"), (0.1, "hardly alike"))


class LabelStudy(NamedTuple):
    """A label beside the groups."""

    name: str
    classes: tuple[str, ...]
    table: NDArray[np.intp]  # (classes, groups)
    agreement: float
    codes: NDArray[np.intp]  # of the model's rows; -1 where there is no label
    discriminant: Any  # LinearDiscriminantAnalysis of the numbers, or None
    complete: NDArray[np.intp]  # rows that it was fitted to

    @property
    def words(self) -> str:
        """How much groups and classes have in common."""
        found = (words for least, words in AGREEMENT_WORDS if self.agreement >= least)
        return next(found, "not related")


def label_study(
    name: str, values: NDArray[Any], rows: ModelRows, group: NDArray[np.intp], n_groups: int
) -> LabelStudy | None:
    """The label's classes beside the groups; nothing for a label with one class or far too many."""
    from sklearn.metrics import adjusted_rand_score

    own = values[rows.places]
    there = np.array([value is not None for value in own])
    classes = sorted(set(own[there].tolist()))
    if not 2 <= len(classes) <= MOST_CLASSES:
        return None
    number = {value: code for code, value in enumerate(classes)}
    codes = np.array([number.get(value, -1) for value in own.tolist()], dtype=np.intp)
    table = np.zeros((len(classes), n_groups), dtype=np.intp)
    np.add.at(table, (codes[there], group[there]), 1)
    agreement = float(adjusted_rand_score(codes[there], group[there]))
    discriminant, complete = _discriminant(rows, codes)
    return LabelStudy(name, tuple(map(str, classes)), table, agreement, codes, discriminant, complete)


def _discriminant(rows: ModelRows, codes: NDArray[np.intp]) -> tuple[Any, NDArray[np.intp]]:
    """Discriminants of the columns of numbers, by complete rows; None where they cannot be told."""
    from unveil.projections.discriminant.discriminant import LinearDiscriminantAnalysis

    cells: Floats = rows.coded[:, rows.numeric]
    complete = np.flatnonzero((codes >= 0) & ~np.isnan(cells).any(axis=1))
    counts = np.bincount(codes[complete]) if len(complete) else np.zeros(1)
    if len(rows.numeric) < 2 or np.sum(counts > 1) < 2 or len(complete) <= len(rows.numeric) + len(counts):
        return None, complete
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return LinearDiscriminantAnalysis().fit(cells[complete], codes[complete]), complete
    except (ValueError, np.linalg.LinAlgError):
        return None, complete
