"""Probabilistic grammars: one pass of inside-outside, and the best trees of sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.tasks.base import Arrays, Task
from benchmarks.tasks.slope import Floats


@dataclass(frozen=True)
class InsideOutside(Task):
    """Expected counts of all rules, and probabilities from them: one pass from a random grammar."""

    n_sentences: int
    n_words: int = 20
    n_symbols: int = 30
    n_binary: int = 2_000
    n_vocabulary: int = 100
    seed: int = 0

    word: ClassVar[str] = "inside_outside"
    unit: ClassVar[str] = "a fit of one pass"
    figure: ClassVar[str] = "probabilities of the rules, the largest shown"

    @property
    def steps(self) -> tuple[int, ...]:
        """One pass."""
        return (1,)

    def arrays(self) -> Arrays:
        """A grammar, and sentences of words at random."""
        random = np.random.default_rng(self.seed)
        sentences = random.integers(self.n_vocabulary, size=(self.n_sentences, self.n_words))
        return {**random_grammar(random, self.n_symbols, self.n_binary, self.n_vocabulary), "sentences": sentences}

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """The re-estimated probabilities of the binary rules that are not tiny, largest first."""
        found: Floats = np.asarray(solution["binary"], dtype=np.float64)
        order = np.argsort(-found, kind="stable")
        return found[order[: max(len(order) // 2, 1)]]


ENGLISH = """
S -> NP VP [1.0]
NP -> Det Noun [0.5] | NP PP [0.2] | Name [0.2] | Det Adjective Noun [0.1]
VP -> Verb NP [0.5] | VP PP [0.3] | Verb [0.2]
PP -> Preposition NP [1.0]
Det -> 'the' [0.6] | 'a' [0.4]
Noun -> 'man' [0.2] | 'dog' [0.2] | 'park' [0.2] | 'telescope' [0.2] | 'hill' [0.2]
Adjective -> 'old' [0.5] | 'green' [0.5]
Name -> 'Ann' [0.5] | 'Bob' [0.5]
Verb -> 'saw' [0.4] | 'followed' [0.3] | 'walked' [0.3]
Preposition -> 'in' [0.4] | 'with' [0.4] | 'on' [0.2]
"""


@dataclass(frozen=True)
class Parsing(Task):
    """The best tree of each of some English sentences, whose prepositions may belong to several words."""

    n_sentences: int
    n_phrases: int = 3
    seed: int = 0

    word: ClassVar[str] = "parsing"
    unit: ClassVar[str] = "all sentences"
    figure: ClassVar[str] = "log-probability of a best tree"

    @property
    def steps(self) -> tuple[int, ...]:
        """Once."""
        return (1,)

    def arrays(self) -> Arrays:
        """The grammar in nltk's notation, and sentences with some prepositional phrases."""
        random = np.random.default_rng(self.seed)
        nouns, verbs = ("man", "dog", "park", "telescope", "hill"), ("saw", "followed")

        def noun() -> str:
            return f"{random.choice(['the', 'a'])} {random.choice(nouns)}"

        def sentence() -> str:
            phrases = [f"{random.choice(['in', 'with', 'on'])} {noun()}" for _ in range(self.n_phrases)]
            return " ".join([noun(), random.choice(verbs), noun(), *phrases])

        return {"grammar": np.array(ENGLISH), "sentences": np.array([sentence() for _ in range(self.n_sentences)])}

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """As found, sentence by sentence."""
        return np.asarray(solution["log_probabilities"], dtype=np.float64)


def random_grammar(random: np.random.Generator, n: int, n_binary: int, n_words: int) -> dict[str, np.ndarray]:
    """Binary rules (parent, left, right) with `weights`, and `lexical` (symbols, words); symbol 0 is the start."""
    parents = np.sort(np.concatenate([np.arange(n), random.integers(n, size=n_binary - n)]))
    pairs = np.concatenate([random.choice(n * n, count, replace=False) for count in np.bincount(parents, minlength=n)])
    binary = np.column_stack([parents, pairs // n, pairs % n])
    weights, lexical = random.gamma(1.0, size=n_binary), random.gamma(0.5, size=(n, n_words)) + 1e-3
    totals = np.bincount(parents, weights, n)
    lexical /= lexical.sum(axis=1, keepdims=True) * 2.0  # half of the mass goes to words
    return {"binary": binary, "weights": 0.5 * weights / totals[parents], "lexical": lexical}


def notation(arrays: Arrays) -> str:
    """The random grammar in nltk's text."""
    lines = [
        f"N{parent} -> N{left} N{right} [{_plain(weight)}]"
        for (parent, left, right), weight in zip(arrays["binary"].tolist(), arrays["weights"].tolist(), strict=True)
    ]
    for parent, row in enumerate(arrays["lexical"].tolist()):
        lines += [f"N{parent} -> 'w{word}' [{_plain(weight)}]" for word, weight in enumerate(row)]
    return "\n".join(lines)


def spelled(arrays: Arrays) -> list[list[str]]:
    """The sentences as words."""
    return [[f"w{word}" for word in sentence] for sentence in arrays["sentences"].tolist()]


def _plain(weight: float) -> str:
    """Digits without an exponent, which nltk does not read."""
    return np.format_float_positional(weight, trim="0")
