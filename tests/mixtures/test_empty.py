"""What becomes of components without rows, by name, and what the certificate says of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unveil import BernoulliMixture, GaussianMixture, PoissonMixture
from unveil.certificate import FitWarning
from unveil.core.protocols import Block
from unveil.families.poisson import Poisson, PoissonParams
from unveil.mixtures.empty import POLICIES, Reseed
from unveil.mixtures.model.model import Mixture, MixtureParams

random = np.random.default_rng(0)
ROWS = np.concatenate([random.normal(size=(150, 2)), random.normal(size=(150, 2)) + 9])
START = {
    "weights_init": [0.4, 0.4, 0.2],
    "means_init": [[0.0, 0.0], [9.0, 9.0], [500.0, 500.0]],
    "precisions_init": np.tile(np.eye(2), (3, 1, 1)),
}


@pytest.mark.filterwarnings("ignore:GaussianMixture. component . ")  # hard shares leave few rows
@pytest.mark.parametrize("expectation", ["exact", "hard"])
def test_reseeded(expectation: str) -> None:
    model = GaussianMixture(3, **START, expectation=expectation, max_iter=500).fit(ROWS)
    assert np.all(model.weights_ * len(ROWS) > 1)
    assert np.all(np.abs(model.means_) < 20)
    assert model.history_.events["reseeded"] == 1
    found = model.certificate_["reseeded"]
    assert (found.severity, found.value) == ("note", 1.0)
    assert "empty" not in model.certificate_
    assert model.certificate_["bound"].severity in ("fine", "note")


@pytest.mark.parametrize("expectation", ["exact", "hard"])
def test_kept(expectation: str) -> None:
    with pytest.warns(FitWarning, match="had no rows and kept its parameters"):
        model = GaussianMixture(3, **START, expectation=expectation, empty_components="keep").fit(ROWS)
    np.testing.assert_array_equal(model.means_[2], [500.0, 500.0])
    assert model.weights_[2] < 1e-9
    assert model.certificate_["empty"].value == model.n_iter_
    assert model.certificate_["support"].value < 1e-6
    assert "reseeded" not in model.certificate_


@pytest.mark.parametrize("expectation", ["exact", "hard"])
def test_refused(expectation: str) -> None:
    with pytest.raises(ValueError, match="component 2 has no rows left"):
        GaussianMixture(3, **START, expectation=expectation, empty_components="error").fit(ROWS)


def test_rows_without_weight_attract_nobody() -> None:
    rows = np.concatenate([ROWS, [[40.0, 40.0], [41.0, 40.0], [40.0, 41.0]]])
    counted = np.repeat([1.0, 0.0], [300, 3])
    model = GaussianMixture(3, **START, max_iter=500).fit(rows, sample_weight=counted)
    assert np.all(model.means_ < 20)


def test_rows_with_missing_cells_can_be_given_to_it() -> None:
    holes = ROWS.copy()
    holes[np.arange(0, 300, 4), np.arange(75) % 2] = np.nan
    model = GaussianMixture(3, **START, max_iter=500).fit(holes)
    assert np.all(np.abs(model.means_) < 20)


def test_reviving_gives_the_worst_explained_rows_and_leaves_the_others_alone() -> None:
    counts = np.concatenate([random.poisson(2.0, (60, 1)), np.full((10, 1), 40)]).astype(np.float64)
    model = Mixture(Poisson(), 3, np.zeros(1))
    params = MixtureParams(np.array([0.5, 0.5, 0.0]), PoissonParams(np.array([[2.0], [3.0], [1.0]])))
    block = Block(0, 0, counts)
    q = np.zeros((3, 70))
    q[0, :35], q[1, 35:] = 1.0, 1.0
    statistics = model.gather_under(model.prepare(params), block, q)
    plain = model.maximise(statistics, params)
    revived, count = Reseed(block).revive(SimpleNamespace(model=model), plain, statistics, np.array([2]))
    worst = np.sort(counts.ravel())[-11:]  # half of what each of three would have
    assert revived.components.rates[2, 0] == pytest.approx(worst.mean())
    np.testing.assert_allclose(revived.components.rates[:2], plain.components.rates[:2])
    assert revived.weights[2] > 0
    assert count == 1


@pytest.mark.parametrize("model", [BernoulliMixture(4), PoissonMixture(4)])
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_fewer_different_rows_than_components(model: Any, policy: str) -> None:
    rows = np.repeat([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], 10, axis=0)
    model = type(model)(4, random_state=0, empty_components=policy, init_params="furthest")
    if policy == "reseed":
        with pytest.warns(FitWarning, match="stands for only"):
            model.fit(rows)
        assert np.all(model.weights_ > 1e-3)
    elif policy == "keep":
        with pytest.warns(FitWarning, match="had no rows"):
            model.fit(rows)
    else:
        with pytest.raises(ValueError, match="has no rows left"):
            model.fit(rows)
