"""What all fourteen structures owe: shapes, free parameters, inverses, the best covariances, and no crash."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.oracles import covariances as oracle
from tests.places import EXAMPLES, TESTS
from unveil import GaussianMixture
from unveil.estimation.registry import STRUCTURES
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Structure, Tied

ITERATIVE = {"VEI", "VEE", "EVE", "VVE", "VEV"}
PARAMETERS = {  # R's mclust 6, nVarParams, one to four columns by one to four components
    "EII": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    "VII": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4],
    "EEI": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4],
    "VEI": [1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7],
    "EVI": [1, 1, 1, 1, 2, 3, 4, 5, 3, 5, 7, 9, 4, 7, 10, 13],
    "VVI": [1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12, 16],
    "EEE": [1, 1, 1, 1, 3, 3, 3, 3, 6, 6, 6, 6, 10, 10, 10, 10],
    "VEE": [1, 2, 3, 4, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12, 13],
    "EVE": [1, 1, 1, 1, 3, 4, 5, 6, 6, 8, 10, 12, 10, 13, 16, 19],
    "VVE": [1, 2, 3, 4, 3, 5, 7, 9, 6, 9, 12, 15, 10, 14, 18, 22],
    "EEV": [1, 1, 1, 1, 3, 4, 5, 6, 6, 9, 12, 15, 10, 16, 22, 28],
    "VEV": [1, 2, 3, 4, 3, 5, 7, 9, 6, 10, 14, 18, 10, 17, 24, 31],
    "EVV": [1, 1, 1, 1, 3, 5, 7, 9, 6, 11, 16, 21, 10, 19, 28, 37],
    "VVV": [1, 2, 3, 4, 3, 6, 9, 12, 6, 12, 18, 24, 10, 20, 30, 40],
}
by_model = pytest.mark.parametrize("model", oracle.MODELS)


@pytest.mark.parametrize(
    ("structure", "shape"),
    [(Full(), (3, 4, 4)), (Tied(), (4, 4)), (Diagonal(), (3, 4)), (Spherical(), (3,))],
)
def test_shapes_are_scikit_learns(structure: Structure, shape: tuple[int, ...]) -> None:
    assert structure.shape(3, 4) == shape


@by_model
def test_free_parameters_are_mclusts(model: str) -> None:
    structure = oracle.structure_of(model)
    assert [structure.n_parameters(k, d) for d in (1, 2, 3, 4) for k in (1, 2, 3, 4)] == PARAMETERS[model]


def test_words_of_scikit_learn_are_synonyms() -> None:
    pairs = {"full": "VVV", "tied": "EEE", "diag": "VVI", "spherical": "VII"}
    assert all(STRUCTURES[ours] == STRUCTURES[theirs] for ours, theirs in pairs.items())
    assert set(STRUCTURES) == set(pairs) | set(oracle.MODELS)


@by_model
def test_inverses_factors_and_choices(model: str) -> None:
    structure, matrices = oracle.structure_of(model), oracle.obeying(model, np.random.default_rng(0), 3, 4)
    covariances = oracle.packed(structure, matrices)
    assert covariances.shape == structure.shape(3, 4)
    np.testing.assert_allclose(structure.dense(covariances, 3, 4), matrices, rtol=1e-12)
    inverses = structure.inverted(covariances)
    np.testing.assert_allclose(structure.dense(inverses, 3, 4) @ matrices, np.tile(np.eye(4), (3, 1, 1)), atol=1e-9)
    factors = structure.dense(structure.factors(covariances), 3, 4)
    np.testing.assert_allclose(factors @ factors.swapaxes(1, 2), structure.dense(inverses, 3, 4), rtol=1e-9, atol=1e-12)
    turned = structure.chosen(covariances, np.array([2, 0]))
    np.testing.assert_allclose(structure.dense(turned, 2, 4), matrices[[2, 0]], rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="not positive"):
        structure.inverted(-covariances)


@by_model
def test_dead_components_keep_what_they_had(model: str) -> None:
    structure, random = oracle.structure_of(model), np.random.default_rng(0)
    old, new = (oracle.obeying(model, random, 3, 2) for _ in range(2))
    alive = np.array([True, False, True])
    fresh = oracle.packed(structure, new[alive])
    merged = structure.dense(structure.merged(oracle.packed(structure, old), fresh, alive), 3, 2)
    np.testing.assert_allclose(merged[alive], new[alive], rtol=1e-12)
    np.testing.assert_allclose(merged[1], new[1] if model == "EEE" else old[1], rtol=1e-12)


@by_model
def test_nothing_of_the_same_structure_is_likelier(model: str) -> None:
    counts, scatters = oracle.random_scatters(1, 3, 3)
    best = oracle.estimated(model, counts, scatters)
    oracle.assert_obeys(model, best)
    coordinates, top = oracle.Coordinates(model, best), oracle.objective(counts, scatters, best)

    def loss(moves: oracle.Floats) -> float:
        return top - oracle.objective(counts, scatters, coordinates.matrices(moves))

    random, size = np.random.default_rng(1), sum(coordinates.sizes)
    assert loss(np.zeros(size)) == pytest.approx(0.0, abs=1e-9)
    for scale in (1e-4, 1e-2, 1e-1):
        assert all(loss(random.normal(0.0, scale, size)) > 0.0 for _ in range(20))
    assert minimize(loss, random.normal(0.0, 0.05, size), method="BFGS").fun == pytest.approx(0.0, abs=1e-6)


@by_model
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), d=st.integers(1, 6))
def test_an_m_step_never_lowers_the_likelihood(model: str, seed: int, k: int, d: int) -> None:
    counts, scatters = oracle.random_scatters(seed, k, d)
    previous = oracle.obeying(model, np.random.default_rng(seed), k, d)
    found = oracle.estimated(model, counts, scatters, previous)
    before, after = (oracle.objective(counts, scatters, matrices) for matrices in (previous, found))
    assert after >= before
    again = oracle.objective(counts, scatters, oracle.estimated(model, counts, scatters, found))
    assert again >= after - 1e-12 * counts.sum() * max(abs(after), 1.0)


@by_model
def test_m_steps_are_mclusts(model: str) -> None:
    """Three random groups of irises; mclust stops short in VVE, where ours is the likelier."""
    stored = json.loads((TESTS / "data" / "mstep.json").read_text())
    x = np.loadtxt(EXAMPLES / "iris.csv", delimiter=",", skiprows=1, usecols=range(4))
    labels = np.array([int(letter) for letter in stored["labels"]])
    counts = np.bincount(labels).astype(float)
    scatters = np.stack([np.cov(x[labels == k].T, bias=True) for k in range(3)])
    theirs, (rows, columns) = np.empty((3, 4, 4)), np.triu_indices(4)
    theirs[:, rows, columns] = theirs[:, columns, rows] = np.reshape(stored["covariances"][model], (3, 10))
    ours = oracle.estimated(model, counts, scatters)
    gain = oracle.objective(counts, scatters, ours) - oracle.objective(counts, scatters, theirs)
    assert gain >= -1e-8
    if model == "VVE":
        assert gain > 0.1
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@by_model
def test_one_column_has_one_variance_or_many(model: str) -> None:
    counts, scatters = np.array([10.0, 30.0]), np.array([[[1.0]], [[9.0]]])
    want = [7.0, 7.0] if model[0] == "E" else [1.0, 9.0]
    np.testing.assert_allclose(oracle.estimated(model, counts, scatters).ravel(), want)


@by_model
def test_iterations_are_announced(model: str) -> None:
    assert oracle.structure_of(model).closed == (model not in ITERATIVE)


def ugly() -> dict[str, oracle.Floats]:
    """Scatter matrices without spread in some direction."""
    _, fine = oracle.random_scatters(3, 3, 4)
    flat = fine.copy()
    flat[:, 2], flat[:, :, 2] = 0.0, 0.0
    point = fine.copy()
    point[1] = 0.0
    lines = np.random.default_rng(0).normal(size=(3, 4))
    units = np.array([1e8, 1.0, 1e-8, 1.0])
    return {
        "constant column": flat,
        "one point": point,
        "lines": lines[:, :, None] * lines[:, None],
        "one line": np.repeat((lines[:1, :, None] * lines[:1, None]), 3, axis=0),
        "points": np.zeros_like(fine),
        "units": fine * units * units[:, None],
    }


@by_model
@pytest.mark.parametrize("case", ugly())
def test_ugly_scatters_are_floored_and_still_give_a_density(model: str, case: str) -> None:
    structure, scatters = oracle.structure_of(model), ugly()[case]
    counts, moments = np.array([5.0, 1e-3, 40.0]), oracle.moments_of(structure, scatters)
    floor = 1e-15 * np.maximum(np.einsum("kii->ki", scatters).max(axis=0), 1e-16)
    covariances: oracle.Floats | None = None
    for _ in range(3):
        covariances, floored = structure.estimate(counts, moments, floor, 0.0, covariances)
        assert np.all(np.isfinite(structure.natural(np.zeros((3, 4)), covariances)))
        assert floored <= 3
    lowest = np.full(4, floor.mean()) if structure.n_second(4) == 1 else floor  # spheres have one floor for all columns
    scaled = structure.dense(covariances, 3, 4) / np.sqrt(lowest * lowest[:, None])
    np.linalg.cholesky(scaled - 0.9 * np.eye(4))  # refuses what has a direction below the floor
    assert floored >= (case == "points")
    with_extra, none = structure.estimate(counts, moments, floor, 1e-3, None)
    assert np.all(np.linalg.eigvalsh(structure.dense(with_extra, 3, 4))[:, -1] >= 1e-3 * (1 - 1e-9))
    assert none == 0 or case == "units"


@by_model
def test_em_climbs_on_the_irises(model: str) -> None:
    x = np.loadtxt(EXAMPLES / "iris.csv", delimiter=",", skiprows=1, usecols=range(4))
    word = {"EEE": "tied"}.get(model, model)
    fitted = GaussianMixture(3, covariance_type=word, reg_covar=0.0, tol=1e-6, max_iter=60, random_state=0).fit(x)
    bounds = np.asarray(fitted.lower_bounds_)
    assert np.all(np.diff(bounds) >= -1e-12)
    assert fitted.lower_bound_ > -3.0
