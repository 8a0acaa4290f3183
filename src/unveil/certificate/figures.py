"""What the parameters of a fit say of it, from figures that whoever fitted it has computed.

| figure | what it is |
|---|---|
| stationarity | norm of the gradient of the mean log-likelihood at the end, in scale-free coordinates |
| smallest_eigenvalue, largest_eigenvalue | of the covariances of all components |
| condition | largest ratio of such eigenvalues within one component |
| smallest_probability | distance of the most extreme probability from 0 or 1 |
| smallest_rate, largest_rate | of counts or of waiting times |
| smallest_dof | fewest degrees of freedom, of a Student component |
| overlap, overlap_of, overlap_with | largest chance that a row of one component is taken for another; which two |
| observations_per_parameter | weight of all rows over the number of free parameters |
| cells_per_parameter | the same with every cell of a row counted |
| components | how many there are, where each has parameters of its own |
| dense | 1 where a component knows of how columns go together, 0 where it takes each by itself |

Those that are not known are left out; an overlap that is not a number was too costly to estimate. A good fit may well
have notes. Only what really speaks against a fit is a warning, since a warning reaches the user as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from math import isfinite, isnan

from unveil.certificate.certificate import Finding
from unveil.core.result import History, Status

Figures = Mapping[str, float]

STATIONARY = 1e-2  # in coordinates of unit information one pass gains norm^2 / 2 per row: 5e-5 here, less than any tol
ASTRAY = 1.0  # and half a nat for every row here, hundreds of times the usual tol: that is not where a fit may end
GAP = 1e-9  # log-likelihood less free energy, as a share of its size, above which q is not the posterior
NEGATIVE = -1e-10  # an eigenvalue below this share of the largest is no rounding: the matrix is no covariance
ILL_CONDITIONED = 1e8  # solving with such a covariance costs half of the sixteen digits
EDGE = 1e-9  # a cell with less probability than this all but rules a component out by itself
NO_VARIANCE, NO_MEAN = 2.0, 1.0  # degrees of freedom at which a Student distribution loses them
OVERLAPPING = 0.25  # a row in four is taken for another's: the two may well be one group
FEW = 5.0  # rows per parameter: the usual rule of thumb
TOO_FEW_CELLS = 1.0  # per parameter: with fewer numbers than parameters some are made up. Rows would be too strict: a
#                      mixture of wide rows of independent columns is sound, since each cell tells of its own column
HALF_A_ROW, FEW_CELLS = 0.5, 4.0  # per parameter, of matrices: covariances of 10 columns from 25 rows each are off by
#                                   a factor of 20 between two directions, and lose an eighth of a nat for every cell
TWO_ROWS, SOME_CELLS = 2.0, 5.0  # per parameter: below both, what is held out scores a tenth of a nat a cell worse
TWO_CELLS = (
    2.0  # per parameter of components, with less than half a row: of columns by themselves each component has two
)
#                  rows for a parameter, and what is held out scores a quarter of a nat a cell worse
AT_LEAST_CELLS = 1.5  # per parameter of any model, be it held by a prior: hardly more numbers than parameters


def judge(figures: Figures, history: History, excuse: str | None = None) -> Iterator[Finding]:
    """Findings for the figures that are there."""
    return chain(
        _stationarity(figures, history, excuse),
        _observations(figures),
        _eigenvalues(figures),
        _condition(figures),
        _probability(figures),
        _rates(figures),
        _dof(figures),
        _overlap(figures),
    )


def _stationarity(figures: Figures, history: History, excuse: str | None) -> Iterator[Finding]:
    """A gradient that does not vanish: why that may be, or that nothing explains it."""
    norm = figures.get("stationarity")
    if norm is None or not isfinite(norm) or history.status is Status.STREAMING:
        return  # the gradient over one batch of a stream never vanishes
    gradient = f"the gradient of the mean log-likelihood has norm {norm:.2g}"
    if norm <= STATIONARY:
        yield Finding("stationarity", "fine", f"{gradient}: a stationary point", norm)
        return
    reason = _pull(history, excuse)
    if reason is None and excuse is None and norm > ASTRAY:
        yield Finding("stationarity", "warning", f"{gradient}: far from a stationary point", norm, remedy="lower tol")
    else:
        yield Finding("stationarity", "note", f"{gradient}: {reason or 'near a stationary point, not at it'}", norm)


def _pull(history: History, excuse: str | None) -> str | None:
    """What keeps a fit from a stationary point of the likelihood, if anything is known to."""
    events = history.events
    reasons = (
        (history.status is not Status.CONVERGED, "it was still climbing"),
        (excuse is not None and not events.get("reseeded"), excuse),  # a new place is no reason to stop short
        (bool(events.get("floored")), "a floor holds a component back"),
        (_has_gap(history), "q was not the posterior, so another bound was climbed"),
        (not history.monotone, "the schedule settles near an optimum, not at it"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _has_gap(history: History) -> bool:
    """Whether the last free energy was below the log-likelihood."""
    return bool(history) and bool(history[-1].gap > GAP * max(abs(history[-1].log_likelihood), 1.0))


def _observations(figures: Figures) -> Iterator[Finding]:
    ratio = figures.get("observations_per_parameter")
    if ratio is None or not isfinite(ratio):
        return
    cells, rows = figures.get("cells_per_parameter", ratio), f"{ratio:.3g} rows per free parameter"
    least = FEW_CELLS if figures.get("dense", 0.0) > 0 else TWO_CELLS if "components" in figures else TOO_FEW_CELLS
    scarce = ratio < HALF_A_ROW and cells < least
    remedy = "ask for fewer components or a simpler model"
    if cells < TOO_FEW_CELLS or scarce:
        severity, message = "warning", f"{rows}: more parameters than the rows support"
    elif cells < AT_LEAST_CELLS or ("components" in figures and ratio < TWO_ROWS and cells < SOME_CELLS):
        severity, message = "doubt", f"only {rows}: other rows would give another fit"
    elif ratio < FEW:
        severity, message, remedy = "note", f"only {rows}: expect the fit to change with the sample", ""
    else:
        severity, message, remedy = "fine", rows, ""
    yield Finding("observations_per_parameter", severity, message, ratio, kind="rows_per_parameter", remedy=remedy)


def _eigenvalues(figures: Figures) -> Iterator[Finding]:
    """The range of variances along principal axes; only a matrix that is no covariance speaks against the fit."""
    smallest, largest = figures.get("smallest_eigenvalue"), figures.get("largest_eigenvalue")
    if smallest is None or largest is None or not (isfinite(smallest) and isfinite(largest)):
        return
    lie = f"variances along principal axes lie between {max(smallest, 0.0):.3g} and {largest:.3g}"
    if smallest > 0:
        yield Finding("eigenvalues", "fine", lie, smallest)
    elif smallest >= NEGATIVE * largest:
        yield Finding("eigenvalues", "note", f"{lie}; the smallest is lost in rounding", smallest)
    else:
        yield Finding("eigenvalues", "warning", f"a covariance has the negative eigenvalue {smallest:.3g}", smallest)


def _condition(figures: Figures) -> Iterator[Finding]:
    """A note at most: columns in very different units are no fault of the fit."""
    condition = figures.get("condition")
    if condition is None or isnan(condition):
        return
    number = f"the condition number of a covariance is {condition:.2g}"
    if 0 < condition <= ILL_CONDITIONED:  # where the smallest eigenvalue is lost in rounding it may be negative
        yield Finding("condition", "fine", f"{number} at most", condition)
    else:
        why = "columns in very different units, or nearly dependent"
        yield Finding("condition", "note", f"{number}: {why}", finite(condition))


def _probability(figures: Figures) -> Iterator[Finding]:
    edge = figures.get("smallest_probability")
    if edge is None or not isfinite(edge):
        return
    if edge < EDGE:
        message = "a probability is all but 0 or 1: one cell rules a component out"
        yield Finding("smallest_probability", "note", message, edge)
    else:
        yield Finding("smallest_probability", "fine", f"the smallest probability is {edge:.2g}", edge)


def _rates(figures: Figures) -> Iterator[Finding]:
    """Nothing to judge: a rate of any size may be right."""
    smallest, largest = figures.get("smallest_rate"), figures.get("largest_rate")
    if smallest is not None and largest is not None and isfinite(smallest) and isfinite(largest):
        yield Finding("rates", "fine", f"rates lie between {smallest:.3g} and {largest:.3g}", smallest)


def _dof(figures: Figures) -> Iterator[Finding]:
    dof = figures.get("smallest_dof")
    if dof is None or isnan(dof):
        return
    fewest = f"the heaviest tails have {dof:.3g} degrees of freedom"
    if dof > NO_VARIANCE:
        yield Finding("smallest_dof", "fine", fewest, finite(dof))
    else:
        lost = "mean" if dof <= NO_MEAN else "variance"
        yield Finding("smallest_dof", "note", f"{fewest}: that component has no {lost}", finite(dof))


def _overlap(figures: Figures) -> Iterator[Finding]:
    share = figures.get("overlap")
    if share is None:
        return
    if not isfinite(share):
        message = "overlap was not estimated: too many components or columns to do it at little cost"
        yield Finding("overlap", "note", message)
    elif share > OVERLAPPING:
        yield Finding("overlap", "note", f"{_taken(figures, share)}: the two may be one", share)
    else:
        yield Finding("overlap", "fine", f"components overlap by {_at_most(share)}", share)


def _taken(figures: Figures, share: float) -> str:
    """Which component is taken for which, where that is known."""
    if "overlap_of" not in figures or "overlap_with" not in figures:
        return f"{_percent(share)} of the rows of a component would be taken for another's"
    one, other = int(figures["overlap_of"]), int(figures["overlap_with"])
    return f"{_percent(share)} of the rows of component {one} would be taken for component {other}'s"


def _percent(share: float) -> str:
    """Two digits are as many as can be told."""
    return f"{100.0 * share:.2g}%" if share < 0.995 else "all"


def _at_most(share: float) -> str:
    return f"at most {_percent(share)}" if share >= 1e-3 else "less than 0.1%"


def finite(value: float) -> float | None:
    """A number that a file can hold; None where there is none."""
    return value if isfinite(value) else None
