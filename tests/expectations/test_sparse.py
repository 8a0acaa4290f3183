"""The sparse expectation: when lists are drawn up anew, and when a fit may end."""

from __future__ import annotations

import numpy as np
import pytest

from unveil import GaussianMixture
from unveil.expectations import Exact, Sparse

random = np.random.default_rng(0)
CENTRES = random.normal(size=(6, 2)) * 3
ROWS = random.normal(size=(800, 2)) + CENTRES[random.integers(6, size=800)]
TABLE = random.dirichlet(np.ones(6), 800)


def fitted(expectation: object, schedule: str = "batch", passes: int = 3000) -> GaussianMixture:
    settings = {"responsibilities_init": TABLE, "max_iter": passes, "tol": 1e-6, "schedule": schedule}
    return GaussianMixture(6, expectation=expectation, **settings).fit(ROWS)


def test_a_block_without_lists_starts_from_the_posterior() -> None:
    logits = random.normal(size=(4, 9))
    one, other = logits.copy(), logits.copy()
    bounds = [e.responsibilities(x, None, np.random.default_rng) for e, x in ((Sparse(), one), (Exact(), other))]
    np.testing.assert_array_equal(one, other)
    assert bounds[0] == bounds[1]


def test_refreshes_come_round() -> None:
    sparse = Sparse(active=2, refresh=3)
    assert [sparse.at(n).refresh == 1 for n in range(7)] == [True, False, False, True, False, False, True]
    assert [sparse.settled(n) for n in range(1, 8)] == [True, False, False, True, False, False, True]
    assert all(Sparse(refresh=1).settled(n) for n in range(1, 5))
    assert sparse.at(1) is sparse


@pytest.mark.parametrize("sparse", [Sparse(1, 3), Sparse(3, 4)])
def test_no_fit_ends_where_only_the_lists_stand_still(sparse: Sparse) -> None:
    """With one component a list the bound stands still from the second pass on: that is no optimum."""
    found = fitted(sparse)
    assert found.converged_
    assert (found.n_iter_ - 1) % sparse.refresh == 0
    assert found.score(ROWS) > fitted(Exact()).score(ROWS) - 0.03
    assert found.certificate_["stationarity"].severity == "fine"
    assert found.history_.largest_fall() <= 1e-9 * abs(found.history_[-1].objective)


def test_lists_of_all_components_are_em() -> None:
    assert fitted(Sparse(6, 4)).lower_bound_ == pytest.approx(fitted(Exact()).lower_bound_, abs=1e-5)


def test_incremental_too() -> None:
    found = fitted(Sparse(2, 3), "incremental")
    assert found.history_.largest_fall() <= 1e-9 * abs(found.history_[-1].objective)
    assert found.score(ROWS) > fitted(Exact()).score(ROWS) - 0.03


@pytest.mark.parametrize("name", ["active", "refresh"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_bad_arguments(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a positive integer, got {value}"):
        Sparse(**{name: value})  # type: ignore[arg-type]
