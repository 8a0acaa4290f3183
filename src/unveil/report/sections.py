"""The sections of the report: for each, what the template is to show. Text is plain here; the template escapes it."""

from __future__ import annotations

from typing import Any, NamedTuple

from unveil.plot.climb import convergence
from unveil.plot.ellipses import mixture
from unveil.plot.histogram import density
from unveil.plot.labels import plain
from unveil.plot.scatter import biplot
from unveil.plot.scores import selection as score_plot
from unveil.plot.structures import GLOSSES, NAMES
from unveil.plot.variance import scree
from unveil.report import headline, words
from unveil.report.analysis import Analysis
from unveil.report.groups import SURE_PROBABILITY, RowGroup
from unveil.report.naming import PageNaming

SHOWN_COLUMNS = 8  # means by group are shown for so many columns


class Figure(NamedTuple):
    """A figure with its caption in words."""

    name: str
    plot: Any
    caption: str
    alt: str


def columns(analysis: Analysis) -> dict[str, Any]:
    """The table's columns, what was left out and why."""
    rows = [
        {
            "name": plain(column.name, 80),
            "kind": column.kind,
            "cells": [words.number(value) for value in (column.low, column.mean, column.high)],
            "missing": f"{column.missing:,}",
            "note": column.note,
        }
        for column in analysis.columns
    ]
    notes = [*_skipped(analysis), *_incomplete(analysis), *_constant(analysis)]
    return {"rows": rows, "notes": notes, "weighted": words.weighted(analysis)}


def _skipped(analysis: Analysis) -> list[str]:
    skipped = [f"{plain(name)} ({analysis.table.kinds.get(name, 'text')})" for name in analysis.table.skipped]
    return [f"Not numbers, so left out: {words.listed(skipped)}."] if skipped else []


def _incomplete(analysis: Analysis) -> list[str]:
    gone = analysis.n_rows - analysis.usable.n_rows
    if not gone:
        return []
    why = "with a missing value or a weight of 0" if words.weighted(analysis) else "with a missing value"
    verb = "was" if gone == 1 else "were"
    return [f"{words.count(gone, 'row')} {why} {verb} left out; {words.count(analysis.usable.n_rows, 'row')} remain."]


def _constant(analysis: Analysis) -> list[str]:
    constant = [plain(name) for name in analysis.usable.constant]
    return [f"Constant among the complete rows, so left out: {words.listed(constant)}."] if constant else []


def plane(analysis: Analysis) -> dict[str, Any] | None:
    """The principal plane; nothing for a single column."""
    if analysis.plane is None:
        return None
    figure = biplot(analysis.plane, analysis.rows, n_rows=analysis.usable.n_rows)
    figures = [_figure("plane", figure, "Scatter of the rows on the principal plane, with an arrow for each column")]
    if len(analysis.names) > 2:
        figures.append(_figure("scree", scree(analysis.pca), "Share of the variance along each principal direction"))
    first, second = (f"{share:.1%}" for share in analysis.plane.share)
    text = f"The two directions along which the rows spread most carry {first} and {second} of the variance."
    if analysis.plane.standardised:
        text += " The spreads of the columns differ widely, so each was divided by its standard deviation first."
    return {"text": text, "figures": figures}


def choice(analysis: Analysis) -> dict[str, Any]:
    """BIC over the number of components and the structure, as a figure and a table."""
    outcome = analysis.selection
    structures, sizes = outcome.grid["covariance_type"], outcome.grid["n_components"]
    cells = {(row["n_components"], row["covariance_type"]): row for row in outcome.table}
    best = tuple(outcome.best_params_[name] for name in ("n_components", "covariance_type"))
    rows = [
        {"size": size, "cells": [_score(cells[size, structure], (size, structure) == best) for structure in structures]}
        for size in sizes
    ]
    figure = _figure("bic", score_plot(outcome), "BIC over the number of components, a line for each structure")
    return {
        "verdict": headline.choice(analysis),
        "figure": figure,
        "structures": [{"name": NAMES[structure], "gloss": GLOSSES[structure]} for structure in structures],
        "rows": rows,
        "sample": f"{len(analysis.rows):,} of {analysis.usable.n_rows:,} rows" if analysis.sampled else "",
        "failures": [
            f"{words.combination(row)}: {_counted(row['error'] or row['degenerate'])}"
            for row in outcome.table
            if row["error"] or row["degenerate"]
        ],
    }


