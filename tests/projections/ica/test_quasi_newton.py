"""The solvers of ICA: gradients against differences, signs, and where they end."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import linalg

from unveil.core.result import Status
from unveil.engines import Threads
from unveil.projections.ica.fixed_point import (
    completed,
    deflation,
    orthogonalised,
    parallel,
    rotation_gradient,
    signs_of,
)
from unveil.projections.ica.model import Compiled, Custom, Passes
from unveil.projections.ica.quasi_newton import (
    FreeUnmixing,
    OrthogonalUnmixing,
    SourceDensities,
    UnmixingGeometry,
    UnmixingSearch,
    along_rotations,
    largest,
    quasi_newton,
    rotation_maps,
)
from unveil.sources import ArraySource

Floats = NDArray[np.float64]


def white(seed: int = 0, n_rows: int = 4000) -> Floats:
    """Four sources, turned and made white."""
    random = np.random.default_rng(seed)
    columns = [random.laplace(size=n_rows), random.uniform(-1, 1, n_rows), random.exponential(size=n_rows)]
    sources = np.stack([*columns, random.standard_t(6, n_rows)], axis=1)
    centred = sources - sources.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred / n_rows)
    turn = np.linalg.qr(random.normal(size=(4, 4)))[0]
    return np.asarray(centred @ (vectors / np.sqrt(values)) @ turn)


ROWS = white()


def passes(contrast: object = None, rows: Floats = ROWS) -> Passes:
    n_columns = rows.shape[1]
    return Passes(
        Threads(1), ArraySource(rows), contrast or Compiled("logcosh"), np.zeros(n_columns), np.eye(n_columns)
    )  # type: ignore[arg-type]


START = orthogonalised(np.random.default_rng(3).normal(size=(4, 4)))


@pytest.mark.parametrize("geometry", [OrthogonalUnmixing(), FreeUnmixing()])
@pytest.mark.parametrize("contrast", [Compiled("logcosh"), Compiled("logcosh", 1.7), Compiled("exp"), Compiled("cube")])
def test_gradients_are_those_of_the_loss(geometry: UnmixingGeometry, contrast: object) -> None:
    search = UnmixingSearch(passes(contrast), geometry, np.eye(4))
    model = SourceDensities(np.array([1.0, -1.0, 1.0, -1.0]), 1.0)
    step = np.random.default_rng(1).normal(size=(4, 4))
    if isinstance(geometry, OrthogonalUnmixing):
        step = (step - step.T) / 2
    small = 1e-5
    ahead, behind = (search.point(geometry.moved(START, sign * small * step)) for sign in (1, -1))
    difference = (geometry.loss(ahead, model) - geometry.loss(behind, model)) / (2 * small)
    assert np.sum(geometry.gradient(search.point(START), model) * step) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("geometry", [OrthogonalUnmixing(), FreeUnmixing()])
def test_the_approximate_hessian_is_that_of_independent_sources(geometry: UnmixingGeometry) -> None:
    """At the solution its inverse undoes what a small step does to the gradient, up to sampling error."""
    search = UnmixingSearch(passes(rows=white(n_rows=60_000)), geometry, np.eye(4))
    end = quasi_newton(search, START, True, 1e-9, 200)
    point = search.point(end.unmixing)
    model = SourceDensities(signs_of(point.means, np.diagonal(point.covariance)), 1.0)
    step = np.random.default_rng(2).normal(size=(4, 4)) * 1e-5
    step = (step - step.T) / 2 if isinstance(geometry, OrthogonalUnmixing) else step
    after = search.point(geometry.moved(end.unmixing, step))
    change = geometry.gradient(after, model) - geometry.gradient(point, model)
    np.testing.assert_allclose(geometry.solved(point, model, change), step, atol=0.15e-5)


def test_blocks_of_two_are_solved_and_kept_from_being_singular() -> None:
    search = UnmixingSearch(passes(), FreeUnmixing(), np.eye(4))
    point = search.point(START)
    flat = point._replace(means=point.means._replace(curvature=np.zeros((4, 4))))  # blocks ((1, 1), (1, 1))
    gradient = np.random.default_rng(0).normal(size=(4, 4))
    solution = FreeUnmixing().solved(flat, SourceDensities(np.ones(4), 1.0), gradient)
    block = np.array([[1.01, 1.0], [1.0, 1.01]])
    np.testing.assert_allclose(
        (solution[0, 1], solution[1, 0]), np.linalg.solve(block, (gradient[0, 1], gradient[1, 0]))
    )
    np.testing.assert_allclose(np.diagonal(solution), np.diagonal(gradient) / 2.01)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("contrast", [Compiled("logcosh"), Compiled("logcosh", 1.7), Compiled("exp"), Compiled("cube")])
def test_the_exact_hessian_is_that_of_the_loss(count: int, contrast: object) -> None:
    """Along any rotation exp(t E), wherever the search stands, and to the rounding of differences."""
    geometry, rows = OrthogonalUnmixing(exact=True), np.ascontiguousarray(ROWS[:, :count])
    search = UnmixingSearch(passes(contrast, rows), geometry, np.eye(count))
    random, small = np.random.default_rng(4), 1e-3
    start = orthogonalised(random.normal(size=(count, count)))
    point, model = search.point(start), SourceDensities(np.where(random.random(count) < 0.5, -1.0, 1.0), 1.0)
    assert point.means.curvature.shape == (count, count, count)
    maps = rotation_maps(count)
    signed = np.concatenate([point.means.products[:, None], point.means.curvature], axis=1)
    hessian = maps.hessian @ (signed * model.signs[:, None, None]).ravel()
    for _ in range(5):
        step = random.normal(size=(count, count))
        step -= step.T
        turned = [search.point(linalg.expm(t * step) @ start) for t in (-2 * small, -small, 0.0, small, 2 * small)]
        losses = np.array([geometry.loss(one, model) for one in turned])
        bend = losses @ np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12 * small**2)
        entries = step.ravel()[maps.places]
        assert entries @ hessian @ entries == pytest.approx(bend, rel=1e-5, abs=1e-6)


def test_an_exact_step_solves_the_hessian() -> None:
    search = UnmixingSearch(passes(), OrthogonalUnmixing(exact=True), np.eye(4))
    point = search.point(quasi_newton(search, START, True, 1e-10, 50).unmixing)
    signs, maps = signs_of(point.means), rotation_maps(4)
    signed = np.concatenate([point.means.products[:, None], point.means.curvature], axis=1) * signs[:, None, None]
    gradient = np.random.default_rng(0).normal(size=(4, 4))
    gradient -= gradient.T
    step = along_rotations(point.means, signs, gradient)
    np.testing.assert_array_equal(step, -step.T)
    wanted = np.linalg.solve(maps.hessian @ signed.ravel(), 2.0 * gradient.ravel()[maps.places])
    np.testing.assert_allclose(step.ravel()[maps.places], wanted, rtol=1e-9)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_leaps_and_newtons_steps_end_where_the_others_do(exact: bool, seed: int) -> None:
    start = orthogonalised(np.random.default_rng(seed).normal(size=(4, 4)))
    slow = quasi_newton(UnmixingSearch(passes(), OrthogonalUnmixing(), np.eye(4)), start, True, 1e-10, 300)
    search = UnmixingSearch(passes(), OrthogonalUnmixing(exact), np.eye(4))
    quick = quasi_newton(search, start, True, 1e-10, 300, leaps=6)
    assert quick.status is slow.status is Status.CONVERGED
    likeness = np.abs(quick.unmixing @ slow.unmixing.T)
    np.testing.assert_allclose(likeness.max(axis=1), 1.0, atol=1e-7)  # but for order and signs
    assert quick.n_iter == len(quick.gradient_norms) - 1
    if exact:
        assert quick.n_iter < slow.n_iter
        assert quick.gradient_norms[-1] < 1e-3 * quick.gradient_norms[-2]  # as Newton's steps do, near the end


def test_leaps_count_as_iterations() -> None:
    search = UnmixingSearch(passes(), OrthogonalUnmixing(), np.eye(4))
    for most in (1, 2, 3):
        end = quasi_newton(search, START, True, 1e-12, most, leaps=6)
        assert (end.status, end.n_iter) == (Status.MAX_ITER, most)


@pytest.mark.parametrize("geometry", [OrthogonalUnmixing(), OrthogonalUnmixing(exact=True), FreeUnmixing()])
@pytest.mark.parametrize("extended", [True, False])
def test_every_step_lowers_the_loss_until_the_gradient_is_gone(geometry: UnmixingGeometry, extended: bool) -> None:
    search = UnmixingSearch(passes(), geometry, np.eye(4))
    end = quasi_newton(search, START, extended, 1e-11, 300)
    assert end.status is Status.CONVERGED
    assert end.gradient_norms[-1] <= 1e-11 < end.gradient_norms[-2]
    point = search.point(end.unmixing)
    signs = signs_of(point.means, np.diagonal(point.covariance)) if extended else np.ones(4)
    model = SourceDensities(signs, float(extended))
    assert largest(geometry.gradient(point, model)) <= 1e-11
    begin = geometry.loss(search.point(START), model)
    assert geometry.loss(point, model) < begin


def test_no_room_for_steps_is_said() -> None:
    end = quasi_newton(UnmixingSearch(passes(), OrthogonalUnmixing(), np.eye(4)), START, True, 1e-12, 1)
    assert end.status is Status.MAX_ITER
    assert len(end.gradient_norms) == 2


def test_a_source_on_the_fence_does_not_keep_it_from_ending() -> None:
    random = np.random.default_rng(5)
    rows = random.normal(size=(3000, 4))
    rows = (rows - rows.mean(0)) @ linalg.inv(linalg.sqrtm(np.cov(rows.T, bias=True)))
    end = quasi_newton(UnmixingSearch(passes(rows=rows), OrthogonalUnmixing(), np.eye(4)), START, True, 1e-8, 500)
    assert end.status is Status.CONVERGED


def test_fastica_and_picard_meet() -> None:
    """Parallel FastICA stops where the contrast has no gradient along rotations: where Picard-O does."""
    fixed = parallel(passes(), START, 1e-15, 200)
    newton = quasi_newton(UnmixingSearch(passes(), OrthogonalUnmixing(), np.eye(4)), START, True, 1e-12, 200)
    overlap = np.abs(fixed.unmixing @ newton.unmixing.T)
    np.testing.assert_allclose(np.sort(overlap, axis=1)[:, -1], 1.0, atol=1e-9)
    assert rotation_gradient(passes()(fixed.unmixing)) < 1e-7


def test_deflation_finds_orthonormal_vectors() -> None:
    end = deflation(passes(), START, 1e-14, 200)
    assert end.status is Status.CONVERGED
    np.testing.assert_allclose(end.unmixing @ end.unmixing.T, np.eye(4), atol=1e-12)


def test_a_vector_is_completed_to_a_basis() -> None:
    vector = np.array([0.6, 0.0, -0.8])
    basis = completed(vector[None])
    np.testing.assert_array_equal(basis[0], vector)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-15)
    assert completed(np.array([[-1.0]])).tolist() == [[-1.0]]


def cubed(x: Floats, average: bool) -> tuple[Floats, Floats]:
    return x**3, (3 * x**2).mean(axis=-1) if average else 3 * x**2


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("active", [None, 1])
def test_a_function_of_the_users_own(average: bool, active: int | None) -> None:
    own = passes(Custom(partial(cubed, average=average)))(START, active)
    built_in = passes(Compiled("cube"))(START, active)
    np.testing.assert_allclose(own.products, built_in.products, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(own.slopes, built_in.slopes, rtol=1e-12)


def test_a_wrong_function_is_refused() -> None:
    with pytest.raises(ValueError, match=r"fun must return g\(x\) in the shape of x"):
        passes(Custom(lambda x: (x.sum(axis=-1), x)))(START)
    with pytest.raises(ValueError, match=r"fun must return g'\(x\) of shape"):
        passes(Custom(lambda x: (x, x.sum())))(START)
