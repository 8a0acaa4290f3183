"""E steps of one block for several mixtures at once: what they have in common is made once.

Where the statistics T(x) of mixtures are of one kind, in one frame and in tiles of one size, one compiled call goes
from tile to tile and makes T for all of them. Each mixture is then a *panel* of natural parameters with products of its
own, of the shape that they have when it is alone: a product of another shape may differ in its last bit. So restarts
share their statistics, and so do mixtures of different sizes and structures; the draws of a bootstrap are other weights
for the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation
from unveil.families.kernels.em import CompiledSums, StatisticsPanel, expect_panels, in_frame, rows_of_tile
from unveil.numerics.tiles import readable

if TYPE_CHECKING:
    from unveil.mixtures.model.model import BlockMemo, Mixture, Plan

NO_WEIGHTS = np.empty(0)


class Share(NamedTuple):
    """What a mixture asks of a block, where that is sums of T."""

    rows: Any
    shift: Floats
    sums: CompiledSums
    panel: StatisticsPanel

    @property
    def frame(self) -> tuple[int, bytes]:
        """What the rows in their frame follow from."""
        return id(self.rows), self.shift.tobytes()

    @property
    def company(self) -> Any:
        """What has to be the same for shares to be answered in one call."""
        return self.frame, self.sums, rows_of_tile(self.panel.natural), len(self.panel.weights) > 0


def share_of(model: Mixture, plan: Plan, block: Block, expectation: Expectation, memo: BlockMemo) -> Share | None:
    """What is asked; None where the E step is another one."""
    plain = expectation.active is None and expectation.posterior and memo.codes is None and memo.patterns is None
    sums = model.family.fused(plan.family) if plain and model.compiled else None
    if sums is None:
        return None
    natural = plan.family.natural.copy()
    natural[:, 0] += plan.log_weights
    weights = NO_WEIGHTS if block.weights is None else np.ascontiguousarray(block.weights)
    return Share(block.rows, model.shift, sums, StatisticsPanel(natural, weights))


def answer_to(share: Share) -> tuple[Floats, float]:
    """Moments and log-likelihood of one mixture."""
    (found,) = expect_panels(in_frame(readable(share.rows), share.shift), [share.panel], share.sums)
    return found


def answers_to(shares: Iterable[Share | None]) -> dict[int, tuple[Floats, float]]:
    """Moments and log-likelihoods of all that ask for sums of T, by their places."""
    company: dict[Any, list[tuple[int, Share]]] = {}
    for place, share in enumerate(shares):
        if share is not None:
            company.setdefault(share.company, []).append((place, share))
    framed: dict[Any, Any] = {}
    found: dict[int, tuple[Floats, float]] = {}
    for group in company.values():
        places, alike = zip(*group, strict=True)
        found.update(zip(places, _answers(alike, framed), strict=True))
    return found


def _answers(shares: Sequence[Share], framed: dict[Any, Any]) -> list[tuple[Floats, float]]:
    """Those of one call; rows in their frame are kept for the next."""
    one = shares[0]
    if one.frame not in framed:
        framed[one.frame] = in_frame(readable(one.rows), one.shift)
    return expect_panels(framed[one.frame], [share.panel for share in shares], one.sums)
