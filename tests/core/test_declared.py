import numpy as np
import pytest

from unveil.core.declared import (
    AllOf,
    DictionaryOf,
    Each,
    LabelsOf,
    ListOf,
    MayLack,
    OrNone,
    RecordOf,
    Size,
    Tried,
    Word,
    Words,
    at_least_zero,
    bounds,
    by_hand,
    chances,
    check,
    counts,
    definite,
    distinct,
    numbers,
    positive,
    rising,
    semidefinite,
    shares,
    symmetric,
    truth,
)

WORDS = np.array(["a", "b"], dtype=object)
TALL = np.array([[2.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (numbers(2, 2), TALL),
        (numbers(2, None), TALL),
        (numbers(), 1.5),
        (numbers(), np.array(1.5)),
        (numbers(2, bytes=(4, 8)), np.ones(2, dtype=np.float32)),
        (numbers(1, gaps=True), np.array([np.nan])),
        (bounds(1), np.array([-np.inf])),
        (positive(1), np.array([1e-150])),
        (at_least_zero(1), np.zeros(1)),
        (chances(2), np.array([0.0, 1.0])),
        (shares(2, 2), np.array([[0.5, 0.5], [1.0, 0.0]])),
        (shares(0), np.empty(0)),
        (shares(2, loose=True), [0, 1]),
        (by_hand(), [[1, 2], [3, 4]]),
        (counts(2, below=2), np.array([0, 1], dtype=np.int32)),
        (counts(), np.int64(3)),
        (truth(), np.True_),
        (truth(1), np.array([True])),
        (numbers(2, 2, laws=(symmetric, definite, semidefinite)), TALL),
        (numbers(2, laws=(rising, distinct)), np.array([1.0, 2.0])),
        (Size("k", 0), 0),
        (Word(("a", "b")), "b"),
        (Words(2), WORDS),
        (LabelsOf(2), WORDS),
        (LabelsOf(2), np.array([1.0, 2.0])),
        (LabelsOf(2), np.array([3, "x"], dtype=object)),
        (ListOf(counts()), [1, 2]),
        (Each((counts(), Word())), (1, "a")),
        (DictionaryOf(counts()), {"a": 1}),
        (OrNone(counts()), None),
        (RecordOf(dict, {"a": counts(), "b": MayLack(counts())}), {"a": 1}),
        (RecordOf(dict, None), {"z": 1}),
        (Tried(float), "1.5"),
    ],
)
def test_what_is_as_declared_passes(declared, value):
    check([("it", declared)], {"it": value})


@pytest.mark.parametrize(
    ("declared", "value", "match"),
    [
        (numbers(2), np.ones((2, 1)), r"it must have shape \(2,\), got \(2, 1\)"),
        (numbers(1), np.array([np.nan]), "must not hold NaN"),
        (numbers(1), np.array([np.inf]), "it must hold numbers from -1e\\+152 to 1e\\+152, got inf"),
        (numbers(1), np.array([1e160]), "got 1e"),
        (numbers(1), np.ones(1, dtype=np.float32), "must hold floats of 64 bits, got float32"),
        (numbers(1), np.ones(1, dtype=np.int64), "must hold floats, got int64"),
        (numbers(1), [1.0], "must hold floats, got"),
        (numbers(), "x", "must hold floats, got 'x'"),
        (numbers(), np.ones(1), r"must have shape \(\), got \(1,\)"),
        (positive(1), np.zeros(1), "from 1e-152|from 1e-150"),
        (at_least_zero(1), np.array([-1e-300]), "from 0"),
        (at_least_zero(1, above=True), np.zeros(1), "more than 0"),
        (shares(2), np.array([0.5, 0.6]), "must sum to 1, and is 0.1 off"),
        (shares(2), np.array([1.5, -0.5]), "from 0"),
        (chances(1), np.array([1.1]), "to 1"),
        (counts(1), np.array([1.0]), "must hold whole numbers, got float64"),
        (counts(1, below=3), np.array([3]), "from 0 to 2, got 3"),
        (counts(), True, "must hold whole numbers"),
        (counts(), 2**60, "got 1152921504606846976"),
        (truth(), 1, "must hold truth values"),
        (by_hand(), [[1.0], [1.0, 2.0]], "must hold floats"),
        (by_hand(), [np.nan], "NaN"),
        (numbers(2, 2, laws=(symmetric,)), np.array([[1.0, 0.5], [0.4, 1.0]]), "must be symmetric"),
        (numbers(2, 2, laws=(definite,)), np.array([[1.0, 2.0], [2.0, 1.0]]), "must be positive definite"),
        (numbers(2, 2, laws=(semidefinite,)), -TALL, "must be positive semidefinite"),
        (numbers(2, laws=(rising,)), np.array([2.0, 1.0]), "must never fall"),
        (counts(2, laws=(distinct,)), np.array([1, 1]), "must hold no value twice"),
        (Size("k"), 0, "must be at least 1|must be 0"),
        (Word(("a",)), "b", "must be one of 'a', got 'b'"),
        (Word(), 1, "must be a word"),
        (Words(2), np.array(["a", "a"], dtype=object), "must hold different words"),
        (Words(2), np.array(["a", 1], dtype=object), "must hold different words"),
        (LabelsOf(2), np.array([2.0, 1.0]), "must be sorted"),
        (LabelsOf(2), np.array([1.0, np.nan]), "no NaN"),
        (ListOf(counts()), (1,), "must be a list, got tuple"),
        (ListOf(counts()), [1, -1], r"it\[1\] must hold numbers from 0"),
        (Each((counts(),)), (1, 2), "must be a tuple of 1"),
        (DictionaryOf(counts()), {1: 1}, "by words"),
        (RecordOf(dict, {"a": counts()}), {"a": 1, "b": 2}, r"it\.b is not declared"),
        (RecordOf(dict, {"a": counts()}), {}, r"it\.a is missing"),
        (RecordOf(dict, {}), [], "must be a dict, got list"),
        (AllOf((counts(), Tried(lambda value: 1 // value))), 0, "it cannot be: integer"),
    ],
)
def test_what_is_not_as_declared_is_refused(declared, value, match):
    with pytest.raises(ValueError, match=match):
        check([("it", declared)], {"it": value})


def test_siblings_must_agree():
    declaration = [("n_", Size("columns")), ("means_", numbers("k", "columns")), ("weights_", shares("k"))]
    held = {"n_": 2, "means_": np.zeros((1, 2)), "weights_": np.ones(1)}
    check(declaration, held)
    with pytest.raises(ValueError, match=r"weights_ must have shape \(k = 1,\), got \(2,\)"):
        check(declaration, held | {"weights_": np.full(2, 0.5)})
    with pytest.raises(ValueError, match="means_ must have shape"):
        check(declaration, held | {"n_": 3})
    with pytest.raises(ValueError, match="weights_ is missing"):
        check(declaration, {"n_": 2, "means_": np.zeros((1, 2))})
    with pytest.raises(ValueError, match="extra_ is not declared"):
        check(declaration, held | {"extra_": 1})
