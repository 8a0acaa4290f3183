r"""The cost of K-means with a price on every cluster.

With J the cost, K clusters of d columns and n rows, of which cluster k holds :math:`n_k`:

.. math::
   \mathrm{AIC} = J + 2 K d, \qquad \mathrm{BIC} = J + K \log d

are the prices that lecture notes put on clusters. They add squared units of the columns to plain numbers, so they mean
something only where a cluster's variance is about one in every column (then J is twice the negative log-likelihood, but
for a constant, and Kd the number of parameters); measured in other units the same rows get other answers. They are in
the table, with no say in the verdict. In one column the second has no price at all.

K-means is the limit of a Gaussian mixture with hard assignments and one spherical covariance, whose likelihood has no
such trouble with units. At its maximum :math:`\sigma^2 = J / (n d)`:

.. math::
   -2 \log L = n d \,(\log 2 \pi \sigma^2 + 1) - 2 \sum_k n_k \log (n_k / n), \qquad
   \mathrm{BIC} = p \log n - 2 \log L, \quad p = (K - 1) + K d + 1

Pelleg and Moore (X-means, ICML 2000, section 3.2) divide by n - K where we divide by n: theirs is an unbiased
variance, ours the maximum of the likelihood that BIC asks for. The difference is of the order of K d.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unveil.judgement.criteria.criteria import CLEAR_LEAD, KASS_RAFTERY, Criterion
from unveil.judgement.criteria.opinions import Line, Opinion, at_edge, known


def penalised_aic(cost: float, size: int, n_columns: int) -> float:
    """J + 2 K d."""
    return cost + 2.0 * size * n_columns


def penalised_bic(cost: float, size: int, n_columns: int) -> float:
    """J + K log d."""
    return cost + size * math.log(n_columns)


def gaussian_bic(cost: float, counts: ArrayLike, n_columns: int) -> float | None:
    """BIC of the mixture that K-means is the limit of; None where the rows lie on their centres.

    >>> round(gaussian_bic(4.0, [2.0, 2.0], 1), 3)  # 4 (log 2 pi + 1) + 8 log 2 + 4 log 4
    22.442
    """
    held = np.asarray(counts, dtype=np.float64)
    n, parameters = float(held.sum()), len(held) * (n_columns + 1)
    if cost <= 0.0 or n <= len(held):
        return None
    variance = cost / (n * n_columns)
    some = held[held > 0]
    deviance = n * n_columns * (math.log(2.0 * math.pi * variance) + 1.0) - 2.0 * float(some @ np.log(some / n))
    return parameters * math.log(n) + deviance


def opine_bic(line: Line) -> Opinion:
    """The least Gaussian BIC, if it leads clearly and is not the last."""
    values = known(line, "bic")
    if not values:
        return Opinion("bic", "BIC", None, "no BIC: the rows lie on their centres")
    (size, best), *rest = sorted(values, key=lambda pair: pair[1])
    lead = rest[0][1] - best if rest else math.inf
    if at_edge(size, line):
        return Opinion("bic", "BIC", None, f"BIC still falls at {size}, the edge of what was tried")
    if lead < CLEAR_LEAD:
        return Opinion("bic", "BIC", None, f"BIC is as good at {rest[0][0]} as at {size}")
    words = next(words for limit, words in KASS_RAFTERY if lead < limit)
    return Opinion("bic", "BIC", size, f"BIC as a mixture ({words} evidence)")


def opine_penalty(rule: Criterion, line: Line) -> Opinion:
    """The least penalised cost; it has no say, because it changes with the units."""
    values = known(line, rule.name)
    size = min(values, key=lambda pair: pair[1])[0] if values else None
    if size is not None and at_edge(size, line):
        return Opinion(rule.name, rule.title, None, f"{rule.title} still falls at {size}, the edge", voice=False)
    return Opinion(rule.name, rule.title, size, f"{rule.title}, which is least", voice=False)
