"""Ugly data: no crash, no NaN, and a certificate that says what is the matter."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    PoissonMixture,
    StudentMixture,
)
from unveil.certificate import FitWarning

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
PLAIN = np.concatenate([random.normal(size=(60, 3)), random.normal(size=(60, 3)) + 8])
TINY = np.concatenate([PLAIN[:60] * 1e-6, PLAIN[60:] * 1e-6 + 1.0, random.normal(size=(60, 3))])
STRUCTURES = ["full", "tied", "diag", "spherical", "VEV", "EEI"]


def numbers(structure: str, **settings: Any) -> list[Any]:
    """The mixtures of numbers that take a structure."""
    given = {"covariance_type": structure, "random_state": 0, "max_iter": 200, "init_params": "kmeans"}
    return [
        GaussianMixture(2, **given | settings),
        StudentMixture(2, degrees_of_freedom=5.0, **given | settings),
        MixedMixture(2, **given | settings),
    ]


def fitted(model: Any, rows: Any, k: int = 2) -> Any:
    """No crash, no NaN; numerical warnings are errors, and those of the certificate are looked at by the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model.set_params(n_components=k).fit(rows)
    assert np.all(np.isfinite(model.lower_bounds_))
    assert np.all(np.isfinite(model.score_samples(rows)))
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    assert np.all(np.isfinite(model.means_))
    assert np.all(np.isfinite(model.sample(5)[0].astype(np.float64)))
    assert np.isfinite(model.bic(rows))
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.certificate_.ok == (not model.certificate_.warnings)
    return model


@pytest.mark.parametrize("structure", STRUCTURES)
def test_duplicated_rows(structure: str) -> None:
    for model in numbers(structure):
        fitted(model, np.repeat(PLAIN[::30], 10, axis=0))
        assert "bound" in model.certificate_


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("reg_covar", [1e-6, 0.0])
def test_all_rows_the_same(structure: str, reg_covar: float) -> None:
    for model in numbers(structure, reg_covar=reg_covar):
        fitted(model, np.full((20, 3), 7.0))
        np.testing.assert_allclose(model.means_, 7.0)
        assert model.certificate_["reseeded"].severity == "note"
        if reg_covar == 0:
            assert model.certificate_["floored"].severity == "note"


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("value", [0.0, 7.0, 1e8])
def test_a_constant_column(structure: str, value: float) -> None:
    rows = np.column_stack([PLAIN[:, :2], np.full(120, value)])
    for model in numbers(structure):
        fitted(model, rows)
        np.testing.assert_allclose(model.means_[:, 2], value)
        assert model.certificate_.ok == (structure == "spherical")
        np.testing.assert_array_equal(np.bincount(model.predict(rows)), [60, 60])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_constant_column_without_regularisation_is_held_by_a_floor(structure: str) -> None:
    rows = np.column_stack([PLAIN[:, :2], np.full(120, 7.0)])
    model = fitted(numbers(structure, reg_covar=0.0)[0], rows)
    assert ("floored" in model.certificate_) == (structure not in ("spherical",))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_row_per_component(structure: str) -> None:
    rows = PLAIN[::12]
    for model in numbers(structure):
        fitted(model, rows, 10)
        assert not model.certificate_.ok
        assert "more parameters than the rows support" in " ".join(model.certificate_.warnings)
        assert model.certificate_["support"].severity in ("doubt", "warning")


@pytest.mark.parametrize("structure", ["full", "diag", "spherical", "VEV"])
@pytest.mark.parametrize("reg_covar", [1e-6, 0.0])
def test_tiny_clusters_next_to_a_wide_one(structure: str, reg_covar: float) -> None:
    """Width a millionth of the spread: the tiny ones are found, and their width is told."""
    model = fitted(numbers(structure, reg_covar=reg_covar)[0], TINY, 3)
    labels = model.predict(TINY)
    assert len(set(labels[:60])) == len(set(labels[60:120])) == 1
    assert len({labels[0], labels[60], labels[-1]}) == 3
    assert model.certificate_.ok == (reg_covar == 0)  # else it is the regulariser that is seen
    if reg_covar == 0:
        smallest = np.linalg.eigvalsh(model._emission().structure.dense(model.covariances_, 3, 3)).min()
        assert 1e-13 < smallest < 1e-11


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_tiny_clusters_with_heavy_tails(structure: str) -> None:
    model = fitted(numbers(structure)[1], TINY[:120])
    np.testing.assert_array_equal(np.bincount(model.predict(TINY[:120])), [60, 60])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_fewer_rows_than_columns(structure: str) -> None:
    rows = np.concatenate([random.normal(size=(6, 20)), random.normal(size=(6, 20)) + 5])
    for model in numbers(structure):
        fitted(model, rows)
        dense = structure in ("full", "tied", "VEV")
        assert ("more parameters than the rows support" in " ".join(model.certificate_.warnings)) == dense
        assert sorted(np.bincount(model.predict(rows))) == [6, 6]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_single_precision(structure: str) -> None:
    for model in numbers(structure):
        plain = fitted(model, PLAIN).score(PLAIN)
        fitted(model, PLAIN.astype(np.float32))
        assert model.means_.dtype == np.float64
        assert model.score(PLAIN) == pytest.approx(plain, abs=1e-4)
        assert model.certificate_.ok


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("offset", [1e8])
def test_an_offset_of_a_hundred_million(structure: str, offset: float) -> None:
    for model in numbers(structure):
        plain = fitted(model, PLAIN).score(PLAIN)
        fitted(model, PLAIN + offset)
        assert model.score(PLAIN + offset) == pytest.approx(plain, abs=1e-5)
        assert model.certificate_.ok


