"""Which model suits the table: mixtures of its kinds of columns, compared by BIC, examined, fitted to all rows.

| columns | model |
|---|---|
| numbers alone | GaussianMixture; StudentMixture, or the log of skewed columns, where they describe the rows better |
| categories and yes/no alone | CategoricalMixture |
| anything else | MixedMixture |

Missing cells are used as they are: EM on what is there. Up to 20,000 rows everything is fitted to all of them. Beyond,
the comparison runs on a reproducible sample, and the winner is then fitted to all rows, from where the sample left it,
and examined again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from unveil.certificate import FitWarning
from unveil.judgement.examine import examine
from unveil.reporting.study.rows import ModelRows
from unveil.reporting.study.settings import Settings
from unveil.selection.judged import STRONG, Judged, number_of_groups
from unveil.selection.outcome import Selection
from unveil.selection.search import select
from unveil.sources.errors import DataError

ROWS_PER_GROUP = 5  # there are never so many groups that fewer rows than this are left for each
STARTS_EACH = 5  # of a model, the best of which counts: a single one ends in a poor optimum too often
VARIANCE_FLOOR = 1e-10  # of the variance of the narrowest column: small, so that groups far apart may still be narrow
STRUCTURES = ("full", "tied", "diag", "spherical")
LINE_STRUCTURES = ("full", "tied")  # of one column; the others coincide with these
MIXED_STRUCTURES = ("full", "tied", "diag")  # beside columns of other kinds, which are independent anyway
CELLS_PER_PARAMETER = 5  # of one component: a covariance of more parameters than that is not tried
MIXED_SAMPLE = 5_000  # rows that mixtures of other kinds, or with holes, are compared on, since a pass takes longer
COMPARING = 0.6  # share of a time limit that the comparison may take


class Modelled(NamedTuple):
    """The model of a table, the rows as it sees them, and what was compared to find it."""

    rows: ModelRows  # transformed as the model takes them
    sampled: int  # rows that models were compared on
    selection: Selection
    model: Any
    judged: Judged
    adopted: str  # what another kind of model is, in words, where it took the place of the winner by BIC


def modelled(rows: ModelRows, settings: Settings) -> Modelled:
    """Compare, choose, fit to all rows, examine."""
    if not rows.names:
        raise DataError("no column is left to model")
    sample = rows.sample(_compared_rows(rows, settings), settings.seed)
    outcome = compared(sample, settings)
    model, judged, adopted = outcome.best_estimator_, outcome.judged, ""
    better = judged.alternatives[0] if judged.alternatives else None
    if better is not None and better.gain > STRONG:
        adopted, model = better.words, better.model
        rows = rows.logged(tuple(rows.names[j] for j in better.logged))
        if not rows.of_numbers:
            model.feature_names_in_ = np.array(rows.names, dtype=object)  # it was tried on bare rows
    if adopted or sample.n_rows < rows.n_rows:
        settings.tell("fitting the best model to all rows")
        model = refitted(model, rows, settings)
        judged = examined(model, rows, judged)
    return Modelled(rows, sample.n_rows, outcome, model, judged, adopted)


def _compared_rows(rows: ModelRows, settings: Settings) -> int:
    """Rows that models are compared on, where there are more."""
    plain = rows.of_numbers and not np.isnan(rows.coded).any()
    return settings.sample_rows if plain else min(settings.sample_rows, MIXED_SAMPLE)


def compared(rows: ModelRows, settings: Settings) -> Selection:
    """Mixtures of every size and structure that the rows can carry."""
    model, grid = candidates(rows, settings)
    total, done = int(np.prod([len(values) for values in grid.values()])), count(1)

    def tell(row: dict[str, Any]) -> None:
        settings.tell("comparing mixtures", next(done), total)

    with settings.clock.within(COMPARING), quiet():
        outcome = select(model, rows.model_input, grid, criterion="bic", sample_weight=rows.weights, callbacks=[tell])
    if outcome.undone:
        settings.clock.cut.append(f"{outcome.undone} of {total} mixtures were not tried")
    return outcome


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
    width = len(rows.numeric)
    if width == 1:
        return LINE_STRUCTURES
    dense = width * (width + 1) / 2 * CELLS_PER_PARAMETER <= rows.n_rows * width
    return usual if dense else tuple(one for one in usual if one not in ("full", "tied"))


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
    with settings.clock.within(COMPARING), quiet():
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
