"""What a climb has left to gain, from how its gains fall off.

Near an optimum the gains of EM are a sum of falling exponentials, one for each direction, so the ratio of a gain to the
one before rises from pass to pass towards that of the slowest. Taking the last ratio for the final one (Aitken) is
therefore always too little, and up to a hundred times so where directions are slow. What rises evenly instead is

    q = 1 / (1 - ratio),    the number of passes that a gain lasts:

constant for one exponential, a straight line of slope 1/p for gains that fall as a power p of the passes, as they do
where components overlap. Where q goes on as a line of slope s, gains add up to the last one times (q / (1 - s) - 1); a
slope of 1 or more has no sum. Where the rise of q itself slows down, the slope is its mean over the next q passes.

A leap (SQUAREM) hides the slow directions, and a few plain passes after it do not bring them back. The plain passes
before it have seen them, so their q counts too. No gain tells of what is behind a saddle.

Of 17 climbs of `benchmarks.trust.gains` (400 to 439) that have something left and gains to tell of it, ten are within a
factor of three, and the other seven are too low: slow directions had not shown yet. Asking for more passes, for q that
never falls or for a rise that slows down makes fewer numbers, not better ones. `unveil.examine` goes on and measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, nan

LOST_IN_ROUNDING = 1e-13  # of a sum over all rows: a gain below this share is none
LOOKED_AT = 9  # last gains of a run: more would tell of how the climb began
UNLIKE = 0.4  # of the gain before: a gain that falls below this share belongs to a leap, or to the pass after one
ALIKE = 1.05  # and one that rises above this share likewise; plain passes near a saddle rise by less
PLAIN_PASSES = 4  # gains in a row that make a plain stretch
LONG_RUN = 8  # gains in a row after which slow directions have come back
LONGEST = 1000.0  # passes that a gain may have lasted before a leap: leaps end what lasts longer
SLOWING = 0.5  # by what the rise of q shrinks from pass to pass, where too few passes tell
STEEPEST = 0.75  # slope of q that is still taken at its word; above, sums are made of what was never seen


def gain_left(bounds: Sequence[float]) -> float:
    """Nats that are left at the parameters after the last pass; infinite where no end is in sight, nan if unknown.

    `bounds` are the objectives of the passes, each at the parameters that entered it.

    >>> round(gain_left([0.0, 8.0, 12.0, 14.0, 15.0]), 6)
    0.5
    >>> gain_left([0.0, 1.0, 2.0, 3.5])
    inf
    """
    gains = [after - before for before, after in pairwise(bounds)]
    if not gains or not all(gain == gain and abs(gain) < inf for gain in gains[-LOOKED_AT:]):
        return nan
    if abs(gains[-1]) <= LOST_IN_ROUNDING * abs(bounds[-1]):
        return 0.0
    if len(gains) < 2 or gains[-1] < 0.0:
        return nan
    run = _run(gains)
    if len(run) < 2:
        return inf if gains[-2] > 0.0 else nan
    lasting = [1.0 / (1.0 - after / before) if after < before else inf for before, after in pairwise(run)]
    return _sum(gains[-1], lasting, _before_leaps(gains, len(run)))


def _run(gains: Sequence[float]) -> list[float]:
    """The last gains that fall, without that of a leap before them."""
    first = len(gains) - 1
    while first > 0 and gains[first - 1] >= gains[first] > 0.0:
        first -= 1
    count = len(gains) - first
    leapt = first > 0 and count > PLAIN_PASSES - 1
    return list(gains[max(first + leapt, len(gains) - LOOKED_AT) :])


def _before_leaps(gains: Sequence[float], run: int) -> float:
    """How many passes a gain lasted in the last plain stretch before this one; 0 where this one tells enough."""
    if run >= LONG_RUN:
        return 0.0
    stretches = [stretch for stretch in _stretches(gains[: len(gains) - run]) if len(stretch) >= PLAIN_PASSES]
    if not stretches:
        return 0.0
    before, after = stretches[-1][-2:]
    if after >= before:
        return 0.0  # it was leaving a plateau, which is behind it now
    return min(1.0 / (1.0 - after / before), LONGEST)


def _stretches(gains: Sequence[float]) -> Iterator[list[float]]:
    """Gains that follow each other without a leap."""
    stretch: list[float] = []
    for gain in gains:
        if stretch and not UNLIKE <= gain / stretch[-1] <= ALIKE:
            yield stretch
            stretch = []
        if gain > 0.0:
            stretch.append(gain)
    yield stretch


def _sum(last: float, lasting: Sequence[float], before: float) -> float:
    """All gains after the next one, by how long gains last and will last."""
    now = max(lasting[-1], before)
    if now == inf:
        return inf
    if before > lasting[-1]:
        return max(_beyond(last, before, 0.0), _beyond(last, lasting[-1], _slope(lasting)))
    return _beyond(last, now, _slope(lasting))


def _beyond(last: float, lasting: float, slope: float) -> float:
    """The sum where q goes on as a line, less the gain of the step that was taken after the last pass."""
    following = 1.0 - 1.0 / (lasting + slope)
    return last * max(lasting / (1.0 - slope) - 1.0 - following, 0.0)


def _slope(lasting: Sequence[float]) -> float:
    """By how much q will rise with each pass, on average over those that matter."""
    rises = [after - before for before, after in pairwise(lasting[-3:])]
    if not rises or not 0.0 < rises[-1] < inf:
        return 0.0
    horizon, slowing = lasting[-1], SLOWING
    if len(rises) > 1 and rises[0] > 0.0:
        slowing = min(rises[1] / rises[0], 1.0)
    passes = horizon if slowing == 1.0 else slowing * (1.0 - slowing**horizon) / (1.0 - slowing)
    return min(rises[-1] * passes / horizon, STEEPEST)
