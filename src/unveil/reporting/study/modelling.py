"""Which model suits the table: mixtures of its kinds of columns, compared by BIC, examined, fitted to all rows.

| columns | model |
|---|---|
| numbers alone | GaussianMixture; StudentMixture, or the log of skewed columns, where they describe the rows better |
| categories and yes/no alone | CategoricalMixture |
| anything else | MixedMixture |

Missing cells are used as they are: EM on what is there. Up to 20,000 rows everything is fitted to all of them. Beyond,
the comparison runs on a reproducible sample, and the winner is then fitted to all rows, from where the sample left it,
and examined again. Tables of very many columns are also seen along their widest directions (`directions`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unveil.certificate import FitWarning
from unveil.core.result import Status
from unveil.judgement.examine import examine
from unveil.reporting.study.directions import along_directions, begun_from
from unveil.reporting.study.rows import ModelRows
from unveil.reporting.study.settings import Settings
from unveil.selection.judged import STRONG, Judged, judged, number_of_groups
from unveil.selection.outcome import Selection
from unveil.selection.search import compare
from unveil.sources.errors import DataError

ROWS_PER_GROUP = 5  # there are never so many groups that fewer rows than this are left for each
STARTS_EACH = 5  # of a model, the best of which counts: a single one ends in a poor optimum too often
VARIANCE_FLOOR = 1e-10  # of the variance of the narrowest column: small, so that groups far apart may still be narrow
STRUCTURES = ("full", "tied", "diag", "spherical")
LINE_STRUCTURES = ("full", "tied")  # of one column; the others coincide with these
MIXED_STRUCTURES = ("full", "tied", "diag")  # beside columns of other kinds, which are independent anyway
CELLS_PER_PARAMETER = 5  # of one component: a covariance of more parameters than that is not tried
MIXED_SAMPLE = 5_000  # rows that mixtures of other kinds, or with holes, are compared on, since a pass takes longer
FIRST_LOOK = 1_000  # rows that mixtures are compared on first where there is a time limit: there is an answer then
LEAST_LEFT = 0.3  # of a time limit, for the best model to be fitted to all rows
COMPARING, REFITTING = 0.5, 0.4  # shares of what is left of a time limit that the comparison and the last fit may take


class Modelled(NamedTuple):
    """The model of a table, the rows as it sees them, and what was compared to find it."""

    rows: ModelRows  # transformed as the model takes them
    sampled: int  # rows that models were compared on
    selection: Selection
    model: Any
    judged: Judged
    adopted: str  # what another kind of model is, in words, where it took the place of the winner by BIC
    directions: int = 0  # along which the groups were found that the model began with, where it took that place

    @property
    def is_winner(self) -> bool:
        """Is the model the best of the comparison by BIC?"""
        return not (self.adopted or self.directions)


def modelled(rows: ModelRows, settings: Settings) -> Modelled:
    """Compare, choose, fit to all rows, examine."""
    if not rows.names:
        raise DataError("no column is left to model")
    sample, outcome = _compared_in_time(rows, settings)
    model, judged, adopted = outcome.best_estimator_, outcome.judged, ""
    better = judged.alternatives[0] if judged.alternatives else None
    if better is not None and better.gain > STRONG:
        adopted, model = better.words, better.model
        rows = rows.logged(tuple(rows.names[j] for j in better.logged))
        if not rows.of_numbers:
            model.feature_names_in_ = np.array(rows.names, dtype=object)  # it was tried on bare rows
    if adopted or sample.n_rows < rows.n_rows:
        found = _refitted_in_time(model, rows, sample.n_rows, settings, bool(adopted))
        if found is not None:
            model, judged = found, examined(found, rows, judged)
    found = Modelled(rows, sample.n_rows, outcome, model, judged, adopted)
    return _with_groups_along_directions(found, settings) if is_wide(rows) else found


def is_wide(rows: ModelRows) -> bool:
    """Are there so many columns of numbers that the comparison is of components along the columns alone?"""
    return rows.of_numbers and len(rows.names) > 1 and not _carries_matrices(rows)


def _with_groups_along_directions(found: Modelled, settings: Settings) -> Modelled:
    """The same, or a mixture that begins with groups that only the widest directions show."""
    if not settings.clock.allows(LEAST_LEFT, "groups along the widest directions were not looked for"):
        return found
    settings.tell("looking along the widest directions")
    with quiet():
        directed = along_directions(found.rows, settings)
        if directed is None or directed.n_groups <= (found.judged.n_clusters or 1):
            return found
        model = begun_from(directed, candidates(found.rows, settings)[0], found.rows)
        if model is None:
            return found
        judged = examined(model, found.rows, found.judged)
    if judged.n_clusters != directed.n_groups:
        return found
    return found._replace(model=model, judged=judged, adopted="", directions=directed.n_directions)


def _refitted_in_time(model: Any, rows: ModelRows, sampled: int, settings: Settings, needed: bool) -> Any:
    """The model fitted to all rows; None where there is no time for it, unless it is `needed`."""
    said = f"the model was fitted to {sampled:,} of {rows.n_rows:,} rows"
    if not needed and not settings.clock.allows(LEAST_LEFT, said):
        return None
    settings.tell("fitting the best model to all rows")
    found = refitted(model, rows, settings)
    if needed or found.history_.status is not Status.INTERRUPTED:
        return found
    settings.clock.cut.append(said)
    return None


def _compared_in_time(rows: ModelRows, settings: Settings) -> tuple[ModelRows, Selection]:
    """The rows that mixtures were compared on, and what came of it; with a time limit, on few rows first."""
    clock = settings.clock
    sample = rows.sample(_compared_rows(rows, settings), settings.seed)
    if clock.limit is None or sample.n_rows <= 2 * FIRST_LOOK:
        return sample, compared(sample, settings)
    few, left = rows.sample(FIRST_LOOK, settings.seed), clock.left()
    outcome = compared(few, settings)
    more = (left - clock.left()) * sample.n_rows / few.n_rows
    if outcome.undone or more > COMPARING * clock.left():
        clock.cut.append(f"mixtures were compared on {few.n_rows:,} rows, not {sample.n_rows:,}")
        return few, outcome
    return sample, compared(sample, settings)


def _compared_rows(rows: ModelRows, settings: Settings) -> int:
    """Rows that models are compared on, where there are more."""
    plain = rows.of_numbers and not np.isnan(rows.coded).any()
    return settings.sample_rows if plain else min(settings.sample_rows, MIXED_SAMPLE)


def compared(rows: ModelRows, settings: Settings) -> Selection:
    """Mixtures of every size and structure that the rows can carry."""
    model, grid = candidates(rows, settings)
    total, done = int(np.prod([len(values) for values in grid.values()])), Done()

    def tell(row: dict[str, Any]) -> None:
        done.one_more(row)
        settings.tell("comparing mixtures", done.tried, total)

    with settings.clock.within(COMPARING, done.some), quiet():
        outcome = compare(model, rows.model_input, grid, "bic", rows.weights, [tell])
        said = judged(outcome.best_estimator_, rows.model_input, rows.weights, outcome.grid, adopting=True)
        outcome = replace(outcome, judged=said)
    if outcome.undone:
        settings.clock.cut.append(f"{outcome.undone} of {total} mixtures were not tried")
    return outcome


class Done:
    """How many models were tried so far, and whether one of them could be fitted."""

    def __init__(self) -> None:
        self.tried = self.fitted = 0

    def one_more(self, row: Mapping[str, Any]) -> None:
        """Count a model, by its row of the table."""
        self.tried += 1
        self.fitted += row["error"] is None

    def some(self) -> bool:
        """Is there a model to keep?"""
        return self.fitted > 0


def candidates(rows: ModelRows, settings: Settings) -> tuple[Any, dict[str, tuple[Any, ...]]]:
    """A model of the kinds of columns there are, and what of it is to be tried."""
    import unveil

    shared: dict[str, Any] = {"n_init": STARTS_EACH, "random_state": settings.seed, "engine": settings.engine}
    grid: dict[str, tuple[Any, ...]] = {"n_components": tuple(range(1, most_components(rows, settings) + 1))}
    if rows.discrete:
        return unveil.CategoricalMixture(**shared), grid
    narrowest = _narrowest(rows)
    shared["reg_covar"] = VARIANCE_FLOOR * narrowest**2
    if rows.of_numbers:
        grid["covariance_type"] = structures(rows, settings, STRUCTURES)
        return unveil.GaussianMixture(tol=1e-5, max_iter=500, **shared), grid
    if len(rows.numeric):
        grid["covariance_type"] = structures(rows, settings, MIXED_STRUCTURES)
    families = dict(zip(rows.names, rows.kinds, strict=True))
    return unveil.MixedMixture(families=families, max_iter=500, **shared), grid


def structures(rows: ModelRows, settings: Settings, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Covariance structures to compare: those asked for, or the usual ones that there are rows enough for."""
    if settings.covariance_types is not None:
        return settings.covariance_types
    if len(rows.numeric) == 1:
        return LINE_STRUCTURES
    return usual if _carries_matrices(rows) else tuple(one for one in usual if one not in ("full", "tied"))


