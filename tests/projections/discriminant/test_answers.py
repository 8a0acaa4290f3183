"""What is made of scores, in both layouts and tile by tile, against SciPy; and how much memory that takes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from unveil import LinearDiscriminantAnalysis
from unveil.core.protocols import Block
from unveil.engines import Threads
from unveil.projections.discriminant.answers import MANY_CLASSES, ClassScores, likeliest, log_shares, margin, shares

RANDOM = np.random.default_rng(0)
CLASSES = (1, 2, 3, MANY_CLASSES - 1, MANY_CLASSES, 90)


def table(n_classes: int, n_rows: int = 5000) -> tuple[ClassScores, NDArray[Any], NDArray[Any]]:
    """Scores far from zero, the rows that they are of, and the values that they have."""
    basis, offset = RANDOM.normal(size=(4, n_classes)), RANDOM.normal(size=n_classes)
    rows, centre = RANDOM.normal(size=(n_rows, 4)) + 1e6, np.full(4, 1e6)
    return ClassScores(centre, basis, offset), rows, (rows - centre) @ basis + offset


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("n_rows", [1, 63, 5000])
def test_every_answer_in_both_layouts(n_classes: int, n_rows: int) -> None:
    scores, rows, values = table(n_classes, n_rows)
    block, wide = Block(0, 0, rows), np.empty((n_rows, n_classes))
    scores.fill(None, block, wide)
    np.testing.assert_allclose(wide, values, atol=1e-10)
    scores.fill(shares, block, wide)
    np.testing.assert_allclose(wide, softmax(values, axis=1), rtol=1e-9)
    scores.fill(log_shares, block, wide)
    np.testing.assert_allclose(wide, log_softmax(values, axis=1), atol=1e-10)
    places = np.empty(n_rows, dtype=np.intp)
    scores.fill(likeliest, block, places)
    np.testing.assert_array_equal(places, np.argmax(values, axis=1))
    if n_classes < 3:
        line = np.empty(n_rows)
        scores.fill(margin, block, line)
        np.testing.assert_allclose(line, values[:, -1] - (values[:, 0] if n_classes == 2 else 0.0), atol=1e-10)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_first_of_equals_is_taken(axis: int) -> None:
    scores = np.array([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0], [0.0, -1.0, 0.5, 0.5]])
    assert likeliest(scores if axis == 1 else np.ascontiguousarray(scores.T), axis).tolist() == [1, 0, 2]


@pytest.mark.parametrize("n_classes", [3, MANY_CLASSES])
def test_a_class_that_is_never_taken_is_no_cell_that_is_not_finite(n_classes: int) -> None:
    scores, rows, _ = table(n_classes, 300)
    offset = scores.offset.copy()
    offset[1] = -np.inf
    out = np.empty((300, n_classes))
    scores._replace(offset=offset).fill(shares, Block(0, 0, rows), out)
    assert not out[:, 1].any()
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    rows[7, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN: row 7, column 2"):
        scores.fill(shares, Block(0, 0, rows), out)


def test_single_precision_is_answered_in_double() -> None:
    scores, rows, _ = table(3)
    short = rows.astype(np.float32)
    found, wanted = (np.empty((5000, 3)) for _ in range(2))
    scores.fill(shares, Block(0, 0, short), found)
    scores.fill(shares, Block(0, 0, short.astype(np.float64)), wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba", "decision_function"])
def test_answers_take_the_room_of_the_answer(method: str) -> None:
    X, y = RANDOM.normal(size=(20_000, 5)), np.arange(20_000) % 200
    model = LinearDiscriminantAnalysis(engine=Threads(2)).fit(X, y)
    getattr(model, method)(X[:100])
    tracemalloc.start()
    answer = getattr(model, method)(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.25 * answer.nbytes


def test_threads_change_no_bit() -> None:
    X, y = RANDOM.normal(size=(40_000, 5)), np.arange(40_000) % 7
    models = [LinearDiscriminantAnalysis(engine=Threads(count)).fit(X, y) for count in (1, 3)]
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform"):
        one, other = (getattr(model, method)(X) for model in models)
        assert one.tobytes() == other.tobytes()