def _score(row: dict[str, Any], best: bool) -> dict[str, Any]:
    text = "\N{EN DASH}" if row["error"] is not None else f"{row['bic']:,.1f}"
    return {"text": text, "best": best, "degenerate": bool(row["degenerate"])}


def _counted(message: str) -> str:
    """What is said of a model that was not chosen: components are counted from 1."""
    return PageNaming((), False, ()).say(message)


def chosen(analysis: Analysis) -> dict[str, Any]:
    """The mixture on the principal plane, or over the histogram of a single column."""
    k, noun = len(analysis.model.weights_), analysis.naming.noun
    parts = "A single component" if k == 1 else f"{words.spelled(k).capitalize()} {noun}s, {words.shape_of(analysis)}"
    if analysis.plane is None:
        plot = density(analysis.model, analysis.rows, name=analysis.names[0], sample_weight=analysis.weights)
        alt = "Histogram with the density of the mixture"
        return {"text": f"{parts}.", "figure": _figure("mixture", _renamed(plot, analysis.naming), alt)}
    plot = mixture(analysis.model, analysis.rows, plane=analysis.plane, n_rows=analysis.usable.n_rows)
    alt = f"Rows on the principal plane, coloured by {noun}, with ellipses for each {noun}"
    units = "The mixture was fitted in the units of the table; its ellipses are seen through the plane."
    return {"text": f"{parts}. {units}", "figure": _figure("mixture", _renamed(plot, analysis.naming), alt)}


def _renamed(plot: Any, naming: PageNaming) -> Any:
    """The figure with components called as on the page; figures call them groups."""
    noun = f"{naming.noun.capitalize()} "
    for trace in plot.data:
        for where in ("name", "hovertemplate"):
            trace[where] = trace[where].replace("Group ", noun) if trace[where] else None
    return plot


def groups(analysis: Analysis) -> dict[str, Any]:
    """Sizes of the groups, what sets each apart, and their means; of components where these are no groups."""
    naming = analysis.naming
    by_cluster = sorted(analysis.groups, key=lambda group: naming.clusters[group.number]) if naming.merged else None
    rows = [_group(analysis, group) for group in by_cluster or analysis.groups]
    names = [plain(name) for name in analysis.names]
    hidden = len(names) - SHOWN_COLUMNS
    return {
        "noun": naming.noun,
        "merged": bool(naming.merged),
        "text": headline.groups(analysis),
        "rows": rows,
        "names": names[:SHOWN_COLUMNS],
        "hidden": words.count(hidden, "column") if hidden > 0 else "",
        "sure": f"{SURE_PROBABILITY:.0%}",
        "empty": len(analysis.model.weights_) - len(rows),
    }


def _group(analysis: Analysis, group: RowGroup) -> dict[str, Any]:
    naming = analysis.naming
    return {
        "name": naming.component(group.number).capitalize(),
        "cluster": naming.cluster(naming.clusters[group.number]),
        "number": group.number,
        "rows": f"{group.rows:,}",
        "share": f"{group.share:.1%}",
        "width": round(100 * group.share, 1),
        "sure": f"{group.sure:.0%}",
        "apart": words.apart(group, analysis.names) if len(analysis.groups) > 1 else "all rows",
        "means": [words.number(float(value)) for value in group.mean[:SHOWN_COLUMNS]],
    }


def climb(analysis: Analysis) -> dict[str, Any]:
    """How the fit converged."""
    model = analysis.model
    state = "converged" if model.converged_ else "did not converge"
    n_init = analysis.selection.best_estimator_.n_init
    origin = f", from the best of {n_init} fits to the sample" if analysis.sampled else f", the best of {n_init} starts"
    text = f"The fit {state} after {words.count(model.n_iter_, 'pass', 'passes')} over the rows{origin}."
    return {"text": text, "figure": _figure("climb", convergence(model.history_), "Log-likelihood at each pass")}


def _figure(name: str, plot: Any, alt: str) -> Figure:
    """A figure with the caption that it carries itself."""
    return Figure(name, plot, str(plot.layout.meta["caption"]), alt)
