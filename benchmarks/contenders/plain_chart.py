"""Inside-outside as a competent person writes it in NumPy: spans and splits in Python, rules as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


def inside_outside(
    start: int,
    parents: Integers,
    lefts: Integers,
    rights: Integers,
    weights: Floats,
    closure: Floats,
    lexical: Floats,
    sentences: Sequence[Integers],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log-likelihoods, and expected uses of binary rules (m,), chains (n, n) and words (words, n).

    Probabilities as they are: for sentences of some dozens of words.
    """
    binary, chains, words = np.zeros(len(weights)), np.zeros_like(closure), np.zeros_like(lexical)
    logs = np.full(len(sentences), -np.inf)
    for number, sentence in enumerate(sentences):
        base, inside = fill_inside(parents, lefts, rights, weights, closure, lexical, sentence)
        whole = inside[0, len(sentence), start]
        if whole > 0:
            logs[number] = np.log(whole)
            outside = np.zeros_like(inside)
            outside[0, len(sentence), start] = 1.0 / whole
            rules = (parents, lefts, rights, weights, closure)
            fill_outside(*rules, sentence, base, inside, outside, binary, chains, words)
    return logs, binary, chains, words


def fill_inside(
    parents: Integers,
    lefts: Integers,
    rights: Integers,
    weights: Floats,
    closure: Floats,
    lexical: Floats,
    sentence: Integers,
) -> tuple[Floats, Floats]:
    """Charts (length + 1, length + 1, n) of bases and inside values."""
    length, n = len(sentence), len(closure)
    base, inside = np.zeros((2, length + 1, length + 1, n))
    for first, word in enumerate(sentence):
        base[first, first + 1] = lexical[word]
        inside[first, first + 1] = closure @ base[first, first + 1]
    for size in range(2, length + 1):
        for first in range(length - size + 1):
            last = first + size
            for split in range(first + 1, last):
                values = weights * inside[first, split, lefts] * inside[split, last, rights]
                base[first, last] += np.bincount(parents, values, n)
            inside[first, last] = closure @ base[first, last]
    return base, inside


def fill_outside(
    parents: Integers,
    lefts: Integers,
    rights: Integers,
    weights: Floats,
    closure: Floats,
    sentence: Integers,
    base: Floats,
    inside: Floats,
    outside: Floats,
    binary: Floats,
    chains: Floats,
    words: Floats,
) -> None:
    """The outside chart from the whole down, and all expected uses added up."""
    length, n = len(sentence), len(closure)
    for size in range(length, 0, -1):
        for first in range(length - size + 1):
            last = first + size
            lower = closure.T @ outside[first, last]
            chains += np.outer(outside[first, last], base[first, last])
            if size == 1:
                words[sentence[first]] += lower * base[first, last]
                continue
            flow = weights * lower[parents]
            for split in range(first + 1, last):
                left, right = inside[first, split, lefts], inside[split, last, rights]
                outside[first, split] += np.bincount(lefts, flow * right, n)
                outside[split, last] += np.bincount(rights, flow * left, n)
                binary += flow * left * right
