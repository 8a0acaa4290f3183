"""Covariances that groups of components share: against a general optimiser, in every schedule, and the odd cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests import laws
from unveil.expectations import Exact
from unveil.families import hold
from unveil.families.base import Tile
from unveil.families.check import check_family
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.priors import NormalInverseWishart
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem

Floats = NDArray[np.float64]
K, D = 4, 2
RANDOM = np.random.default_rng(5)
CENTRES = np.array([[-6.0, 0.0], [0.0, 5.0], [6.0, -1.0], [1.0, -6.0]])
WIDTHS = np.array([[0.5, 1.0], [2.0, 0.7], [0.6, 1.2], [1.0, 1.0]])
ROWS = np.concatenate([c + w * RANDOM.normal(size=(60, D)) for c, w in zip(CENTRES, WIDTHS, strict=True)])
AWAY = np.sum((ROWS - CENTRES[:, None]) ** 2, axis=2)
SHARES = np.exp(-0.1 * AWAY) / np.exp(-0.1 * AWAY).sum(axis=0)
LABELS = np.array([3, -1, 3, -1])
WISHART = NormalInverseWishart(np.array([0.5, -1.0]), 2.0, np.array([[3.0, 0.5], [0.5, 2.0]]), 5.0)
FLAT = NormalInverseWishart(np.zeros(D), 0.0, np.eye(D), 4.0)
TIED_MEANS = np.array([[0, -1], [0, -1], [-1, 2], [-1, 2]])
STRUCTURES: dict[str, Structure] = {"full": Full(), "diagonal": Diagonal(), "spherical": Spherical()}
by_structure = pytest.mark.parametrize("structure", STRUCTURES)


def start_of(structure: Structure) -> GaussianParams:
    matrices = np.stack([width * np.array([[1.0, 0.3], [0.3, 1.5]]) for width in (1.0, 2.0, 1.5, 0.7)])
    packed = {2: np.einsum("kii->ki", matrices), 1: matrices[:, 0, 0]}.get(len(structure.shape(K, D)), matrices)
    return GaussianParams(CENTRES, packed, np.zeros((K, D)))


def moments_of(family: Any, params: Any, shares: Floats = SHARES) -> Floats:
    tile = Tile(np.ascontiguousarray(ROWS.T), np.empty((K, len(ROWS))))
    plan = family.plan(params)
    family.score(plan, tile)
    tile.logits[...] = shares
    return np.asarray(family.gather(plan, tile))


def height(family: Any, moments: Floats, params: Any) -> float:
    return float(np.sum(family.natural(params) * moments)) + float(family.log_prior(params))


def written_out(structure: Structure, groups: Floats, vector: Floats, means: Floats) -> GaussianParams:
    """Covariances of groups from plain numbers: logarithms on the diagonals of triangles, and what is below them."""
    free = vector.reshape(int(groups.max()) + 1, -1)
    if isinstance(structure, Spherical):
        return GaussianParams(means, np.exp(free[groups, 0]), np.zeros((K, D)))
    if isinstance(structure, Diagonal):
        return GaussianParams(means, np.exp(free[groups]), np.zeros((K, D)))
    roots = np.zeros((len(free), D, D))
    roots[:, [0, 1], [0, 1]], roots[:, 1, 0] = np.exp(free[:, :2]), free[:, 2]
    return GaussianParams(means, (roots @ np.swapaxes(roots, 1, 2))[groups], np.zeros((K, D)))


@pytest.mark.parametrize("means", [None, TIED_MEANS], ids=["free means", "tied means"])
@pytest.mark.parametrize("prior", [None, WISHART], ids=["flat", "prior"])
@by_structure
def test_the_m_step_is_the_constrained_optimum(structure: str, prior: Any, means: Any) -> None:
    shape, groups = STRUCTURES[structure], np.array([0, 1, 0, 2])
    family = hold(Gaussian(shape, 0.0, prior), tied_covariances=LABELS, tied_means=means)
    params = family.settled(start_of(shape))
    moments = moments_of(family, params)
    found = family.maximise(moments, params)
    np.testing.assert_array_equal(found.covariances[0], found.covariances[2])
    width = {"full": 3, "diagonal": 2, "spherical": 1}[structure]
    values = family.rule.entries.groups((K, D))

    def loss(vector: Floats) -> float:
        here = vector[: values.max() + 1][values]
        return -height(family, moments, written_out(shape, groups, vector[values.max() + 1 :], here))

    begin = np.concatenate([np.bincount(values.ravel(), params.means.ravel()) / np.bincount(values.ravel())])
    ends = [
        minimize(loss, np.concatenate([begin, np.full(3 * width, wide)]), method="BFGS", options={"gtol": 1e-6}).fun
        for wide in (0.0, 2.0)  # tied means make for several optima
    ]
    assert height(family, moments, found) == pytest.approx(-min(ends), abs=1e-6)


def test_it_is_the_pooled_scatter_with_something_added() -> None:
    family = hold(Gaussian(Full(), 0.25), tied_covariances=LABELS)
    params = family.settled(start_of(Full()))
    found = family.maximise(moments_of(family, params), params)
    scatter, weight = np.zeros((D, D)), 0.0
    for member in (0, 2):
        share = SHARES[member]
        away = ROWS - share @ ROWS / share.sum()
        scatter, weight = scatter + (share[:, None] * away).T @ away, weight + share.sum()
    np.testing.assert_allclose(found.covariances[0], scatter / weight + 0.25 * np.eye(D), rtol=1e-12)
    alone = Gaussian(Full(), 0.25).maximise(moments_of(family, params), params)
    np.testing.assert_allclose(found.covariances[[1, 3]], alone.covariances[[1, 3]], rtol=1e-11)


def test_all_under_one_label_is_tied() -> None:
    family, shared = hold(Gaussian(Full(), 0.1), tied_covariances=np.zeros(K, dtype=int)), Gaussian(Tied(), 0.1)
    params = family.settled(start_of(Full()))
    moments = moments_of(family, params)
    wanted = shared.maximise(moments, GaussianParams(params.means, params.covariances[0], params.origins))
    np.testing.assert_allclose(family.maximise(moments, params).covariances[3], wanted.covariances, rtol=1e-12)
    assert family.n_parameters(K, D) == shared.n_parameters(K, D)


@by_structure
def test_free_parameters_are_counted(structure: str) -> None:
    each = {"full": 3, "diagonal": 2, "spherical": 1}[structure]
    assert hold(Gaussian(STRUCTURES[structure]), tied_covariances=LABELS).n_parameters(K, D) == K * D + 3 * each
    stays = np.array([False, True, False, False])
    held = hold(Gaussian(STRUCTURES[structure]), tied_covariances=LABELS, covariances=stays)
    assert held.n_parameters(K, D) == K * D + 2 * each


# -- EM ----------------------------------------------------------------------------------------------------------------

SCHEDULES = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=1),
    "squarem": Squarem(),
    "gradient": Gradient(),
    "lbfgs": LBFGS(),
}


def case_of(structure: str, prior: Any = None) -> laws.Case:
    shape = STRUCTURES[structure]
    family = hold(Gaussian(shape, 0.0, prior), tied_covariances=LABELS)
    start = MixtureParams(np.full(K, 1.0 / K), family.settled(start_of(shape)))
    return laws.Case(Mixture(family, K, np.zeros(D)), start, ROWS, Exact())


@by_structure
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_bound_never_falls_and_ties_hold_to_the_last_bit(structure: str, schedule: str) -> None:
    outcome = laws.run(case_of(structure, WISHART), passes=12, schedule=SCHEDULES[schedule])
    objective = outcome.history.column("objective")
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= laws.ROUNDING * np.max(np.abs(objective))
    covariances = outcome.params.components.covariances
    np.testing.assert_array_equal(covariances[0], covariances[2])
    assert not np.array_equal(covariances[0], covariances[1])


@by_structure
def test_gradients_end_where_em_does(structure: str) -> None:
    runs = [laws.run(case_of(structure), passes=300, schedule=one).history for one in (Squarem(), LBFGS())]
    np.testing.assert_allclose(*(run.column("objective")[-1] for run in runs), rtol=1e-8)


@by_structure
def test_gradients_are_those_of_differences(structure: str) -> None:
    shape = STRUCTURES[structure]
    stays = np.array([False, True, False, False])
    family = hold(Gaussian(shape, 0.0), tied_covariances=LABELS, covariances=stays)
    params = family.settled(start_of(shape))
    moments, chart = moments_of(family, params), family.coordinates(params)
    assert len(chart.origin) == family.n_parameters(K, D)
    here = chart.origin + 0.05 * np.random.default_rng(1).normal(size=len(chart.origin))
    gradient = chart.gradient(moments, here)
    for number in range(len(here)):
        step = 1e-5 * np.eye(len(here))[number]
        ends = [height(family, moments, chart.params(here + sign * step)) for sign in (1, -1)]
        assert gradient[number] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("prior", [WISHART, FLAT], ids=["means too", "covariances only"])
def test_a_component_without_rows_follows_its_group(prior: Any) -> None:
    shares = SHARES.copy()
    shares[2] = 0.0
    for one in (None, prior):
        family = hold(Gaussian(Full(), 0.0, one), tied_covariances=LABELS)
        params = family.settled(start_of(Full()))
        moments = moments_of(family, params, shares)
        found = family.maximise(moments, params)
        np.testing.assert_array_equal(found.covariances[0], found.covariances[2])
        assert np.all(np.isfinite(found.means))
        again = family.maximise(moments, found)
        assert height(family, moments, params) < height(family, moments, found)
        assert height(family, moments, again) == pytest.approx(height(family, moments, found), rel=1e-12)
    assert height(family, moments, found) >= max(
        height(family, moments, _stretched(found, factor)) for factor in (0.99, 1.01)
    )


def _stretched(params: GaussianParams, factor: float) -> GaussianParams:
    """The covariance of the group times a factor."""
    covariances = params.covariances.copy()
    covariances[[0, 2]] *= factor
    return GaussianParams(params.means, covariances, params.origins)


def test_components_in_another_order() -> None:
    family, order = hold(Gaussian(Full(), 0.0), tied_covariances=LABELS), np.array([2, 3, 0, 1])
    params = family.settled(start_of(Full()))
    moments = moments_of(family, params)
    there = family.chosen(order).maximise(moments[order], family.taken(params, order))
    laws.alike(there, family.taken(family.maximise(moments, params), order), rtol=1e-12)


def test_what_is_equal_keeps_its_last_bit() -> None:
    family = hold(Gaussian(Spherical()), tied_covariances=np.array([0, 0, 0, -1]))
    params = GaussianParams(CENTRES, np.array([0.1, 0.1, 0.1, 0.3]), np.zeros((K, D)))
    np.testing.assert_array_equal(family.settled(params).covariances, params.covariances)


def test_the_public_check_of_families() -> None:
    family = hold(Gaussian(Full(), 0.0), tied_covariances=LABELS)
    check_family(family, family.settled(start_of(Full())), ROWS[::4])


WRONG: list[tuple[Structure, dict[str, Any], str]] = [
    (Tied(), {"tied_covariances": LABELS}, r"'full' \(VVV\), 'diag' \(VVI\) and 'spherical' \(VII\) have; got EEE"),
    (Full(), {"tied_covariances": LABELS[:2]}, r"must be 4 integers, -1 where not tied; got int64 of shape \(2,\)"),
    (Full(), {"tied_covariances": LABELS.astype(float)}, "must be 4 integers, -1 where not tied; got float64"),
    (Full(), {"tied_covariances": LABELS, "covariances": True}, "must be -1 where covariances stay, got 3 for comp"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_labels_that_do_not_fit_are_named(number: int) -> None:
    structure, masks, message = WRONG[number]
    with pytest.raises(ValueError, match=message):
        hold(Gaussian(structure), **masks).n_parameters(K, D)
