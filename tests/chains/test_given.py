"""What is fixed is shown as it was given, to the last bit, whatever the fit does with it on the way.

The means of these tests are such that taking the frame off and putting it back changes them, on any processor: they
are searched for with the frame that the fit has.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import unveil
from unveil import CategoricalHMM, GaussianHMM, MixedHMM, MixedMixture, PoissonHMM
from unveil.families.compound import Compound, CompoundParams
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.held.family import hold
from unveil.families.priors import NormalInverseWishart
from unveil.families.student import Student, StudentParams

SEEDS = range(4)
FEW = np.array([[True, False], [False, True], [True, True]])
STILL = {"tol": 0.0, "random_state": 0}
QUICK = {**STILL, "init_params": "kmeans", "n_init": 1}
pytestmark = pytest.mark.filterwarnings("ignore")  # few passes, and states held where no rows are


def rows_of(seed: int, count: int = 240) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = np.repeat([[3.8, -2.3], [8.0, -6.1], [0.1, 1.9]], count // 3, axis=0)
    return centres + random.normal(size=centres.shape) + random.normal(size=2)


def frame_of(rows: np.ndarray) -> np.ndarray:
    return GaussianHMM(1, max_iter=1).fit(rows)._stream.shift


def awkward(rows: np.ndarray, seed: int, shape: tuple[int, ...] = (3, 2)) -> np.ndarray:
    """Means that do not survive the way to the frame and back: about the origin, which the frame is away from."""
    shift, random = frame_of(rows), np.random.default_rng(seed)
    found = np.empty(shape)
    for place in np.ndindex(*shape):
        s = shift[place[-1]]
        tries = s * random.uniform(-0.5, 0.5, size=200)
        found[place] = tries[tries - s + s != tries][0]
    return found


def exact(shown: Any, given: Any, mask: Any = True) -> None:
    mask = np.broadcast_to(mask, np.shape(given))
    np.testing.assert_array_equal(np.asarray(shown)[mask], np.asarray(given)[mask])


# -- means, which pass the frame ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mask", [True, FEW], ids=["all", "few"])
@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_means(seed: int, mask: Any, max_iter: int) -> None:
    rows = rows_of(seed)
    means = awkward(rows, seed)
    model = GaussianHMM(3, means_init=means, fixed={"means": mask}, max_iter=max_iter, **STILL).fit(rows)
    exact(model.means_, means, mask)
    assert not max_iter or mask is True or np.all(model.means_[~FEW] != means[~FEW])
    exact(model._from_attributes()[1].emissions.means, means - model._from_attributes()[0].shift, mask)


@pytest.mark.parametrize("init_params", ["auto", "mixture", "kmeans", "random_from_data", "runs", "random", "progress"])
def test_means_by_any_start(init_params: str) -> None:
    rows = rows_of(5)
    means = awkward(rows, 5)
    settings = {"n_init": 2, "init_params": init_params, "max_iter": 3, **STILL}
    exact(GaussianHMM(3, means_init=means, fixed={"means": FEW}, **settings).fit(rows).means_, means, FEW)


@pytest.mark.parametrize("schedule", ["batch", "incremental", "stepwise", "squarem", "gradient", "ascent", "lbfgs"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "VEE"])
def test_means_and_covariances_by_any_schedule(schedule: str, covariance_type: str) -> None:
    rows = rows_of(6)
    means, covars = awkward(rows, 6), np.array([[1.1, 0.3], [0.3, 0.7]]) / 3
    covars = covars if covariance_type == "tied" else np.tile(covars, (3, 1, 1))
    settings = {"schedule": schedule, "covariance_type": covariance_type, "max_iter": 4, **STILL}
    given = {"means_init": means, "covars_init": covars, "fixed": {"means": FEW, "covars": True}}
    model = GaussianHMM(3, **given, **settings).fit(rows)
    exact(model.means_, means, FEW)
    exact(model.covariances_, covars)


@pytest.mark.parametrize("expectation", ["hard", "sampled", "sparse", "annealed"])
def test_means_by_any_expectation(expectation: str) -> None:
    rows = rows_of(7)
    means = awkward(rows, 7)
    settings = {"expectation": expectation, "max_iter": 4, **STILL}
    exact(GaussianHMM(3, means_init=means, fixed={"means": FEW}, **settings).fit(rows).means_, means, FEW)


@pytest.mark.parametrize("seed", SEEDS)
def test_means_of_states_that_are_mixtures(seed: int) -> None:
    rows = rows_of(seed)
    means = awkward(rows, seed, (2, 2, 2))
    mask = np.array([[[True, False], [True, True]], [[False, False], [False, True]]])
    given = {"means_init": means, "weights_init": [[0.3, 0.7], [0.1, 0.9]], "n_mix": 2}
    model = GaussianHMM(2, fixed={"means": mask, "weights": [True, False]}, max_iter=4, **given, **STILL).fit(rows)
    exact(model.means_, means, mask)
    exact(model.weights_[0], [0.3, 0.7])


@pytest.mark.parametrize("seed", SEEDS)
def test_means_from_batch_to_batch_and_fit_to_fit(seed: int, tmp_path: Any) -> None:
    rows, others = rows_of(seed), 1.7 * rows_of(seed + 10)
    means = awkward(rows, seed)
    given = {"means_init": means, "fixed": {"means": FEW}, "max_iter": 3, **STILL}
    fitted = GaussianHMM(3, warm_start=True, **given).fit(rows)
    exact(fitted.fit(others).means_, means, FEW)
    exact(fitted.partial_fit(rows).means_, means, FEW)
    streamed = GaussianHMM(3, **given).partial_fit(rows)
    exact(streamed.means_, means, FEW)
    fitted.set_params(means_init=means + 1.0)  # a start for the next fit: what is fixed in this stream stays
    fitted.save(tmp_path / "model")
    for model in (streamed, unveil.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        exact(model.partial_fit(others).means_, means, FEW)
        exact(model.partial_fit(rows).means_, means, FEW)


def test_what_is_let_go_moves_and_what_is_fixed_later_stays_where_it_came_to() -> None:
    rows = rows_of(8)
    means = awkward(rows, 8)
    model = GaussianHMM(3, means_init=means, fixed={"means": True}, **STILL).partial_fit(rows)
    exact(model.means_, means)
    model.set_params(fixed={"means": FEW}).partial_fit(rows)
    exact(model.means_, means, FEW)
    reached = model.means_.copy()
    assert np.all(reached[~FEW] != means[~FEW])
    model.set_params(fixed={"means": True}).partial_fit(rows)
    exact(model.means_, reached)


@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
@pytest.mark.parametrize("seed", SEEDS)
def test_attributes_that_were_set_by_hand(fit: str, seed: int) -> None:
    rows = rows_of(seed)
    model = GaussianHMM(3, fixed={"means": FEW, "transmat": True}, warm_start=True, max_iter=3, **STILL)
    means, steps = awkward(rows, seed), np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    model.startprob_, model.transmat_, model.means_ = np.array([0.2, 0.3, 0.5]), steps, means
    model.covars_ = np.tile(np.eye(2), (3, 1, 1))
    getattr(model, fit)(rows)
    exact(model.means_, means, FEW)
    exact(model.transmat_, steps)
    assert np.all(model.means_[~FEW] != means[~FEW])


# -- what else passes arithmetic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["batch", "incremental", "stepwise", "squarem", "gradient", "lbfgs"])
def test_probabilities_that_sum_to_almost_one(schedule: str) -> None:
    third = 0.33333333  # 1e-8 short of 1: tables are made to sum to 1 for the fit
    tables = {"startprob_init": np.full(3, third), "transmat_init": np.full((3, 3), third)}
    model = GaussianHMM(3, fixed={"startprob": True, "transmat": [True, False, True]}, schedule=schedule, **tables)
    model.set_params(max_iter=4, **STILL).fit(rows_of(9))
    exact(model.startprob_, tables["startprob_init"])
    exact(model.transmat_[[0, 2]], tables["transmat_init"][[0, 2]])
    assert np.all(model.transmat_[1] != third)
    assert np.isfinite(model.score(rows_of(9)))


@pytest.mark.parametrize("structure", ["full", "diag", "spherical"])
def test_covariances_in_any_shape(structure: str) -> None:
    rows, mask = rows_of(10), [True, False, True]
    variances = np.array([0.7, 1.3, 2.1]) / 3
    dense = variances[:, None, None] * np.eye(2)
    model = GaussianHMM(3, covariance_type=structure, covars_init=dense, fixed={"covars": mask}, max_iter=3, **STILL)
    exact(model.fit(rows).covars_, dense, np.reshape(mask, (-1, 1, 1)))
    assert np.all(np.diagonal(model.covars_[1]) != np.diagonal(dense[1]))


def test_rates_of_nothing() -> None:
    rates = np.array([[0.0, 3.3], [7.1, 0.1]])
    counts = np.random.default_rng(0).poisson(np.repeat(np.maximum(rates, 0.5), 60, axis=0))
    mask = np.array([[True, False], [False, True]])
    model = PoissonHMM(2, lambdas_init=rates, fixed={"lambdas": mask}, max_iter=3, **STILL)
    exact(model.fit(np.where(counts * [1, 1] < 20, counts, 19)).lambdas_, rates, mask)
    exact(model.partial_fit(counts).lambdas_, rates, mask)


@pytest.mark.parametrize("prior", [None, 1.5])
def test_probabilities_of_symbols(prior: float | None) -> None:
    random = np.random.default_rng(0)
    codes = np.column_stack([random.integers(0, 3, 200), random.integers(0, 2, 200)])
    tables = np.array([[0.1, 0.2, 0.7, 0.3, 0.7], [0.6, 0.4, 0.0, 0.9, 0.1]])
    mask = np.array([[True, False, False, True, True], [False, False, True, False, False]])
    given = {"emissionprob_init": tables, "fixed": {"emissionprob": mask}, "emissionprob_prior": prior}
    model = CategoricalHMM(2, max_iter=4, **given, **STILL).fit(codes)
    exact(np.concatenate(model.emissionprob_, axis=1), tables, mask)
    exact(np.concatenate(model.partial_fit(codes).emissionprob_, axis=1), tables, mask)
    assert np.isfinite(model.score(codes))


# -- families that are held --------------------------------------------------------------------------------------------


def held_families(means: np.ndarray) -> dict[str, Any]:
    covariances, origins = np.tile(np.eye(2), (3, 1, 1)), np.zeros((3, 2))
    normal = GaussianParams(means, covariances, origins)
    student = StudentParams(means, covariances, np.full(3, 4.3), origins)
    parts = CompoundParams(np.ones((3, 1)), normal)
    return {
        "gaussian": hold(Gaussian(Full()), at=normal, means=FEW),
        "student": hold(Student(Full()), at=student, means=FEW),
        "columns": [(hold(Gaussian(Full()), at=normal, means=FEW), [1, 0])],
        "compound": hold(Compound(Gaussian(Full()), 1), at=parts, parts={"means": FEW}),
        "inside": Compound(hold(Gaussian(Full()), at=normal, means=FEW), 1),
    }


@pytest.mark.parametrize("kind", [MixedHMM, MixedMixture])
@pytest.mark.parametrize("name", ["gaussian", "student", "columns", "compound", "inside"])
def test_families_that_are_held(kind: Any, name: str) -> None:
    for seed in SEEDS[:2]:
        rows, others = rows_of(seed), 1.7 * rows_of(seed + 10)
        means = awkward(rows, seed)
        swapped = means[:, ::-1] if name == "columns" else means
        families = held_families(swapped)[name]
        mask = FEW[:, ::-1] if name == "columns" else FEW
        model = kind(3, families=families, max_iter=3, warm_start=True, **QUICK).fit(rows)
        for _ in range(2):
            exact(model.means_, means, mask)
            model = pickle.loads(pickle.dumps(model)).fit(others)  # goes on from there, in another frame
        exact(model.means_, means, mask)
        exact(model.partial_fit(rows).means_, means, mask)
        shown = model.components_[0][2]
        exact(getattr(shown, "parts", shown).means, swapped, FEW)
        exact(kind(3, families=families, **QUICK).partial_fit(rows).means_, means, mask)


def test_a_held_family_keeps_its_order_and_its_place_in_a_marginal() -> None:
    rows = rows_of(0)[np.r_[0:80, 80:100, 160:240]]
    means = awkward(rows, 0)[::-1]
    families = [(hold(Gaussian(Full()), at=GaussianParams(*_plain(means)), means=np.ones((3, 2), bool)), [0, 1])]
    table = np.column_stack([rows, np.arange(len(rows))])
    model = MixedMixture(3, families=[*families, ("number", [2])], max_iter=3, **QUICK).fit(table)
    exact(model.means_[:, :2], means)
    narrow = model.marginal([0, 1])
    exact(narrow.means_, means)
    np.testing.assert_allclose(narrow.score_samples(rows), model.marginal([0, 1]).score_samples(rows))
    exact(narrow.fit(rows).means_, means)


def _plain(means: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return means, np.tile(np.eye(means.shape[1]), (len(means), 1, 1)), np.zeros_like(means)


@pytest.mark.parametrize("kind", [MixedHMM, MixedMixture])
def test_a_prior_is_told_in_the_coordinates_of_the_rows(kind: Any) -> None:
    rows = rows_of(3)[:80] + 1000.0
    prior = NormalInverseWishart(mean=np.array([990.0, 1005.0]), strength=1e9, dof=5.0, scale=np.eye(2))
    for far in (0.0, 500.0):
        told = Gaussian(Full(), prior=replace(prior, mean=prior.mean + far))
        model = kind(1, families=told, random_state=0).fit(rows + far)
        np.testing.assert_allclose(model.means_[0], prior.mean + far, atol=1e-4)
