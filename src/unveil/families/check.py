"""The public check of a family of one's own: does it keep what every family promises a mixture?

Densities of the same family must agree on what a unit of probability is. With m the equal mixture of some of them and
rows drawn from m, the mean of p(x) / m(x) is 1 for each, whatever the dimension; a wrong log-normaliser shows there.
Draws must also look like their parameters: an M step on n of them gains about as many units of log-likelihood as half
of a chi-square variable with as many degrees of freedom as there are parameters (Wilks 1938).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import chi2

from unveil.core.arrays import Floats
from unveil.families.base import ExponentialFamily, Family, Tile

CHECK_ROUNDING = 1e-9
DRAWS_EACH = 2000  # rows drawn from each component
DRAW_BATCHES = 40  # that they are cut into, to tell how far means may be off
MOST_STANDARD_ERRORS = 8.0  # standard errors that a mean may be off
LEAST_P_VALUE = 1e-9
EM_PASSES = 12
PERTURBATION_SIZES = (0.3, 0.1, 0.03, 0.01, 0.003)  # of perturbations of the moments


def check_family(
    family: Family,
    params: Any,
    rows: Any,
    *,
    log_density: Callable[[Floats], Any] | None = None,
    support: tuple[float, float] | Floats | None = None,
    random_state: int = 0,
) -> None:
    """Check numerically that a family keeps its promises to a mixture.

    Parameters
    ----------
    family : Family
        The family.
    params : object
        Parameters of it, best of two components or more that overlap.
    rows : array of shape (n_rows, n_columns)
        Some dozens of complete rows that suit the family.
    log_density : callable, optional
        Your own formula: of rows (n, columns), the log-density (n, components).
    support : pair of numbers or array, optional
        For a family of one column: the ends of an interval, over which densities must integrate to 1; or all values
        that are likely at all, over which probabilities must add up to 1.
    random_state : int, default=0
        Seed of the draws.

    Raises
    ------
    AssertionError
        With what failed, and where to mend it.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.check import check_family
    >>> from unveil.families.poisson import Poisson, PoissonParams
    >>> params = PoissonParams(np.array([[1.0], [4.0]]))
    >>> rows = np.random.default_rng(0).poisson(2.0, (60, 1)).astype(float)
    >>> check_family(Poisson(), params, rows, support=np.arange(60.0))
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    _require(rows.ndim == 2 and len(rows) >= 10, "rows must be a table of at least 10 complete rows")
    _require(not np.isnan(rows).any(), "rows must have no missing cells: these are made here")
    subject = Subject(family, params, rows, len(family.natural(params)), np.random.RandomState(random_state))
    for check in CHECKS:
        check(subject)
    if log_density is not None:
        _density_is_the_formula(subject, np.asarray(log_density(rows), dtype=np.float64))
    if support is not None:
        _mass_is_one(subject, support)


@dataclass(frozen=True)
class Subject:
    """A family under examination."""

    family: Family
    params: Any
    rows: Floats
    k: int
    random: np.random.RandomState

    @property
    def name(self) -> str:
        """Of its class."""
        return type(self.family).__name__

    def scored(self, rows: Floats, params: Any = None, observed: NDArray[np.intp] | None = None) -> tuple[Any, Tile]:
        """A plan, and a tile of rows scored by it."""
        plan = self.family.plan(self.params if params is None else params)
        tile = Tile(np.ascontiguousarray(rows.T), np.empty((self.k, len(rows))), None, slice(0, len(rows)), observed)
        self.family.score(plan, tile)
        return plan, tile

    def scores(self, rows: Floats, params: Any = None, observed: NDArray[np.intp] | None = None) -> Floats:
        """log p(x | component) - log h(x), (components, rows)."""
        return self.scored(rows, params, observed)[1].logits

    def moments(self, rows: Floats, q: Floats, observed: NDArray[np.intp] | None = None) -> Floats:
        """Sums of statistics under responsibilities (components, rows)."""
        plan, tile = self.scored(rows, None, observed)
        tile.logits[...] = q
        return self.family.gather(plan, tile)

    def responsibilities(self, n_rows: int) -> Floats:
        """Random ones."""
        drawn = self.random.random_sample((self.k, n_rows)) + 0.05
        return drawn / drawn.sum(axis=0)

    def draws(self, params: Any) -> list[Floats]:
        """Rows of each component."""
        return [self.family.draw(params, component, DRAWS_EACH, self.random) for component in range(self.k)]

    def objective(self, moments: Floats, params: Any) -> float:
        """What an M step climbs."""
        return float(np.sum(self.family.natural(params) * moments)) + self.family.log_prior(params)


