"""The public check: families of the house pass it, one of a user's own too, and every kind of mistake is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import lognorm, poisson

from tests.families import test_product as mixed
from unveil.families.base import ExponentialFamily, Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.check import check_family
from unveil.families.covariance.structure import Diagonal, Full, Tied
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.independent import Terms
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Beta, Gamma
from unveil.families.student import Student, StudentParams
from unveil.families.von_mises_fisher import VonMisesFisher, VonMisesFisherParams

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)
RATES = np.array([[1.0, 3.0], [4.0, 2.0]])
COUNTS = RANDOM.poisson(2.0, (60, 2)).astype(np.float64)
NORMAL = RANDOM.normal(size=(60, 2))
MEANS, COVARIANCES = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[[1.0, 0.3], [0.3, 1.0]], [[2.0, 0.2], [0.2, 1.0]]])


@dataclass(frozen=True)
class LogNormalParams:
    means: Floats
    variances: Floats


@dataclass(frozen=True)
class LogNormal(ExponentialFamily):
    """Positive numbers whose logarithms are normal: a family as a user would write it."""

    def n_statistics(self, n_columns: int) -> int:
        return 1 + 2 * n_columns

    def statistics(self, x: Floats, out: Floats) -> None:
        d = len(x)
        out[0] = 1.0
        np.log(x, out=out[1 : 1 + d])
        np.square(out[1 : 1 + d], out=out[1 + d :])

    def log_base(self, x: Floats) -> Floats:
        return -np.log(x).sum(axis=0)

    def natural(self, params: LogNormalParams) -> Floats:
        m, v = params.means, params.variances
        constants = -0.5 * (m**2 / v + np.log(2 * np.pi * v)).sum(axis=1, keepdims=True)
        return np.concatenate([constants, m / v, -0.5 / v], axis=1)

    def maximise(self, moments: Floats, params: LogNormalParams) -> LogNormalParams:
        alive = moments[:, :1] > 0
        fresh = self.first(np.where(alive, moments, moments.sum(axis=0)))
        return LogNormalParams(
            np.where(alive, fresh.means, params.means), np.where(alive, fresh.variances, params.variances)
        )

    def first(self, moments: Floats) -> LogNormalParams:
        first, second = np.split(moments[:, 1:] / moments[:, :1], 2, axis=1)
        return LogNormalParams(first, second - first**2)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return 2 * n_components * n_columns

    def draw(self, params: LogNormalParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        m, v = params.means[component], params.variances[component]
        return random.lognormal(m, np.sqrt(v), (count, len(m)))

    def taken(self, params: LogNormalParams, components: NDArray[np.intp]) -> LogNormalParams:
        return LogNormalParams(params.means[components], params.variances[components])


LOG_PARAMS = LogNormalParams(np.array([[0.0], [0.5]]), np.array([[0.25], [1.0]]))
POSITIVE = np.exp(0.7 * RANDOM.normal(size=(60, 1)))


def test_a_family_of_ones_own_passes() -> None:
    def formula(rows: Floats) -> Floats:
        return np.stack(
            [
                lognorm(np.sqrt(v[0]), scale=np.exp(m[0])).logpdf(rows[:, 0])
                for m, v in zip(LOG_PARAMS.means, LOG_PARAMS.variances, strict=True)
            ],
            axis=1,
        )

    check_family(LogNormal(), LOG_PARAMS, POSITIVE, log_density=formula, support=(0.0, np.inf))


HOUSE: dict[str, tuple[Any, Any, Floats]] = {
    "poisson": (Poisson(), PoissonParams(RATES), COUNTS),
    "poisson-prior": (Poisson(Gamma(2.0, 1.0)), PoissonParams(RATES), COUNTS),
    "exponential": (Exponential(), ExponentialParams(RATES), np.exp(NORMAL)),
    "exponential-prior": (Exponential(Gamma(2.0, 1.0)), ExponentialParams(RATES), np.exp(NORMAL)),
    "bernoulli": (Bernoulli(Beta(2.0, 2.0)), BernoulliParams(RATES / 5.0), (NORMAL > 0).astype(np.float64)),
    "full": (Gaussian(Full(), 0.0), GaussianParams(MEANS, COVARIANCES, np.zeros((2, 2))), NORMAL),
    "tied": (Gaussian(Tied(), 0.0), GaussianParams(MEANS, COVARIANCES[0], np.zeros((2, 2))), NORMAL),
    "diagonal": (Gaussian(Diagonal(), 1e-6), GaussianParams(MEANS, np.ones((2, 2)), np.zeros((2, 2))), NORMAL),
    "own-frames": (Gaussian(Full(), 0.0), GaussianParams(MEANS, COVARIANCES, MEANS), NORMAL),
    "student": (
        Student(Full(), 0.0),
        StudentParams(MEANS, COVARIANCES, np.array([3.0, 8.0]), np.zeros((2, 2))),
        NORMAL,
    ),
    "directions": (
        VonMisesFisher(),
        VonMisesFisherParams(np.array([[0.6, 0.8], [0.0, -1.0]]), np.array([2.0, 5.0])),
        NORMAL / np.linalg.norm(NORMAL, axis=1, keepdims=True),
    ),
    "product": (mixed.FAMILY, mixed.PARAMS, mixed.mixed(60)),
    "one-component": (Poisson(), PoissonParams(RATES[:1]), COUNTS),
}


@pytest.mark.parametrize("name", HOUSE)
def test_families_of_the_house_pass(name: str) -> None:
    check_family(*HOUSE[name])


def test_probabilities_of_counts_add_up() -> None:
    def formula(rows: Floats) -> Floats:
        return np.stack([poisson(rate).logpmf(rows[:, 0]) for rate in RATES[:, 0]], axis=1)

    params = PoissonParams(RATES[:, :1])
    check_family(Poisson(), params, COUNTS[:, :1], log_density=formula, support=np.arange(60.0))


# -- mistakes ----------------------------------------------------------------------------------------------------------


class WrongConstant(Poisson):
    def terms(self, params: PoissonParams) -> Terms:
        return Terms(-0.9 * params.rates, np.log(params.rates))


class WrongMaximum(Poisson):
    def first(self, moments: Floats) -> PoissonParams:
        return PoissonParams(1.02 * super().first(moments).rates)


class WrongDraws(Poisson):
    def draw(self, params: PoissonParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        return super().draw(PoissonParams(params.rates * 1.2), component, count, random)


class WrongExpectation(Poisson):
    def expected(self, params: PoissonParams) -> Floats:
        return params.rates**2


class WrongBase(Poisson):
    def log_base(self, x: Floats) -> Floats:
        return np.nansum(x, axis=0) * 0.0 + np.isnan(x).sum(axis=0)


class WrongOrder(Poisson):
    def taken(self, params: PoissonParams, components: NDArray[np.intp]) -> PoissonParams:
        return params


class NoLocation(Poisson):
    framed = True

    def located(self, params: PoissonParams, shift: Floats) -> PoissonParams:
        return params


class WrongMarginal(Poisson):
    def restricted(self, params: PoissonParams, columns: NDArray[np.intp]) -> Any:
        return self, PoissonParams(params.rates[:, [0]])


class WrongFilling(Poisson):
    def complete(self, plan: Any, tile: Tile) -> Floats:
        return np.zeros_like(tile.x)


class NoWeightFirst(Poisson):
    def gather(self, plan: Any, tile: Tile) -> Floats:
        return super().gather(plan, tile)[:, ::-1]


class WrongShape(Poisson):
    def gather(self, plan: Any, tile: Tile) -> Floats:
        return super().gather(plan, tile)[:, :-1]


class NotLinear(Poisson):
    def natural(self, params: PoissonParams) -> Floats:
        return super().natural(params)[:, [0, 2, 1]]

    def score(self, plan: Any, tile: Tile) -> None:
        super().score(plan._replace(natural=plan.natural[:, [0, 2, 1]]), tile)


class ForgetsRows(Poisson):
    def gather(self, plan: Any, tile: Tile) -> Floats:
        moments = super().gather(plan, tile)
        moments[:, 1] -= tile.logits[:, 0] * tile.x[0, 0] - tile.logits[:, 0] * tile.x[0, 0].mean() + 1e-3
        return moments


class Squares(Poisson):
    def gather(self, plan: Any, tile: Tile) -> Floats:
        moments = super().gather(plan, tile)
        moments[:, 1] = (tile.logits**2) @ tile.x[0]
        return moments

    def natural(self, params: PoissonParams) -> Floats:
        return super().natural(params) * np.array([1.0, 0.0, 1.0])

    def score(self, plan: Any, tile: Tile) -> None:
        super().score(plan, tile)


class Infinite(Poisson):
    def natural(self, params: PoissonParams) -> Floats:
        return np.full((len(params.rates), 3), np.inf)


class Picky(Poisson):
    def admissible(self, moments: Floats) -> bool:
        return False


class LosesEmptyComponents(Poisson):
    def maximise(self, moments: Floats, params: PoissonParams) -> PoissonParams:
        with np.errstate(all="ignore"):
            return PoissonParams(moments[:, 1:] / moments[:, :1])


class BadStart(Poisson):
    def first(self, moments: Floats) -> PoissonParams:
        return PoissonParams(np.full((len(moments), 2), np.inf))

    def maximise(self, moments: Floats, params: PoissonParams) -> PoissonParams:
        return PoissonParams(Poisson().first(moments).rates)


MISTAKES: dict[type[Poisson], str] = {
    WrongConstant: "is no maximum",
    WrongMaximum: "is no maximum",
    WrongDraws: "normalised, or `draw` draws from something else|better explained",
    WrongExpectation: "not as expected of missing cells",
    WrongBase: "leave missing cells out",
    WrongOrder: "taken must give",
    NoLocation: "shifted alike must score the same",
    WrongMarginal: "not the marginal's",
    WrongFilling: "complete must fill",
    NoWeightFirst: "begin with the weight",
    WrongShape: "n_statistics says",
    NotLinear: "list the same statistics",
    ForgetsRows: "do not add up|list the same statistics",
    Squares: "not the row twice",
    Infinite: "not finite",
    Picky: "refuses the moments of real rows",
    LosesEmptyComponents: "where components are empty",
    BadStart: "first gives parameters with infinite scores",
}


@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_mistakes_are_found_and_named(kind: type[Poisson]) -> None:
    with pytest.raises(AssertionError, match=MISTAKES[kind]) as caught:
        check_family(kind(), PoissonParams(RATES), COUNTS)
    assert kind.__name__ in str(caught.value)


@dataclass(frozen=True)
class Unnormalised(LogNormal):
    """A constant that moves with the parameters, and an M step that follows the wrong density."""

    def natural(self, params: LogNormalParams) -> Floats:
        natural = super().natural(params)
        natural[:, 0] += 0.5 * np.log(params.variances).sum(axis=1)
        return natural

    def maximise(self, moments: Floats, params: LogNormalParams) -> LogNormalParams:
        return LogNormalParams(super().maximise(moments, params).means, params.variances)


def test_a_missing_normaliser_is_found() -> None:
    with pytest.raises(AssertionError, match="densities are not normalised"):
        check_family(Unnormalised(), LOG_PARAMS, POSITIVE)


def test_what_is_asked_for_on_demand_is_checked() -> None:
    with pytest.raises(AssertionError, match="differ by 1"):
        check_family(LogNormal(), LOG_PARAMS, POSITIVE, log_density=lambda rows: 1.0 + scores(rows))
    with pytest.raises(AssertionError, match=r"must give \(rows, components\)"):
        check_family(LogNormal(), LOG_PARAMS, POSITIVE, log_density=lambda rows: rows)
    with pytest.raises(AssertionError, match="rather than 1"):
        check_family(LogNormal(), LOG_PARAMS, POSITIVE, support=(0.0, 1.0))
    with pytest.raises(AssertionError, match="one column"):
        check_family(Poisson(), PoissonParams(RATES), COUNTS, support=np.arange(9.0))


def scores(rows: Floats) -> Floats:
    x = np.ascontiguousarray(rows.T)
    out = np.empty((3, len(rows)))
    LogNormal().statistics(x, out)
    return (LogNormal().natural(LOG_PARAMS) @ out + LogNormal().log_base(x)).T


def test_rows_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(AssertionError, match="at least 10"):
        check_family(Poisson(), PoissonParams(RATES), COUNTS[:5])
    with pytest.raises(AssertionError, match="no missing cells"):
        check_family(Poisson(), PoissonParams(RATES), np.where(COUNTS > 3, np.nan, COUNTS))


@dataclass(frozen=True)
class Frugal(LogNormal):
    """An M step that looks at the wrong things but passes as a maximum for lack of anything to compare it with."""

    def first(self, moments: Floats) -> LogNormalParams:
        fresh = super().first(moments)
        return LogNormalParams(np.zeros_like(fresh.means), np.ones_like(fresh.variances))


def test_an_m_step_that_lowers_the_bound_is_found() -> None:
    with pytest.raises(AssertionError, match=r"lowered its bound|better explained"):
        check_family(Frugal(), LOG_PARAMS, POSITIVE)
