"""Stages of a fit: attributes that belong to the free energy of their pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import unveil
from unveil.core.snapshots import Snapshot
from unveil.estimation.stages import SAME_HEIGHT, at, from_afar, stages

RANDOM = np.random.default_rng(1)
GROUPS = (
    100.0 + RANDOM.normal(size=(240, 2)) @ [[2.0, 0.5], [0.0, 1.0]] + np.repeat([[0.0, 0.0], [7.0, 3.0]], 120, axis=0)
)
MIXTURES = [
    unveil.GaussianMixture(3, random_state=0, init_params="random"),
    unveil.GaussianMixture(2, random_state=0, init_params="random", covariance_type="tied"),
    unveil.StudentMixture(2, random_state=0, init_params="random", max_iter=40, schedule="squarem"),
]


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("estimator", MIXTURES, ids=repr)
def test_the_height_of_a_stage_is_the_log_likelihood_of_its_attributes(estimator: Any) -> None:
    with unveil.snapshots(most=12):
        model = clone(estimator).fit(GROUPS)
    told = stages(model)
    for stage in told[:-1]:
        assert stage.height == model.history_.free_energy[stage.passes]
        assert stage.model.score(GROUPS) * len(GROUPS) == pytest.approx(stage.height, rel=1e-9)
    np.testing.assert_array_equal(told[-1].model.means_, model.means_)
    assert not hasattr(told[0].model, "certificate_")
    assert hasattr(model, "certificate_")
    assert not np.array_equal(told[0].model.means_, model.means_)


def test_of_a_chain_and_of_clusters() -> None:
    with unveil.snapshots(most=6):
        chain = unveil.GaussianHMM(2, random_state=0, init_params="random").fit(GROUPS)
        clusters = unveil.KMeans(4, random_state=0, init="random", n_init=1).fit(GROUPS)
    for stage in stages(chain)[:-1]:
        assert stage.model.score(GROUPS) == pytest.approx(stage.height, rel=1e-9)
    for stage in stages(clusters)[:-1]:
        assert stage.model.score(GROUPS) == pytest.approx(stage.height, rel=1e-9)
    np.testing.assert_array_equal(stages(chain)[-1].model.transmat_, chain.transmat_)
    np.testing.assert_array_equal(stages(clusters)[-1].model.cluster_centers_, clusters.cluster_centers_)


def test_a_fit_that_was_not_asked_has_no_stages_and_other_models_have_none_to_show() -> None:
    assert stages(unveil.KMeans(2, random_state=0).fit(GROUPS)) == []
    with pytest.raises(TypeError, match="a mixture, a hidden Markov model or K-means"):
        at(unveil.FactorAnalysis(1).fit(GROUPS), Snapshot(0, None))


def test_a_fit_from_afar_begins_elsewhere_and_ends_at_the_same_height() -> None:
    model = unveil.GaussianMixture(2, random_state=0).fit(GROUPS)
    far = from_afar(model, GROUPS)
    assert far is not None
    assert far.n_iter_ > model.n_iter_
    assert abs(far.history_.heights[-1] - model.history_.heights[-1]) <= SAME_HEIGHT * abs(model.history_.heights[-1])
    assert len(stages(far)) > 3
