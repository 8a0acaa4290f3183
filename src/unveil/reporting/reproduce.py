"""How to get the same report and the same model again: lines of Python and of the command line."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unveil.reporting.study.analysis import Analysis

LINE_LENGTH = 100  # characters that the page shows without scrolling


@dataclass(frozen=True)
class ReportRequest:
    """What the user asked for, as far as it has to be said again: keyword arguments that are not the default."""

    keywords: Mapping[str, Any] = field(default_factory=dict)
    output: str = "report.html"


def python_lines(analysis: Analysis, request: ReportRequest) -> str:
    """Python that fits the same model and writes the same report."""
    path = analysis.prepared.table.path
    data = "data" if path is None else repr(path)
    extra = [f"{name}={value!r}" for name, value in request.keywords.items()]
    lines = ["import unveil", ""]
    lines += [] if path else ["# data: the table that was handed in", ""]
    lines += [_call("report = unveil.report", [data, *extra, f"seed={analysis.settings.seed}"])]
    lines += [f"report.save({request.output!r})", f"report.model  # the fitted unveil.{type(analysis.model).__name__}"]
    return "\n".join(lines)


def command_line(analysis: Analysis, request: ReportRequest) -> str | None:
    """The same by the command line, for a table that has a path."""
    path = analysis.prepared.table.path
    if path is None:
        return None
    words = ["unveil", "report", path, "-o", request.output, "--seed", str(analysis.settings.seed)]
    for name, value in request.keywords.items():
        words += _option(name, value)
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    """A keyword as an option of the command line."""
    flag = f"--{name.replace('_', '-')}".replace("--covariance-types", "--covariance")
    if name == "time" and value is False:
        return [flag, "none"]
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    if isinstance(value, Mapping):
        return [flag, _joined([f"{key}={word}" for key, word in value.items()])]
    if isinstance(value, list | tuple):
        return [flag, _joined(list(map(str, value)))]
    return [flag, f"{value:g}" if isinstance(value, float) else str(value)]


def _joined(names: list[str]) -> str:
    """Names with commas between them; those that hold a comma in quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def model_lines(analysis: Analysis) -> str:
    """The chosen model alone, as a constructor."""
    model, usual = analysis.model, type(analysis.model)().get_params(deep=False)
    params = model.get_params(deep=False)
    sampled = analysis.found.sampled < analysis.rows.n_rows
    if sampled:
        params["n_init"] = analysis.found.selection.best_estimator_.n_init
    settings = [f"{name}={value!r}" for name, value in params.items() if not _same(value, usual.get(name))]
    origin = "# fitted to a sample, then from there to all rows\n" if sampled else ""
    logged = [name for name, word in zip(analysis.rows.names, analysis.rows.transforms, strict=True) if word == "log"]
    origin += f"# takes the log of {', '.join(logged)}\n" if logged else ""
    return origin + _call(f"unveil.{type(model).__name__}", settings)


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _call(name: str, arguments: list[str]) -> str:
    """A call on one line, or with one argument a line."""
    line = f"{name}({', '.join(arguments)})"
    return (
        line
        if len(line) <= LINE_LENGTH
        else "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), ")"])
    )
