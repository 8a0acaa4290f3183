"""Does a chain describe its sequences: planted failures and chains that are right."""

from __future__ import annotations

import numpy as np
import pytest

from unveil import CategoricalHMM, GaussianHMM, PoissonHMM
from unveil.certificate import Certificate
from unveil.judgement.case import Case
from unveil.judgement.describes.chains import examine_chain_description

RANDOM = np.random.default_rng(7)
STATES = np.cumsum(RANDOM.random(500) < 0.1) % 2


def asked(model, rows, lengths=None) -> Certificate:
    model.fit(rows, lengths=lengths)
    return Certificate(examine_chain_description(Case(model, rows, lengths=lengths)).findings)


def kinds(certificate: Certificate) -> set[str]:
    return {one.kind for one in certificate.reasons("describes") if one.severity == "warning"}


def test_chains_that_are_right():
    numbers = (5.0 * STATES + RANDOM.normal(size=500))[:, None]
    counts = RANDOM.poisson(np.array([2.0, 15.0])[STATES])[:, None]
    codes = (3 * STATES + RANDOM.integers(0, 3, 500))[:, None]
    found = [asked(GaussianHMM(2, random_state=0), numbers), asked(GaussianHMM(2, random_state=0), numbers, [100] * 5)]
    found += [asked(PoissonHMM(2, random_state=0), counts), asked(CategoricalHMM(2, random_state=0), codes)]
    assert [one.verdicts["describes"] for one in found] == ["yes"] * 4


@pytest.mark.parametrize("seed", range(5))
def test_rows_without_an_order_are_no_chain(seed):
    found = asked(GaussianHMM(2, random_state=0), np.random.default_rng(seed).normal(size=(300, 1)))
    assert found.verdicts["describes"] == "no"
    assert "mixture" in found["dynamics"].remedy


def test_a_random_walk():
    found = asked(GaussianHMM(3, random_state=0), np.cumsum(RANDOM.normal(size=(400, 1)), axis=0))
    assert found.verdicts["describes"] == "no"
    assert "random_walk" in kinds(found)
    assert any("differences" in one.remedy for one in found.findings)


def test_counts_that_scatter_too_far_and_tails_that_are_too_heavy():
    wide = RANDOM.negative_binomial(2, 0.2, 500)[:, None] + 25 * STATES[:, None]
    assert kinds(asked(PoissonHMM(2, random_state=0), wide)) & {"margin", "dispersion"}
    heavy = (12.0 * STATES + RANDOM.standard_t(2.5, 500))[:, None]
    assert "margin" in kinds(asked(GaussianHMM(2, random_state=0), heavy))


def test_nothing_changes_and_nothing_is_left_to_chance():
    rows = RANDOM.poisson(np.array([2.0, 15.0])[STATES])[:, None]
    model = PoissonHMM(2, random_state=0).fit(rows)
    before = model.lambdas_.copy()
    one, other = (examine_chain_description(Case(model, rows, seed=3)).findings for _ in range(2))
    assert one == other
    np.testing.assert_array_equal(model.lambdas_, before)


def test_missing_cells_and_few_steps():
    rows = (5.0 * STATES + RANDOM.normal(size=500))[:, None]
    rows[::7] = np.nan
    assert asked(GaussianHMM(2, random_state=0), rows).verdicts["describes"] == "yes"
    few = examine_chain_description(Case(GaussianHMM(2, random_state=0).fit(rows), rows[:20]))
    assert Certificate(few.findings).verdicts["describes"] == "not examined"
