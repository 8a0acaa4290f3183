"""Where mixtures start: by every name, for every family, reproducibly, with weights and on a sample."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tests.places import EXAMPLES
from unveil import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    PoissonMixture,
    StudentMixture,
)
from unveil.core.protocols import Block
from unveil.estimation.degenerate import degeneracy
from unveil.families import hold
from unveil.families.compound import Compound, CompoundParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.model.model import Mixture
from unveil.mixtures.starts.starts import STARTS, Given, Nearest, Noise, Sample, short_runs, whitening
from unveil.schedules import Batch

Floats = NDArray[np.float64]
FAITHFUL = EXAMPLES / "faithful.csv"
random = np.random.default_rng(0)
GROUPS = random.integers(3, size=240)
NUMBERS = random.normal(size=(240, 3)) + np.array([[0, 0, 0], [5, 0, 3], [0, 6, -4]])[GROUPS]
COUNTS = random.poisson(np.array([[1, 5, 9], [8, 1, 2], [3, 3, 20]])[GROUPS])
ANSWERS = (random.random((240, 6)) < np.array([[0.1] * 3 + [0.9] * 3, [0.9] * 6, [0.9] * 3 + [0.1] * 3])[GROUPS]) * 1.0
WORDS = np.array(list("abc"))[np.where(random.random((240, 4)) < 0.8, GROUPS[:, None], 0)]
FRAME = pd.DataFrame({"x": NUMBERS[:, 0], "n": COUNTS[:, 0], "yes": ANSWERS[:, 0] > 0, "word": WORDS[:, 0]})
CASES: dict[str, tuple[Any, Any]] = {
    "gaussian": (GaussianMixture, NUMBERS),
    "bernoulli": (BernoulliMixture, ANSWERS),
    "poisson": (PoissonMixture, COUNTS),
    "student": (StudentMixture, NUMBERS),
    "categorical": (CategoricalMixture, WORDS),
    "mixed": (MixedMixture, FRAME),
}
SHARES = random.integers(0, 3, 240).astype(np.float64)


def fitted(kind: str, weights: Floats | None = None, **settings: Any) -> Any:
    estimator, rows = CASES[kind]
    plain = {"random_state": 1, "max_iter": 8, "tol": 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # how far it gets in so few passes is not the point
        return estimator(3, **plain | settings).fit(rows, sample_weight=weights)


# -- every name, every family ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("name", ["auto", *STARTS])
def test_every_name_works_and_is_reproducible(kind: str, name: str) -> None:
    for weights in (None, SHARES):
        one, other = (fitted(kind, weights, init_params=name) for _ in range(2))
        assert np.isfinite(one.lower_bound_)
        assert one.lower_bounds_ == other.lower_bounds_
        assert np.all(np.diff(one.weights_) <= 0)  # canonical order


@pytest.mark.parametrize("name", ["auto", *STARTS])
def test_tables_larger_than_the_sample(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unveil.mixtures.estimator.SMALL_WORK", 300 * 9)  # 300 rows
    rows = np.concatenate([NUMBERS] * 10) + np.random.default_rng(2).normal(scale=0.1, size=(2400, 3))
    shares = np.random.default_rng(3).random(2400)
    settings = {"init_params": name, "random_state": 0, "max_iter": 200}
    one, other = (GaussianMixture(3, **settings).fit(rows, sample_weight=shares) for _ in range(2))
    assert one.means_.tobytes() == other.means_.tobytes()
    assert np.isfinite(one.lower_bound_)


@pytest.mark.parametrize("name", ["auto", *STARTS])
def test_few_rows_with_weight_among_many(name: str) -> None:
    rows = np.random.default_rng(4).normal(size=(1500, 2))
    rows[::2] += 7
    shares = np.zeros(1500)
    shares[::60] = shares[1::60] = 1.0
    model = GaussianMixture(2, init_params=name, random_state=0, max_iter=300).fit(rows, sample_weight=shares)
    assert np.isfinite(model.lower_bound_)
    if name not in ("random", "random_from_data"):
        np.testing.assert_allclose(np.sort(model.means_[:, 0]), [0, 7], atol=1.0)


def test_rows_without_weight_are_no_part_of_the_sample() -> None:
    rows = np.array([[0.0, 1.0], [np.nan, 3.0], [100.0, 5.0]])
    sample = Sample(Mixture(Gaussian(), 2, np.zeros(2)), rows, np.array([1.0, 2.0, 0.0]))
    assert len(sample.rows) == len(sample.points) == 2
    np.testing.assert_array_equal(sample.typical, [0.0, 2.0])


# -- emEM --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_auto_is_at_least_as_good_as_k_means(seed: int) -> None:
    generator = np.random.default_rng(seed)
    k, d = [(3, 2), (4, 3), (5, 2)][seed % 3]
    centres, factors = generator.normal(size=(k, d)) * 3, generator.normal(size=(k, d, d)) * 0.7
    labels = generator.integers(k, size=300)
    rows = centres[labels] + np.einsum("nij,nj->ni", factors[labels], generator.normal(size=(300, d)))
    settings = {"random_state": 0, "max_iter": 1000, "tol": 1e-5}
    found, plain = (GaussianMixture(k, init_params=name, **settings).fit(rows) for name in ("auto", "kmeans"))
    assert found.score(rows) >= plain.score(rows) - 1e-3


@pytest.mark.parametrize("count", [1, 3, 12])
def test_short_runs_come_best_first(count: int) -> None:
    model = Mixture(Gaussian(), 3, NUMBERS.mean(axis=0))
    found = short_runs(Sample(model, NUMBERS, None), 0, count, lambda params: params)
    assert len(found) == count
    assert len(GaussianMixture(3, n_init=count, random_state=0).fit(NUMBERS).history_.restarts) == count


def test_short_runs_keep_what_is_wrong_with_a_start_to_themselves() -> None:
    """One row far out makes a component of its own degenerate; the runs that fall for it say nothing and come last."""
    rows = np.concatenate([NUMBERS, [[1e6, 1e6, 1e6]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = short_runs(Sample(Mixture(Gaussian(), 2, np.zeros(3)), rows, None), 0, 1, lambda params: params)
    assert len(runs) == 1


@pytest.mark.parametrize("n_components", [3, 4, 6])
@pytest.mark.parametrize("structure", ["full", "diag"])
def test_a_spike_on_heaped_values_does_not_win(structure: str, n_components: int) -> None:
    """Some eruptions were written down as the same number; a random start that falls for it climbs highest of all."""
    rows = np.loadtxt(FAITHFUL, delimiter=",", skiprows=1)
    floor = 1e-10 * float(rows.var(axis=0).min())
    settings = {"covariance_type": structure, "reg_covar": floor, "tol": 1e-5, "max_iter": 500, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the spike
        spike = GaussianMixture(n_components, init_params="random_from_data", **settings).fit(rows)
        found = GaussianMixture(n_components, n_init=5, **settings).fit(rows)
    assert degeneracy(spike) is not None
    assert degeneracy(found) is None
    assert spike.score(rows) > found.score(rows)


@pytest.mark.parametrize("seed", range(4))
def test_a_group_of_equal_rows_is_found_although_it_has_no_spread(seed: int) -> None:
    """Most starts lose the spread of that group, so it is the data that are so."""
    generator = np.random.default_rng(seed)
    clouds = generator.normal(size=(200, 2)) + np.repeat([[6.0, 0.0], [0.0, 6.0]], 100, axis=0)
    rows = np.concatenate([clouds, np.zeros((90, 2))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a floor holds it is to be expected
        labels = GaussianMixture(3, random_state=seed).fit(rows).predict(rows)
    assert len({*labels[200:]}) == 1
    assert np.mean(labels[:200] == labels[200]) < 0.05


def test_columns_of_several_kinds_are_looked_at_kind_by_kind() -> None:
    """A probability at its floor is no spike; a variance is, whatever stands beside it."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"x": generator.normal(size=90), "word": np.repeat(["a", "b"], 45)})
    narrow = frame.assign(x=np.where(frame["word"] == "a", 1.0, frame["x"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        broad, spiked = (MixedMixture(2, random_state=0).fit(table) for table in (frame, narrow))
    assert not broad._emission().family().spiked(broad.params_)
    assert spiked._emission().family().spiked(spiked.params_)


def test_a_spike_is_seen_behind_masks_and_in_parts() -> None:
    for smallest, wanted in ((1e-6, True), (0.5, False)):
        params = GaussianParams(np.zeros((2, 1)), np.array([[[1.0]], [[smallest]]]), np.zeros((2, 1)))
        parts = CompoundParams(np.array([[0.5, 0.5]]), params)
        assert Gaussian().spiked(params) is wanted
        assert hold(Gaussian(), means=np.ones((2, 1), dtype=bool)).spiked(params) is wanted
        assert Compound(Gaussian(), 2).spiked(parts) is wanted


def test_an_interrupted_start_is_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Batch, "sweeping", interrupted)
    with pytest.raises(KeyboardInterrupt):
        StudentMixture(2, random_state=0).fit(NUMBERS)


# -- what is given keeps its order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CASES)
def test_given_responsibilities_keep_their_order(kind: str) -> None:
    table = np.where(np.eye(3)[GROUPS] > 0, 0.9, 0.05)
    order = np.argsort(np.bincount(GROUPS))  # the smallest first
    model = fitted(kind, responsibilities_init=table[:, order], max_iter=100)
    shares = np.bincount(GROUPS)[order] / 240
    assert np.all(np.diff(shares) >= 0)
    np.testing.assert_allclose(model.weights_, shares, atol=0.12)
    assert np.mean(np.argsort(order)[GROUPS] == model.predict(CASES[kind][1])) > 0.8


def test_given_responsibilities_are_the_first_step() -> None:
    table = random.dirichlet(np.ones(3), 240)
    model = GaussianMixture(3, responsibilities_init=table, max_iter=0)
    with pytest.warns(UserWarning, match="not converged"):
        model.fit(NUMBERS)
    np.testing.assert_allclose(model.weights_, table.mean(axis=0))
    np.testing.assert_allclose(model.means_, table.T @ NUMBERS / table.sum(axis=0)[:, None])


@pytest.mark.parametrize("table", [np.ones((240, 3)), np.ones((240, 2)) / 2, np.tile([2.0, -1.0, 0.0], (240, 1))])
def test_shares_that_are_none_are_refused(table: Floats) -> None:
    with pytest.raises(ValueError, match="responsibilities_init must hold"):
        GaussianMixture(3, responsibilities_init=table).fit(NUMBERS)


@pytest.mark.parametrize("part", ["means_init", "weights_init", "precisions_init"])
def test_parts_that_are_given_keep_the_order_of_components(part: str) -> None:
    whole = GaussianMixture(3, random_state=0).fit(NUMBERS)
    order = [2, 0, 1]
    given = {
        "means_init": whole.means_[order],
        "weights_init": [0.1, 0.2, 0.7],
        "precisions_init": whole.precisions_[order],
    }[part]
    model = GaussianMixture(3, random_state=0, **{part: given}, tol=1e-6, max_iter=500).fit(NUMBERS)
    if part == "means_init":
        np.testing.assert_allclose(model.means_, given, atol=0.2)
    assert model.score(NUMBERS) > whole.score(NUMBERS) - 0.6


# -- the pieces --------------------------------------------------------------------------------------------------------


def test_nearest_centres_own_their_rows() -> None:
    rows = np.array([[0.0], [0.9], [2.0]])
    block = Block(0, 0, rows)
    np.testing.assert_array_equal(
        Nearest(np.array([[0.0], [2.0]])).responsibilities(block, rows, 2), [[1, 1, 0], [0, 0, 1]]
    )
    labelled = Nearest(rows, labels=np.array([1, 0, 0])).responsibilities(block, rows, 2)
    np.testing.assert_array_equal(labelled, [[0, 1, 1], [1, 0, 0]])
    np.testing.assert_allclose(Noise(0).responsibilities(block, rows, 2).sum(axis=0), 1.0)
    table = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    shifted = Block(0, 1, rows)
    np.testing.assert_array_equal(Given(table).responsibilities(shifted, rows, 2), table[1:].T)


@pytest.mark.parametrize("weighted", [False, True])
def test_whitening_makes_all_directions_alike(weighted: bool) -> None:
    points = random.normal(size=(80, 3)) @ random.normal(size=(3, 3))
    weights = random.integers(0, 4, 80).astype(np.float64) if weighted else None
    white = points @ whitening(points, weights)
    np.testing.assert_allclose(np.cov(white, rowvar=False, aweights=weights, ddof=0), np.eye(3), atol=1e-10)


@pytest.mark.parametrize("dependent", [False, True])
def test_whitening_of_many_columns_in_any_units(dependent: bool) -> None:
    points = random.normal(size=(300, 80)) @ random.normal(size=(80, 80)) * 10.0 ** random.integers(-4, 5, 80) + 7.0
    if dependent:
        points[:, 1] = points[:, 0]
    white = points @ whitening(points, None)
    count = 79 if dependent else 80
    np.testing.assert_allclose(np.cov(white, rowvar=False, ddof=0), np.eye(count), atol=1e-4)


def test_whitening_leaves_out_directions_without_spread() -> None:
    points = np.column_stack([random.normal(size=50), np.zeros(50)])
    assert whitening(points, None).shape == (2, 1)
    np.testing.assert_array_equal(whitening(np.zeros((5, 2)), None), np.eye(2))
