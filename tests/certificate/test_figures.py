"""What the parameters of a fit say of it: each finding where it should be, and not where it should not."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.certificate.histories import history
from unveil.certificate import Finding
from unveil.certificate.figures import ASTRAY, ILL_CONDITIONED, OVERLAPPING, STATIONARY, judge
from unveil.core.result import Status

NAMES = (
    "stationarity",
    "observations_per_parameter",
    "cells_per_parameter",
    "smallest_eigenvalue",
    "largest_eigenvalue",
    "condition",
    "smallest_probability",
    "smallest_rate",
    "largest_rate",
    "smallest_dof",
    "overlap",
)
GOOD = dict(zip(NAMES, (1e-4, 20.0, 40.0, 0.1, 3.0, 30.0, 0.01, 0.5, 8.0, 12.0, 0.05), strict=True))


def found(excuse: str | None = None, climb: Any = None, **figures: float) -> Finding:
    (finding,) = judge(figures, history(-2.0, -1.0) if climb is None else climb, excuse)
    return finding


def test_nothing_is_known() -> None:
    assert list(judge({}, history(-1.0))) == []
    assert list(judge({"of another version": 1.0}, history(-1.0))) == []


def test_a_good_fit() -> None:
    findings = {finding.name: finding for finding in judge(GOOD, history(-1.0))}
    assert {finding.severity for finding in findings.values()} == {"fine"}
    assert {name: finding.value for name, finding in findings.items()} == {
        "stationarity": 1e-4,
        "observations_per_parameter": 20.0,
        "eigenvalues": 0.1,
        "condition": 30.0,
        "smallest_probability": 0.01,
        "rates": 0.5,
        "smallest_dof": 12.0,
        "overlap": 0.05,
    }


# -- stationarity ------------------------------------------------------------------------------------------------------


def test_stopped_early_is_a_note_and_far_astray_a_warning() -> None:
    early = found(stationarity=2 * STATIONARY)
    assert early.severity == "note"
    assert early.message == "the gradient of the mean log-likelihood has norm 0.02: near a stationary point, not at it"
    astray = found(stationarity=2 * ASTRAY)
    assert astray.severity == "warning"
    assert astray.words.endswith("norm 2: far from a stationary point; lower tol")


@pytest.mark.parametrize(
    ("excuse", "climb", "reason"),
    [
        (None, history(-1.0, status=Status.MAX_ITER), "it was still climbing"),
        ("reg_covar is large", history(-1.0), "reg_covar is large"),
        (None, history(-1.0, events={"floored": 1}), "a floor holds a component back"),
        (None, history(-1.0, gap=0.1), "q was not the posterior, so another bound was climbed"),
        (None, history(-1.0, monotone=False), "the schedule settles near an optimum, not at it"),
        ("it was re-seeded", history(-1.0, events={"reseeded": 1}), "near a stationary point, not at it"),
    ],
)
def test_a_gradient_that_has_a_reason_is_no_warning(excuse: str | None, climb: Any, reason: str) -> None:
    finding = found(excuse, climb, stationarity=2 * ASTRAY)
    assert finding.severity == "note"
    assert finding.message.endswith(f": {reason}")
    assert found(excuse, climb, stationarity=STATIONARY / 2).severity == "fine"


def test_the_gradient_of_one_batch_says_nothing() -> None:
    assert list(judge({"stationarity": 5.0}, history(-1.0, status=Status.STREAMING))) == []


# -- rows, covariances, probabilities, tails ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "severity"), [(0.4, "warning"), (1.0, "doubt"), (1.6, "note"), (4.9, "note"), (5.0, "fine")]
)
def test_rows_per_parameter(ratio: float, severity: str) -> None:
    finding = found(observations_per_parameter=ratio)
    assert (finding.severity, finding.value) == (severity, ratio)
    assert f"{ratio:.3g} rows per free parameter" in finding.message


def test_wide_rows_tell_of_many_parameters() -> None:
    assert found(observations_per_parameter=0.2, cells_per_parameter=20.0).severity == "note"
    assert found(observations_per_parameter=0.2, cells_per_parameter=0.8).severity == "warning"
    assert found(observations_per_parameter=9.0, cells_per_parameter=90.0).severity == "fine"


def test_components_take_more_rows_than_planes() -> None:
    scarce = {"observations_per_parameter": 0.4, "cells_per_parameter": 3.8}
    assert found(**scarce).severity == "note"
    assert found(**scarce, components=4.0, dense=0.0).severity == "doubt"  # a few rows for each column by itself
    assert found(**scarce, components=4.0, dense=1.0).severity == "warning"
    scarce = {"observations_per_parameter": 0.16, "cells_per_parameter": 1.6}
    assert found(**scarce, components=6.0).severity == "warning"  # less than two of them
    assert found(**scarce).severity == "note"
    assert (
        found(observations_per_parameter=0.75, cells_per_parameter=37.0, components=1.0, dense=1.0).severity == "note"
    )
    assert found(observations_per_parameter=1.8, cells_per_parameter=3.6, components=5.0).severity == "doubt"


def test_eigenvalues() -> None:
    fine = found(smallest_eigenvalue=1e-30, largest_eigenvalue=4.0)
    assert (fine.severity, fine.message) == ("fine", "variances along principal axes lie between 1e-30 and 4")
    rounded = found(smallest_eigenvalue=-1e-6, largest_eigenvalue=1e18)
    assert rounded.severity == "note"
    assert rounded.message.endswith("lie between 0 and 1e+18; the smallest is lost in rounding")
    broken = found(smallest_eigenvalue=-0.5, largest_eigenvalue=4.0)
    assert (broken.severity, broken.message) == ("warning", "a covariance has the negative eigenvalue -0.5")


def test_columns_in_other_units_are_a_note_at_most() -> None:
    assert found(condition=ILL_CONDITIONED).severity == "fine"
    assert found(condition=1e20).severity == "note"
    assert (found(condition=math.inf).severity, found(condition=math.inf).value) == ("note", None)


def test_probabilities_at_the_edge() -> None:
    assert found(smallest_probability=1e-12).severity == "note"
    assert found(smallest_probability=1e-3).message == "the smallest probability is 0.001"


def test_rates_are_told_and_not_judged() -> None:
    finding = found(smallest_rate=1e-12, largest_rate=1e12)
    assert (finding.severity, finding.message) == ("fine", "rates lie between 1e-12 and 1e+12")


def test_tails_without_a_variance_or_a_mean() -> None:
    assert found(smallest_dof=2.5).severity == "fine"
    assert found(smallest_dof=math.inf) == Finding(
        "smallest_dof", "fine", "the heaviest tails have inf degrees of freedom", None
    )
    assert found(smallest_dof=1.5).message.endswith("1.5 degrees of freedom: that component has no variance")
    assert found(smallest_dof=0.9).message.endswith("0.9 degrees of freedom: that component has no mean")
    assert found(smallest_dof=0.9).severity == "note"


# -- overlap -----------------------------------------------------------------------------------------------------------


def test_components_that_are_apart() -> None:
    assert found(overlap=0.0).message == "components overlap by less than 0.1%"
    assert found(overlap=OVERLAPPING).message == "components overlap by at most 25%"
    assert found(overlap=OVERLAPPING).severity == "fine"


def test_components_that_may_be_one() -> None:
    finding = found(overlap=0.31, overlap_of=2.0, overlap_with=0.0)
    assert (finding.severity, finding.value) == ("note", 0.31)
    assert finding.message == "31% of the rows of component 2 would be taken for component 0's: the two may be one"
    assert found(overlap=1.0).message.startswith("all of the rows of a component would be taken for another's")


def test_an_overlap_that_would_have_cost_too_much() -> None:
    finding = found(overlap=math.nan)
    assert (finding.severity, finding.value) == ("note", None)
    assert finding.message.startswith("overlap was not estimated")


# -- laws --------------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.sampled_from(NAMES), st.floats()))
def test_any_figures_make_findings_that_a_file_can_hold(figures: dict[str, float]) -> None:
    findings = list(judge(figures, history(-1.0)))
    assert len({finding.name for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.severity in ("fine", "note", "doubt", "warning")
        assert finding.value is None or math.isfinite(finding.value)
        assert len(finding.message) < 110
