"""What is missing together."""

from __future__ import annotations

import numpy as np

from unveil.plot.columns.missing import missing as missing_plot
from unveil.plot.labels import plain
from unveil.reporting import words
from unveil.reporting.parts import Section, Text
from unveil.reporting.sections.common import NAME_LENGTH, figure
from unveil.reporting.study.analysis import Analysis


def missing(analysis: Analysis) -> Section | None:
    """Patterns of missing cells; nothing for a table without any."""
    holes = np.isnan(analysis.rows.coded)
    if not holes.any():
        return None
    by_column = holes.mean(axis=0)
    worst = int(np.argmax(by_column))
    rows = int(holes.any(axis=1).sum())
    known = f"{analysis.rows.n_rows:,} rows in which something is known"
    gone = analysis.rows.n_rows < analysis.prepared.table.n_rows and analysis.rows.weights is None
    of = f"the {known}" if gone else f"{analysis.rows.n_rows:,} rows"
    some = f"All {of}" if rows == analysis.rows.n_rows else f"{rows:,} of {of}"
    lead = (
        f"{some} {'misses' if rows == 1 else 'miss'} at least one cell of the modelled columns; "
        f"{plain(analysis.rows.names[worst], NAME_LENGTH)} misses most ({words.percent(float(by_column[worst]))})."
    )
    used = Text("Such rows are not dropped: the model is fitted to what is there.", quiet=True)
    plot = missing_plot(analysis.rows.coded, analysis.rows.names)
    block = figure("missing", plot, "Which columns are missing together, and in how many rows")
    return Section("missing", "What is missing together", lead, [used, block])
