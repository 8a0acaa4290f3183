"""Hidden Markov models of columns of different kinds."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import pytest

import unveil
from unveil import GaussianHMM, MixedHMM, PoissonHMM
from unveil.families.bernoulli import Bernoulli
from unveil.families.compound import Compound
from unveil.families.gaussian import Gaussian
from unveil.families.poisson import Poisson
from unveil.families.student import Student


def table(n_steps: int = 500) -> pandas.DataFrame:
    """A number, a count, a truth value and a word that change together every 25 steps."""
    random = np.random.default_rng(0)
    state = (np.arange(n_steps) // 25) % 2
    return pandas.DataFrame(
        {
            "level": 3.0 * state + random.normal(size=n_steps),
            "visits": random.poisson(np.where(state == 0, 2.0, 7.0)),
            "open": random.random(n_steps) < np.where(state == 0, 0.2, 0.8),
            "mood": np.where(random.random(n_steps) < np.where(state == 0, 0.8, 0.3), "calm", "busy"),
        }
    )


TABLE = table()
STATES = (np.arange(500) // 25) % 2


def agreement(labels: np.ndarray) -> float:
    share = float(np.mean(labels == STATES))
    return max(share, 1.0 - share)


def test_columns_by_type():
    model = MixedHMM(2, random_state=0).fit(TABLE)
    assert model.kinds_ == ["number", "count", "yes/no", "category"]
    assert model.certificate_.ok
    assert agreement(model.predict(TABLE)) > 0.98
    assert model.means_.shape == (2, 4)
    assert [kind for kind, _, _ in model.components_] == ["number", "count", "yes/no", "category"]
    assert model.n_parameters() == 1 + 2 + 2 * (1 + 1 + 1 + 1 + 1)
    drawn, states = model.sample(5, random_state=0)
    assert drawn.shape == (5, 4)
    assert len(states) == 5


def test_missing_cells_and_steps():
    holed = TABLE.astype(object)
    random = np.random.default_rng(1)
    holed = holed.mask(random.random(holed.shape) < 0.2)
    holed.iloc[60:62] = None
    model = MixedHMM(2, families={"level": "number", "visits": "count", "open": "yes/no"}, random_state=0).fit(holed)
    assert agreement(model.predict(holed)) > 0.95
    assert model.history_.largest_fall() <= 1e-8


def test_sequences_of_frames(tmp_path):
    parts = [TABLE.iloc[:200], TABLE.iloc[200:]]
    model = MixedHMM(2, random_state=0).fit(parts)
    assert model.score(parts) == pytest.approx(model.score(TABLE, [200, 300]))
    model.save(tmp_path / "model.unveil")
    loaded = unveil.load(tmp_path / "model.unveil")
    assert loaded.score(parts) == model.score(parts)
    assert pickle.loads(pickle.dumps(model)).score(parts) == model.score(parts)


def test_words_for_families_are_the_models_of_their_own():
    X = TABLE[["level"]].to_numpy()
    mixed = MixedHMM(2, random_state=0, tol=1e-8).fit(X)
    assert mixed.score(X) == pytest.approx(GaussianHMM(2, random_state=0, tol=1e-8).fit(X).score(X), abs=1e-3)
    counts = TABLE[["visits"]].to_numpy()
    mixed = MixedHMM(2, families={0: "count"}, random_state=0, tol=1e-8).fit(counts)
    assert mixed.score(counts) == pytest.approx(
        PoissonHMM(2, random_state=0, tol=1e-8).fit(counts).score(counts), abs=1e-3
    )


@pytest.mark.parametrize(
    ("family", "columns"),
    [
        (Student(), ["level"]),
        (Bernoulli(), ["open"]),
        (Compound(Poisson(), 2), ["visits"]),
        (Compound(Gaussian(), 2), ["level", "visits"]),
    ],
    ids=["student", "bernoulli", "counts in parts", "numbers in parts"],
)
def test_families_of_your_own_for_all_columns(family, columns):
    X = TABLE[columns].to_numpy().astype(float)
    model = MixedHMM(2, families=family, random_state=0, n_init=1, tol=1e-5).fit(X)
    assert agreement(model.predict(X)) > 0.75
    assert model.history_.largest_fall() <= 1e-7
    with pytest.raises(TypeError, match="families of your own"):
        model.save("nowhere.unveil")


def test_warm_starts_and_streams():
    model = MixedHMM(2, random_state=0, warm_start=True).fit(TABLE)
    model.fit(TABLE)
    assert model.n_iter_ <= 4
    stream = MixedHMM(2, random_state=0)
    for first in range(0, 500, 100):
        stream.partial_fit(TABLE.iloc[first : first + 100])
    assert agreement(stream.predict(TABLE)) > 0.95


def test_only_the_chain_has_rules():
    with pytest.raises(ValueError, match="fixed must name parameters among 'startprob', 'transmat', got 'means'"):
        MixedHMM(2, fixed={"means": True}).fit(TABLE)
    with pytest.raises(ValueError, match="tied must name parameters among 'startprob', 'transmat', got 'covars'"):
        MixedHMM(2, tied={"covars": [0, 0]}).fit(TABLE)
    model = MixedHMM(2, transmat_init=np.full((2, 2), 0.5), fixed={"transmat": True}, random_state=0).fit(TABLE)
    np.testing.assert_array_equal(model.transmat_, 0.5)
