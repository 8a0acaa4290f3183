"""`write_report`: from a table to a page."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from numbers import Integral
from pathlib import Path
from typing import Any, final

import unveil
from unveil.certificate import Certificate
from unveil.estimation.registry import STRUCTURES
from unveil.plot.labels import plain
from unveil.report import headline, reproduce, sections, verdicts, words
from unveil.report.analysis import Analysis, Callback, Settings, analyse
from unveil.report.page import render
from unveil.report.table import open_table
from unveil.selection.outcome import Selection
from unveil.storage.atomic import checked_target, replacing

logger = logging.getLogger("unveil")


@final
@dataclass(frozen=True)
class Report:
    """What a report found, and where it is.

    Attributes
    ----------
    path : Path
        The HTML file.
    summary : str
        Its first paragraph.
    model : GaussianMixture
        The chosen mixture, fitted to all complete rows.
    selection : Selection
        All mixtures that were compared.
    labels : dict of int to str
        What sets each component apart, in words.
    certificate : Certificate
        What `unveil.examine` says of the model: is the fit sound, does it describe the rows, are the groups real?
    n_clusters : int or None
        How many groups there are; 1 where there are none, None where that is not clear.
    """

    path: Path
    summary: str
    model: Any
    selection: Selection
    labels: dict[int, str]
    certificate: Certificate
    n_clusters: int | None


def write_report(
    source: Any,
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    max_components: int = 9,
    covariance_types: Sequence[str] | None = None,
    seed: int = 0,
    engine: Any = "auto",
    callbacks: Iterable[Callback] = (),
) -> Report:
    """Look for hidden structure in a table and write what was found as one HTML file that opens offline.

    Rows with missing values and columns that do not vary are left out, and the report says so. The best Gaussian
    mixture is chosen by BIC over the number of components and the covariance structure, and examined: is the fit sound,
    does it describe the rows, are its components groups? Beyond 20,000 rows the comparison
    runs on a reproducible sample, and the winner is fitted to all rows.

    Parameters
    ----------
    source : path, list of paths, scan, frame or array
        The table. Paths are read as `unveil.scan` reads them.
    path : path
        The HTML file to write; an older one is replaced as a whole.
    columns : list of str, optional
        Columns to look at; all that hold numbers by default.
    weight : str, optional
        A column that says how often each row counts.
    max_components : int, default=9
        The largest number of groups to try.
    covariance_types : list of str, optional
        Structures to compare, as :class:`unveil.GaussianMixture` knows them; by default full, tied, diag and spherical.
    seed : int, default=0
        The same seed gives the same report.
    engine : {"auto", "threads", "dask"} or engine, default="auto"
        Where the work runs.
    callbacks : iterable of callable
        Each is shown a `Progress(words, done, total)` now and then.

    Returns
    -------
    Report

    Raises
    ------
    DataError
        If the table cannot be read, has no column of numbers that varies, or fewer than two complete rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from unveil.report import write_report
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write_report(X, pathlib.Path(folder, "report.html"), max_components=3)
    ...     report.path.stat().st_size > 10_000, report.model.n_components
    (True, 2)
    """
    for name, value, least in (("max_components", max_components, 1), ("seed", seed, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    structures = _checked_structures(covariance_types)
    target = Path(path)
    checked_target(target)
    settings = Settings(int(max_components), int(seed), engine, tuple(callbacks), structures)
    analysis = analyse(open_table(source, columns, weight), settings)
    settings.tell("writing the page", 0, 1)
    asked = (None if columns is None else list(columns), weight, settings.max_components)
    request = reproduce.ReportRequest(str(path), *asked, None if structures is None else list(structures))
    with replacing(target) as temporary:
        temporary.write_text(render(content(analysis, request)), encoding="utf-8", newline="\n")
    logger.info("report written to %s", target)
    labels = {group.number: words.apart(group, analysis.names) for group in analysis.groups}
    found = (analysis.model, analysis.selection, labels, analysis.judged.certificate, analysis.judged.n_clusters)
    return Report(target, headline.summary(analysis), *found)


def _checked_structures(given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not given or any(word not in STRUCTURES for word in given):
        raise ValueError(f"covariance_types must be a list of some of {', '.join(STRUCTURES)}; got {given!r}")
    return tuple(dict.fromkeys(given))


def content(analysis: Analysis, request: reproduce.ReportRequest) -> dict[str, Any]:
    """All that the template shows."""
    return {
        "title": plain(analysis.table.title, 80),
        "summary": headline.summary(analysis),
        "columns": sections.columns(analysis),
        "plane": sections.plane(analysis),
        "choice": sections.choice(analysis),
        "chosen": sections.chosen(analysis),
        "groups": sections.groups(analysis),
        "climb": sections.climb(analysis),
        "verdicts": verdicts.lights(analysis),
        "verdict_notes": verdicts.notes(analysis),
        "python": reproduce.python_lines(analysis, request),
        "command": reproduce.command_line(analysis, request),
        "model": reproduce.model_lines(analysis),
        "version": unveil.__version__,
        "seed": analysis.settings.seed,
        "date": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    }
