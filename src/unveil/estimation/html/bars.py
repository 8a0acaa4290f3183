"""Bars: shares along directions, sizes of clusters, probabilities of rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, axes, colour_of, number, text

MOST_BARS, MOST_LINES = 30, 8
LABEL = 118  # pixels that the words before a lying bar have


@dataclass(frozen=True, eq=False)
class Bars:
    """Drawing data of standing bars; `said` is what they are."""

    said: str
    values: Floats
    each_its_colour: bool = False

    @property
    def words(self) -> str:
        """What is to be seen."""
        return f"Bars: {self.said}"

    def drawn(self) -> str:
        """From left to right, as high as the highest allows."""
        values = np.asarray(self.values, dtype=np.float64)[:MOST_BARS]
        top, step = float(np.max(values, initial=0.0)) or 1.0, (RIGHT - LEFT) / max(len(values), 1)
        parts = [axes(self.said)]
        for place, value in enumerate(np.maximum(values, 0.0).tolist()):
            height, x = (BOTTOM - TOP) * value / top, LEFT + step * (place + 0.12)
            box = (
                f'x="{number(x)}" y="{number(BOTTOM - height)}" width="{number(0.76 * step)}" height="{number(height)}"'
            )
            parts.append(f'<rect {box} fill="{colour_of(place if self.each_its_colour else 0)}"/>')
        return "".join(parts)


@dataclass(frozen=True, eq=False)
class NamedBars:
    """Drawing data of lying bars with words before them."""

    said: str
    names: tuple[str, ...]
    values: Floats  # in [0, 1]

    @property
    def words(self) -> str:
        """What is to be seen."""
        return f"Bars: {self.said}"

    def drawn(self) -> str:
        """One below the other."""
        shown = list(zip(self.names, np.asarray(self.values).tolist(), strict=True))[:MOST_LINES]
        step, parts = (HEIGHT - 20) / max(len(shown), 1), []
        for place, (name, value) in enumerate(shown):
            y = 4 + step * place
            width = max((WIDTH - LABEL - 34) * min(max(value, 0.0), 1.0), 1.0)
            box = f'x="{LABEL}" y="{number(y)}" width="{number(width)}" height="{number(0.7 * step)}"'
            parts.append(f'<rect {box} fill="{colour_of(0)}"/>')
            parts.append(text(LABEL - 4, y + 0.35 * step + 3, name, anchor="end"))
            parts.append(text(LABEL + width + 3, y + 0.35 * step + 3, f"{value:.0%}"))
        return "".join([*parts, text(WIDTH / 2, HEIGHT - 5, self.said, anchor="middle", longest=40)])
