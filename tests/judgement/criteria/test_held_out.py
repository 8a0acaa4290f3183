"""The likelihood of what was not seen, against the same sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

import unveil
from unveil import GaussianHMM, GaussianMixture
from unveil.judgement.criteria.criteria import Fitted
from unveil.judgement.criteria.held_out import FOLDS, held_out, sequences_of

random = np.random.default_rng(0)
LEVELS = np.repeat(np.tile([0.0, 4.0, 8.0], 12), 20)
STEPS = LEVELS[:, None] + random.normal(size=(720, 1))


def test_rows_in_folds() -> None:
    rows = np.concatenate([random.normal(0, 1, (40, 1)), random.normal(6, 1, (41, 1))])
    model = GaussianMixture(2, random_state=0)
    dealt = np.random.default_rng(0).permutation(81)
    total = 0.0
    for fold in range(FOLDS):
        mine = dealt[fold::FOLDS]
        rest = np.setdiff1d(np.arange(81), mine)
        total += GaussianMixture(2, random_state=0).fit(rows[rest]).score_samples(rows[mine]).sum()
    assert held_out(Fitted(model, rows, None)) == pytest.approx(total / 81, rel=1e-9)


def test_sequences_in_folds() -> None:
    sequences = [STEPS[first : first + 60] for first in range(0, 720, 60)]
    total = 0.0
    for fold in range(FOLDS):
        rest = [one for number, one in enumerate(sequences) if number % FOLDS != fold]
        mine = [one for number, one in enumerate(sequences) if number % FOLDS == fold]
        total += GaussianHMM(3, random_state=0).fit(rest).score(mine)
    found = held_out(Fitted(GaussianHMM(3, random_state=0), sequences, None))
    assert found == pytest.approx(total / 720, rel=1e-9)


def test_one_sequence_is_cut_in_time() -> None:
    model = GaussianHMM(3, random_state=0).fit(STEPS[:576])
    by_hand = (model.score(STEPS) - model.score(STEPS[:576])) / 144
    assert held_out(Fitted(GaussianHMM(3, random_state=0), STEPS, None)) == pytest.approx(by_hand, rel=1e-9)


def test_the_number_of_states_is_found_both_ways() -> None:
    model, grid = GaussianHMM(random_state=0), {"n_components": range(1, 5)}
    by_bic = unveil.select(model, STEPS, grid, lengths=[180] * 4)
    assert (by_bic.criterion, by_bic.best_params_["n_components"]) == ("bic", 3)
    assert "held_out" not in by_bic.table[0]
    assert {"bic", "aic", "log_likelihood"} <= set(by_bic.table[0])
    unseen = unveil.select(model, STEPS, {"n_components": [1, 2, 3]}, lengths=[180] * 4, criterion="held_out")
    assert unseen.best_params_["n_components"] == 3
    assert [row["held_out"] for row in unseen.table] == sorted(row["held_out"] for row in unseen.table)


def test_lengths_are_for_chains() -> None:
    with pytest.raises(ValueError, match="lengths are of hidden Markov models, got GaussianMixture"):
        unveil.select(GaussianMixture(), STEPS, {"n_components": [1]}, lengths=[720])
    with pytest.raises(ValueError, match="lengths must sum to the number of rows, 720"):
        unveil.select(GaussianHMM(), STEPS, {"n_components": [1]}, lengths=[700])


def test_tables_become_lists_of_sequences() -> None:
    assert [len(one) for one in sequences_of(STEPS, [700, 20])] == [700, 20]
    assert [len(one) for one in sequences_of([STEPS[:5], STEPS[5:8]])] == [5, 3]
    assert [len(one) for one in sequences_of(STEPS)] == [720]
