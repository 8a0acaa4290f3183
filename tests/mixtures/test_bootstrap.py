"""Standard errors by bootstrap: known ones where groups are far apart, with the components matched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from unveil import BernoulliMixture, CategoricalMixture, GaussianMixture, MixedMixture, PoissonMixture, StudentMixture
from unveil.mixtures.bootstrap import bootstrap

random = np.random.default_rng(0)
GROUPS = np.repeat([0, 1], [240, 160])
NUMBERS = (
    random.normal(size=(400, 2)) * np.array([[1.0, 2.0], [3.0, 0.5]])[GROUPS] + np.array([[0, 0], [40, 0]])[GROUPS]
)


def test_the_standard_error_of_a_mean_is_known() -> None:
    model = GaussianMixture(2, random_state=0).fit(NUMBERS)
    found = model.standard_errors(NUMBERS, n_bootstrap=120, random_state=0)
    counts, variances = np.bincount(GROUPS), np.einsum("kii->ki", model.covariances_)
    np.testing.assert_allclose(found["means_"], np.sqrt(variances / counts[:, None]), rtol=0.25)
    np.testing.assert_allclose(found["weights_"], np.sqrt(0.6 * 0.4 / 400), rtol=0.25)
    spread = np.einsum("kii->ki", found["covariances_"])
    np.testing.assert_allclose(spread, variances * np.sqrt(2 / counts[:, None]), rtol=0.3)
    assert found["covariances_"].shape == model.covariances_.shape


def test_weights_are_counts() -> None:
    """Rows of weight 4 are four rows each: errors halve."""
    model = GaussianMixture(2, random_state=0).fit(NUMBERS)
    plain = model.standard_errors(NUMBERS, n_bootstrap=50, random_state=0)["means_"]
    heavy = model.standard_errors(NUMBERS, np.full(400, 4.0), n_bootstrap=50, random_state=0)["means_"]
    np.testing.assert_allclose(heavy, plain / 2, rtol=0.5)


def test_components_are_matched_though_a_draw_finds_them_in_another_order() -> None:
    """Without statistics to go on from, every draw starts anew, and its order is that of its own weights."""
    rows = np.concatenate([random.normal(size=(60, 1)), random.normal(size=(60, 1)) + 30])
    model = GaussianMixture(2, random_state=0).fit(rows)
    del model._stream
    draws = bootstrap(model, rows, None, 20, 0).draws["means_"]
    np.testing.assert_allclose(draws, np.broadcast_to(model.means_, draws.shape), atol=2.0)


def test_the_model_itself_stays_as_it_was() -> None:
    model = GaussianMixture(2, random_state=0).fit(NUMBERS)
    means, passes = model.means_.copy(), model.n_iter_
    one, other = (model.standard_errors(NUMBERS, n_bootstrap=5, random_state=7)["means_"] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.means_, means)
    assert (model.n_iter_, model.warm_start) == (passes, False)


COUNTS = random.poisson(np.array([[1.0, 9.0], [9.0, 2.0]])[GROUPS])
WORDS = np.array(list("ab"))[np.where(random.random((400, 3)) < 0.9, GROUPS[:, None], 0)]


@pytest.mark.parametrize(
    ("model", "rows", "names"),
    [
        (BernoulliMixture(2, binarize=5.0), COUNTS, {"weights_", "means_", "probabilities_"}),
        (PoissonMixture(2), COUNTS, {"weights_", "means_", "rates_"}),
        (StudentMixture(2, degrees_of_freedom=5.0), NUMBERS, {"weights_", "means_", "scales_", "degrees_of_freedom_"}),
        (CategoricalMixture(2), WORDS, {"weights_", "probabilities_"}),
        (MixedMixture(2), pd.DataFrame({"n": COUNTS[:, 0], "w": WORDS[:, 0]}), {"weights_", "means_"}),
    ],
)
def test_every_mixture_has_them(model: Any, rows: Any, names: set[str]) -> None:
    found = model.set_params(random_state=0).fit(rows).standard_errors(rows, n_bootstrap=6, random_state=0)
    assert set(found) == names
    for name in names - {"means_"}:
        values, errors = getattr(model, name), found[name]
        for value, error in zip(values, errors, strict=True) if isinstance(values, list) else [(values, errors)]:
            assert error.shape == value.shape
            assert np.all((error >= 0) & np.isfinite(error))


def test_the_error_of_a_rate_is_known() -> None:
    model = PoissonMixture(2, random_state=0).fit(COUNTS)
    found = model.standard_errors(COUNTS, n_bootstrap=80, random_state=0)["rates_"]
    expected = np.sqrt(model.rates_ / (400 * model.weights_)[:, None])
    np.testing.assert_allclose(found, expected, rtol=0.35)


def test_missing_cells() -> None:
    holes = np.where(random.random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)
    model = GaussianMixture(2, random_state=0).fit(holes)
    found = model.standard_errors(holes, n_bootstrap=40, random_state=0)["means_"]
    counts = np.bincount(GROUPS)[:, None] * 0.8
    np.testing.assert_allclose(found, np.sqrt(np.einsum("kii->ki", model.covariances_) / counts), rtol=0.5)


def test_bad_arguments() -> None:
    model = GaussianMixture(2, random_state=0).fit(NUMBERS)
    with pytest.raises(ValueError, match="n_bootstrap must be an integer of at least 2, got 1"):
        model.standard_errors(NUMBERS, n_bootstrap=1)
    with pytest.raises(ValueError, match="sample_weight must add up to 2 rows"):
        model.standard_errors(NUMBERS, np.full(400, 1 / 400))