def _carries_matrices(rows: ModelRows) -> bool:
    """Are there cells enough for a covariance matrix of all columns of numbers?"""
    width = len(rows.numeric)
    return width * (width + 1) / 2 * CELLS_PER_PARAMETER <= rows.n_rows * width


def most_components(rows: ModelRows, settings: Settings) -> int:
    """The largest number of components to try: no more than rows that differ can carry."""
    looked_at = np.nan_to_num(rows.coded[: settings.max_components * ROWS_PER_GROUP * 200], nan=-1e300)
    return max(1, min(settings.max_components, len(np.unique(looked_at, axis=0)) // ROWS_PER_GROUP))


def _narrowest(rows: ModelRows) -> float:
    """The least standard deviation of a column of numbers; 1 where there is none."""
    spreads = np.nanstd(rows.coded[:, rows.numeric], axis=0)
    spreads = spreads[spreads > 0]
    return float(spreads.min()) if len(spreads) else 1.0


def refitted(best: Any, rows: ModelRows, settings: Settings) -> Any:
    """A model fitted to all rows, from where the sample left it."""
    from sklearn.base import clone

    start: Mapping[str, Any]
    if hasattr(best, "precisions_"):
        start = {"weights_init": best.weights_, "means_init": best.means_, "precisions_init": best.precisions_}
    else:
        start = {"responsibilities_init": np.concatenate([best.predict_proba(here) for _, here in rows.blocks()])}
    taken = best.get_params()
    model = clone(best).set_params(n_init=1, **{name: value for name, value in start.items() if name in taken})
    with settings.clock.within(REFITTING), quiet():
        model.fit(rows.model_input, sample_weight=rows.weights)
    return model.set_params(**dict.fromkeys((name for name in start if name in taken), None))


def examined(model: Any, rows: ModelRows, before: Judged) -> Judged:
    """The model of all rows, examined."""
    certificate = examine(model, rows.model_input, sample_weight=rows.weights)
    model.clusters_ = np.array(certificate.clusters, dtype=np.intp)
    return before._replace(certificate=certificate, n_clusters=number_of_groups(certificate))


@contextmanager
def quiet() -> Iterator[None]:
    """What fits warn of is in the certificate, which the report shows."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FitWarning)
        yield
