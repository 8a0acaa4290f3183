import numpy as np
import pyarrow as pa
import pytest

import unveil
from unveil.certificate import Certificate, Finding
from unveil.cli.rows.answers import answers_of, groups_said

X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [1.0], [18.0]], 30, axis=0)


def test_components_of_one_cluster_are_told_together():
    model = unveil.GaussianMixture(3, random_state=0, n_init=3).fit(X)
    far = int(model.predict(X)[-1])
    model.clusters_ = np.where(np.arange(3) == far, 5, 7)
    found = answers_of(model)(X, {})
    chances = model.predict_proba(X)
    assert set(found["cluster"][:60]) == {2 - (far > 0)}  # counted from 1, in the order of first components
    assert set(found["cluster"][60:]) == {1 + (far > 0)}
    assert len(set(found["component"])) == 3
    np.testing.assert_allclose(found["probability"][:60], 1.0 - chances[:60, far])


def test_states_have_the_lengths_of_their_sequences():
    chain = unveil.GaussianHMM(2, random_state=0).fit(X, lengths=[45, 45])
    found = answers_of(chain)(X, {"lengths": [45, 45]})
    np.testing.assert_array_equal(found["state"], chain.predict(X, [45, 45]) + 1)
    assert found["probability"].min() == pytest.approx(chain.predict_proba(X, [45, 45]).max(axis=1).min(), abs=0.5)


@pytest.mark.parametrize(("severity", "clusters"), [("fine", {1, 2}), ("warning", {1}), ("doubt", {None})])
def test_clusters_are_the_groups_of_a_report(severity, clusters):
    model = unveil.GaussianMixture(2, random_state=0).fit(X)
    model.clusters_ = np.arange(2)
    model.certificate_ = Certificate((Finding("real", severity, "", question="real"),), clusters=(0, 1))
    found = answers_of(model)(X, {})
    assert set(pa.array(found["cluster"]).to_pylist()) == clusters
    assert set(found["component"]) == {1, 2}
    assert len(groups_said(model)) == (severity != "fine")
