"""What the path of a fit says of it: a finding for everything that can go wrong, in words and as a figure."""

from __future__ import annotations

import numpy as np
import pytest

from tests.certificate.histories import history
from unveil.certificate import Finding, examine
from unveil.core.result import Status


def test_a_fine_fit() -> None:
    certificate = examine(history(-9.0, -8.0, -8.0, restarts=(-8.0, -8.0, -9.0)), np.array([6.0, 4.0 + 3.0]))
    assert certificate.ok
    assert certificate.warnings == ()
    assert {finding.severity for finding in certificate.findings} == {"fine"}
    assert certificate["converged"].message == "converged after 3 passes"
    assert certificate["restarts"].message.startswith("2 of 3 starts reached the best objective, -8")
    assert certificate["support"].message == "the smallest component stands for 6 rows"
    figures = {finding.name: finding.value for finding in certificate.findings}
    assert figures == {"converged": 3.0, "bound": 0.0, "restarts": 1.0, "support": 6.0}


@pytest.mark.parametrize(
    ("status", "severity", "words"),
    [
        (Status.MAX_ITER, "warning", "not converged: stopped at the limit of 2 passes"),
        (Status.INTERRUPTED, "warning", "interrupted after 2 passes"),
        (Status.STREAMING, "note", "fed batch by batch, 2 so far"),
    ],
)
def test_how_it_ended(status: Status, severity: str, words: str) -> None:
    certificate = examine(history(-2.0, -1.0, status=status))
    assert certificate["converged"].severity == severity
    assert certificate["converged"].message.startswith(words)
    assert certificate.ok == (severity == "note")


def test_every_status_has_words() -> None:
    for status in Status:
        assert examine(history(-1.0, status=status))["converged"].message


def test_one_pass_is_one_pass() -> None:
    assert examine(history(-2.0))["converged"].message == "converged after 1 pass"


def test_a_fall_is_a_warning_and_rounding_is_not() -> None:
    fell = examine(history(-2.0, -1.0, -1.5))["bound"]
    assert (fell.severity, fell.value) == ("warning", 0.5)
    assert "fell by up to 0.5: theory says it cannot" in fell.message
    rounded = examine(history(-1e6, -1e6 - 1e-5))["bound"]
    assert rounded.severity == "fine"
    assert rounded.value == pytest.approx(1e-5, rel=1e-3)
    free = examine(history(-2.0, -1.0, -1.5, monotone=False))["bound"]
    assert (free.severity, free.value) == ("note", 0.5)


def test_a_fall_with_an_excuse_is_a_note() -> None:
    excused = examine(history(-2.0, -1.0, -1.5), excuse="reg_covar is large")["bound"]
    assert (excused.severity, excused.message) == ("note", "the free energy fell by up to 0.5: reg_covar is large")
    assert examine(history(-2.0, -1.0), excuse="reg_covar is large")["bound"].severity == "fine"


def test_starts_that_disagree_or_that_there_are_none() -> None:
    assert examine(history(-1.0))["restarts"].severity == "note"
    assert "a single start" in examine(history(-1.0, restarts=(-1.0,)))["restarts"].message
    short = examine(history(-1.0, restarts=(-1.0,), events={"tried": 5}))
    assert short["restarts"].message.startswith("one climb, from the best of 5 short runs: other optima were hardly")
    assert "tried" not in short
    lonely = examine(history(-1.0, restarts=(-1.0, -2.0, -3.0)))["restarts"]
    assert (lonely.severity, lonely.value, lonely.remedy) == ("doubt", 2.0, "raise n_init")
    assert lonely.message == "1 of 3 starts reached the best objective, -1; the worst -3"
    assert examine(history(-1.0, restarts=(-1.0, -2.0)))["restarts"].severity == "note"
    close = examine(history(-1.0, restarts=(-1.0, -1.2, -3.0)), figures={})["restarts"]
    assert close.severity == "note"  # a fifth of a nat is no other optimum
    assert "restarts" not in examine(history(-1.0, status=Status.STREAMING, restarts=(-1.0, -2.0)))


