"""Random grammars over given symbols, as rough as is wanted: something to test, time and play with.

Every symbol may become any two symbols or any word (Lari and Young, 1990). Both kinds of rules have weights drawn from
a Dirichlet distribution; the first kind has `BRANCHING_SHARE` of it, less than a half, so that derivations end.
Fits of `PCFG` start from milder ones, see `unveil.grammar.pcfg.starts`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.grammar.language.rules import Grammar, Nonterminal, Rule, normalised

BRANCHING_SHARE = 0.45  # of a symbol's probability: sentences of 5.5 words on average


def random_grammar(
    nonterminals: int | Sequence[str | Nonterminal],
    words: Sequence[str],
    start: str | Nonterminal | None = None,
    seed: int | np.random.Generator | None = None,
    n_binary: int | None = None,
    concentration: float = 1.0,
) -> Grammar:
    """Rules A -> B C and A -> word with random probabilities.

    Parameters
    ----------
    nonterminals : int or sequence of names
        The symbols; a number n stands for S, N1, N2, ...
    words : sequence of str
        Every symbol may become every word.
    start : str or Nonterminal, optional
        The first symbol unless given.
    seed : int, Generator or None
        Of the draws.
    n_binary : int, optional
        How many rules A -> B C to keep, drawn at random; all n ** 3 unless given.
    concentration : float
        Of the Dirichlet distributions: small for a few likely rules, large for even ones.

    Examples
    --------
    >>> from unveil.grammar import Grammar
    >>> grammar = Grammar.random(3, ["a", "b"], seed=0, n_binary=5)
    >>> grammar.n_rules, grammar.start, grammar.is_consistent
    (11, Nonterminal(name='S'), True)
    """
    symbols = _symbols(nonterminals)
    root = symbols[0] if start is None else Nonterminal(str(start))
    if root not in symbols:
        raise ValueError(f"start must be one of the nonterminals, got {start!r}")
    if isinstance(words, str) or not words or len(set(words)) != len(words):
        raise ValueError(f"words must be a list of distinct words, at least one, got {words!r}")
    if not 0 < concentration < np.inf:
        raise ValueError(f"concentration must be a number above 0, got {concentration!r}")
    generator = np.random.default_rng(seed)
    pairs = _pairs(len(symbols), n_binary, generator)
    rules: list[Rule] = []
    weights: list[Floats] = []
    for number, parent in enumerate(symbols):
        own = pairs[pairs[:, 0] == number, 1:]
        rules += [Rule(parent, (symbols[left], symbols[right])) for left, right in own]
        rules += [Rule(parent, (word,)) for word in words]
        share = BRANCHING_SHARE if len(own) else 0.0
        weights += [share * _shares(len(own), concentration, generator)] if len(own) else []
        weights += [(1 - share) * _shares(len(words), concentration, generator)]
    return normalised(root, rules, np.concatenate(weights))


def _symbols(nonterminals: int | Sequence[str | Nonterminal]) -> list[Nonterminal]:
    """The symbols named, or as many as counted."""
    if isinstance(nonterminals, int):
        nonterminals = ["S", *(f"N{number}" for number in range(1, nonterminals))] if nonterminals > 0 else []
    if isinstance(nonterminals, str) or not nonterminals or len(set(map(str, nonterminals))) != len(nonterminals):
        raise ValueError(
            f"nonterminals must be a number or a list of distinct names, at least one, got {nonterminals!r}"
        )
    return [Nonterminal(str(name)) for name in nonterminals]


def _pairs(n_symbols: int, n_binary: int | None, generator: np.random.Generator) -> NDArray[np.intp]:
    """Binary rules as rows parent, left, right, in order."""
    total = n_symbols**3
    if n_binary is None:
        chosen = np.arange(total)
    elif 0 <= n_binary <= total:
        chosen = np.sort(generator.choice(total, size=n_binary, replace=False))
    else:
        raise ValueError(f"n_binary must be from 0 to {total} for {n_symbols} nonterminals, got {n_binary!r}")
    return np.column_stack(np.unravel_index(chosen, (n_symbols,) * 3))


def _shares(count: int, concentration: float, generator: np.random.Generator) -> Floats:
    """A draw from a Dirichlet distribution; even shares where it underflows."""
    draw = generator.standard_gamma(concentration, size=count)
    total = draw.sum()
    return draw / total if total > 0 else np.full(count, 1.0 / count)
