"""One pass of EM over rows of numbers, codes and counts of which any cells are missing, in two compiled pieces.

Given the component, groups of columns are independent, so a row's score is a sum: a Gaussian's of the numbers that are
there, the log-probability of every code, the log-density of every count or waiting time. Parameters are one flat vector
(weights, means, covariances or variances, probabilities, means of the rates), as in `unveil.families.kernels.small_em`,
and sums have the same layout. Numbers that go with each other are filled in as `unveil.families.kernels.missing` says,
in rows ordered by what they lack; elsewhere a missing cell drops out of the E step, and counts with its expectation in
the M step: with N rows of which M lack the column, p_level = (rows with the level + M p_level before) / N. What is not
plain (a covariance that is
all but singular, a component without rows) is not mended here: NaN, or False, and the general way takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.families.kernels.gaussian_tiles import DEAD, matrices_step
from unveil.families.kernels.missing import add_products, add_tile, fill_tile, subtract_squares
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import inlined, kernel, part
from unveil.numerics.softmax import soft_assign


@kernel
def expect_rows(
    rows: Any, weights: Any, params: Any, k: int, matrices: bool, floor: Any, room: Any, sums: Any
) -> float:
    """Log-likelihood at `params`, base measure aside; counts and sums to `sums`, those of numbers about their means.

    `rows` are the numbers (x, there) with their patterns (cuts, columns, missing), codes of several columns taken
    together (profiles, the levels of each, the last for a missing one), and rates (values, there, waiting). `sums` (see
    `unveil.families.small.cells`) are one more than the parameters for every component (codes that are missing), and
    the weights of numbers and rates that were seen. NaN where a covariance comes near the floor.
    """
    (x, there, cuts, columns, missing), (profiles, members), (values, counted, waiting) = rows
    (d, n), q, levels = x.shape, len(values), room[8]
    size = d * d if matrices else d
    a, b = k + k * d, k + k * d + k * size
    means, spread = params[k:a].reshape((k, d)), params[a:b]
    logs, shares = np.zeros((k, len(members))), np.zeros((k, len(members)))
    slopes, lifts = np.empty((k, q)), np.empty((k, q))
    _rate_terms(params, b + k * levels, waiting, slopes, lifts)
    _profile_logs(params, b, levels, members, logs)
    precisions, whiten, constants = np.zeros((k, d, d)), np.zeros((k, d, d)), np.empty(k)
    for c in range(k):
        constants[c] = np.log(params[c])
        if matrices and not _factor(spread[c * size : (c + 1) * size], floor, precisions[c], whiten[c], constants, c):
            return np.nan
    components, segments = (means, precisions, whiten, constants), (cuts, columns, missing)
    y_room, logits_room, scores_room, weighted, chosen, product, work, products = room[:8]
    tile, total, last = len(chosen), 0.0, 0
    for s in range(len(sums)):
        sums[s] = 0.0
    products[:] = 0.0
    for start in range(0, n, tile):
        m = min(tile, n - start)
        y, logits = y_room[: k * d * m].reshape((k, d, m)), logits_room[: k * m].reshape((k, m))
        scores = scores_room[: d * m].reshape((d, m))
        first, cell = last, 0
        while matrices and cuts[last] < start + m:
            last += 1
        for c in range(k):
            if matrices:
                _centre(x, start, means[c], y[c])
                cell = fill_tile(components, c, segments, first, last, work, y[c], logits[c], cell)
                np.dot(whiten[c], y[c], scores)
                subtract_squares(scores, logits[c])
            elif not _score_variances(
                x, there, start, means[c], spread[c * d : (c + 1) * d], floor, constants[c], logits[c]
            ):
                return np.nan
            _score_codes(profiles, start, logs[c], logits[c])
            _score_rates(values, counted, start, slopes[c], lifts[c], logits[c])
        total += soft_assign(logits, weights[start : start + m])
        cell = 0
        for c in range(k):
            if matrices:
                add_products(y[c], logits[c], chosen, scores_room, weighted, product, products[c])
                weight, cell = add_tile(segments, first, last, work, logits[c], products[c], cell)
                sums[c] += weight
            else:
                sums[c] += _add_variances(x, there, start, means[c], logits[c], sums, c, k, weighted)
            _add_codes(profiles, start, logits[c], shares[c])
            _add_rates(values, counted, start, logits[c], sums, b + k * (levels + 1) + c * q, k * q)
    for c in range(k):
        for v in range(len(members)):
            for w in range(members.shape[1]):
                sums[b + c * (levels + 1) + members[v, w]] += shares[c, v]
    if matrices:
        for c in range(k):
            for i in range(d):
                sums[k + c * d + i] = products[c, d, i]
                for j in range(d):
                    sums[a + c * size + i * d + j] = products[c, i, j]
    return total


@kernel
def maximise_rows(
    params: Any, sums: Any, k: int, d: int, starts: Any, q: int, least: Any, matrices: bool, shared: bool,
    reg_covar: float, lowest: float, fresh: Any,
) -> bool:  # fmt: skip
    """The M step of sums at `params`; whether every component has rows."""
    levels = starts[-1]
    size = d * d if matrices else d
    head, whole = k + k * d + k * size, 0.0
    for c in range(k):
        whole += sums[c]
    for c in range(k):
        if not sums[c] > DEAD * whole:
            return False
        fresh[c] = sums[c] / whole
    if matrices:
        matrices_step(params[:head], sums[:head], k, d, reg_covar, shared, fresh[:head])
    else:
        _variances_step(params, sums, k, d, head + k * (levels + 1) + 2 * k * q, reg_covar, shared, fresh)
    for c in range(k):
        counts, table = head + c * (levels + 1), head + c * levels
        for j in range(len(starts) - 1):
            _codes_step(params, sums, c, counts, table, starts[j], starts[j + 1], lowest, fresh)
        for j in range(q):
            at = head + k * (levels + 1) + c * q + j
            lacking, place = max(sums[c] - sums[at + k * q], 0.0), head + k * levels + c * q + j
            fresh[place] = max((sums[at] + lacking * params[place]) / sums[c], least[j])
    return True


@part
def _factor(covariance: Any, floor: Any, precision: Any, whiten: Any, constants: Any, c: int) -> bool:
    """W with W'W = C^-1, lower triangular, and that; takes log|C|/2 and the constant off; False near the floor."""
    d = len(floor)
    lower, total = np.zeros((d, d)), 0.5 * d * LOG_TWO_PI
    for i in range(d):
        for j in range(i + 1):
            left = covariance[i * d + j]
            for s in range(j):
                left -= lower[i, s] * lower[j, s]
            if j < i:
                lower[i, j] = left / lower[j, j]
            elif left > floor[i]:
                lower[i, i] = np.sqrt(left)
            else:
                return False
        total += np.log(lower[i, i])
    for i in range(d):
        for r in range(i, d):
            value = 1.0 if r == i else 0.0
            for s in range(i, r):
                value -= lower[r, s] * whiten[s, i]
            whiten[r, i] = value / lower[r, r]
    for i in range(d):
        for j in range(d):
            value = 0.0
            for s in range(max(i, j), d):
                value += whiten[s, i] * whiten[s, j]
            precision[i, j] = value
    constants[c] -= total
    return True


