r"""Is there a valley between two groups on a line?

Where a density has one mode, it is nowhere lower than on both sides: for three intervals A < V < B, the mean density in
V is at least the smaller of those in A and B. Were it equal in V and B, then of the rows in either a share
|V| / (|V| + |B|) would fall into V, so the chance of so few in V is a binomial tail; likewise for A, and the larger
chance of the two counts. The intervals are chosen where two Gaussians with the moments of the groups promise the
smallest chance, not by looking for gaps among the rows themselves.

Rows of one flat or skewed hump have shallow gaps somewhere, and a mixture finds them. So a valley also has to be deep,
and where its chance is not minute, two Gaussians have to explain the rows better than one hump of any shape does
(`unveil.judgement.real.one_hump`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtr

from unveil.core.arrays import Floats
from unveil.judgement.real.one_hump import TwoNormals, best_hump, two_normals_log_likelihood

DEEP = 0.7  # of the lower peak: what is higher is no valley, however many rows say so
MINUTE = 1e-6  # a chance below which no gap of one hump is to be expected anywhere
OPEN = 0.15  # a chance above which the rows are not looked at any further
BETTER = 3.0  # nats that two Gaussians must be better by than one hump: twenty to one
INNER = (0.15, 0.25, 0.35, 0.5)  # half-widths of the valley, as shares of the way to each peak
TOWARDS = (0.2, 0.35, 0.5, 0.65)  # how far a peak's interval reaches into that way
BEYOND = (0.5, 1.0, 1.5)  # and how far out, in deviations
GRID = 401  # points between the groups at which the valley is looked for

Interval = tuple[float, float]


class Valley(NamedTuple):
    """How low the density is between two groups, as a share of the lower peak, and the chance of that by luck."""

    depth: float
    chance: float


NONE = Valley(1.0, 1.0)


def valley_between(t: Floats, second: NDArray[np.bool_]) -> Valley:
    """The valley between rows on a line, those of the `second` group to the right of those of the first.

    >>> t = np.concatenate([np.linspace(-1, 1, 50), np.linspace(3, 5, 50)])
    >>> valley = valley_between(t, t > 2)
    >>> valley.depth < 0.1, valley.chance < 1e-6
    (True, True)
    >>> valley_between(np.linspace(0, 1, 100), np.arange(100) > 50)
    Valley(depth=1.0, chance=1.0)
    """
    if second.all() or not second.any():
        return NONE
    unit = float(t.std())
    t = (t - float(np.median(t))) / (unit if unit > 0 else 1.0)
    normals = _moments(t, second)
    places = _places(normals)
    if places is None:
        return NONE
    left, middle, right = _intervals(normals, len(t), places)
    counts = [int(np.count_nonzero((t > low) & (t < high))) for low, high in (left, middle, right)]
    peak = min(counts[0] / _width(left), counts[2] / _width(right))
    depth = counts[1] / _width(middle) / peak if peak > 0 else np.inf
    if depth > DEEP:
        return Valley(min(depth, 1.0), 1.0)
    chance = max(
        _chance(counts[1], counts[side], _width(middle), _width(each)) for side, each in ((0, left), (2, right))
    )
    if MINUTE < chance <= OPEN and _gain(t, normals) < BETTER:
        return Valley(depth, 1.0)
    return Valley(float(depth), float(chance))


def _gain(t: Floats, normals: TwoNormals) -> float:
    """Nats that two Gaussians explain the rows better by than one hump."""
    return two_normals_log_likelihood(t, normals) - best_hump(t).log_likelihood(t)


def _moments(t: Floats, second: NDArray[np.bool_]) -> TwoNormals:
    """Two Gaussians with the moments of the groups."""
    groups = (t[~second], t[second])
    means, deviations = (np.array([getattr(group, name)() for group in groups]) for name in ("mean", "std"))
    share = float(second.mean())
    return TwoNormals(np.array([1.0 - share, share]), means, np.maximum(deviations, 1e-6))


def _places(normals: TwoNormals) -> tuple[float, float, float] | None:
    """Peak, valley and peak of the density of two Gaussians; None where it has no valley."""
    if normals.means[0] >= normals.means[1]:
        return None
    grid = np.linspace(normals.means[0], normals.means[1], GRID)
    z = (grid - normals.means[:, None]) / normals.deviations[:, None]
    density = (normals.weights / normals.deviations) @ np.exp(-0.5 * z**2)
    brim = np.minimum(np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1])
    lowest = int(np.argmax(brim / np.maximum(density, 1e-300)))
    if brim[lowest] <= density[lowest] * (1.0 + 1e-6):
        return None
    peaks = int(np.argmax(density[: lowest + 1])), lowest + int(np.argmax(density[lowest:]))
    return float(grid[peaks[0]]), float(grid[lowest]), float(grid[peaks[1]])


def _intervals(normals: TwoNormals, n_rows: int, places: tuple[float, float, float]) -> tuple[Interval, ...]:
    """Around the first peak, the valley and the second peak, where the chance is expected to be smallest."""
    first, lowest, last = places
    ways = lowest - first, last - lowest

    def expected(interval: Interval) -> float:
        low, high = ((end - normals.means) / normals.deviations for end in interval)
        return n_rows * float(normals.weights @ (ndtr(high) - ndtr(low)))

    def best(side: int, share: float, valley: Interval) -> tuple[float, Interval]:
        peak, way, deviation = (first, last)[side], ways[side], float(normals.deviations[side])
        reach = [
            (towards * way, beyond * deviation) for towards in TOWARDS for beyond in BEYOND if towards + share <= 1
        ]
        tried = [(peak - out, peak + into) if side == 0 else (peak - into, peak + out) for into, out in reach]
        chances = [_chance(expected(valley), expected(each), _width(valley), _width(each)) for each in tried]
        return min(zip(chances, tried, strict=True))

    found: list[tuple[float, tuple[Interval, ...]]] = []
    for share in INNER:
        valley = (lowest - share * ways[0], lowest + share * ways[1])
        sides = [best(side, share, valley) for side in (0, 1)]
        found.append((max(sides[0][0], sides[1][0]), (sides[0][1], valley, sides[1][1])))
    return min(found)[1]


def _width(interval: Interval) -> float:
    return interval[1] - interval[0]


def _chance(inside: float, beside: float, width: float, width_beside: float) -> float:
    """Chance of so few rows in the valley, where its density is that beside; half of that of just as many."""
    if beside <= 0:
        return 1.0
    share = width_beside / (width + width_beside)
    upto = betainc(beside, inside + 1.0, share)
    below = betainc(beside + 1.0, inside, share) if inside > 0 else 0.0
    return float(upto + below) / 2.0
