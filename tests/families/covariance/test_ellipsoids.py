"""Structures with axes of any direction: what must not move them, what must, and how large they may be."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import covariances as oracle

OBLIQUE = ("VEE", "EVE", "VVE", "EEV", "VEV", "EVV")


@pytest.mark.parametrize("model", OBLIQUE)
def test_turning_the_data_turns_the_covariances(model: str) -> None:
    counts, scatters = oracle.random_scatters(5, 3, 4)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    plain = oracle.estimated(model, counts, scatters)
    turned = oracle.estimated(model, counts, turn @ scatters @ turn.T)
    np.testing.assert_allclose(turned, turn @ plain @ turn.T, atol=1e-6)


@pytest.mark.parametrize("model", ["VEE", "EVV"])
def test_units_of_columns_do_not_matter_where_no_axes_are_compared(model: str) -> None:
    counts, scatters = oracle.random_scatters(5, 3, 3)
    units = np.array([1e4, 1.0, 1e-3])
    scaled = oracle.estimated(model, counts, scatters * units * units[:, None]) / units / units[:, None]
    np.testing.assert_allclose(scaled, oracle.estimated(model, counts, scatters), rtol=1e-7)


@pytest.mark.parametrize("model", OBLIQUE)
def test_covariances_of_the_structure_are_found_again(model: str) -> None:
    truth = oracle.obeying(model, np.random.default_rng(7), 4, 5)
    counts = np.array([3.0, 10.0, 20.0, 7.0])
    for previous in (None, oracle.obeying(model, np.random.default_rng(8), 4, 5)):
        found = oracle.estimated(model, counts, truth, previous)
        np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", OBLIQUE)
def test_a_few_rows_in_many_columns_borrow_what_is_shared(model: str) -> None:
    """A component of three rows among nine columns; what it shares comes from the other."""
    random = np.random.default_rng(2)
    groups = [random.normal(size=(3, 9)), random.normal(size=(500, 9)) @ random.normal(size=(9, 9))]
    scatters = np.stack([np.cov(rows.T, bias=True) for rows in groups])
    structure, counts = oracle.structure_of(model), np.array([3.0, 500.0])
    floor = 1e-15 * np.einsum("kii->ki", scatters).max(axis=0)
    found, floored = structure.estimate(counts, oracle.moments_of(structure, scatters), floor, 0.0, None)
    assert floored == {"EVV": 1}.get(model, 0)
    assert np.all(np.linalg.eigvalsh(found)[:, 0] > 0)


@pytest.mark.parametrize("model", OBLIQUE)
def test_many_components_in_many_columns(model: str) -> None:
    counts, scatters = oracle.random_scatters(1, 12, 32)
    found = oracle.estimated(model, counts, scatters)
    oracle.assert_obeys(model, found)
    pooled = np.repeat((counts @ scatters.reshape(12, -1) / counts.sum()).reshape(1, 32, 32), 12, axis=0)
    assert oracle.objective(counts, scatters, found) > oracle.objective(counts, scatters, pooled)
