"""The t family: against scipy, R and plain optimisation; the laws of EM with the hidden scale; the Gaussian limit."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import digamma
from scipy.stats import gamma, kstest, multivariate_normal, multivariate_t, t
from sklearn.datasets import load_iris

from tests import laws
from tests.oracles.covariances import MODELS, obeying, packed, structure_of
from unveil.core.protocols import Block
from unveil.expectations import Exact, Hard, Sparse
from unveil.families.base import Tile
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.student import FIRST_DOF, LEAST_DOF, MOST_DOF, Student, StudentParams, best_dof
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Incremental, Squarem

Floats = NDArray[np.float64]
CENTRES = np.array([[-3.0, 0.0], [3.0, 1.0]])
DOFS = np.array([3.0, 8.0])


def rows_of_two(n_rows: int = 300, seed: int = 5) -> Floats:
    """Two components with heavy tails."""
    random = np.random.default_rng(seed)
    which = random.integers(2, size=n_rows)
    normal = random.normal(size=(n_rows, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]])
    return CENTRES[which] + normal / np.sqrt(random.chisquare(DOFS[which]) / DOFS[which])[:, None]


def started(family: Student, rows: Floats, k: int = 1, expectation: Any = None) -> laws.Case:
    """A case whose start cuts the rows in k by their first column."""
    model = Mixture(family, k, rows.mean(axis=0))
    cut = np.searchsorted(np.quantile(rows[:, 0], np.arange(1, k) / k), rows[:, 0])
    first = model.first(model.gather(Block(0, 0, rows, None), np.eye(k)[cut].T))
    return laws.Case(model, first, rows, expectation or Exact())


def two(family: Student, expectation: Any = None) -> laws.Case:
    return started(family, rows_of_two(), 2, expectation)


def random_params(model: str, k: int, d: int, seed: int = 2) -> StudentParams:
    random = np.random.default_rng(seed)
    scales = packed(structure_of(model), obeying(model, random, k, d))
    origins = np.where(np.arange(k)[:, None] % 2, random.normal(size=(k, d)), 0.0)
    return StudentParams(random.normal(size=(k, d)), scales, random.uniform(0.6, 30.0, k), origins)


def scored(family: Student, params: StudentParams, rows: Floats) -> tuple[Tile, Any]:
    tile = Tile(np.ascontiguousarray(rows.T), np.empty((len(params.means), len(rows))))
    plan = family.plan(params)
    family.score(plan, tile)
    return tile, plan


# -- the density, and its parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("d", [2, 4])
def test_scores_are_scipys_log_density(model: str, d: int) -> None:
    k = 4
    family, params = Student(structure_of(model)), random_params(model, k, d)
    rows = np.random.default_rng(0).normal(0.0, 3.0, (20, d))
    matrices = family.structure.dense(params.scales, k, d)
    want = [multivariate_t(params.means[i], matrices[i], params.dofs[i]).logpdf(rows) for i in range(k)]
    np.testing.assert_allclose(scored(family, params, rows)[0].logits, want, rtol=1e-10, atol=1e-10)


def test_coefficients_are_those_of_the_joint_density_of_row_and_scale() -> None:
    family, params = Student(Full()), random_params("VVV", 3, 2)
    random = np.random.default_rng(1)
    x, u = random.normal(size=2), 0.37
    for k, line in enumerate(family.natural(params)):
        away = x - params.origins[k]
        second = away[[0, 0, 1]] * away[[0, 1, 1]]
        found = line @ np.concatenate([[1.0, u], u * away, u * second, [np.log(u)]])
        half = params.dofs[k] / 2
        want = multivariate_normal(params.means[k], params.scales[k] / u).logpdf(x) + gamma(
            half, scale=1 / half
        ).logpdf(u)
        assert found == pytest.approx(want, rel=1e-11)


@pytest.mark.parametrize("structure", [Full(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
def test_energy_and_entropy_of_the_hidden_scale_are_the_log_density(structure: Structure) -> None:
    """F(q) = log p(x) when q is the posterior of u, a Gamma distribution whose entropy scipy knows."""
    family, x = Student(structure), np.array([[1.3, -0.4]])
    model = {Full: "VVV", Diagonal: "VVI", Spherical: "VII"}[type(structure)]
    params = random_params(model, 3, 2)
    tile, plan = scored(family, params, x)
    log_density = tile.logits[:, 0].copy()
    tile.logits[...] = 1.0
    energies = np.sum(family.natural(params) * family.gather(plan, tile), axis=1)
    matrices = structure.dense(params.scales, 3, 2)
    for k in range(3):
        away = x[0] - params.means[k]
        rate = (params.dofs[k] + away @ np.linalg.solve(matrices[k], away)) / 2
        entropy = gamma((params.dofs[k] + 2) / 2, scale=1 / rate).entropy()
        assert energies[k] + entropy == pytest.approx(log_density[k], rel=1e-10)


def test_a_row_as_far_as_numbers_go_has_a_density_and_hardly_a_weight() -> None:
    params = StudentParams(np.zeros((1, 1)), np.ones((1, 1, 1)), np.array([3.0]), np.zeros((1, 1)))
    tile, plan = scored(Student(), params, np.array([[1e20]]))
    assert tile.logits[0, 0] == pytest.approx(t(3.0).logpdf(1e20), rel=1e-12)
    tile.logits[...] = 1.0
    weight = Student().gather(plan, tile)[0, 1]
    assert weight == pytest.approx(4e-40, rel=1e-9)


# -- degrees of freedom ------------------------------------------------------------------------------------------------


@given(st.floats(1.1e-4, 2.0))
@settings(max_examples=40, deadline=None)
def test_degrees_of_freedom_solve_their_equation(gap: float) -> None:
    want = 2 * brentq(lambda h: np.log(h) - digamma(h) - gap, 0.2, 1e5, xtol=1e-13)
    assert best_dof(np.array([gap]))[0] == pytest.approx(np.clip(want, LEAST_DOF, MOST_DOF), rel=1e-7)


def test_degrees_of_freedom_stay_within_their_limits() -> None:
    found = best_dof(np.array([-1.0, 0.0, 1e-9, 50.0]))
    np.testing.assert_allclose(found, [MOST_DOF] * 3 + [LEAST_DOF], rtol=1e-14)
    assert found.max() <= MOST_DOF
    assert found.min() >= LEAST_DOF


def test_a_start_has_the_degrees_of_freedom_of_a_start() -> None:
    rows = rows_of_two()
    np.testing.assert_allclose(started(Student(), rows, 2).start.components.dofs, FIRST_DOF, rtol=1e-12)
    np.testing.assert_array_equal(started(Student(dof=4.5), rows, 2).start.components.dofs, 4.5)


def test_degrees_of_freedom_and_scales_are_found_again() -> None:
    rows = multivariate_t([1.0, -2.0], [[1.0, 0.5], [0.5, 2.0]], df=4.0).rvs(4000, random_state=1)
    outcome = laws.run(started(Student(reg_covar=0.0), rows), passes=60)
    found = outcome.params.components
    assert found.dofs[0] == pytest.approx(4.0, rel=0.15)
    np.testing.assert_allclose(found.scales[0], [[1.0, 0.5], [0.5, 2.0]], atol=0.15)


def test_each_component_has_degrees_of_freedom_of_its_own_or_all_share_them() -> None:
    rows = rows_of_two(8_000)
    own = laws.run(started(Student(), rows, 2), passes=60, schedule=Squarem()).params.components.dofs
    np.testing.assert_allclose(own, DOFS, rtol=0.15)
    shared = laws.run(started(Student(shared_dof=True), rows, 2), passes=60).params.components.dofs
    assert shared[0] == shared[1]
    assert own[0] < shared[0] < own[1]


def test_normal_rows_end_close_to_the_gaussian_likelihood() -> None:
    rows = np.random.default_rng(3).normal(size=(500, 1))
    outcome = laws.run(started(Student(reg_covar=0.0), rows), passes=40)
    best = multivariate_normal(rows.mean(axis=0), np.cov(rows.T, bias=True)).logpdf(rows).sum()
    assert outcome.params.components.dofs[0] > FIRST_DOF
    assert outcome.history.log_likelihood[-1] > best - 0.5


# -- the laws ----------------------------------------------------------------------------------------------------------

CASES = {
    "full": two(Student(Full(), 0.0)),
    "tied-shared": two(Student(Tied(), 0.0, shared_dof=True)),
    "diagonal-fixed": two(Student(Diagonal(), 0.0, dof=4.0)),
    "spherical": two(Student(Spherical(), 0.0)),
    "VEE": two(Student(structure_of("VEE"), 0.0)),
    "hard": two(Student(Full(), 0.0), Hard()),
    "sparse": two(Student(Full(), 0.0), Sparse(active=1, refresh=3)),
}
by_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@by_case
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, case: laws.Case) -> None:
    law(case)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_weights_equal_repetition(seed: int) -> None:
    laws.weights_equal_repetition(CASES["full"], np.random.default_rng(seed).integers(0, 4, 300))


@pytest.mark.parametrize("name", ["full", "diagonal-fixed"])
def test_other_schedules_never_lower_the_bound_and_end_where_batch_does(name: str) -> None:
    batch = laws.run(CASES[name], passes=300).history
    for schedule, passes in ((Incremental(batch_rows=96), 250), (Squarem(), 100)):
        other = laws.run(CASES[name], passes=passes, schedule=schedule).history
        assert other.largest_fall() <= laws.ROUNDING * abs(batch.log_likelihood[-1])
        assert other.free_energy[-1] == pytest.approx(batch.log_likelihood[-1], rel=1e-6)


# -- against others ----------------------------------------------------------------------------------------------------


def test_one_column_against_plain_optimisation_of_the_likelihood() -> None:
    rows = t(4.0, loc=2.0, scale=1.5).rvs((400, 1), random_state=2)

    def loss(free: Floats) -> float:
        return float(-t(np.exp(free[2]), free[0], np.exp(free[1])).logpdf(rows).sum())

    best = minimize(
        loss, [0.0, 0.0, 2.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000}
    )
    case = started(Student(reg_covar=0.0), rows)
    outcome = laws.run(case, passes=300)
    found = outcome.params.components
    assert outcome.history.log_likelihood[-1] == pytest.approx(-best.fun, abs=1e-6)
    free = [found.means[0, 0] + rows.mean(), 0.5 * np.log(found.scales[0, 0, 0]), np.log(found.dofs[0])]
    np.testing.assert_allclose(free, best.x, atol=2e-3)


def test_a_mixture_ends_where_the_gradient_of_scipys_likelihood_is_zero() -> None:
    rows = rows_of_two(1000)
    case = started(Student(reg_covar=0.0), rows, 2)
    fitted = laws.run(case, passes=300, schedule=Squarem()).params
    found, middle = fitted.components, rows.mean(axis=0)

    def likelihood(dofs: Floats, stretch: float) -> float:
        each = [
            np.log(fitted.weights[k])
            + multivariate_t(found.means[k] + middle, found.scales[k] * stretch, dofs[k]).logpdf(rows)
            for k in range(2)
        ]
        return float(np.logaddexp(*each).sum())

    best, nudges = likelihood(found.dofs, 1.0), np.array([[1.01, 1.0], [0.99, 1.0], [1.0, 1.01], [1.0, 0.99]])
    assert all(likelihood(found.dofs * nudge, 1.0) < best for nudge in nudges)
    assert all(likelihood(found.dofs, stretch) < best for stretch in (0.99, 1.01))


def test_setosa_as_rs_cov_trob_has_it() -> None:
    """MASS::cov.trob(iris[1:50, 1:4], nu = 5, tol = 1e-14)."""
    rows = load_iris().data[:50]
    case = started(Student(Full(), 0.0, dof=5.0), rows)
    found = laws.run(case, passes=200).params.components
    centre = [4.98992041788185, 3.40202661681441, 1.45876954913237, 0.23190727448619]
    scales = [0.097138087858314, 0.1040948154604525, 0.0196639873235107, 0.0073852868365865]
    np.testing.assert_allclose(found.means[0] + rows.mean(axis=0), centre, rtol=1e-8)
    np.testing.assert_allclose(np.diag(found.scales[0]), scales, rtol=1e-7)
    np.testing.assert_allclose(
        found.scales[0, 0, 1:], [0.074604869868572, 0.0124682427837207, 0.007778034324424], rtol=1e-7
    )


def test_sepal_width_as_rs_fitdistr_has_it() -> None:
    """MASS::fitdistr(iris$Sepal.Width, "t"), which reaches -87.639853088671 at 23.65 degrees of freedom."""
    rows = load_iris().data[:, 1:2]
    outcome = laws.run(started(Student(reg_covar=0.0), rows), passes=400, schedule=Squarem())
    assert outcome.history.log_likelihood[-1] == pytest.approx(-87.639853088671, abs=1e-6)
    assert outcome.params.components.dofs[0] == pytest.approx(23.65463, rel=1e-2)


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
def test_with_very_many_degrees_of_freedom_it_is_the_gaussian(structure: Structure) -> None:
    case = two(Student(structure, 0.0, dof=1e8))
    start = case.start.components
    normal = Mixture(Gaussian(structure, 0.0), 2, case.model.shift)  # type: ignore[attr-defined]
    first = MixtureParams(case.start.weights, GaussianParams(start.means, start.scales, start.origins))
    mine, other = laws.run(case, passes=20), laws.run(laws.Case(normal, first, case.rows, Exact()), passes=20)
    np.testing.assert_allclose(mine.params.components.means, other.params.components.means, atol=1e-5)
    np.testing.assert_allclose(mine.params.components.scales, other.params.components.covariances, atol=1e-4)
    np.testing.assert_allclose(mine.history.log_likelihood, other.history.log_likelihood, rtol=1e-6)
    moments = laws.expect(case, case.rows)
    energy = case.model.energy(moments, case.start)
    assert np.isfinite(energy)
    assert float(moments["free_energy"]) == pytest.approx(float(moments["log_likelihood"]))


# -- robustness and hard data ------------------------------------------------------------------------------------------


def test_a_few_wild_rows_move_it_little() -> None:
    random = np.random.default_rng(4)
    clean = random.normal(size=(500, 2))
    dirty = np.vstack([clean, random.uniform(50.0, 500.0, (15, 2))])
    case = started(Student(), dirty)
    found = laws.run(case, passes=100).params.components
    mean = found.means[0] + dirty.mean(axis=0)
    assert np.linalg.norm(dirty.mean(axis=0)) > 5.0
    assert np.linalg.norm(mean) < 0.2
    assert np.all(np.linalg.eigvalsh(found.scales[0]) < 1.5)


def test_an_offset_of_a_hundred_million_changes_nothing_but_the_means() -> None:
    rows = np.round(rows_of_two() * 1024) / 1024  # so that the offset loses no digits
    near, far = (laws.run(started(Student(Full(), 0.0), rows + offset, 2), passes=15) for offset in (0.0, 1e8))
    np.testing.assert_allclose(far.params.components.scales, near.params.components.scales, rtol=1e-6)
    np.testing.assert_allclose(far.history.log_likelihood, near.history.log_likelihood, rtol=1e-7)


def test_narrow_components_far_apart_keep_their_digits() -> None:
    rows = np.vstack([rows_of_two()[:150] * 1e-6 - 1.0, rows_of_two(seed=6)[:150] * 1e-6 + 1.0])
    case = started(Student(Full(), 0.0), rows, 2)
    found = laws.run(case, passes=30).params.components
    assert np.all(np.any(found.origins != 0.0, axis=1))
    alone = laws.run(started(Student(Full(), 0.0), (rows[:150] + 1.0) * 1e6), passes=30).params.components
    np.testing.assert_allclose(found.scales[0] * 1e12, alone.scales[0], rtol=1e-4)


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
def test_rows_most_of_which_are_alike_are_no_cause_for_a_crash(structure: Structure, reg_covar: float) -> None:
    """The likelihood grows without bound as the scale shrinks to the point where the rows are."""
    rows = np.vstack([np.full((180, 2), 3.0), np.random.default_rng(0).normal(size=(20, 2))])
    outcome = laws.run(started(Student(structure, reg_covar), rows), passes=300)
    assert np.all(np.isfinite(outcome.history.log_likelihood))
    assert np.all(np.linalg.eigvalsh(structure.dense(outcome.params.components.scales, 1, 2)) > 0)
    assert outcome.params.components.floored == (1 if reg_covar == 0.0 else 0)


def test_equal_rows_and_components_without_weight() -> None:
    family = Student(Full(), 0.0)
    case = started(family, np.ones((20, 2)))
    assert case.start.components.floored == 1
    moments = np.vstack([laws.expect(CASES["full"], rows_of_two())["moments"][:1], np.zeros((1, 8))])
    old = random_params("VVV", 2, 2)
    new = family.maximise(moments, old)
    np.testing.assert_array_equal(new.means[1], old.means[1])
    np.testing.assert_array_equal(new.scales[1], old.scales[1])
    assert new.dofs[1] == old.dofs[1] != new.dofs[0]
    assert family.maximise(np.zeros_like(moments), old) is old
    first = family.first(moments)
    np.testing.assert_allclose(first.means[1], first.means[0])


def test_what_could_not_be_sums_over_rows_is_refused() -> None:
    family, moments = Student(Full(), 0.0), laws.expect(CASES["full"], rows_of_two())["moments"]
    assert family.admissible(moments)
    narrow, heavy, empty = moments.copy(), moments.copy(), moments.copy()
    narrow[0, 4] = 0.0
    heavy[1, -1] = heavy[1, 0]
    empty[0, 0] = -1.0
    assert not any(family.admissible(wrong) for wrong in (narrow, heavy, empty))


# -- use ---------------------------------------------------------------------------------------------------------------


def test_marginal_times_conditional_is_the_joint() -> None:
    family, params = Student(Full()), random_params("VVV", 3, 4)
    x, seen = np.random.default_rng(8).normal(size=4), np.array([2, 0])
    rest = np.array([1, 3])
    joint = scored(family, params, x[None])[0].logits
    marginal = scored(*family.marginal(params, seen), x[None, seen])[0].logits  # type: ignore[arg-type]
    conditional = scored(*family.conditional(params, seen, x[seen]), x[None, rest])[0].logits  # type: ignore[arg-type]
    np.testing.assert_allclose(marginal + conditional, joint, rtol=1e-11)


def test_draws_follow_the_density() -> None:
    family, params = Student(Full()), random_params("VVV", 2, 2)
    drawn = family.draw(params, 1, 4000, np.random.RandomState(0))
    for column in range(2):
        scale = np.sqrt(params.scales[1, column, column])
        assert kstest(drawn[:, column], t(params.dofs[1], params.means[1, column], scale).cdf).pvalue > 0.01


def test_counts_of_parameters_and_figures_of_health() -> None:
    assert Student(Full()).n_parameters(3, 2) == 3 * (2 + 3 + 1)
    assert Student(Full(), shared_dof=True).n_parameters(3, 2) == 3 * 5 + 1
    assert Student(Diagonal(), dof=3.0).n_parameters(3, 2) == 3 * 4
    params = random_params("VVV", 3, 2)
    health = Student().health(params)
    assert health["smallest_dof"] == params.dofs.min()
    assert health["smallest_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(params.scales).min())
    some = Student().taken(params, np.array([2, 0]))
    np.testing.assert_array_equal(some.dofs, params.dofs[[2, 0]])
    np.testing.assert_array_equal(Student().means(some), params.means[[2, 0]])


@pytest.mark.parametrize("dof", [0.0, -1.0, np.inf, np.nan])
def test_degrees_of_freedom_that_make_no_sense_are_refused(dof: float) -> None:
    with pytest.raises(ValueError, match="dof must be a positive number"):
        Student(dof=dof)
