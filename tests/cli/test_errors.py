import logging
import os
import signal
import warnings

import pytest

from unveil.cli.errors import (
    LONGEST_LINE,
    explain,
    interruption,
    on_one_line,
    printable,
    signals_noted,
    was_interrupted,
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("k must be 3"), "k must be 3"),
        (FileNotFoundError(2, "No such file", "x.csv"), "x.csv: No such file"),
        (PermissionError("y: no permission"), "y: no permission"),
        (MemoryError(), "not enough memory. "),
        (OSError(), "OSError"),
        (ZeroDivisionError("oh"), "unexpected ZeroDivisionError: oh (UNVEIL_TRACEBACK=1 shows where)"),
    ],
)
def test_errors_are_explained(error, said):
    assert explain(error) == said


def test_lines_are_printable_and_bearable():
    assert printable("a\n\x1b[31mb\t c") == "a [31mb c"
    assert len(printable("x" * 10_000)) == LONGEST_LINE


def fail(error):
    with on_one_line():
        raise error


def test_error_becomes_a_line_and_an_exit_code(capsys, monkeypatch):
    monkeypatch.delenv("UNVEIL_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as left:
        fail(ValueError("two\nlines"))
    assert left.value.code == 2
    assert capsys.readouterr().err == "unveil: error: two lines\n"


def test_traceback_for_who_asks(monkeypatch):
    monkeypatch.setenv("UNVEIL_TRACEBACK", "1")
    with pytest.raises(ValueError, match="here"):
        fail(ValueError("here"))


@pytest.mark.filterwarnings("default")
def test_warnings_and_the_log_become_lines(capsys):
    with on_one_line():
        warnings.warn("mind the\ngap", UserWarning, stacklevel=1)
        logging.getLogger("unveil").warning("pass %d", 3)
        logging.getLogger("unveil").info("not this")
    assert capsys.readouterr().err == "unveil: warning: mind the gap\nunveil: pass 3\n"
    assert logging.getLogger("unveil").handlers == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_to_end_are_one(number, code):
    before = signal.signal(number, signal.default_int_handler)  # whatever the shell bids of whoever runs the tests
    try:
        with signals_noted(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert was_interrupted()
        assert interruption() == code
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_what_a_shell_bids_to_ignore_is_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signals_noted():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.filterwarnings("default")
def test_warnings_count_components_from_one(capsys):
    with on_one_line():
        warnings.warn("component 0 stands for 2 rows, state 1 for none", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "unveil: warning: component 1 stands for 2 rows, state 2 for none\n"
