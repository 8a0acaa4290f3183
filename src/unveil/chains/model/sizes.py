"""Sizes of what a chain holds or hands out at a time: they change how fast it is, and at most the last bits."""

from __future__ import annotations

from typing import NamedTuple

from unveil.chains.kernels.long_chain import CUTS, Cuts


class Sizes(NamedTuple):
    """Fields of a model, so that those who try it out on little data may have small ones."""

    chunk_rows: int = 1 << 14  # rows that are scored and added up at a time
    kept_numbers: int = 1 << 20  # that tiles may keep from scoring to adding up: eight megabytes
    drawn_steps: int = 1 << 20  # of drawn paths that are held at a time
    cuts: Cuts = CUTS  # of a single long chain


SIZES = Sizes()
