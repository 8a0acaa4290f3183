"""The certificate: a finding for everything that can go wrong, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.certificate import Certificate, Finding, examine
from unveil.core.result import History, Record, Status


def history(*objectives: float, status: Status = Status.CONVERGED, **fields: Any) -> History:
    records = tuple(Record(value, value, value, 10.0, float(i)) for i, value in enumerate(objectives))
    return History(records, status=status, **fields)


def found(certificate: Certificate, name: str) -> Finding:
    (finding,) = [finding for finding in certificate.findings if finding.name == name]
    return finding


def test_a_fine_fit() -> None:
    certificate = examine(history(-9.0, -8.0, -8.0, restarts=(-8.0, -8.0, -9.0)), np.array([6.0, 4.0 + 3.0]))
    assert certificate.ok
    assert certificate.warnings == ()
    assert found(certificate, "converged").message == "converged after 3 passes"
    assert found(certificate, "bound").severity == "fine"
    assert found(certificate, "restarts").message.startswith("2 of 3 starts reached the best objective, -8")
    assert found(certificate, "support").message == "the smallest component stands for 6 rows"


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
    assert found(certificate, "converged").severity == severity
    assert found(certificate, "converged").message.startswith(words)
    assert certificate.ok == (severity == "note")


def test_one_pass_is_one_pass() -> None:
    assert found(examine(history(-2.0)), "converged").message == "converged after 1 pass"


def test_a_fall_is_a_warning_and_rounding_is_not() -> None:
    assert found(examine(history(-2.0, -1.0, -1.5)), "bound").severity == "warning"
    assert "fell by up to 0.5" in found(examine(history(-2.0, -1.0, -1.5)), "bound").message
    assert found(examine(history(-1e6, -1e6 - 1e-5)), "bound").severity == "fine"
    assert found(examine(history(-2.0, -1.0, -1.5, monotone=False)), "bound").severity == "note"


def test_starts_that_disagree_or_that_there_are_none() -> None:
    assert found(examine(history(-1.0)), "restarts").severity == "note"
    assert "a single start" in found(examine(history(-1.0, restarts=(-1.0,))), "restarts").message
    lonely = found(examine(history(-1.0, restarts=(-1.0, -2.0, -3.0))), "restarts")
    assert lonely.severity == "note"
    assert lonely.message == "1 of 3 starts reached the best objective, -1; the worst -3"


def test_what_had_to_be_mended() -> None:
    certificate = examine(history(-1.0, events={"floored": 3, "empty": 1, "odd": 2}))
    assert found(certificate, "floored").severity == "note"
    assert found(certificate, "floored").message.endswith("3 times over the passes")
    assert found(certificate, "empty").severity == "warning"
    assert found(certificate, "empty").message.endswith(": 1 time over the passes")
    assert found(certificate, "odd").message == "odd: 2 times over the passes"
    assert not certificate.ok


def test_a_component_that_hardly_any_row_supports() -> None:
    finding = found(examine(history(-1.0), np.array([9.0, 2.5])), "support")
    assert (finding.severity, finding.message) == ("note", "component 1 stands for only 2.5 rows")


def test_nothing_was_passed() -> None:
    certificate = examine(history(status=Status.INTERRUPTED))
    assert not certificate.ok
    assert "interrupted after 0 passes" in certificate.warnings[0]


def test_how_it_reads() -> None:
    lines = str(examine(history(-2.0, -1.0, status=Status.MAX_ITER))).splitlines()
    assert lines[0] == "The fit needs a second look."
    assert lines[1] == "  warning  not converged: stopped at the limit of 2 passes; raise max_iter or tol"
    assert str(examine(history(-2.0, -1.0))).startswith("The fit can be trusted as far as it was checked.")


def test_there_and_back_as_plain_dictionaries() -> None:
    certificate = examine(history(-2.0, -1.0, events={"empty": 1}), np.array([1.0]))
    assert Certificate.from_dict(certificate.to_dict()) == certificate
