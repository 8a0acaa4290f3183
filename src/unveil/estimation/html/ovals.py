"""Groups over two columns: an ellipse at two standard deviations for each, and its centre; or centres alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.svg import LEFT, RIGHT, Scales, axes, colour_of, line, number, text

MOST_GROUPS, FEW_GROUPS = 24, 8  # more hide each other; so many have room for a fill, or words
TURN = np.linspace(0.0, 2.0 * np.pi, 29)


@dataclass(frozen=True, eq=False)
class Ovals:
    """Drawing data of groups."""

    names: tuple[str, str]  # of the two columns
    means: Floats  # (groups, 2)
    matrices: Floats | None = None  # (groups, 2, 2)
    shares: Floats | None = None  # (groups,), which the areas of the centres show
    labels: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is to be seen."""
        kind = "Centres" if self.matrices is None else "Ellipses at 2 standard deviations"
        return f"{kind} of {len(self.means)} groups over {self.names[0]} and {self.names[1]}"

    def drawn(self) -> str:
        """Ellipses below, centres above."""
        shown = range(min(len(self.means), MOST_GROUPS))
        outlines = [self._outline(group) for group in shown]
        scales = Scales.over(outlines, margin=0.05 if self.matrices is not None else 0.14)
        parts = [axes(*self.names)]
        if self.matrices is not None:
            look = f'fill-opacity="{0.12 if len(self.means) <= FEW_GROUPS else 0.02}"'
            parts += [line(scales(outlines[g]), colour_of(g), fill=colour_of(g), more=look) for g in shown]
        return "".join([*parts, *(self._centre(scales, group) for group in shown)])

    def _outline(self, group: int) -> Floats:
        mean = self.means[group]
        if self.matrices is None:
            return mean[None]
        values, vectors = np.linalg.eigh(self.matrices[group])
        circle = np.column_stack([np.cos(TURN), np.sin(TURN)])
        return np.asarray(mean + 2.0 * (circle * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    def _centre(self, scales: Scales, group: int) -> str:
        (x, y), share = scales(self.means[group])[0], 0.0 if self.shares is None else float(self.shares[group])
        radius = 2.5 if self.matrices is not None else 3.5 + 11.0 * np.sqrt(share)
        place = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
        dot = f'<circle {place} fill="{colour_of(group)}" fill-opacity="0.75"/>'
        if not self.labels or len(self.labels) > FEW_GROUPS:
            return dot
        right = x > (LEFT + RIGHT) / 2
        away, anchor = (-radius - 3, "end") if right else (radius + 3, "start")
        return dot + text(x + away, y + 3, self.labels[group], anchor=anchor, longest=16)
