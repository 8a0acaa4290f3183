import io
import sys

import numpy as np

import unveil
from unveil.cli.progress import Quiet, Shown, progress
from unveil.reporting import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silence_where_nobody_watches(capsys):
    with progress("work") as bar:
        bar.advance(3)
        with bar.watching(object()):
            pass
    assert type(bar) is Quiet
    assert capsys.readouterr().err == ""


def test_passes_rows_and_steps_are_shown_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    X = np.random.default_rng(0).normal(size=(50, 2))
    with progress("[b]fit") as bar:
        assert isinstance(bar, Shown)
        model = unveil.GaussianMixture(2, n_init=3, random_state=0, max_iter=50)
        with bar.watching(model):
            model.fit(X)
        detail = bar.progress.tasks[0].fields["detail"]
        assert detail.startswith("start 3, pass ")
        assert "bound per row -" in detail
        assert bar.progress.tasks[0].total == 50
        bar.advance(1500)
        assert bar.progress.tasks[0].fields["detail"] == "1,500 rows"
        bar.step(Progress("writing", 1, 4))
        assert (bar.progress.tasks[0].completed, bar.progress.tasks[0].total) == (1, 4)
    assert "[b]fit" in sys.stderr.getvalue()


def test_starts_that_run_side_by_side_are_told_apart(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    X = np.random.default_rng(0).normal(size=(40_000, 1))  # three partitions
    with progress("fit") as bar:
        model = unveil.GaussianMixture(2, n_init=2, random_state=0, max_iter=50, tol=1e-2)
        with bar.watching(model):
            model.fit(X)
        assert bar.progress.tasks[0].fields["detail"].startswith("2 starts, pass ")
        assert max(bar.bounds.values()) == model.lower_bound_
