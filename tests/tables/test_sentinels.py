"""Numbers that stand for nothing are found where they stand apart, and nowhere else."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from unveil.tables import prepare
from unveil.tables.sentinels import sentinels_in

rng = np.random.default_rng(0)
N = 1000


def planted(cells, value, share=0.02):
    out = np.array(cells, dtype=np.float64)
    out[rng.random(len(out)) < share] = value
    return np.sort(out)


FOUND = {
    "temperatures, -999": (rng.normal(15, 8, N), -999),
    "temperatures, -99": (rng.normal(15, 8, N), -99),
    "temperatures, 9999": (rng.normal(15, 8, N), 9999),
    "incomes, -1": (rng.lognormal(10, 1, N), -1),
    "incomes, -999": (rng.lognormal(10, 2, N), -999),
    "ages, 999": (rng.integers(0, 95, N), 999),
    "ages, -1": (rng.integers(0, 95, N), -1),
    "ratings, 99": (rng.integers(1, 6, N), 99),
    "ratings, -9": (rng.integers(1, 6, N), -9),
}
NOT = {
    "scores, -1 is one of them": (rng.normal(0, 5, N), -1),
    "changes, -99 is within": (rng.normal(0, 80, N), -99),
    "codes, -1 is one of them": (rng.integers(0, 3, N), -1),
    "prices, 999 is within": (rng.lognormal(6, 1, N), 999),
    "ages, 99 is an age": (rng.integers(0, 95, N), 99),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    cells, value = FOUND[name]
    ordered = planted(cells, value)
    assert sentinels_in(ordered) == ((value, int(np.sum(ordered == value))),)


@pytest.mark.parametrize("name", NOT)
def test_not_found(name):
    assert sentinels_in(planted(*NOT[name])) == ()


def test_one_is_enough_where_it_is_absurd():
    ears = np.sort(rng.integers(10, 70, 200).astype(float))
    assert sentinels_in(np.concatenate([[-9999.0], ears])) == ((-9999.0, 1),)
    assert sentinels_in(np.concatenate([[-99.0], ears])) == ()
    assert sentinels_in(np.concatenate([[-9999.0, -3.0], ears])) == ()


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_tables_without_any_have_none(load):
    assert not any(sentinels_in(np.sort(column)) for column in load().data.T)


def test_their_cells_are_missing_unless_the_user_names_the_role():
    cells = np.where(np.arange(N) % 50 == 0, -999.0, rng.normal(15, 8, N))
    ready = prepare({"t": cells, "u": rng.normal(size=N)})
    assert ready.roles[0].sentinels == (-999.0,)
    assert ready.frame["t"].null_count == 20
    assert ready.survey[0].low > -50
    assert "-999 occurs 20 times" in ready.roles[0].alerts[0]
    kept = prepare({"t": cells}, roles={"t": "number"})
    assert kept.frame["t"].null_count == 0
    assert kept.roles[0].sentinels == ()
