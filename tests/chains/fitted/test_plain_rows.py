"""Codes that are looked up, and arrays that are taken as they are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.fitted_chains import Given
from unveil import CategoricalHMM, PoissonHMM
from unveil.core.protocols import Block
from unveil.families.categorical import Categorical, CategoricalParams


@pytest.mark.parametrize("seed", range(3))
def test_codes_are_looked_up_as_their_indicators_score(seed):
    random = np.random.default_rng(seed)
    chances = random.dirichlet(np.ones(4), size=3)
    chances[0, 1] = 0.0
    chances /= chances.sum(axis=1, keepdims=True)
    one = Given(Categorical((4,)), [0.5, 0.3, 0.2], np.full((3, 3), 1 / 3), CategoricalParams(chances))
    chain, rows = one._chain(), random.integers(4, size=(50, 1)).astype(np.float64)
    block = Block(0, 0, rows, lengths=np.array([50]))
    want = chain.model.emissions.score(chain.plan.family, block, chain.model.emissions.remember(block))[0]
    np.testing.assert_array_equal(chain.model.scores(chain.plan, block), want)
    for cell in (np.nan, 7.0, 0.5, -1.0):
        rows[3] = cell
        want = chain.model.emissions.score(chain.plan.family, block, chain.model.emissions.remember(block))[0]
        np.testing.assert_array_equal(chain.model.scores(chain.plan, block), want)


@pytest.mark.parametrize("lengths", [None, [40, 60]])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_arrays_are_answered_as_lists_are(lengths, dtype):
    random = np.random.default_rng(0)
    codes, counts = random.integers(3, size=(100, 1)), random.poisson(4.0, size=(100, 2))
    for model, rows in ((CategoricalHMM(2, random_state=0), codes), (PoissonHMM(2, random_state=0), counts)):
        model.fit(rows)
        array, table = rows.astype(dtype), rows.tolist()
        for name in ("predict", "predict_proba", "filter", "score", "log_likelihoods"):
            ask = getattr(model, name)
            np.testing.assert_array_equal(ask(array, lengths=lengths), ask(table, lengths=lengths))
