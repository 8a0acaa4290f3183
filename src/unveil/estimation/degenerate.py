"""Fits whose likelihood is an artefact: a component without spread, or on too few rows to have one.

A Gaussian that sits on rows with equal values (rounded measurements, say) has a variance of nothing but the
regulariser, and a likelihood that is as large as the regulariser is small: it wins every comparison and means nothing
(Day, Estimating the components of a mixture of normal distributions, 1969). One that sits on as few rows as it takes to
span it is hardly better: a few rows that happen to lie close together, or in a plane (McLachlan and Peel, Finite
mixture models, 2000, section 3.10). Nor is one on rows of a single value of a rounded column, to which a shared shape
leaves some spread: rounding to steps of h alone makes a variance of h²/12 (Sheppard, 1898), and what is narrower is an
artefact of the rounding. The certificate of a fit holds what is found here; `select` passes such fits over as long as
there is another.

Only what a component has for itself can degenerate: where all share one covariance, a component may stand on one row.
The other families have no spread to lose, but a component on a row or two is those rows, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from unveil.certificate import Finding
from unveil.certificate.checks import NEARLY_EMPTY
from unveil.certificate.figures import ILL_CONDITIONED
from unveil.core.arrays import Floats
from unveil.estimation.registry import STRUCTURES, lookup

REGULARISED = 2.0  # times the regulariser: half or more of such a variance is not the data's
LOST = 2e-13  # of the variance of its column: what is left of a matrix of no full rank after rounding and its floor
NARROW = 0.01  # of the variance of its column: a component within one step of a column that has many
PART = 0.5  # of a row: counts are sums of responsibilities, a little above or below whole rows
ROWS_PER_COLUMN = 10.0  # at which the axes of a covariance are known to a third: more rows are enough, however many
#                         parameters it has
HARDLY, SMALL_UNITS = 0.01, 100.0  # times the regulariser: a variance below is none, and from there on it is the data's
EDGE = 1e-6  # distance of a probability from 0 or 1, or of a rate from 0, that no number of rows would tell from none
PRIORS = (
    "prior_",
    "rate_prior",
    "emissionprob_prior",
    "probability_prior",
)  # of what components emit, where there is one
FEWER = "ask for fewer components"
SHARED = f"{FEWER}, one covariance for all (covariance_type='tied'), or leave out columns that depend on others"


class Spread(NamedTuple):
    """Centres and covariances, or scale matrices, of all components over some columns."""

    means: Floats  # (k, d)
    variances: Floats  # of the columns, (k, d)
    matrices: Floats | None  # (k, d, d), where they turn against the columns

    def along_axes(self, units: Floats) -> Floats:
        """Variances along the axes of each component, ascending, (k, d), with columns measured in `units`."""
        if self.matrices is None:
            return np.sort(self.variances / units**2, axis=1)
        return np.asarray(np.linalg.eigvalsh(self.matrices / (units[..., :, None] * units[..., None, :])))


def steps_of(X: Any) -> Floats | None:
    """The smallest difference between two values of each column; None where `X` is no array or frame of numbers.

    >>> steps_of([[1.0, 0.5], [3.0, 0.5], [2.0, 0.75]]).tolist()
    [1.0, 0.25]
    """
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if rows.ndim != 2:
        return None
    gaps = (np.diff(np.unique(column[np.isfinite(column)])) for column in rows.T)
    return np.array([gap.min(initial=np.inf) if len(gap) else 0.0 for gap in gaps])


def degeneracy(model: Any, steps: Floats | None = None) -> str | None:
    """Why a fitted model is degenerate; None where it is not, or where nothing in it can be.

    `steps` are those of the columns that the model was fitted to, where they are known.
    """
    history = getattr(model, "history_", None)
    if not (hasattr(model, "_emission") or hasattr(model, "covariance_type")):
        return None
    counts = _shares(model) * history[-1].weight if history else None
    findings = (*degenerate_findings(model, counts), *narrow_findings(model, steps))
    return next((finding.message for finding in findings if finding.severity == "warning"), None)


def degenerate_findings(
    model: Any, counts: Floats | None = None, figures: Mapping[str, float] | None = None
) -> Iterator[Finding]:
    """What speaks against the components of a mixture or the states of a chain: no spread, or too few rows.

    `counts` are the rows that each stands for, where they are known. `figures` are those of the certificate; where they
    say that all components are wide, matrices are not looked at.
    """
    structure = _structure(model)
    if structure is not None and not _is_wide(model, figures or {}):
        for spread in _spreads(model, structure):
            yield from _flat(model, spread)
    if counts is not None and len(counts) and np.all(np.isfinite(counts)):
        yield from _support(model, structure, np.asarray(counts, dtype=np.float64).ravel())


def narrow_findings(model: Any, steps: Floats | None) -> Iterator[Finding]:
    """What the rounding of the columns says of the spread of components."""
    structure = _structure(model)
    if structure is not None and steps is not None:
        for spread in _spreads(model, structure):
            yield from _within_a_step(model, spread, steps)


def _structure(model: Any) -> Any:
    """How covariances are shared or restricted; None where there are none."""
    word = getattr(model, "covariance_type", None)
    return lookup(STRUCTURES[word])() if isinstance(word, str) and word in STRUCTURES else None


def _is_wide(model: Any, figures: Mapping[str, float]) -> bool:
    """Whether extreme eigenvalues alone say that no component is flat, and none lies askew."""
    smallest, largest = figures.get("smallest_eigenvalue", 0.0), figures.get("largest_eigenvalue", np.inf)
    reach = (
        largest + float(np.ptp(np.asarray(model.means_), axis=-2).max()) ** 2 if hasattr(model, "means_") else np.inf
    )
    skewed = figures.get("condition", np.inf) > ILL_CONDITIONED
    return bool(smallest > REGULARISED * model.reg_covar and smallest > LOST * reach and not skewed)


def _spreads(model: Any, structure: Any) -> Iterator[Spread]:
    """Of a Gaussian, of a Student, or of the numbers among columns of several kinds."""
    found = [(model.means_, getattr(model, name)) for name in ("covariances_", "scales_") if hasattr(model, name)]
    mixed = (params for _, _, params in getattr(model, "components_", ()))
    found += [(params.means, params.covariances) for params in mixed if hasattr(params, "covariances")]
    for centres, kept in found:
        means, covariances = (np.asarray(array, dtype=np.float64) for array in (centres, kept))
        if means.ndim == 3:  # states that are mixtures themselves: each Gaussian of each
            means = means.reshape(-1, means.shape[-1])
            covariances = covariances.reshape(structure.shape(*means.shape))
        if covariances.shape == structure.shape(*means.shape):  # a family of the user's own may keep others
            matrices = structure.dense(covariances, *means.shape) if structure.has_matrices else None
            yield Spread(means, np.asarray(structure.columns(covariances, *means.shape)), matrices)


def _shares(model: Any) -> Floats:
    """Share of the rows of each component; of the steps of each state, where rows are steps."""
    if not hasattr(model, "occupancy_"):
        return np.asarray(model.weights_, dtype=np.float64)
    states, within = model.occupancy_, getattr(model, "weights_", None)
    return np.asarray(states if within is None else (states[:, None] * within).ravel(), dtype=np.float64)


def _variances(model: Any, spread: Spread) -> Floats:
    """Variance of each column over all components."""
    shares = _shares(model)
    within = shares @ spread.variances
    return np.asarray(within + shares @ (spread.means - shares @ spread.means) ** 2)


def _flat(model: Any, spread: Spread) -> Iterator[Finding]:
    """A component with nothing of its own in some direction: the regulariser, or what rounding left."""
    variances = _variances(model, spread)
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    own = spread.along_axes(np.ones_like(unit))
    flat = (own <= REGULARISED * model.reg_covar) | (spread.along_axes(unit) <= LOST)
    if not flat.any():
        yield from _askew(spread)
        return
    if _in_small_units(model, variances):
        yield _held(model, float(own.min()))
        return
    if model.reg_covar > 0 and np.all(variances <= REGULARISED * model.reg_covar):
        message = f"no column varies by as much as reg_covar={model.reg_covar:g}, which is all the spread that there is"
        remedy = "ask for fewer components, or, if rows differ, scale the columns or lower reg_covar"
        yield Finding("spread", "warning", message, float(own.min()), kind="point", remedy=remedy)
        return
    full = flat.all(axis=1)
    worst = int(np.argmin(np.where(flat.any(axis=1), own[:, 0] - full * own.max(), np.inf)))
    point = bool(full[worst])
    where = "at all" if point else "in some direction"
    message = f"component {worst} has no spread {where} (variance {max(own[worst, 0], 0.0):.3g})"
    still = _constant(model, variances)
    remedy = FEWER if point else "leave such columns out, or measure them in smaller units" if still else SHARED
    kind = "point" if point else "line"
    yield Finding("spread", "warning", message + still, float(own[worst, 0]), kind=kind, remedy=remedy)


def _in_small_units(model: Any, variances: Floats) -> bool:
    """Whether all columns vary, but by so little that the regulariser is what is seen."""
    beyond = variances - model.reg_covar
    return bool(np.all((beyond > HARDLY * model.reg_covar) & (beyond < SMALL_UNITS * model.reg_covar)))


def _held(model: Any, variance: float) -> Finding:
    """Columns that are measured in units too large."""
    message = (
        f"reg_covar={model.reg_covar:g} is not small against the variance of any column, and widens all components"
    )
    return Finding("spread", "doubt", message, variance, kind="floor", remedy="lower reg_covar, or scale the columns")


def _constant(model: Any, variances: Floats) -> str:
    """Which columns do not vary in any component."""
    still = np.flatnonzero(variances <= REGULARISED * model.reg_covar)
    names = getattr(model, "feature_names_in_", None)
    if not len(still) or len(still) == len(variances) or (names is not None and len(names) != len(variances)):
        return ""
    said = ", ".join(str(column) if names is None else repr(names[column]) for column in still[:5])
    return f": column{'s' if len(still) > 1 else ''} {said} hardly var{'y' if len(still) > 1 else 'ies'}"


def _askew(spread: Spread) -> Iterator[Finding]:
    """Columns that all but depend on each other within a component, whatever their units."""
    if spread.matrices is None:
        return
    values = spread.along_axes(np.sqrt(spread.variances))
    with np.errstate(divide="ignore"):
        condition = np.max(values[:, -1] / np.maximum(values[:, 0], 0.0), axis=0)
    if condition > ILL_CONDITIONED:
        number = f"the condition number of a correlation matrix is {condition:.2g}"
        message = f"{number}: columns that all but depend on each other cost half of the digits"
        value = float(condition) if np.isfinite(condition) else None
        yield Finding("condition", "doubt", message, value, kind="conditioning", remedy="leave out columns")


def _within_a_step(model: Any, spread: Spread, steps: Floats) -> Iterator[Finding]:
    """A component with less variance in a column than rounding makes by itself, where all rows have far more."""
    if len(steps) != spread.means.shape[1]:
        return
    limit = np.minimum(steps**2 / 12.0, NARROW * _variances(model, spread))
    narrow = spread.variances < limit
    if not narrow.any():
        return
    component, column = (int(place) for place in np.argwhere(narrow)[0])
    message = f"component {component} is narrower than the steps of {steps[column]:.3g} in which a column is rounded"
    variance = float(spread.variances[component, column])
    yield Finding("rounded", "warning", message, variance, kind="rounding", remedy=SHARED)


# -- rows of a component -----------------------------------------------------------------------------------------------


def _support(model: Any, structure: Any, counts: Floats) -> Iterator[Finding]:
    """The component that stands for the fewest rows, against those that it takes; a prior stands in for rows."""
    span, enough = _rows_needed(model, structure)
    smallest = int(np.argmin(counts))
    rows = float(counts[smallest])
    said = f"{rows:.3g} row{'' if 0.995 <= rows < 1.005 else 's'}"
    only, held = f"component {smallest} stands for only {said}", _is_held(model)
    if rows < span + PART and not held:
        message = (
            f"{only}, too few to tell its spread" if structure is not None else f"{only}: it is those, and no more"
        )
        yield Finding("support", "warning", message, rows, kind="few_rows", remedy=FEWER)
    elif rows < NEARLY_EMPTY and _at_edges(model, smallest):
        message = f"{only}, and is certain of every cell of them"
        yield Finding("support", "warning", message, rows, kind="point", remedy=FEWER)
    elif rows < enough:
        yield Finding("support", "doubt", f"{only}, too few for its parameters", rows, kind="few_rows", remedy=FEWER)
    else:
        yield Finding("support", "fine", f"the smallest component stands for {rows:.6g} rows", rows)


def _is_held(model: Any) -> bool:
    """Whether a prior says what a component without rows is."""
    return any(getattr(model, name, None) is not None for name in PRIORS)


def _rows_needed(model: Any, structure: Any) -> tuple[float, float]:
    """Rows on which a component is an artefact, and rows that are enough for what it has for itself."""
    if structure is None:
        return 1.0, NEARLY_EMPTY
    n_columns = int(np.shape(model.means_)[-1]) if hasattr(model, "means_") else _numbers(model)
    span = _span(structure, n_columns)
    if span < n_columns or n_columns < 2:
        return float(span), NEARLY_EMPTY
    own = n_columns + structure.n_parameters(2, n_columns) - structure.n_parameters(1, n_columns)
    return float(span), max(min(float(own), ROWS_PER_COLUMN * n_columns), NEARLY_EMPTY)


def _numbers(model: Any) -> int:
    """Columns that are numbers, among columns of several kinds."""
    groups = (params.means for _, _, params in getattr(model, "components_", ()) if hasattr(params, "covariances"))
    return max((int(means.shape[-1]) for means in groups), default=0)


def _at_edges(model: Any, component: int) -> bool:
    """Whether a component is certain of all cells: probabilities of 0 and 1, or rates of 0."""
    tables = getattr(model, "probabilities_", None)
    if tables is None:
        rates = getattr(model, "rates_", getattr(model, "lambdas_", None))
        return rates is not None and bool(np.all(np.asarray(rates)[component] <= EDGE))
    tables = [tables] if isinstance(tables, np.ndarray) else tables
    return all(bool(np.all(np.minimum(table[component], 1.0 - table[component]) <= EDGE)) for table in tables)


def _span(structure: Any, n_columns: int) -> int:
    """Rows that may lie as close together, or as much in a plane, as chance will have it."""
    own = structure.n_parameters(2, n_columns) - structure.n_parameters(1, n_columns)
    if own == 0:
        return 0
    turns = own > 1 and structure.n_second(n_columns) > n_columns  # a shape or axes of its own, not along the columns
    return n_columns if turns else min(n_columns, 2)