def _require(kept: Any, message: str) -> None:
    if not kept:
        raise AssertionError(message)


def _close(one: Any, other: Any) -> bool:
    """Equal but for rounding, measured against the largest number."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    scale = max(float(np.max(np.abs(other), initial=0.0)), 1.0)
    return bool(np.all(np.abs(one - other) <= CHECK_ROUNDING * scale))


# -- the E step --------------------------------------------------------------------------------------------------------


def _shapes_fit(s: Subject) -> None:
    q, n_columns = s.responsibilities(len(s.rows)), s.rows.shape[1]
    scores, moments, base = s.scores(s.rows), s.moments(s.rows, q), s.family.log_base(s.rows.T)
    _require(np.isfinite(scores).all(), f"{s.name}.score gives numbers that are not finite: mend `natural` or `score`")
    shape = (s.k, s.family.n_statistics(n_columns))
    _require(moments.shape == shape, f"{s.name}.gather gives {moments.shape}, and n_statistics says {shape}")
    weight = "moments must begin with the weight of each component: the first statistic of every row is 1"
    _require(_close(moments[:, 0], q.sum(axis=1)), f"{s.name}.gather: {weight}")
    _require(base is None or np.shape(base) == (len(s.rows),), f"{s.name}.log_base must give one number per row")


def _score_is_linear_in_the_statistics(s: Subject) -> None:
    if not isinstance(s.family, ExponentialFamily):
        return
    q = s.responsibilities(len(s.rows))
    energy = np.sum(s.family.natural(s.params) * s.moments(s.rows, q), axis=1)
    _require(
        _close(energy, np.sum(q * s.scores(s.rows), axis=1)),
        f"{s.name}: natural parameters times moments are not the expected score: `natural` and `statistics` (or "
        "`score` and `gather`) must list the same statistics in the same order",
    )


def _parts_add_up(s: Subject) -> None:
    q, cut = s.responsibilities(len(s.rows)), len(s.rows) // 3
    parts = s.moments(s.rows[:cut], q[:, :cut]) + s.moments(s.rows[cut:], q[:, cut:])
    mend = "a row must count the same whatever rows come with it"
    _require(_close(parts, s.moments(s.rows, q)), f"{s.name}.gather: parts of a table do not add up: {mend}")


def _weight_is_repetition(s: Subject) -> None:
    q = s.responsibilities(len(s.rows))
    twice = s.moments(np.concatenate([s.rows, s.rows]), np.concatenate([q, q], axis=1))
    mend = "sums must be linear in ``tile.logits``"
    _require(_close(twice, s.moments(s.rows, 2.0 * q)), f"{s.name}.gather: weight 2 is not the row twice: {mend}")


def _taken_reorders(s: Subject) -> None:
    order = np.arange(s.k)[::-1].copy()
    turned = s.scores(s.rows, s.family.taken(s.params, order))
    _require(_close(turned, s.scores(s.rows)[order]), f"{s.name}.taken must give the components in the order asked for")


def _located_follows_the_rows(s: Subject) -> None:
    shift = np.where(s.family.framing(s.rows.shape[1]), 0.5, 0.0)
    found = s.scores(s.rows + shift, s.family.located(s.params, shift))
    mend = "rows and parameters shifted alike must score the same, or else `framed` be False"
    _require(_close(found, s.scores(s.rows)), f"{s.name}.located: {mend}")


# -- the M step --------------------------------------------------------------------------------------------------------


def _maximise_is_a_maximum(s: Subject) -> None:
    moments = s.moments(s.rows, s.responsibilities(len(s.rows)))
    _require(s.family.admissible(moments), f"{s.name}.admissible refuses the moments of real rows")
    best = s.objective(moments, s.family.maximise(moments, s.params))
    for size in PERTURBATION_SIZES * 4:
        other = s.moments(s.rows, s.responsibilities(len(s.rows)) ** 2)
        near = s.family.maximise((1.0 - size) * moments + size * other, s.params)
        _require(
            s.objective(moments, near) <= best + CHECK_ROUNDING * max(abs(best), 1.0),
            f"{s.name}.maximise is no maximum: parameters from other moments explain these better. Check it against "
            "`natural` and `log_prior`: their gradient must vanish at what it returns",
        )


def _first_is_usable(s: Subject) -> None:
    q = s.responsibilities(len(s.rows))
    tile = Tile(np.ascontiguousarray(s.rows.T), q, None, slice(0, len(s.rows)))
    first = s.family.first(s.family.gather_first(tile))
    _require(np.isfinite(s.scores(s.rows, first)).all(), f"{s.name}.first gives parameters with infinite scores")


def _empty_components_keep_their_parameters(s: Subject) -> None:
    q = np.zeros((s.k, len(s.rows)))
    q[0] = 1.0
    scores = s.scores(s.rows, s.family.maximise(s.moments(s.rows, q), s.params))
    mend = "a component without weight must keep what it had"
    _require(np.isfinite(scores).all(), f"{s.name}.maximise gives infinite scores where components are empty: {mend}")


def _bound_never_falls(s: Subject) -> None:
    _climb(s, [(s.rows, None)], "of complete rows")
    if s.family.takes_missing:
        thirds = np.array_split(s.rows, 3)
        gaps = [_without(thirds[0], 0), _without(thirds[1], s.rows.shape[1] - 1), (thirds[2], None)]
        _climb(s, gaps, "of rows with missing cells")


def _climb(s: Subject, tables: list[tuple[Floats, NDArray[np.intp] | None]], what: str) -> None:
    """A few passes of EM, all in the open."""
    shares, params, before = np.full(s.k, 1.0 / s.k), s.params, -np.inf
    for _ in range(EM_PASSES):
        params = s.family.recentre(params)
        bound, parts = s.family.log_prior(params), []
        for rows, observed in tables:
            plan, tile = s.scored(rows, params, observed)
            tile.logits += np.log(shares)[:, None]
            totals = logsumexp(tile.logits, axis=0)
            bound += float(totals.sum())
            np.exp(tile.logits - totals, out=tile.logits)
            parts.append(s.family.gather(plan, tile))
        _require(
            bound >= before - CHECK_ROUNDING * max(abs(before), 1.0) if np.isfinite(before) else True,
            f"{s.name}: EM {what} lowered its bound from {before!r} to {bound!r}: `score`, `gather` and `maximise` "
            "do not speak of the same density",
        )
        moments = np.sum(parts, axis=0)
        before, shares, params = bound, moments[:, 0] / moments[:, 0].sum(), s.family.maximise(moments, params)


# -- draws -------------------------------------------------------------------------------------------------------------


def _densities_are_normalised_alike(s: Subject) -> None:
    other = s.family.maximise(s.moments(s.rows, s.responsibilities(len(s.rows)) ** 2), s.params)
    sets = (s.params, other)
    rows = np.concatenate([drawn for params in sets for drawn in s.draws(params)])
    scores = np.concatenate([s.scores(rows, params) for params in sets])
    ratios = np.exp(scores - logsumexp(scores, axis=0)) * len(scores)
    strata = ratios.reshape(len(scores), len(scores), DRAWS_EACH)
    errors = np.sqrt(strata.var(axis=2).sum(axis=1) / DRAWS_EACH) / len(scores)
    _require(
        np.all(np.abs(ratios.mean(axis=1) - 1.0) <= MOST_STANDARD_ERRORS * errors + CHECK_ROUNDING),
        f"{s.name}: densities are not normalised, or `draw` draws from something else: check the constant (log-"
        f"normaliser) in `natural`. Masses found, in units of their mean: {np.round(ratios.mean(axis=1), 4).tolist()}",
    )


def _draws_look_like_their_parameters(s: Subject) -> None:
    rows = np.concatenate(s.draws(s.params))
    q = np.repeat(np.eye(s.k), DRAWS_EACH, axis=1)
    fitted = s.family.maximise(s.moments(rows, q), s.params)
    gain = 2.0 * float(np.sum(q * (s.scores(rows, fitted) - s.scores(rows))))
    limit = float(chi2.isf(LEAST_P_VALUE, s.family.n_parameters(s.k, rows.shape[1])))
    _require(
        gain <= limit,
        f"{s.name}: rows from `draw` are better explained by other parameters (twice the gain in log-likelihood is "
        f"{gain:.4g}, chance gives less than {limit:.4g}): check `draw`, and `n_parameters`",
    )


# -- missing cells -----------------------------------------------------------------------------------------------------


def _missing_cells_leave_the_marginal(s: Subject) -> None:
    if not s.family.takes_missing:
        return
    nothing, observed = _without(s.rows, *range(s.rows.shape[1]))
    zero = s.scores(nothing, None, observed)
    _require(_close(zero, np.zeros_like(zero)), f"{s.name}.score of rows with nothing in them must be 0")
    for column in range(s.rows.shape[1] if s.rows.shape[1] > 1 else 0):
        holed, kept = _without(s.rows, column)
        family, params = s.family.marginal(s.params, kept)
        alone = Subject(family, params, s.rows[:, kept], s.k, s.random)
        found, want = s.scores(holed, None, kept), alone.scores(alone.rows)
        mend = "`score` with `observed` and `marginal` must agree"
        _require(_close(found, want), f"{s.name}: without column {column} the score is not the marginal's: {mend}")
        base, own = s.family.log_base(holed.T), family.log_base(alone.rows.T)
        left_out = base is None or np.allclose(base, 0.0 if own is None else own, rtol=CHECK_ROUNDING)
        _require(left_out, f"{s.name}.log_base must leave missing cells out")


def _missing_statistics_are_expectations(s: Subject) -> None:
    if not s.family.takes_missing:
        return
    for component, drawn in enumerate(s.draws(s.params)):
        batches = np.array_split(drawn, DRAW_BATCHES)
        q = np.eye(s.k)[:, [component]]
        seen = np.array([s.moments(rows, np.repeat(q, len(rows), axis=1))[component] / len(rows) for rows in batches])
        nothing, observed = _without(drawn[:1], *range(drawn.shape[1]))
        want = s.moments(nothing, q, observed)[component]
        allowed = MOST_STANDARD_ERRORS * seen.std(axis=0) / np.sqrt(DRAW_BATCHES) + CHECK_ROUNDING * np.maximum(
            np.abs(want), 1.0
        )
        mend = "check `expected` (or `gather` with `observed`) and `draw`"
        off = np.flatnonzero(np.abs(seen.mean(axis=0) - want) > allowed).tolist()
        _require(not off, f"{s.name}: statistics {off} of draws are not as expected of missing cells: {mend}")


def _complete_fills_what_is_missing(s: Subject) -> None:
    if not s.family.takes_missing:
        return
    for column in range(s.rows.shape[1]):
        holed, kept = _without(s.rows, column)
        plan, tile = s.scored(holed, None, kept)
        tile.logits[...] = s.responsibilities(len(holed))
        filled = s.family.complete(plan, tile)
        same = np.array_equal(filled[kept], s.rows.T[kept]) and np.isfinite(filled).all()
        _require(same, f"{s.name}.complete must fill the missing cells of column {column}, and touch no other")


def _without(rows: Floats, *columns: int) -> tuple[Floats, NDArray[np.intp]]:
    """Rows with some columns missing, and the columns that are there."""
    holed = rows.copy()
    holed[:, list(columns)] = np.nan
    return holed, np.setdiff1d(np.arange(rows.shape[1]), columns)


# -- on demand ---------------------------------------------------------------------------------------------------------


def _density(s: Subject, rows: Floats) -> Floats:
    base = s.family.log_base(rows.T)
    return s.scores(rows) + (0.0 if base is None else base)


def _density_is_the_formula(s: Subject, want: Floats) -> None:
    _require(want.shape == (len(s.rows), s.k), f"log_density must give (rows, components), got {want.shape}")
    found = _density(s, s.rows).T
    worst = float(np.max(np.abs(found - want)))
    _require(_close(found, want), f"{s.name}: scores plus `log_base` are not log_density; they differ by {worst:.3g}")


def _mass_is_one(s: Subject, support: tuple[float, float] | Floats) -> None:
    _require(s.rows.shape[1] == 1, "support is for families of one column; give rows of one column")
    if isinstance(support, tuple):
        masses = _integrals(s, support)
    else:
        masses = np.exp(_density(s, np.asarray(support, dtype=np.float64).reshape(-1, 1))).sum(axis=1)
    mend = "check the constant in `natural` and `log_base`, and whether `support` is all of it"
    _require(np.allclose(masses, 1.0, atol=1e-6), f"{s.name}: masses are {masses.tolist()} rather than 1: {mend}")


def _integrals(s: Subject, ends: tuple[float, float]) -> Floats:
    def at(value: float, component: int) -> float:
        return float(np.exp(_density(s, np.array([[value]]))[component, 0]))

    return np.array([quad(at, *ends, args=(component,), limit=200)[0] for component in range(s.k)])


CHECKS: tuple[Callable[[Subject], None], ...] = (
    _shapes_fit,
    _score_is_linear_in_the_statistics,
    _parts_add_up,
    _weight_is_repetition,
    _taken_reorders,
    _located_follows_the_rows,
    _maximise_is_a_maximum,
    _first_is_usable,
    _empty_components_keep_their_parameters,
    _densities_are_normalised_alike,
    _draws_look_like_their_parameters,
    _missing_cells_leave_the_marginal,
    _missing_statistics_are_expectations,
    _complete_fills_what_is_missing,
    _bound_never_falls,
)
