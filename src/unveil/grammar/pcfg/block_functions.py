"""What is done with the sentences of a block, as engines take it: scores, parses, posteriors of spans, prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.grammar import Tree
from unveil.grammar.charts.prefix import prefix_probabilities
from unveil.grammar.charts.trees import best_trees
from unveil.grammar.pcfg.expectations import log_probabilities
from unveil.grammar.pcfg.model import GrammarModel, Plan
from unveil.grammar.pcfg.spans import constituents


class Parse(NamedTuple):
    """A tree, and its log-probability; None and -inf where there is no tree."""

    tree: Tree | None
    log_probability: float


@dataclass(frozen=True)
class LogProbabilities:
    """Log-probability of each sentence of a block, as engines take it."""

    model: GrammarModel
    plan: Plan
    unknown: Floats | None = None  # weight of parent -> unknown word, (symbols,)

    def __call__(self, block: Block) -> Floats:
        """(sentences,)."""
        return log_probabilities(self.model.form, self.plan, block, self.unknown)


@dataclass(frozen=True)
class BestParses:
    """Best tree of each sentence of a block, as engines take it."""

    model: GrammarModel
    plan: Plan
    unknown: Floats | None = None

    def __call__(self, block: Block) -> list[Parse]:
        """One a sentence; words that the grammar has not are left as holes for the caller."""
        found = best_trees(
            self.model.form,
            self.plan.weights,
            np.asarray(block.rows[:, 0], dtype=np.int64),
            np.asarray(block.lengths, dtype=np.intp),
            spans=block.marks,
            unknown=self.unknown,
        )
        return [Parse(tree, float(log_probability)) for tree, log_probability in found]


@dataclass(frozen=True)
class SpanPosteriors:
    """Posteriors of the constituents of each sentence of a block, as engines take it."""

    model: GrammarModel
    plan: Plan
    unknown: Floats

    def __call__(self, block: Block) -> list[Floats]:
        """(words + 1, words + 1, nonterminals) each."""
        n, marks = self.model.form.n_nonterminals, repeat(None) if block.marks is None else block.marks
        return [
            constituents(self.plan.closed, codes, brackets, self.unknown, n)
            for codes, brackets in zip(_sentences(block), marks, strict=False)
        ]


@dataclass(frozen=True)
class PrefixProbabilities:
    """Log-probability that a sentence begins with each run of words of a block, as engines take it."""

    plan: Plan
    unknown: Floats

    def __call__(self, block: Block) -> Floats:
        """(sentences,)."""
        return np.array(
            [prefix_probabilities(self.plan.closed, codes, unknown=self.unknown)[-1] for codes in _sentences(block)]
        )


def _sentences(block: Block) -> list[NDArray[np.int64]]:
    """The codes of each sentence of a block."""
    ends = np.cumsum(np.asarray(block.lengths, dtype=np.intp))
    return np.split(np.asarray(block.rows[:, 0], dtype=np.int64), ends[:-1])