def test_an_offset_in_single_precision() -> None:
    rows = (PLAIN * 100 + 1e6).astype(np.float32)
    model = fitted(GaussianMixture(2, random_state=0), rows)
    again = fitted(GaussianMixture(2, random_state=0), rows.astype(np.float64))
    np.testing.assert_allclose(model.means_, again.means_, rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_values_at_the_ends_of_the_range(structure: str, unit: float) -> None:
    for model in numbers(structure, reg_covar=0.0)[: 2 if unit > 1 else 1]:
        plain = fitted(model, PLAIN).score(PLAIN)
        fitted(model, PLAIN * unit)
        assert model.score(PLAIN * unit) == pytest.approx(plain - 3 * np.log(unit), abs=1e-3)
        assert model.certificate_.ok


def test_an_outlier_far_out() -> None:
    rows = np.concatenate([PLAIN, [[1e9, 1e9, 1e9]]])
    for structure in STRUCTURES:
        model = fitted(numbers(structure)[0], rows)
        assert model.certificate_["support"].value < 5 or structure in ("tied", "EEI")
        assert "theory says it cannot" not in " ".join(model.certificate_.warnings)


def test_two_rows() -> None:
    for model in numbers("full"):
        fitted(model, PLAIN[[0, 100]])
        assert not model.certificate_.ok


@pytest.mark.parametrize(
    ("rows", "k"),
    [
        (np.repeat(PLAIN[::30], 10, axis=0), 3),
        (np.full((20, 3), 7.0), 2),
        (np.column_stack([PLAIN[:, :2], np.full(120, 1e8)]), 2),
        (PLAIN[::12], 10),
        (TINY, 3),
        (PLAIN[:8].reshape(4, 6), 2),
        (PLAIN * 1e150, 2),
        (PLAIN + 1e8, 2),
    ],
)
def test_the_default_start(rows: Floats, k: int) -> None:
    """Several short runs of every kind, none of which may stumble."""
    for model in (GaussianMixture(random_state=0), GaussianMixture(random_state=0, covariance_type="VEV")):
        fitted(model, rows, k)


# -- counts, answers, categories ---------------------------------------------------------------------------------------

DISCRETE: list[tuple[Any, Floats]] = [
    (BernoulliMixture(2), np.repeat([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], 8, axis=0)),
    (PoissonMixture(2), np.repeat([[0.0, 1.0, 30.0], [9.0, 0.0, 1.0]], 8, axis=0)),
    (CategoricalMixture(2), np.repeat([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]], 8, axis=0)),
]


@pytest.mark.parametrize(("model", "rows"), DISCRETE)
def test_duplicated_discrete_rows(model: Any, rows: Floats) -> None:
    model.set_params(random_state=0, max_iter=1000, tol=1e-6)
    for k in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model.set_params(n_components=k).fit(rows)
        assert np.all(np.isfinite(model.score_samples(rows)))
        assert model.history_.largest_fall() <= 1e-9 * max(abs(model.history_[-1].objective), 1.0)
    np.testing.assert_allclose(model.set_params(n_components=2).fit(rows).weights_, 0.5)


@pytest.mark.parametrize(("model", "rows"), DISCRETE)
def test_constant_discrete_columns(model: Any, rows: Floats) -> None:
    model.set_params(random_state=0, n_components=2)
    for value in (0.0, 1.0):
        constant = np.column_stack([rows, np.full(16, value)])
        model.fit(constant)
        assert np.all(np.isfinite(model.score_samples(constant)))
        assert np.all(np.isfinite(model.predict_proba(constant)))
        assert np.isfinite(model.bic(constant))


@pytest.mark.parametrize(("model", "rows"), DISCRETE)
def test_one_discrete_row_per_component(model: Any, rows: Floats) -> None:
    model.set_params(random_state=0, n_components=2)
    with pytest.warns(FitWarning, match="more parameters than the rows support"):
        model.fit(rows[[0, 8]])
    assert np.all(np.isfinite(model.score_samples(rows)))
    assert not model.certificate_.ok


def test_a_row_that_no_component_thought_possible() -> None:
    """Probabilities and rates stay off the very edge, so that a surprising cell is unlikely, not impossible."""
    for model, rows in DISCRETE:
        fitted = model.set_params(random_state=0, n_components=2).fit(rows)
        surprising = np.array([[1.0, 1.0, 1.0]])
        assert np.isfinite(fitted.score_samples(surprising)[0])
        assert fitted.predict_proba(surprising).sum() == pytest.approx(1.0)


def test_large_counts() -> None:
    rows = random.poisson(np.repeat([[1e6, 1e9], [2e6, 3e9]], 30, axis=0)).astype(np.float64)
    model = PoissonMixture(2, random_state=0).fit(rows)
    np.testing.assert_allclose(np.sort(model.rates_[:, 0]), [1e6, 2e6], rtol=1e-2)
    assert model.certificate_["bound"].severity == "fine"
