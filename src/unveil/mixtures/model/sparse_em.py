"""Sparse EM: responsibilities move only within a short list of each row's likeliest components (Neal & Hinton 1998).

At a refresh the full posterior is computed, and for each row the list of its `active` likeliest components is kept.
Until the next refresh only the listed components are scored, and only the mass on the list is shared out anew,

    q(s) = mass_on_list * p(x, s) / sum of p(x, s) over the list     for s on the list,      unchanged elsewhere,

which is the best q of that form. What lies off the lists is frozen: its moments and its entropy were added up at the
refresh, and its part of the free energy is linear in those moments. So F is exact at every pass, and never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation
from unveil.core.statistics import Statistics
from unveil.numerics.softmax import soft_assign

if TYPE_CHECKING:
    from unveil.mixtures.model.model import BlockMemo, Mixture, MixtureParams, Plan


@dataclass(frozen=True)
class ActiveLists:
    """What a block remembers from a refresh."""

    age: int  # passes since
    lists: NDArray[np.int32]  # (active, rows), in the order of the tiles
    mass: Floats  # (rows,): responsibility on the list, without the row's weight
    moments: Floats  # of what is frozen
    entropy: float  # of what is frozen: its free energy at the refresh less its energy
    params: MixtureParams  # at the refresh: the frames of the moments


def expect_active(
    model: Mixture, plan: Plan, block: Block, expectation: Expectation, memo: BlockMemo
) -> tuple[Floats, float, ActiveLists]:
    """Moments and free energy of a block, and its lists."""
    old = memo.lists
    fresh = old is None or old.age + 1 >= expectation.refresh or not model.same_frames(old.params, plan.params)
    if fresh or old is None:
        return _refresh(model, plan, block, expectation, memo)
    return _within_lists(model, plan, block, memo, old)


def _refresh(
    model: Mixture, plan: Plan, block: Block, expectation: Expectation, memo: BlockMemo
) -> tuple[Floats, float, ActiveLists]:
    """The full posterior; the likeliest components of each row go on its list, the others are frozen."""
    k = model.n_components
    length = min(int(expectation.active or k), k)
    total, frozen = (np.zeros((k, model.family.n_statistics(block.rows.shape[1]))) for _ in range(2))
    lists, masses = [], []
    bound = frozen_energy = 0.0
    for tile in model.tiles(block, memo.patterns):
        model.score(plan, tile)
        logits = tile.logits.copy()
        soft_assign(tile.logits, np.empty(0))
        bound += _free_energy(logits, tile.logits, tile.weights)
        chosen = np.argpartition(-logits, length - 1, axis=0)[:length] if length < k else _everyone(logits)
        lists.append(np.sort(chosen, axis=0).astype(np.int32))
        masses.append(np.take_along_axis(tile.logits, lists[-1].astype(np.intp), axis=0).sum(axis=0))
        q = tile.logits.copy()
        _weigh(tile)
        total += model.family.gather(plan.family, tile)
        np.put_along_axis(q, lists[-1].astype(np.intp), 0.0, axis=0)
        frozen_energy += _free_energy(logits, q, tile.weights)
        tile.logits[...] = q
        _weigh(tile)
        frozen += model.family.gather(plan.family, tile)
    entropy = frozen_energy - model.energy(Statistics(moments=frozen), plan.params)
    return total, bound, ActiveLists(0, np.hstack(lists), np.concatenate(masses), frozen, entropy, plan.params)


def _within_lists(
    model: Mixture, plan: Plan, block: Block, memo: BlockMemo, old: ActiveLists
) -> tuple[Floats, float, ActiveLists]:
    """Share out the mass on each row's list anew."""
    moments = old.moments.copy()
    bound = old.entropy + model.energy(Statistics(moments=old.moments), plan.params)
    done = 0
    for tile in model.tiles(block, memo.patterns):
        here = slice(done, done + tile.x.shape[1])
        done = here.stop
        listed, mass = old.lists[:, here].astype(np.intp), old.mass[here]
        scores = model.score_listed(plan, tile, listed)
        q = scores.copy()
        soft_assign(q, np.ascontiguousarray(mass))
        bound += _free_energy(scores, q, tile.weights)
        tile.logits[...] = 0.0
        np.put_along_axis(tile.logits, listed, q, axis=0)
        _weigh(tile)
        moments += model.family.gather(plan.family, tile)
    lists = ActiveLists(old.age + 1, old.lists, old.mass, old.moments, old.entropy, old.params)
    return moments, bound, lists


def _free_energy(logits: Floats, q: Floats, weights: Floats | None) -> float:
    """sum of q (log p - log q), weights included."""
    held = q > 0
    terms = np.where(held, q * (np.where(held, logits, 0.0) - np.log(np.where(held, q, 1.0))), 0.0).sum(axis=0)
    return float(terms.sum() if weights is None else weights @ terms)


def _weigh(tile: Any) -> None:
    if tile.weights is not None:
        tile.logits *= tile.weights


def _everyone(logits: Floats) -> NDArray[np.intp]:
    return np.broadcast_to(np.arange(len(logits))[:, None], logits.shape)
