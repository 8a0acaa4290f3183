"""How the time of a pass of inside-outside grows with the sentences: ten times as many should take ten times as long.

What is done once a fit, such as reading the grammar, counts too.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.ladders import growth_lines
from benchmarks.tasks.trees import InsideOutside, notation, spelled


@dataclass(frozen=True)
class Ladder:
    """Collections of sentences of rising size, all leading parts of one, under one grammar."""

    sizes: tuple[int, ...]
    rounds: int = 3

    def rows(self, say: Callable[[str], None]) -> list[list[str]]:
        """The table, from fits of one pass made now, in this process."""
        from unveil import PCFG
        from unveil.grammar import read_grammar

        arrays = InsideOutside(max(self.sizes)).arrays()
        grammar, sentences = read_grammar(notation(arrays)), spelled(arrays)
        best = [np.inf] * len(self.sizes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a fit stops at its limit is meant
            for number in range(self.rounds + 1):
                say(f"sentences: round {number} of {self.rounds}")
                for place, size in enumerate(self.sizes):
                    began = time.perf_counter()
                    PCFG(grammar, max_iter=1, tol=0.0).fit(sentences[:size])
                    spent = time.perf_counter() - began
                    best[place] = min(best[place], spent if number else np.inf)  # the first round compiles
        return growth_lines("PCFG, one pass", self.sizes, best)


FULL = Ladder((1_000, 10_000))
QUICK = Ladder((10, 100), rounds=1)
