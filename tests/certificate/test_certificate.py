"""The certificate: how it reads, how it is asked, and how it is kept in a file."""

from __future__ import annotations

import pytest

from unveil.certificate import Certificate, Finding

MIXED = Certificate(
    (
        Finding("converged", "fine", "converged after 3 passes", 3.0),
        Finding("floored", "note", "at its floor: 1 time", 1.0),
        Finding("bound", "warning", "it fell by 2", 2.0),
        Finding("restarts", "note", "a single start"),
    )
)


def test_the_verdict_comes_first_and_then_the_worst() -> None:
    assert str(MIXED).splitlines() == [
        "Is the fit sound? No.",
        "  warning  it fell by 2",
        "  note     at its floor: 1 time",
        "  note     a single start",
        "  fine     converged after 3 passes",
        "Does the model describe the data? Not examined.",
        "Are the groups real? Not examined.",
    ]
    assert not MIXED.ok
    assert MIXED.warnings == ("it fell by 2",)


def test_notes_do_not_speak_against_a_fit() -> None:
    fine = Certificate(tuple(finding for finding in MIXED.findings if finding.severity != "warning"))
    assert fine.ok
    assert fine.warnings == ()
    assert fine.verdicts == {"sound": "yes", "describes": "not examined", "real": "not examined"}


def test_the_worst_finding_of_a_question_is_its_answer() -> None:
    found = [Finding("tails", "doubt", "heavy", question="describes"), Finding("one", "note", "one", question="real")]
    certificate = Certificate((*MIXED.findings, *found))
    assert certificate.verdicts == {"sound": "no", "describes": "doubtful", "real": "not examined"}
    assert [reason.kind for reason in certificate.reasons("describes")] == ["tails"]
    assert Certificate((Finding("a", "fine", "", question="real"), found[1])).verdicts["real"] == "yes"


def test_a_severity_of_some_other_version_is_shown_last() -> None:
    certificate = Certificate((Finding("a", "hint", "from elsewhere"), *MIXED.findings))
    assert str(certificate).splitlines()[5] == "  hint     from elsewhere"


def test_findings_by_name() -> None:
    assert MIXED["bound"].value == 2.0
    assert MIXED["restarts"].value is None
    assert "bound" in MIXED
    assert "overlap" not in MIXED
    assert list(MIXED) == ["converged", "floored", "bound", "restarts"]
    with pytest.raises(KeyError, match="'overlap' was not checked; there are converged, floored, bound, restarts"):
        MIXED["overlap"]
    with pytest.raises(KeyError, match="there are no findings"):
        Certificate(())["bound"]


def test_a_notebook_shows_the_same_with_nothing_taken_for_markup() -> None:
    page = Certificate((Finding("x", "note", "<script>a & b"), *MIXED.findings))._repr_html_()
    assert "Is the fit sound? <b>No.</b></p><table><tr><td>warning</td><td>it fell by 2</td></tr>" in page
    assert "Are the groups real? <b>Not examined.</b>" in page
    assert "&lt;script&gt;a &amp; b" in page
    assert "<script>" not in page


def test_there_and_back_as_plain_dictionaries() -> None:
    assert Certificate.from_dict(MIXED.to_dict()) == MIXED
    assert MIXED.to_dict()["findings"][2]["value"] == 2.0
    clustered = Certificate(MIXED.findings, clusters=(0, 1, 0))
    assert Certificate.from_dict(clustered.to_dict()) == clustered != MIXED
    assert clustered.to_dict()["verdicts"]["sound"] == "no"


def test_a_file_from_before_there_were_figures() -> None:
    plain = {"findings": [{"name": "bound", "severity": "fine", "message": "never fell"}]}
    assert Certificate.from_dict(plain)["bound"] == Finding("bound", "fine", "never fell", None)
