"""EM replayed: how the winning climb found its components, pass by pass."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from unveil.core.loop import unwatched
from unveil.core.snapshots import snapshots
from unveil.estimation.stages import from_afar
from unveil.plot.replayed import replay as replay_plot
from unveil.reporting.parts import Replay, Section
from unveil.reporting.study.analysis import Analysis
from unveil.reporting.study.modelling import quiet
from unveil.reporting.study.rows import ModelRows

MOST_COLUMNS = 64  # numbers of a model whose snapshots are kept: covariances of more would fill the memory
REPLAYED_ROWS = 3_000  # a climb is made again on so many rows at most
TELLING = 8  # passes: a shorter climb shows little
GOOD_START = "The start that was found is so good that EM had little left to do."


def replay(analysis: Analysis) -> Section | None:
    """The climb with a slider; nothing for one component, or for a model without columns of numbers."""
    model, rows = analysis.model, analysis.rows
    if len(model.weights_) < 2 or not 1 <= len(rows.numeric) <= MOST_COLUMNS:
        return None
    some = rows.sample(REPLAYED_ROWS, analysis.settings.seed)
    fitted, origin = _climb(analysis, some)
    if fitted is None:
        return None
    plot = replay_plot(fitted, some.model_input, names=rows.model_names)
    steps = [step["label"] for step in plot.layout.meta["steps"]]
    lead = (
        f"{origin} Each pass of EM first asks which component every row most likely belongs to, then moves the "
        "components to their rows; the free energy, a bound on how likely the rows are, never falls."
    )
    alt = "Components moving on the plane from pass to pass, and the free energy beside them"
    block = Replay("figure-replay", plot, alt, str(plot.layout.meta["caption"]), steps)
    return Section("replay", "EM replayed", lead, [block])


def _climb(analysis: Analysis, some: ModelRows) -> tuple[Any, str]:
    """The winning climb made again with snapshots, or one from a random start where its own was at the end at once."""
    again = clone(analysis.model).set_params(n_init=_starts(analysis))
    with unwatched(), snapshots(), quiet():
        again.fit(some.model_input, sample_weight=some.weights)
    sample = "" if some.n_rows == analysis.rows.n_rows else f" on a sample of {some.n_rows:,} rows"
    if again.n_iter_ < TELLING:
        given: dict[str, Any] = {} if some.weights is None else {"sample_weight": some.weights}
        far = from_afar(again, some.model_input, **given)
        if far is not None and far.n_iter_ > again.n_iter_:
            return far, f"{GOOD_START} Here it begins at random instead{sample}, and ends at the same place."
    won = again.n_iter_ == analysis.model.n_iter_ and not sample
    climb = "The climb that won" if won else f"A climb of the chosen mixture{sample}"
    return (again if again.history_.snapshots else None), f"{climb}, from its start to its end."


def _starts(analysis: Analysis) -> int:
    return int(analysis.found.selection.best_estimator_.n_init)
