"""Routes to the spectrum: they meet, and what has no variance is completed in one way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.engines import Threads
from unveil.projections.pca.certificate import certify
from unveil.projections.pca.lanczos import LanczosSearch
from unveil.projections.pca.routes import ColumnMetric, Spectrum, by_covariance, by_products, by_svd, completed, degrees
from unveil.sources import ArraySource

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(500, 8)) @ RANDOM.normal(size=(8, 8)) * 3.0 + 40.0
METRICS = [ColumnMetric(), ColumnMetric(scaled=True), ColumnMetric(True, np.array([1.0, 2, 0, 3, 0, 1, 1, 5]))]


@pytest.mark.parametrize("metric", METRICS)
def test_routes_meet(metric: ColumnMetric) -> None:
    source, engine = ArraySource(ROWS), Threads(1)
    search = LanczosSearch(3, 4, 100, 1e-12)
    found = [
        by_covariance(engine, source, metric),
        by_svd(source, metric),
        by_products(engine, source, metric, search, np.random.default_rng(0)),
    ]
    for name in ("values", "components", "cross"):
        one, *others = (getattr(spectrum, name) for spectrum in found)
        for other in others:
            if one is not None:
                np.testing.assert_allclose(other[:3], one[:3], atol=1e-8, err_msg=name)
    for spectrum in found:
        assert spectrum.total == pytest.approx(found[0].total)
        assert spectrum.limit == found[0].limit
        assert spectrum.residual < 1e-11
        np.testing.assert_allclose(spectrum.mean, ROWS.mean(axis=0))
    assert found[2].converged
    assert found[2].passes > 1


@pytest.mark.parametrize("wanted", [0, 1, 6, 7, 110])
@pytest.mark.parametrize("metric", [ColumnMetric(), ColumnMetric(True, np.arange(110.0) % 5)])
def test_the_first_components_are_found_by_themselves(wanted: int, metric: ColumnMetric) -> None:
    """Few of many columns go another way than more of them."""
    rows = RANDOM.normal(size=(400, 110)) @ RANDOM.normal(size=(110, 110)) + 3.0
    whole, few = (by_covariance(Threads(1), ArraySource(rows), metric, wanted=count) for count in (None, wanted))
    kept = min(wanted, whole.limit)
    assert len(few.values) == len(few.components) == kept
    np.testing.assert_allclose(few.values, whole.values[:kept], rtol=1e-9)
    np.testing.assert_allclose(few.components, whole.components[:kept], atol=1e-7)
    assert few.total == pytest.approx(whole.total, rel=1e-12)
    assert few.limit == whole.limit
    assert few.residual < 1e-12


def test_what_has_no_variance_is_completed_within_the_support() -> None:
    support = np.array([True, True, False, True])
    components = np.vstack([[0.6, 0.8, 0.0, 0.0], np.zeros((2, 4))])
    whole = completed(components, np.array([1.0, 0.0, 0.0]), 1e-12, support)
    np.testing.assert_allclose(whole @ whole.T, np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(whole[:, 2], 0.0)


def test_nearly_dependent_columns_need_the_decomposition() -> None:
    rows = np.column_stack([ROWS, ROWS[:, 0] + 1e-9 * RANDOM.normal(size=500)]) - 40.0
    exact = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[-1] ** 2 / 499
    assert by_svd(ArraySource(rows), ColumnMetric()).values[-1] == pytest.approx(exact, rel=1e-5)


def test_degrees_are_never_nothing() -> None:
    assert [degrees(weight) for weight in (0.5, 1.0, 1.5, 10.0)] == [0.5, 1.0, 1.0, 9.0]


@pytest.mark.parametrize(
    ("changes", "approximate", "name", "severity"),
    [
        ({}, False, "residual", "fine"),
        ({"off": 1e-3}, False, "residual", "warning"),
        ({"off": 1e-3}, True, "residual", "note"),
        ({"converged": False}, False, "converged", "warning"),
        ({"converged": True}, False, "converged", "fine"),
        ({"components": np.ones((2, 3))}, False, "orthonormality", "warning"),
        ({"values": np.array([1.0, 0.0])}, False, "rounding", "note"),
    ],
)
def test_certificate(changes: dict[str, Any], approximate: bool, name: str, severity: str) -> None:
    sound = Spectrum(np.array([2.0, 1.0]), np.eye(2, 3), 3.0, np.zeros(3), 10.0, 3)
    assert certify(sound._replace(**changes), 2, approximate)[name].severity == severity


def test_what_lapack_vouches_for_is_looked_at_when_somebody_asks() -> None:
    sound = Spectrum(np.array([2.0, 1.0]), np.eye(2, 3), 3.0, np.zeros(3), 10.0, 3)
    asked: list[int] = []
    certificate = certify(sound._replace(off=lambda: asked.append(1) or 1e-3), 2, approximate=False)
    assert [found.name for found in certificate.at_once] == []
    assert not asked
    assert certificate["residual"].severity == "warning"
    assert certificate["orthonormality"].severity == "fine"
    assert asked == [1]