@part
def _rate_terms(params: Any, begin: int, waiting: Any, slopes: Any, lifts: Any) -> None:
    """x log(mean) - mean of counts; -x / mean - log(mean) of waiting times."""
    k, q = slopes.shape
    for c in range(k):
        for j in range(q):
            mean = params[begin + c * q + j]
            slopes[c, j] = -1.0 / mean if waiting[j] else np.log(mean)
            lifts[c, j] = -np.log(mean) if waiting[j] else -mean


@inlined
def _centre(x: Any, start: Any, mean: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        line, column = y[i], x[i, start : start + y.shape[1]]
        for r in range(len(line)):
            line[r] = column[r] - mean[i]


@part
def _score_variances(
    x: Any, there: Any, start: int, mean: Any, variances: Any, floor: Any, constant: float, logits: Any
) -> bool:
    m = len(logits)
    for r in range(m):
        logits[r] = constant
    for i in range(len(mean)):
        column, seen, middle = x[i, start : start + m], there[i, start : start + m], mean[i]
        if not variances[i] > floor[i]:
            return False
        lift, unit = -0.5 * (np.log(variances[i]) + LOG_TWO_PI), 0.5 / variances[i]
        for r in range(m):
            away = column[r] - middle
            logits[r] += seen[r] * (lift - unit * away * away)
    return True


@part
def _score_codes(codes: Any, start: int, logs: Any, logits: Any) -> None:
    for j in range(len(codes)):
        column = codes[j, start : start + len(logits)]
        for r in range(len(logits)):
            logits[r] += logs[column[r]]


@part
def _score_rates(values: Any, counted: Any, start: int, slopes: Any, lifts: Any, logits: Any) -> None:
    m = len(logits)
    for j in range(len(values)):
        column, seen = values[j, start : start + m], counted[j, start : start + m]
        slope, lift = slopes[j], lifts[j]
        for r in range(m):
            logits[r] += slope * column[r] + lift * seen[r]


@part
def _add_variances(
    x: Any, there: Any, start: int, mean: Any, shares: Any, sums: Any, c: int, k: int, lines: Any
) -> float:
    """Sums by BLAS, which adds up in many lanes; `there` is 0 or 1, so once more of it changes nothing."""
    d, m = len(mean), len(shares)
    aways, parts = lines[:m], lines[m : 2 * m]
    for i in range(d):
        column, counted, middle = x[i, start : start + m], there[i, start : start + m], mean[i]
        for r in range(m):
            aways[r] = column[r] - middle
            parts[r] = shares[r] * counted[r] * aways[r]
        sums[k + c * d + i] += np.dot(parts, counted)
        sums[k + k * d + c * d + i] += np.dot(parts, aways)
        sums[len(sums) - k * d + c * d + i] += np.dot(shares, counted)
    weight = 0.0
    for r in range(m):
        weight += shares[r]
    return weight


@part
def _profile_logs(params: Any, begin: int, levels: int, members: Any, logs: Any) -> None:
    """Log-probabilities of all levels, and of profiles as their sums."""
    single = np.zeros(levels + 1)
    for c in range(len(logs)):
        for v in range(levels):
            single[v] = np.log(params[begin + c * levels + v])
        for v in range(len(members)):
            for w in range(members.shape[1]):
                logs[c, v] += single[members[v, w]]


@part
def _add_codes(codes: Any, start: int, shares: Any, sums: Any) -> None:
    for j in range(len(codes)):
        column = codes[j, start : start + len(shares)]
        for r in range(len(shares)):
            sums[column[r]] += shares[r]


@part
def _add_rates(values: Any, counted: Any, start: int, shares: Any, sums: Any, begin: int, next_table: int) -> None:
    """Sums by BLAS, which adds up in many lanes."""
    stop = start + len(shares)
    for j in range(len(values)):
        sums[begin + j] += np.dot(shares, values[j, start:stop])
        sums[begin + next_table + j] += np.dot(shares, counted[j, start:stop])


@part
def _variances_step(
    params: Any, sums: Any, k: int, d: int, seen_at: int, reg_covar: float, spherical: bool, fresh: Any
) -> None:
    """Means and variances; where a cell is missing, those of the component."""
    for c in range(k):
        total = 0.0
        for i in range(d):
            mean, spread = k + c * d + i, k + k * d + c * d + i
            step, lacking = sums[mean] / sums[c], max(sums[c] - sums[seen_at + c * d + i], 0.0)
            fresh[mean] = params[mean] + step
            fresh[spread] = (sums[spread] + lacking * params[spread]) / sums[c] - step * step + reg_covar
            total += fresh[spread]
        if spherical:
            for i in range(d):
                fresh[k + k * d + c * d + i] = total / d


@part
def _codes_step(
    params: Any, sums: Any, c: int, counts: int, table: int, begin: int, end: int, lowest: float, fresh: Any
) -> None:
    """Shares of the levels of one column, none below `lowest`."""
    lacking, kept = sums[c], 0.0
    for v in range(begin, end):
        lacking -= sums[counts + v]
    for v in range(begin, end):
        filled = sums[counts + v] + max(lacking, 0.0) * params[table + v]
        fresh[table + v] = max(filled / sums[c], lowest)
        kept += fresh[table + v]
    for v in range(begin, end):
        fresh[table + v] /= kept
