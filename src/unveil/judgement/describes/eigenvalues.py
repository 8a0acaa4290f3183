"""Are principal directions there, and are they told apart?

Scale: a column of large numbers is the first component of covariances, whatever it has to do with others.
Equal eigenvalues: of n rows an eigenvalue l has standard error l sqrt(2 / n) (Anderson, Asymptotic theory for principal
component analysis, 1963). Where the last that is kept and the first that is not are equal,

    z = (log l_k - log l_(k+1)) / (2 / sqrt(n))

is about Rayleigh's, above 2.45 in 5% of tables: below that, which direction was kept is chance. If all are kept and all
are equal, no direction is any (Bartlett, A note on multiplying factors for various chi-squared approximations, 1954).
Chance: how many eigenvalues of the correlations are above those of columns that are shuffled (Horn, A rationale and
test for the number of factors in factor analysis, 1965; Buja and Eyuboglu, Remarks on parallel analysis, 1992).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Case
from unveil.judgement.describes.rows import Seen, covariance
from unveil.judgement.describes.words import LEVEL, column_name, said
from unveil.projections.pca.parallel import direction_variances, shuffled

PURPOSE = 15  # of the random numbers drawn here
APART = float(np.sqrt(-2.0 * np.log(LEVEL)))  # 2.45: of 5% of Rayleigh's
SURE = float(np.sqrt(-2.0 * np.log(0.001)))  # 3.7: of one in a thousand
SHUFFLES = 19  # whose largest is the 95% limit
SHARE = 0.9  # of all variance that a column must have to be suspected of its unit
OUTWEIGHS, LEANS = 10.0, 5.0  # times as wide as the median of the others
IS_COLUMN = 0.98  # loading of a component that is a column
SPLIT = 1e-12  # eigenvalues below this share of the largest are rounding


class Eigenvalues(NamedTuple):
    """Eigenvalues of what a projection looked at, falling; how many were kept; rows that they are of."""

    values: Floats
    kept: int
    rows: float


def spectrum_of(model: Any, seen: Seen, scaled: bool) -> Eigenvalues:
    """Of covariances, or of correlations."""
    matrix = covariance(seen)
    if scaled:
        unit = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        matrix = matrix / unit / unit[:, None]
    values = np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0)
    share = len(seen.places) / max(seen.n_rows, 1)
    return Eigenvalues(values, len(model.components_), seen.effective / max(share, 1e-300))


def scale_of(case: Case, seen: Seen) -> list[Finding]:
    """Whether the first component is a column of large numbers."""
    matrix = covariance(seen)
    variances = np.diag(matrix)
    if len(variances) < 2 or variances.max() <= 0:
        return []
    column = int(np.argmax(variances))
    others = np.delete(variances, column)
    usual = float(np.sqrt(np.median(others[others > 0]))) if np.any(others > 0) else 0.0
    ratio = float(np.sqrt(variances[column])) / usual if usual > 0 else 0.0
    share = float(variances[column] / variances.sum())
    first = np.linalg.eigh(matrix)[1][:, -1]
    if share < SHARE or ratio < LEANS or abs(first[column]) < IS_COLUMN:
        return []
    unit = np.sqrt(np.maximum(variances, 1e-300))
    values = np.linalg.eigvalsh(matrix / unit / unit[:, None])
    name = column_name(case.model, column)
    message = (
        f"{name} has {share:.1%} of all variance by its unit and is the first component; "
        f"of correlations the first has {values[-1] / values.sum():.0%}"
    )
    return [said("scale", "warning" if ratio >= OUTWEIGHS else "doubt", message, ratio, "scale the columns")]


def separation(spectrum: Eigenvalues) -> list[Finding]:
    """Whether what is kept is told apart from what is not."""
    values, kept, n = spectrum
    positive = int(np.sum(values > SPLIT * max(float(values[0]), 1e-300)))
    if n < 3 or positive < 2 or kept < 1:
        return []
    if kept >= positive:
        return _sphericity(values[:positive], n)
    z = float(np.log(values[kept - 1] / values[kept]) * np.sqrt(n) / 2.0)
    if z >= SURE:
        return [said("equal_eigenvalues", "fine", f"component {kept - 1} is told apart from what is left out", z)]
    message = f"variances {values[kept - 1]:.3g} kept and {values[kept]:.3g} left out are {z:.2g} standard errors apart"
    words = f"{message}: the direction of component {kept - 1} is " + ("chance" if z < APART else "unsure")
    remedy = f"keep {_better(values, kept, n)} components"
    return [said("equal_eigenvalues", "warning" if z < APART else "doubt", words, z, remedy)]


def _better(values: Floats, kept: int, n: float) -> int:
    """The nearest number of components at which there is a gap; none where there is no gap."""
    gaps = np.log(values[:-1] / np.maximum(values[1:], 1e-300)) * np.sqrt(n) / 2.0
    cuts = np.flatnonzero(gaps >= SURE) + 1
    return int(cuts[np.argmin(np.abs(cuts - kept))]) if len(cuts) else 0


def _sphericity(values: Floats, n: float) -> list[Finding]:
    """Whether all are equal, where all are kept."""
    d = len(values)
    figure = (n - 1 - (2 * d * d + d + 2) / (6 * d)) * (d * np.log(values.mean()) - np.log(values).sum())
    p_value = float(chi2.sf(max(figure, 0.0), (d + 2) * (d - 1) / 2))
    if p_value <= LEVEL:
        return [said("equal_eigenvalues", "fine", "variances differ along the components", p_value)]
    words = "variances are equal along all components: their directions are chance"
    return [said("equal_eigenvalues", "warning", words, p_value, "leave the columns as they are")]


def beyond_chance(case: Case, seen: Seen, spectrum: Eigenvalues) -> list[Finding]:
    """How many components have more to them than shuffled columns."""
    count = parallel_analysis(seen.rows, case.random(PURPOSE))
    if count >= spectrum.kept:
        return [said("parallel_analysis", "fine", f"{count} components exceed those of shuffled columns", float(count))]
    if count == 0:
        words = "no component exceeds those of shuffled columns: columns have nothing to do with each other"
        return [said("parallel_analysis", "doubt", words, 0.0, "leave the columns as they are")]
    words = f"{spectrum.kept} components are kept, {count} exceed those of shuffled columns"
    return [said("parallel_analysis", "note", words, float(count))]


def parallel_analysis(rows: Floats, random: np.random.Generator, shuffles: int = SHUFFLES) -> int:
    """Leading eigenvalues of the correlations that are above all those of shuffled columns."""
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    if scaled.shape[1] < 2:
        return 0
    own = direction_variances(scaled, scale=False)
    limit = np.max([direction_variances(shuffled(scaled, random), scale=False) for _ in range(shuffles)], axis=0)
    below = np.flatnonzero(own <= limit)
    return int(below[0]) if len(below) else len(own)
