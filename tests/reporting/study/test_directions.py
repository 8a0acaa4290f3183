"""Groups of rows with more columns than rows, which BIC in all columns is too dear for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from unveil.reporting.study.directions import Directed, along_directions, begun_from
from unveil.reporting.study.modelling import candidates, is_wide
from unveil.reporting.study.rows import ModelRows, model_rows
from unveil.reporting.study.settings import Settings
from unveil.tables.preparation import prepare

N_ROWS, N_COLUMNS = 60, 200


def rows_of(cells) -> ModelRows:
    return model_rows(prepare(pd.DataFrame(cells).add_prefix("gene")))


def noise():
    random = np.random.default_rng(5)
    cells = random.normal(size=(N_ROWS, N_COLUMNS))
    return random, cells


@pytest.fixture(scope="module")
def grouped():
    random, cells = noise()
    group = np.arange(N_ROWS) % 3
    cells[:, :30] += 2.0 * random.normal(size=(3, 30))[group]
    cells[random.random(cells.shape) < 0.01] = np.nan
    return group, rows_of(cells)


def test_groups_are_found_and_a_mixture_of_all_columns_keeps_them(grouped):
    group, rows = grouped
    settings = Settings(max_components=4)
    assert is_wide(rows)
    found = along_directions(rows, settings)
    assert found is not None
    assert adjusted_rand_score(group, found.groups) == 1.0
    model = begun_from(found, candidates(rows, settings)[0], rows)
    assert model.n_components == 3
    assert model.means_init is None
    assert adjusted_rand_score(group, model.predict(rows.model_input)) == 1.0


def test_groups_that_a_mixture_does_not_keep_are_let_go(grouped):
    _, rows = grouped
    settings = Settings(max_components=4)
    halves = Directed(1, (np.arange(N_ROWS) >= N_ROWS // 2).astype(np.intp))
    assert begun_from(halves, candidates(rows, settings)[0], rows) is None


def test_noise_has_no_direction():
    _, cells = noise()
    assert along_directions(rows_of(cells), Settings(max_components=4)) is None
