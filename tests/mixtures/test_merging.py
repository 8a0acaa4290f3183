"""Two fits made one: an M step of all their statistics, which is what one fit to all the rows would do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import unveil
from tests.oracles.mixtures import structured
from unveil import BernoulliMixture, CategoricalMixture, GaussianMixture, MixedMixture, PoissonMixture, merge

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
GROUPS = random.integers(3, size=400)
NUMBERS = random.normal(size=(400, 2)) + np.array([[0, 0], [7, 0], [0, 8]])[GROUPS] + 50
COUNTS = random.poisson(np.array([[1, 5, 9], [8, 1, 2], [3, 3, 20]])[GROUPS]).astype(np.float64)
WORDS = np.array(list("abc"))[np.where(random.random((400, 4)) < 0.8, GROUPS[:, None], 0)]
FRAME = pd.DataFrame({"x": NUMBERS[:, 0], "n": COUNTS[:, 1].astype(int), "w": WORDS[:, 0]})
CASES: dict[str, tuple[Any, Any]] = {
    "gaussian": (GaussianMixture, NUMBERS),
    "bernoulli": (BernoulliMixture, COUNTS - 3.0),
    "poisson": (PoissonMixture, COUNTS),
    "categorical": (CategoricalMixture, WORDS),
    "mixed": (MixedMixture, FRAME),
}


def halves(kind: str, **settings: Any) -> tuple[Any, Any, Any]:
    estimator, rows = CASES[kind]
    parts = [rows.iloc[s::2] if isinstance(rows, pd.DataFrame) else rows[s::2] for s in (0, 1)]
    one, other = (estimator(3, random_state=s, **settings).fit(part) for s, part in enumerate(parts))
    return one, other, rows


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "spherical"])
def test_it_is_one_m_step_of_the_joined_statistics(structure: str) -> None:
    """Both start from given parameters and make one pass, so that their responsibilities are known."""
    begin = GaussianMixture(3, covariance_type=structure, random_state=0).fit(NUMBERS)
    start = {"weights_init": begin.weights_, "means_init": begin.means_, "precisions_init": begin.precisions_}
    parts = NUMBERS[:150], NUMBERS[150:]
    q = begin.predict_proba(NUMBERS)
    passes = []
    for rows in parts:
        model = GaussianMixture(3, covariance_type=structure, max_iter=1, reg_covar=0.0, **start)
        with pytest.warns(UserWarning, match="not converged"):
            passes.append(model.fit(rows))
    merged = merge(*passes)
    counts = q.sum(axis=0)
    means = q.T @ NUMBERS / counts[:, None]
    scatters = np.stack([(q[:, k, None] * (NUMBERS - means[k])).T @ (NUMBERS - means[k]) for k in range(3)])
    np.testing.assert_allclose(merged.weights_, counts / 400, rtol=1e-9)
    np.testing.assert_allclose(merged.means_, means, rtol=1e-10)
    dense = merged._emission().structure.dense(merged.covariances_, 3, 2)
    np.testing.assert_allclose(dense, structured(scatters, counts, structure), rtol=1e-8)
    assert merged.lower_bound_ == pytest.approx(begin.score(NUMBERS), rel=1e-9)


@pytest.mark.parametrize("kind", CASES)
def test_it_is_nearly_the_fit_to_all_rows(kind: str) -> None:
    one, other, rows = halves(kind)
    merged, whole = merge(one, other), CASES[kind][0](3, random_state=0).fit(rows)
    assert merged.score(rows) == pytest.approx(whole.score(rows), abs=2e-3)
    assert merged.certificate_["support"].value == pytest.approx(400 * merged.weights_.min())
    assert merged.certificate_["converged"].severity == "note"
    assert one.lower_bound_ != merged.lower_bound_  # the parts stay as they were


@pytest.mark.parametrize("kind", CASES)
def test_streams_count_with_all_that_they_have_seen(kind: str) -> None:
    estimator, rows = CASES[kind]
    cut = rows.iloc if isinstance(rows, pd.DataFrame) else rows
    one = estimator(3, random_state=0)
    for first in range(0, 300, 100):
        if kind not in ("categorical", "mixed") or first == 0:
            one.partial_fit(cut[first : first + 100])
    seen = one._stream.seen
    other = estimator(3, random_state=0).fit(cut[300:])
    merged = merge(one, other)
    np.testing.assert_allclose(merged._stream.seen, seen + 100)
    assert float(merged._stream.latest["weight"]) == pytest.approx(seen + 100)
    before = merged.score(rows)
    assert merged.partial_fit(cut[:200]).score(rows) > before - 0.3


def test_with_itself_nothing_changes_but_the_count() -> None:
    one, _, _ = halves("gaussian", tol=1e-8, max_iter=2000)
    twice = merge(one, one)
    np.testing.assert_allclose(twice.means_, one.means_, rtol=1e-6)
    assert twice._stream.seen == 400


def test_order_of_the_first_is_kept() -> None:
    one, other, _ = halves("gaussian")
    np.testing.assert_allclose(merge(one, other).means_, one.means_, atol=0.5)
    np.testing.assert_allclose(merge(other, one).means_, other.means_, atol=0.5)


def test_narrow_components_with_frames_of_their_own() -> None:
    rows = np.concatenate([random.normal(size=(200, 2)) * 1e-5 + 3, random.normal(size=(200, 2)) * 1e-5 - 3])
    one, other = (GaussianMixture(2, reg_covar=0.0, random_state=0).fit(rows[s::2] + 1e3) for s in (0, 1))
    merged = merge(one, other)
    assert merged.score(rows + 1e3) == pytest.approx(
        GaussianMixture(2, reg_covar=0.0, random_state=0).fit(rows + 1e3).score(rows + 1e3), abs=1e-4
    )


def test_fits_from_files(tmp_path: Path) -> None:
    one, other, _ = halves("gaussian")
    one.save(tmp_path / "one.unveil")
    other.save(tmp_path / "other.unveil")
    loaded = merge(unveil.load(tmp_path / "one.unveil"), unveil.load(tmp_path / "other.unveil"))
    np.testing.assert_array_equal(loaded.means_, merge(one, other).means_)


def test_what_does_not_go_together_is_refused() -> None:
    one, _, rows = halves("gaussian")
    with pytest.raises(ValueError, match="two of a kind"):
        merge(one, halves("poisson")[0])
    with pytest.raises(ValueError, match="same n_components"):
        merge(one, GaussianMixture(2, random_state=0).fit(rows))
    with pytest.raises(ValueError, match="same covariance_type"):
        merge(one, GaussianMixture(3, covariance_type="tied", random_state=0).fit(rows))
    with pytest.raises(ValueError, match="same size and structure"):
        merge(one, GaussianMixture(3, random_state=0).fit(np.column_stack([rows, rows[:, 0] ** 2])))
    with pytest.raises(ValueError, match="statistics of a fit"):
        merge(one, one.marginal([0]))


def test_categories_must_be_the_same() -> None:
    one = CategoricalMixture(2, random_state=0).fit(WORDS)
    other = CategoricalMixture(2, random_state=0).fit(np.where(WORDS == "a", "z", WORDS))
    with pytest.raises(ValueError, match="same categories_"):
        merge(one, other)
