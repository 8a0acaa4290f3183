"""One observation at a time: what it says is what `filter` says."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from tests.oracles.fitted_chains import Given, gaussian_chain
from unveil import GaussianHMM, MixedHMM
from unveil.chains.fitted.belief import Belief, digest
from unveil.chains.fitted.online import advanced
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.gaussian import GaussianParams


def fed(model, X):
    beliefs = []
    for row in X:
        beliefs.append(model.step(row, beliefs[-1] if beliefs else None))
    return beliefs


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "missing"])
def test_step_by_step_is_filter(holes):
    model = gaussian_chain(11)
    random = np.random.default_rng(11)
    X = random.normal(size=(60, 2)) * 3
    if holes:
        X[random.random(X.shape) < 0.3] = np.nan
    beliefs = fed(model, X)
    np.testing.assert_allclose([b.probabilities for b in beliefs], model.filter(X), rtol=1e-13, atol=1e-300)
    assert beliefs[-1].log_likelihood == pytest.approx(model.score(X), rel=1e-13)
    assert [b.steps for b in beliefs] == list(range(1, 61))


def test_a_number_is_an_observation_of_one_column():
    model = Given(
        Categorical((2,)), [0.5, 0.5], np.full((2, 2), 0.5), CategoricalParams(np.array([[0.9, 0.1], [0.3, 0.7]]))
    )
    for x in (1, [1], [[1]], np.float64(1.0)):
        np.testing.assert_allclose(model.step(x).probabilities, [0.125, 0.875])


def test_beliefs_travel():
    model = gaussian_chain(11)
    X = np.random.default_rng(0).normal(size=(5, 2))
    belief = fed(model, X[:4])[-1]
    wanted = model.step(X[4], belief)
    for again in (pickle.loads(pickle.dumps(belief)), Belief.from_dict(json.loads(json.dumps(belief.to_dict())))):
        found = model.step(X[4], again)
        assert found.to_dict() == wanted.to_dict()
    with pytest.raises(ValueError, match="read-only"):
        belief.probabilities[0] = 1.0


def test_beliefs_of_other_models_are_refused():
    model, other, fewer = gaussian_chain(11), gaussian_chain(12), gaussian_chain(11, k=2)
    belief = model.step([0.0, 0.0])
    with pytest.raises(ValueError, match=r"state must be a belief that step of this model returned.*another model"):
        other.step([0.0, 0.0], belief)
    with pytest.raises(ValueError, match=r"state must be .* 2 states, got a belief over 3 states"):
        fewer.step([0.0, 0.0], belief)
    with pytest.raises(ValueError, match=r"X must be .*got a belief over 3 states of another model"):
        other.forecast(belief, 2)


def test_probabilities_serve_as_a_belief():
    """Where the parameters have changed since, on purpose."""
    model, other = gaussian_chain(11), gaussian_chain(12)
    belief = model.step([0.5, 0.0])
    carried = other.step([1.0, 1.0], belief.probabilities)
    assert carried.steps == 1
    assert carried.probabilities.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"state must be .* got an array of shape \(2,\)"):
        other.step([1.0, 1.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="which sum to 1"):
        other.step([1.0, 1.0], [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="got str"):
        other.step([1.0, 1.0], "belief")


def test_a_state_too_unlikely_for_a_number_is_not_forgotten():
    """Two states that are never left; the first rows all but rule out what is left in the end."""
    model = gaussian_chain(11, k=2, d=1)
    model.transition, model.start = np.eye(2), np.array([0.5, 0.5])
    model.emissions = GaussianParams(np.array([[0.0], [100.0]]), np.ones((2, 1, 1)), np.zeros((2, 1)))
    X = np.array([[0.0], [0.0], [100.0], [100.0], [100.0]])
    beliefs = fed(model, X)
    np.testing.assert_allclose([b.probabilities for b in beliefs], model.filter(X), atol=1e-12)
    assert beliefs[-1].probabilities[1] == 1.0
    assert beliefs[-1].log_likelihood == pytest.approx(model.score(X), rel=1e-13)
    again = Belief.from_dict(json.loads(json.dumps(beliefs[1].to_dict())))
    np.testing.assert_allclose(model.step(X[2], again).log_probabilities, beliefs[2].log_probabilities, rtol=1e-15)


def test_an_impossible_observation():
    chain = gaussian_chain(11, k=2)._chain()
    plan, name = chain.plan, chain.name
    assert chain.model.n_components == 2
    ruled_out = np.full((1, 2), -np.inf)
    belief = advanced(plan, ruled_out, None, name)
    assert belief.log_likelihood == -np.inf
    assert belief.probabilities.tolist() == [0.0, 0.0]
    after = advanced(plan, np.zeros((1, 2)), belief, name)
    assert (after.log_likelihood, after.probabilities.tolist(), after.steps) == (-np.inf, [0.0, 0.0], 2)


def test_belief_in_json_has_no_infinities():
    belief = Belief(np.array([0.0, -np.inf]), -np.inf, 2, "f00d")
    text = json.dumps(belief.to_dict(), allow_nan=False)
    again = Belief.from_dict(json.loads(text))
    assert again.log_probabilities.tolist() == [0.0, -np.inf]
    assert again.log_likelihood == -np.inf


def test_rows_with_names_are_taken_by_them():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.normal(size=(40, 2)) * [1.0, 5.0], columns=["size", "speed"])
    model = GaussianHMM(2, n_init=1, random_state=0).fit(frame)
    wanted = model.filter(frame[:1])[0]
    row = frame.iloc[0]
    shuffled = row[["speed", "size"]]
    for x in (row, shuffled, shuffled.to_dict(), frame[:1], row.to_numpy(), row.tolist()):
        np.testing.assert_allclose(model.step(x).probabilities, wanted, rtol=1e-12)
    with pytest.raises(ValueError, match=r"x must have the columns \['size', 'speed'\], got \['size', 'colour'\]"):
        model.step({"size": 1.0, "colour": 2.0})
    with pytest.raises(ValueError, match="x must be one observation, got 2 rows"):
        model.step(frame[:2])


def test_rows_of_words_need_no_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"number": [0.0, 0.1, 5.0, 5.2] * 5, "word": ["a", "a", "b", "b"] * 5})
    model = MixedHMM(2, n_init=1, random_state=0).fit(frame)
    wanted = model.filter(frame[:1])[0]
    for x in ([0.0, "a"], frame.iloc[0], {"word": "a", "number": 0.0}):
        np.testing.assert_allclose(model.step(x).probabilities, wanted, rtol=1e-12)
    assert model.feature_names_in_.tolist() == ["number", "word"]


def test_one_observation_at_a_time():
    with pytest.raises(ValueError, match=r"x must be one observation, got an array of shape \(0,\)"):
        gaussian_chain(1).step([])
    with pytest.raises(ValueError, match=r"x must be one observation, got an array of shape \(2, 2\)"):
        gaussian_chain(1).step(np.zeros((2, 2)))


def test_digests_tell_parameters_apart():
    one = (np.array([1.0, 2.0]), CategoricalParams(np.array([[0.5, 0.5]])))
    assert digest(*one) == digest(np.array([1.0, 2.0]), CategoricalParams(np.array([[0.5, 0.5]])))
    assert digest(*one) != digest(np.array([1.0, 2.0]), CategoricalParams(np.array([[0.5], [0.5]])))
    assert digest(*one) != digest(np.array([1.0, np.nextafter(2.0, 3.0)]), one[1])
