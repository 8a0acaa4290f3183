"""How to get the same report and the same model again: lines of Python and of the command line."""

from __future__ import annotations

import csv
import io
import shlex
from typing import Any, NamedTuple

from unveil.report.analysis import Analysis

LINE_LENGTH = 100  # characters that the page shows without scrolling


class ReportRequest(NamedTuple):
    """What the user asked for, as far as it has to be said again."""

    output: str
    columns: list[str] | None
    weight: str | None
    max_components: int
    covariance_types: list[str] | None = None


def python_lines(analysis: Analysis, request: ReportRequest) -> str:
    """Python that fits the same model and writes the same report."""
    path = analysis.table.path
    data = "data" if path is None else repr(path)
    asked = {name: getattr(request, name) for name in ("columns", "weight", "covariance_types")}
    extra = [f"{name}={value!r}" for name, value in asked.items() if value]
    most = [] if request.max_components == 9 else [f"max_components={request.max_components}"]
    written = [data, repr(request.output), *extra, *most, f"seed={analysis.settings.seed}"]
    lines = ["from unveil.report import write_report", ""]
    lines += [] if path else ["# data: the table that was handed in", ""]
    lines += [_call("report = write_report", written), "report.model  # the fitted unveil.GaussianMixture"]
    return "\n".join(lines)


def command_line(analysis: Analysis, request: ReportRequest) -> str | None:
    """The same by the command line, for a table that has a path."""
    if analysis.table.path is None:
        return None
    words = ["unveil", "report", analysis.table.path, "-o", request.output, "--seed", str(analysis.settings.seed)]
    words += ["--columns", _joined(request.columns)] if request.columns else []
    words += ["--weight", request.weight] if request.weight else []
    words += ["--max-components", str(request.max_components)] if request.max_components != 9 else []
    words += ["--covariance", ",".join(request.covariance_types)] if request.covariance_types else []
    return shlex.join(words)


def _joined(names: list[str]) -> str:
    """Names with commas between them; those that hold a comma in quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def model_lines(analysis: Analysis) -> str:
    """The chosen model alone, as a constructor."""
    model = analysis.model
    settings: dict[str, Any] = {
        "n_components": model.n_components,
        "covariance_type": model.covariance_type,
        "reg_covar": model.reg_covar,
        "tol": model.tol,
        "max_iter": model.max_iter,
        "n_init": analysis.selection.best_estimator_.n_init,
        "random_state": model.random_state,
    }
    origin = "# fitted to the sample, then from there to all rows\n" if analysis.sampled else ""
    return origin + _call("unveil.GaussianMixture", [f"{name}={value!r}" for name, value in settings.items()])


def _call(name: str, arguments: list[str]) -> str:
    """A call on one line, or with one argument a line."""
    line = f"{name}({', '.join(arguments)})"
    return (
        line
        if len(line) <= LINE_LENGTH
        else "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), ")"])
    )
