"""A family that is another one in all but a few things: what is not said anew here is left to the family within."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from unveil.families.base import Family

Method = TypeVar("Method", bound=Callable[..., Any])

# what a family is like
NATURE = ("framed", "takes_missing", "separable", "neutral", "missing_compiled")


def as_within(method: Method) -> Method:
    """The method of a family that hands on to that of the `family` within."""
    name = method.__name__

    @wraps(method, updated=())  # all but that it is abstract
    def handed_on(self: Any, *args: Any, **named: Any) -> Any:
        return getattr(self.family, name)(*args, **named)

    return cast(Method, handed_on)


class Wrapped(Family):
    """Hands everything on to `family`; `maximise`, `first`, `n_parameters` and `coordinates` are left to say."""

    family: Family

    @abstractmethod
    def coordinates(self, params: Any) -> Any:
        """Unconstrained coordinates around `params`."""

    @property
    def within(self) -> Family:
        """As within."""
        return self.family.within

    n_statistics = as_within(Family.n_statistics)
    tile_rows = as_within(Family.tile_rows)
    framing = as_within(Family.framing)
    declared = as_within(Family.declared)
    lacks = as_within(Family.lacks)

    # -- E step --------------------------------------------------------------------------------------------------------

    plan = as_within(Family.plan)
    score = as_within(Family.score)
    score_listed = as_within(Family.score_listed)
    gather = as_within(Family.gather)
    gather_first = as_within(Family.gather_first)
    log_base = as_within(Family.log_base)
    encode = as_within(Family.encode)
    expect_coded = as_within(Family.expect_coded)
    expect_missing = as_within(Family.expect_missing)
    fused = as_within(Family.fused)
    missing_cells = as_within(Family.missing_cells)
    complete = as_within(Family.complete)

    # -- parameters ----------------------------------------------------------------------------------------------------

    natural = as_within(Family.natural)
    log_prior = as_within(Family.log_prior)
    gauge = as_within(Family.gauge)
    gauge_size = as_within(Family.gauge_size)
    admissible = as_within(Family.admissible)
    least_rows = as_within(Family.least_rows)
    suits = as_within(Family.suits)
    recentre = as_within(Family.recentre)
    same_frames = as_within(Family.same_frames)
    located = as_within(Family.located)
    moved = as_within(Family.moved)
    floored = as_within(Family.floored)
    spiked = as_within(Family.spiked)
    health = as_within(Family.health)

    # -- use -----------------------------------------------------------------------------------------------------------

    draw = as_within(Family.draw)
    factoring = as_within(Family.factoring)
    ellipses = as_within(Family.ellipses)
    taken = as_within(Family.taken)
    told_apart = as_within(Family.told_apart)
    means = as_within(Family.means)
    covariances = as_within(Family.covariances)
    distribution = as_within(Family.distribution)
    cumulative = as_within(Family.cumulative)
    in_turn = as_within(Family.in_turn)
    is_lattice = as_within(Family.is_lattice)
    n_levels = as_within(Family.n_levels)
    marginal = as_within(Family.marginal)
    conditional = as_within(Family.conditional)
    embed = as_within(Family.embed)
    embedding = as_within(Family.embedding)
    typical = as_within(Family.typical)
