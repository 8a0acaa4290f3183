import numpy as np
import pytest

import unveil
from unveil.cli.rows.answers import answers_of

X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [1.0], [18.0]], 30, axis=0)


def test_components_of_one_cluster_are_told_together():
    model = unveil.GaussianMixture(3, random_state=0, n_init=3).fit(X)
    far = int(model.predict(X)[-1])
    model.clusters_ = np.where(np.arange(3) == far, 1, 0)
    found = answers_of(model)(X, {})
    chances = model.predict_proba(X)
    assert set(found["cluster"][:60]) == {0}
    assert set(found["cluster"][60:]) == {1}
    assert len(set(found["component"])) == 3
    np.testing.assert_allclose(found["probability"][:60], 1.0 - chances[:60, far])


def test_states_have_the_lengths_of_their_sequences():
    chain = unveil.GaussianHMM(2, random_state=0).fit(X, lengths=[45, 45])
    found = answers_of(chain)(X, {"lengths": [45, 45]})
    np.testing.assert_array_equal(found["state"], chain.predict(X, [45, 45]))
    assert found["probability"].min() == pytest.approx(chain.predict_proba(X, [45, 45]).max(axis=1).min(), abs=0.5)