def test_a_start_that_is_there_twice_counts_once() -> None:
    again = history(-1.0, restarts=(-1.0, -1.0, -3.0, -4.0), events={"repeated": 1})
    finding = examine(again)["restarts"]
    assert (finding.severity, finding.message[:21]) == ("doubt", "1 of 3 starts reached")
    assert "repeated" not in examine(again)
    same = examine(history(-1.0, restarts=(-1.0, -1.0), events={"repeated": 1}))["restarts"]
    assert (same.severity, same.message[:37]) == ("note", "all starts began at the same place: o")
    assert examine(history(-1.0, restarts=(-1.0, -1.0, -3.0, -4.0)))["restarts"].severity == "fine"


def test_what_is_left_is_a_doubt_where_it_is_much() -> None:
    slow = [-100.0 * 0.9**number for number in range(12)]
    much = examine(history(*slow), figures={"components": 2.0})["remaining_gain"]
    assert much.severity == "doubt"
    assert much.value == pytest.approx(100.0 * 0.9**12)
    assert examine(history(*slow), figures={})["remaining_gain"].severity == "note"  # a map, which hardly moves
    assert "remaining_gain" not in examine(history(*slow))  # no likelihood
    little = examine(history(*(height * 1e-4 for height in slow)), figures={"components": 2.0})
    assert little["remaining_gain"].severity == "fine"


def test_no_end_in_sight() -> None:
    finding = examine(history(-9.0, -8.0, -7.0, -5.0), figures={"components": 2.0})["remaining_gain"]
    assert (finding.severity, finding.value) == ("doubt", None)
    assert "no end is in sight" in finding.message
    unknown = examine(history(-9.0, -5.0), figures={"components": 2.0})["remaining_gain"]
    assert (unknown.severity, unknown.value) == ("doubt", None)
    assert "too few passes to tell" in unknown.message


def test_what_is_found_elsewhere_stands_in_place_of_the_same() -> None:
    found = Finding("support", "warning", "component 1 stands for only 1 row", 1.0, kind="few_rows")
    certificate = examine(history(-1.0), np.array([9.0, 1.0]), more=[found])
    assert [finding for finding in certificate.findings if finding.name == "support"] == [found]
    assert not certificate.ok


def test_a_cluster_of_one_row_is_a_doubt() -> None:
    finding = examine(history(-1.0), np.array([9.0, 1.0]))["support"]
    assert (finding.severity, finding.kind) == ("doubt", "few_rows")


def test_starts_that_came_to_nothing() -> None:
    some = examine(history(-1.0, restarts=(-1.0, float("nan"), -np.inf, -1.0)))["restarts"]
    assert (some.severity, some.value) == ("fine", None)
    assert some.message.startswith("2 of 4 starts")
    none = examine(history(restarts=(-np.inf, -np.inf)))["restarts"]
    assert (none.severity, none.message) == ("note", "none of 2 starts completed a pass")


def test_what_had_to_be_mended() -> None:
    certificate = examine(history(-1.0, events={"floored": 3, "empty": 1, "odd": 2}))
    assert certificate["floored"].severity == "note"
    assert certificate["floored"].message.endswith("3 times over the passes")
    assert certificate["floored"].value == 3.0
    assert certificate["empty"].severity == "warning"
    assert certificate["empty"].message.endswith(": 1 time over the passes")
    assert certificate["odd"].severity == "warning"
    assert certificate["odd"].message == "odd: 2 times over the passes"
    assert not certificate.ok


@pytest.mark.parametrize("name", ["floored", "reseeded", "taken_back", "shortened"])
def test_what_was_mended_well_is_a_note(name: str) -> None:
    certificate = examine(history(-1.0, events={name: 2}))
    assert certificate.ok
    assert certificate[name].severity == "note"
    assert name not in examine(history(-1.0))


def test_a_component_that_hardly_any_row_supports() -> None:
    finding = examine(history(-1.0), np.array([9.0, 2.5]))["support"]
    assert (finding.severity, finding.message) == ("note", "component 1 stands for only 2.5 rows")
    assert finding.value == 2.5


def test_nothing_was_passed() -> None:
    certificate = examine(history(status=Status.INTERRUPTED))
    assert not certificate.ok
    assert "interrupted after 0 passes" in certificate.warnings[0]


def test_figures_come_after_the_history() -> None:
    certificate = examine(history(-2.0, -1.0), np.array([9.0]), figures={"overlap": 0.1, "stationarity": 1e-4})
    assert list(certificate) == [
        "converged",
        "bound",
        "remaining_gain",
        "restarts",
        "support",
        "stationarity",
        "overlap",
    ]
