"""`unveil.report`: from a table to an answer, a page and what comes with it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, final

from unveil.certificate import Certificate
from unveil.core.fingerprint import of_file
from unveil.core.once import cached_property
from unveil.estimation.registry import STRUCTURES
from unveil.estimation.task import named_task
from unveil.reporting import headline as said
from unveil.reporting.outputs import prepared_folder, write_outputs
from unveil.reporting.pages import page_of
from unveil.reporting.paper.render import render
from unveil.reporting.reproduce import ReportRequest
from unveil.reporting.study.analysis import Analysis, analyse
from unveil.reporting.study.settings import Callback, Clock, Settings
from unveil.reporting.summary import summary_of
from unveil.selection.outcome import Selection
from unveil.sources.files.paths import find_files
from unveil.sources.files.reading import ReadingOptions
from unveil.storage.atomic import checked_target, replacing
from unveil.tables.preparation import prepare

logger = logging.getLogger("unveil")

MARK = '<meta name="generator" content="unveil'  # how a page that unveil wrote is known


@final
class Report:
    """What was found in a table; made by `unveil.report`.

    Attributes
    ----------
    headline : str
        One sentence: how many groups there are, or that there are none.
    summary : dict
        All that was found, as data: what ``summary.json`` holds.
    model : estimator
        The chosen mixture, fitted to all rows; it keeps in ``recipe_`` how the table was read.
    selection : Selection
        All mixtures that were compared.
    certificate : Certificate
        What `unveil.examine` says of the model: is the fit sound, does it describe the rows, are the groups real?
    n_clusters : int or None
        How many groups there are; 1 where there are none, None where that is not clear.
    """

    def __init__(self, analysis: Analysis, request: ReportRequest) -> None:
        self._analysis = analysis
        self._request = request

    @property
    def headline(self) -> str:
        """One sentence: how many groups there are, or that there are none."""
        return said.headline(self._analysis)

    @property
    def text(self) -> str:
        """The headline and what it rests on, in one paragraph."""
        return said.summary(self._analysis)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All that was found, as data."""
        return summary_of(self._analysis)

    @property
    def model(self) -> Any:
        """The chosen mixture."""
        return self._analysis.model

    @property
    def selection(self) -> Selection:
        """All mixtures that were compared."""
        return self._analysis.found.selection

    @property
    def certificate(self) -> Certificate:
        """Three verdicts on the model."""
        return self._analysis.found.judged.certificate

    @property
    def n_clusters(self) -> int | None:
        """How many groups there are."""
        return self._analysis.found.judged.n_clusters

    def save(self, path: str | os.PathLike[str] = "report.html", *, force: bool = False) -> Path:
        """Write the page: one HTML file that opens offline.

        Parameters
        ----------
        path : path, default="report.html"
            The file. An older page of unveil's is replaced; any other file only with `force`.
        force : bool, default=False
            Replace whatever is there.

        Returns
        -------
        Path
        """
        target = checked_page(path, force)
        self._analysis.settings.tell("writing the page")
        text = render(page_of(self._analysis, ReportRequest(self._request.keywords, str(path))))
        with replacing(target) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
        logger.info("report written to %s", target)
        return target

    def save_outputs(
        self, folder: str | os.PathLike[str], *, rows_format: str = "csv", force: bool = False
    ) -> list[Path]:
        """Write the rows with their groups, the model and the summary into a folder.

        Parameters
        ----------
        folder : path
            Made where it is not there. What an earlier report wrote there is replaced; other files of these names only
            with `force`.
        rows_format : {"csv", "parquet"}
            How the rows are written.
        force : bool, default=False
            Replace whatever is there.

        Returns
        -------
        list of Path
        """
        written = prepared_folder(folder, rows_format, force)
        write_outputs(self._analysis, self.summary, written)
        return written

    def __repr__(self) -> str:
        return f"<unveil report on {self._analysis.prepared.table.title}: {self.headline}>"

    def _repr_html_(self) -> str:
        from html import escape

        parts = "".join(f"<li>{escape(words)}</li>" for words in said.rests_on(self._analysis))
        return f"<p><strong>{escape(self.headline)}</strong></p><ul>{parts}</ul>{self.certificate._repr_html_()}"


def checked_page(path: str | os.PathLike[str], force: bool) -> Path:
    """A path that a page can be written to; an error for a file that unveil did not write, unless forced."""
    target = checked_target(path)
    if not force and target.is_file() and target.stat().st_size and not is_page(target):
        raise FileExistsError(f"{target}: is there already and was not written by unveil report; force replaces it")
    return target


def is_page(path: Path) -> bool:
    """Whether a file is a page that unveil wrote."""
    with path.open("rb") as file:
        return MARK.encode() in file.read(1 << 16)


