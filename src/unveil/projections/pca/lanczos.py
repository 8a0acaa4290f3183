"""The largest eigenvalues of a symmetric matrix that can only be multiplied by: block Lanczos with thick restarts.

From a block of random vectors B the space spanned by B, S B, S^2 B, ... is built up, one product with S at a time, by
an orthonormal basis Q; the eigenpairs of Q' S Q are the best that the space holds (Musco & Musco, "Randomized block
Krylov methods for stronger and faster approximate singular value decomposition", 2015; far better, product for product,
than the power iterations of Halko, Martinsson & Tropp, 2011, which look at the last block only). Where the basis is
full, the best vectors found stay and the rest makes room (Wu & Simon, "Thick-restart Lanczos method", 2000). What S Q
has outside of Q is in the next block W alone, S Q = Q H + W C', so the residual of every pair is known at no product.

Vectors are rows here: (count, size).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from unveil.core.arrays import Floats

Share = Callable[[Callable[[slice], Floats], list[slice]], Iterable[Floats]]
LANCZOS_ROUNDING = float(np.finfo(np.float64).eps)
CLEAR_REMAINDER = 1e-3  # of its length: a vector of which more is left after projections needs no further ones
LOST_REMAINDER = 1e-12  # of its length: a vector of which less is left after projections has no direction of its own
STRIP_COLUMNS = 2048  # columns at least of a strip of vectors that is worth a thread of its own
EAGER_PRODUCTS, CHECK_EVERY = 8, 4  # products after each of which convergence is looked at; later, after every fourth


class Leading(NamedTuple):
    """Largest eigenvalues, falling, with vectors, the norms of S v - value v, and how they were found."""

    values: Floats
    vectors: Floats
    residuals: Floats
    products: int
    converged: bool


@dataclass(frozen=True)
class LanczosSearch:
    """How many pairs are wanted, and how hard to look for them."""

    count: int
    block: int  # vectors multiplied at a time
    products: int  # at most
    tolerance: float  # of the residual of each pair, as a share of its value
    settle: bool = True  # whether it is a fault if the products do not suffice
    floor: float = 0.0  # below which residuals are rounding, whatever the tolerance


def leading(
    product: Callable[[Floats], Floats],
    support: NDArray[np.bool_],
    search: LanczosSearch,
    random: np.random.Generator,
    share: Share = map,
) -> Leading:
    """Eigenpairs of the matrix that `product` multiplies rows by; it has no entries outside of `support`.

    `share` applies a function to items, in whatever place; it changes nothing but the time.
    """
    size = int(np.count_nonzero(support))
    room = search.count + max(160, 2 * search.block)  # vectors of the basis where it is full
    kept = search.count + max(search.block // 2, 60)  # and those that stay where it is cut back
    basis = _Basis(support, min(room, size), random, share)
    block = basis.directions(min(search.block, size))
    doubted = search.block < search.count
    for number in range(1, search.products + 1):
        block, left = basis.extended(block, product(block), search.block)
        full = basis.count + len(block) > basis.most
        if not full and len(block) and number < search.products and number > EAGER_PRODUCTS and number % CHECK_EVERY:
            continue
        values, residuals = basis.values(search.count, left)
        within = search.tolerance * np.abs(values) + 32 * LANCZOS_ROUNDING * abs(values[0]) + search.floor
        complete = len(values) == min(search.count, size) and bool(np.all(residuals <= within))
        if not len(block) or (complete and not doubted) or number == search.products:
            return Leading(*basis.best(search.count), residuals, number, complete)
        if complete:  # a value may have more copies than a block has vectors: look once more, from elsewhere
            doubted = False
            basis.restart(kept)
            block = basis.directions(len(block))
        elif full:
            basis.restart(kept)
    raise ValueError(f"at least one product is needed, got {search.products}")


class _Basis:
    """An orthonormal basis that grows, and what the matrix looks like in it."""

    def __init__(self, support: NDArray[np.bool_], most: int, random: np.random.Generator, share: Share) -> None:
        self.support, self.most, self.random, self.share = support, most, random, share
        edges = np.linspace(0, len(support), max(len(support) // STRIP_COLUMNS, 1) + 1).astype(int)
        self.strips = [slice(first, last) for first, last in pairwise(edges)]
        self.size = int(np.count_nonzero(support))
        self.vectors = np.zeros((most, len(support)))
        self.matrix = np.zeros((most, most))
        self.count = 0

    def extended(self, block: Floats, products: Floats, width: int) -> tuple[Floats, Floats]:
        """Take in `block`, given its products; the next block, and what the products have along it."""
        first, self.count = self.count, self.count + len(block)
        self.vectors[first : self.count] = block
        rest, inside = self._outside(products)
        self.matrix[: self.count, first : self.count] = inside
        self.matrix[first : self.count, : self.count] = inside.T
        scale = float(np.linalg.norm(products, axis=1).max(initial=0.0))
        following = self.directions(min(width, self.size - self.count), rest, scale)
        return following, rest @ following.T

    def _outside(self, vectors: Floats) -> tuple[Floats, Floats]:
        """`vectors` without what they have inside the basis, and that."""
        known, inside = self.vectors[: self.count], np.zeros((self.count, len(vectors)))
        late = slice(max(self.count - 2 * len(vectors), 0), self.count)
        inside[late] = self._along(known[late], vectors)  # nearly all, as long as the space is a Krylov space
        vectors = self._less(vectors, inside[late], known[late])
        for _ in range(2):  # once more where that took much away, since what is left then has errors of its size
            more = self._along(known, vectors)
            vectors = self._less(vectors, more, known)
            inside += more
            if np.abs(more).max(initial=0.0) <= CLEAR_REMAINDER * np.abs(inside).max(initial=0.0):
                break
        return vectors, inside

    def _along(self, known: Floats, vectors: Floats) -> Floats:
        """known @ vectors.T, strip by strip of the columns, added up in their order."""
        return np.asarray(sum(self.share(lambda strip: known[:, strip] @ vectors[:, strip].T, self.strips)))

    def _less(self, vectors: Floats, inside: Floats, known: Floats) -> Floats:
        """vectors - inside.T @ known."""
        return self._joined(lambda strip: vectors[:, strip] - inside.T @ known[:, strip])

    def _joined(self, part: Callable[[slice], Floats]) -> Floats:
        """An array of which `part` gives each strip of the columns."""
        parts = list(self.share(part, self.strips))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def directions(self, width: int, wanted: Floats | None = None, scale: float = 0.0) -> Floats:
        """Orthonormal vectors outside of the basis: along `wanted` as far as that goes, else anywhere."""
        if width <= 0:
            return np.empty((0, len(self.support)))
        if wanted is None or scale == 0.0:
            return self._orthonormal(self._outside(self._drawn(width))[0])
        vectors, triangle = np.linalg.qr(wanted[:width].T)
        if len(wanted) >= width and np.abs(np.diagonal(triangle)).min() > CLEAR_REMAINDER * scale:
            return np.ascontiguousarray(vectors.T * self.support)
        _, triangle, order = linalg.qr(wanted.T, mode="economic", pivoting=True)
        rank = min(int(np.count_nonzero(np.abs(np.diagonal(triangle)) > LOST_REMAINDER * scale)), width)
        chosen = wanted[order[:rank]]
        if rank < width:
            others = self._orthonormal(chosen) if rank else chosen
            spare = self._outside(self._drawn(width - rank))[0]
            chosen = np.vstack([others, spare - (spare @ others.T) @ others])
        return self._orthonormal(chosen)

    def _drawn(self, count: int) -> Floats:
        return self.random.standard_normal((count, len(self.support))) * self.support

    def _orthonormal(self, vectors: Floats) -> Floats:
        """The same space, orthonormal and outside of the basis to the last digit."""
        known = self.vectors[: self.count]
        for _ in range(2):
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = np.linalg.qr((vectors - (vectors @ known.T) @ known).T)[0].T
        return np.ascontiguousarray(vectors * self.support)

    def _spectrum(self, count: int) -> tuple[Floats, Floats]:
        """The largest values of the matrix in this basis, and their vectors there."""
        wanted = [max(self.count - count, 0), self.count - 1]
        values, within = linalg.eigh(self.matrix[: self.count, : self.count], subset_by_index=wanted)
        return values[::-1], within.T[::-1]

    def values(self, count: int, left: Floats) -> tuple[Floats, Floats]:
        """The best values and the norms of their residuals, given what products of the last block have outside."""
        values, within = self._spectrum(count)
        return values, np.linalg.norm(within[:, self.count - len(left) :] @ left, axis=1)

    def best(self, count: int) -> tuple[Floats, Floats]:
        """The best values and their vectors."""
        values, within = self._spectrum(count)
        return values, self._joined(lambda strip: within @ self.vectors[: self.count, strip])

    def restart(self, count: int) -> None:
        """Keep the best vectors alone."""
        values, vectors = self.best(count)
        self.vectors[: len(values)] = vectors
        self.matrix[:] = 0.0
        self.matrix[range(len(values)), range(len(values))] = values
        self.count = len(values)


def signed(vectors: Floats) -> Floats:
    """Vectors with the largest entry of each positive, so that signs do not depend on the route."""
    places = np.argmax(np.abs(vectors), axis=1)
    return vectors * np.sign(vectors[np.arange(len(vectors)), places])[:, None]
