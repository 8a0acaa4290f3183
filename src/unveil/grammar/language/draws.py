"""Random chains and empty trees, for trees drawn from their posterior.

A chain that leads from A down to B ends at once with probability [A = B] / closure[A, B], else its first step, to C,
is drawn with probability (weight of the step) x closure[C, B] / closure[A, B]. An empty tree draws the row of each
node in proportion to its share of null.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.grammar.language.closure import Closed, Steps, unary_steps
from unveil.grammar.language.derivations import Choice, grow, wrap
from unveil.grammar.language.normal_form import NormalForm, Weights
from unveil.grammar.language.trees import Tree


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws chains and empty trees of a normal form at some weights.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.grammar import Draws, Tree, close, normal_form, read_grammar
    >>> form = normal_form(grammar := read_grammar("S -> S [0.5] | 'a' [0.25] | [0.25]"))
    >>> weights = form.weights(grammar.probabilities)
    >>> draws = Draws(form, weights, close(form, weights))
    >>> print(draws.chain(0, 0, Tree("S", ("a",)), np.random.default_rng(3)))
    (S (S (S a)))
    """

    form: NormalForm
    weights: Weights
    closed: Closed

    @cached_property
    def steps(self) -> Steps:
        """The steps that chains are made of."""
        return unary_steps(self.form, self.weights, self.closed.null)

    @cached_property
    def _leaving(self) -> list[NDArray[np.intp]]:
        """The steps that leave each symbol."""
        return [np.flatnonzero(self.steps.parents == symbol) for symbol in range(self.form.n_symbols)]

    @cached_property
    def _choices(self) -> list[tuple[list[Choice], Floats]]:
        """The rows that an empty tree may use at each symbol, and their running shares."""
        form, weights, null = self.form, self.weights, self.closed.null
        tables = (
            (form.empty, weights.empty),
            (form.unary[:, 0], weights.unary * null[form.unary[:, 1]]),
            (form.binary[:, 0], weights.binary * null[form.binary[:, 1]] * null[form.binary[:, 2]]),
        )
        choices = []
        for symbol in range(form.n_symbols):
            rows = [
                (Choice(n, int(row)), values[row])
                for n, (of, values) in enumerate(tables)
                for row in np.flatnonzero(of == symbol)
            ]
            choices.append(([choice for choice, _ in rows], np.cumsum([value for _, value in rows])))
        return choices

    def nothing(self, symbol: int, generator: np.random.Generator) -> Tree:
        """A random empty tree of a symbol that has one."""

        def choose(node: int) -> Choice:
            choices, running = self._choices[node]
            return choices[_pick(running, generator)]

        return grow(self.form, symbol, choose)

    def chain(self, top: int, bottom: int, tree: Tree, generator: np.random.Generator) -> Tree:
        """A tree whose root is `bottom`, under a random chain that leads to it from `top`."""
        taken, symbol, closure = [], top, self.closed.closure
        while True:
            leaving = self._leaving[symbol]
            going = self.steps.weights[leaving] * closure[self.steps.children[leaving], bottom]
            choice = _pick(np.cumsum(np.append(going, float(symbol == bottom))), generator)
            if choice == len(leaving):
                break
            taken.append(int(leaving[choice]))
            symbol = int(self.steps.children[leaving[choice]])
        return wrap(self.form, self.steps, taken, tree, lambda silent: self.nothing(silent, generator))


def _pick(running: Floats, generator: np.random.Generator) -> int:
    """An index drawn in proportion to weights, given their running sums."""
    drawn = np.searchsorted(running, generator.random() * running[-1], side="right")
    return int(min(drawn, np.searchsorted(running, running[-1])))  # the product may round up to the whole