def report(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    label: str | None = None,
    time: str | bool | None = None,
    weights: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] | None = None,
    max_components: int = 9,
    covariance_types: Sequence[str] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    engine: Any = "auto",
    callbacks: Iterable[Callback] = (),
) -> Report:
    """Look for hidden structure in a table: how many groups there are, or that there are none, and what they are like.

    How a file is to be read and what its columns are is guessed, said on the page, and can be overruled here.
    Identifiers, row numbers, constants, copies and free text are not modelled. Numbers alone are described by mixtures
    of Gaussians (or of heavier tails, or of logs where these describe the rows better), categories alone by latent
    classes, anything else by mixtures of columns of different kinds. Missing cells are used, not dropped. Beyond 20,000
    rows the comparison of models runs on a reproducible sample, and the winner is fitted to all rows.

    Parameters
    ----------
    data : path, list of paths, scan, frame or array
        The table: text, Parquet, Feather, JSON lines, Excel, npy; "-" is standard input; a frame of pandas, polars or
        Arrow.
    columns : list of str, optional
        Columns to look at; all by default.
    drop : list of str, optional
        Columns to leave out.
    roles : dict of str to str, optional
        What columns are, where the guess is wrong: "number", "count", "yes/no", "category", "ordered category", "date",
        "identifier", "free text", "dropped".
    label : str, optional
        A column with known classes. It takes no part in the model; the groups are set against it.
    time : str or False, optional
        A column that orders the rows in time. By default a column of sorted dates; False for none.
    weights : str, optional
        A column that says how often each row counts.
    encoding, separator, decimal, header, missing
        How a text file is to be read, where the guess is wrong; as in `unveil.scan`.
    max_components : int, default=9
        The largest number of components to try.
    covariance_types : list of str, optional
        Structures to compare, as :class:`unveil.GaussianMixture` knows them; by default full, tied, diag and spherical.
    time_limit : float, optional
        Seconds after which no more is tried: the best answer so far, and the report says what was cut.
    seed : int, default=0
        The same seed gives the same report.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where the work runs.
    callbacks : iterable of callable
        Each is shown a progress with ``words``, ``done`` and ``total`` now and then.

    Returns
    -------
    Report
        With ``headline``, ``summary``, ``model``, and ``save(path)`` for the page.

    Raises
    ------
    DataError
        If the table cannot be read, or no column or fewer than two rows are left to model.

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> found = unveil.report(X, max_components=3)
    >>> found.headline
    'There are two groups among the 60 rows.'
    >>> found.summary["clusters"], found.model.n_components
    (2, 2)
    """
    _check_numbers(max_components, seed, time_limit)
    structures = _checked_structures(covariance_types)
    keywords = {name: value for name, value in locals().items() if name in _SAID and value not in (None, (), [])}
    if max_components == 9:
        keywords.pop("max_components")
    clock = Clock(None if time_limit is None else float(time_limit))
    settings = Settings(int(max_components), int(seed), engine, tuple(callbacks), structures, clock=clock)
    settings.tell("reading the table")
    reading = ReadingOptions(encoding, separator, decimal, header, None if missing is None else tuple(missing))
    asked: dict[str, Any] = {
        "columns": columns,
        "drop": drop,
        "roles": roles,
        "label": label,
        "time": time,
        "weights": weights,
    }
    prepared = prepare(data, **asked, reading=reading)
    with named_task("report", None, data=_named(data), seed=seed, **keywords):
        analysis = analyse(prepared, settings)
    transforms = dict(zip(analysis.rows.names, analysis.rows.transforms, strict=True))
    recipe = prepared.recipe.with_transforms({name: word for name, word in transforms.items() if word})
    analysis.model.recipe_ = recipe.to_dict()
    return Report(analysis, ReportRequest(keywords))


_SAID = {"columns", "drop", "roles", "label", "time", "weights", "max_components", "covariance_types", "time_limit"}
_SAID |= set(ReadingOptions._fields)


def _named(data: Any) -> Any:
    """What a checkpoint knows the table by: files by what they are now."""
    listed = isinstance(data, list | tuple) and all(isinstance(one, str | os.PathLike) for one in data)
    if not (listed or isinstance(data, str | os.PathLike)) or data == "-":
        return data
    return [of_file(path) for path in find_files(data)]


def _check_numbers(max_components: Any, seed: Any, time_limit: Any) -> None:
    for name, value, least in (("max_components", max_components, 1), ("seed", seed, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    if time_limit is not None and (not isinstance(time_limit, Real) or isinstance(time_limit, bool) or time_limit <= 0):
        raise ValueError(f"time_limit must be a number of seconds above 0, or None; got {time_limit!r}")


def _checked_structures(given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not given or any(word not in STRUCTURES for word in given):
        raise ValueError(f"covariance_types must be a list of some of {', '.join(STRUCTURES)}; got {given!r}")
    return tuple(dict.fromkeys(given))
