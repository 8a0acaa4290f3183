"""A grammar laid out for the loops of a chart: which pairs of symbols are multiplied, and which rules read them.

Pairs (left, right) of the rules' right sides lie in tiles of 4 x 4, so that a number read is used four times. Symbols
that only make single words, as the parts of speech of most grammars do, are kept apart from those that only make longer
spans: a tile of the former meets one split of a span instead of all of them. Spans of two words have their own program,
as both their parts are single words.

All tables lie one after the other in two arrays, since a kernel takes long to compile if it is handed many: what looks
like a table below is the place where it begins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats, Integers

LANES = 8  # spans side by side
BLOCK = 4  # symbols of a block
SLOTS = BLOCK * BLOCK  # pairs of a tile
PLACE = 24  # bits of the place where an entry of a list reads; the bits above are the place where it adds to
FREE, INNER = -1, -2  # kinds of chains of a span, see `limits`
SHORT, ANY, LONG = 0, 1, 2  # symbols make single words alone, both, longer spans alone


class Program(NamedTuple):
    """Rules by tile, and the blocks of symbols whose products they read."""

    n_lefts: int  # blocks of left symbols
    n_rights: int
    n_tiles: int
    n_rules: int
    lefts: int  # (blocks * 4,): left symbols; n, which makes nothing, fills up the last block of each kind
    rights: int
    left_kinds: int  # (blocks,): which spans the symbols of the block make
    right_kinds: int
    tiles: int  # (tiles * 2,): left and right block
    begins: int  # (tiles + 1,): where the rules of each tile begin
    pairs: int  # (rules,): which of the 16 pairs of its tile a rule reads, and its parent
    rules: int  # (rules,): which rule of the grammar it is
    weights: int  # (rules,): in the array of values


class ClosureRows(NamedTuple):
    """Rows of the closure that are not those of I, one entry after the other."""

    n_entries: int
    n_plain: int
    pairs: int  # (entries,): child and parent
    parents: int
    children: int
    plain: int  # symbols whose row is that of I
    weights: int  # in the array of values


class PackedGrammar(NamedTuple):
    """A closed grammar as the kernels read it."""

    start: int
    n_symbols: int
    null: float  # weight of the empty sentence
    two: Program  # for spans of two words
    longer: Program
    chains: ClosureRows
    numbers: Integers
    values: Floats
    lexical: Floats  # (words + 1, n): the last row is that of an unknown word


class ByParent(NamedTuple):
    """Rules in the order of their parents, for the way down a chart."""

    begins: int  # (n + 1,): where those of each parent begin
    order: int  # (rules,): which rule of the grammar
    lefts: int  # (rules,), and the following, by rule of the grammar
    rights: int
    numbers: Integers
    weights: Floats


class Limits(NamedTuple):
    """Limits of many sentences; spans of a sentence by length, then by first word."""

    begins: Integers  # (sentences,): number of a sentence's first span, -1 if it has no limits; empty if none has
    kinds: Integers  # (spans,): FREE, INNER or the number of a rise and fall
    allowed: NDArray[np.uint8]  # (spans, n)
    chains: Floats  # (2 q + n or 0, n): rise and fall of each kind, then the inner closure
    slopes: Floats  # derivatives of one sentence by these
    totals: Floats  # the same of all sentences


class _Book:
    """Tables on their way into the two arrays."""

    def __init__(self) -> None:
        self.numbers: list[Integers] = []
        self.values: list[Floats] = []

    def number(self, table: NDArray[np.generic]) -> int:
        """Where a table of integers begins."""
        self.numbers.append(np.asarray(table, dtype=np.int64).reshape(-1))
        return sum(map(len, self.numbers[:-1]))

    def value(self, table: Floats) -> int:
        """Where a table of numbers begins."""
        self.values.append(np.asarray(table, dtype=np.float64).reshape(-1))
        return sum(map(len, self.values[:-1]))


def pack(
    start: int, parents: NDArray[np.int32], lefts: NDArray[np.int32], rights: NDArray[np.int32], weights: Floats,
    closure: Floats, lexical: Floats, null: Floats, unknown: Floats | None = None, nothing: float = 0.0,
) -> PackedGrammar:  # fmt: skip
    """Lay out a grammar; `nothing` is the weight of what is impossible: -inf where weights are logarithms."""
    n, book = len(closure), _Book()
    rows = np.empty((len(lexical) + 1, n))
    rows[:-1] = lexical
    rows[-1] = nothing if unknown is None else unknown
    reach, rules = closure != nothing, np.flatnonzero(weights != nothing)
    short = reach[:, np.any(rows != nothing, axis=0)].any(axis=1)
    long = reach[:, np.unique(parents[rules])].any(axis=1)
    lengths = np.where(short, np.where(long, ANY, SHORT), LONG)
    able = short | long
    rules = rules[able[lefts[rules]] & able[rights[rules]]]
    both_short = short[lefts[rules]] & short[rights[rules]]
    only_short = ~long[lefts[rules]] & ~long[rights[rules]]
    table = (parents.astype(np.int64), lefts.astype(np.int64), rights.astype(np.int64), weights, lengths)
    two, longer = _program(book, rules[both_short], *table), _program(book, rules[~only_short], *table)
    chains = _chains(book, closure, nothing)
    numbers, values = np.concatenate(book.numbers), np.concatenate(book.values)
    return PackedGrammar(int(start), n, float(null[start]), two, longer, chains, numbers, values, rows)


def by_parent(
    n_symbols: int, parents: NDArray[np.int32], lefts: NDArray[np.int32], rights: NDArray[np.int32], weights: Floats
) -> ByParent:
    """Rules in the order of their parents."""
    book, order = _Book(), np.argsort(parents, kind="stable")
    begins = np.searchsorted(parents[order], np.arange(n_symbols + 1))
    places = [book.number(table) for table in (begins, order, lefts, rights)]
    parts: tuple[Any, ...] = (*places, np.concatenate(book.numbers), np.array(weights, dtype=np.float64))
    return ByParent(*parts)


def _program(
    book: _Book,
    rules: NDArray[np.intp],
    parents: Integers,
    lefts: Integers,
    rights: Integers,
    weights: Floats,
    lengths: NDArray[np.intp],
) -> Program:
    """The program of some of the rules."""
    n, (left, right, parent) = len(lengths), (part[rules] for part in (lefts, rights, parents))
    left_list, left_place = _listed(np.unique(left), lengths, np.arange(n))
    partner = np.full(n, n)  # right symbols with the same partner come next to each other
    np.minimum.at(partner, right, left_place[left])
    right_list, right_place = _listed(np.unique(right), lengths, partner)
    rows, columns = left_place[left], right_place[right]
    slots, wide = rows % BLOCK * BLOCK + columns % BLOCK, max(len(right_list) // BLOCK, 1)
    # Two left blocks take turns with each right block, which so is read twice while it is at hand.
    tile = ((rows // BLOCK // 2) * wide + columns // BLOCK) * 2 + rows // BLOCK % 2
    order = np.lexsort((slots, _turns(tile * SLOTS + slots), tile))  # neighbours neither read nor add to the same
    tiles, begins = np.unique(tile[order], return_index=True)
    tables = (
        left_list,
        right_list,
        lengths[left_list[::BLOCK]],  # the first of four never fills up
        lengths[right_list[::BLOCK]],
        np.stack([tiles // 2 // wide * 2 + tiles % 2, tiles // 2 % wide], axis=1),
        np.append(begins, len(rules)),
        paired(slots[order], parent[order]),
        rules[order],
    )
    sizes = (len(left_list) // BLOCK, len(right_list) // BLOCK, len(tiles), len(rules))
    places = (*(book.number(table) for table in tables), book.value(weights[rules[order]]))
    return Program(*sizes, *places)


def paired(places: NDArray[np.intp], targets: NDArray[np.intp]) -> Integers:
    """Numbers of vectors to read and to add to, as one number of two places."""
    return np.asarray(((targets.astype(np.int64) * LANES) << PLACE) | (places * LANES))


def _turns(keys: Integers) -> Integers:
    """For each entry, how many before it have the same key."""
    order = np.argsort(keys, kind="stable")
    _, begins, inverse = np.unique(keys[order], return_index=True, return_inverse=True)
    turns = np.empty(len(keys), dtype=np.int64)
    turns[order] = np.arange(len(keys)) - begins[inverse.reshape(-1)]
    return turns


def _listed(
    symbols: NDArray[np.int64], lengths: NDArray[np.intp], order: NDArray[np.intp]
) -> tuple[Integers, Integers]:
    """Symbols in fours of one kind, filled up with n, a symbol that makes nothing; and the place of each."""
    n = len(lengths)
    parts: list[NDArray[np.int64]] = []
    for kind in (SHORT, ANY, LONG):
        part = symbols[lengths[symbols] == kind]
        part = part[np.argsort(order[part], kind="stable")]
        parts.append(np.append(part, np.full(-len(part) % BLOCK, n)))
    listed = np.concatenate(parts).astype(np.int64)
    place = np.zeros(n + 1, dtype=np.int64)
    place[listed] = np.arange(len(listed))
    return listed, place


def _chains(book: _Book, closure: Floats, nothing: float) -> ClosureRows:
    """The entries of the closure that matter."""
    n = len(closure)
    one = 1.0 if nothing == 0.0 else 0.0
    identity = np.where(np.eye(n, dtype=bool), one, nothing)
    busy = np.any(closure != identity, axis=1)
    parents, children = np.nonzero((closure != nothing) & busy[:, None])
    order = np.lexsort((parents, (children - parents) % n))  # neighbours neither read nor add to the same
    parents, children, plain = parents[order], children[order], np.flatnonzero(~busy)
    places = tuple(book.number(table) for table in (paired(children, parents), parents, children, plain))
    parts: tuple[int, ...] = (*places, book.value(closure[parents, children]))
    return ClosureRows(len(parents), len(plain), *parts)
