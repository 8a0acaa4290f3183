"""What climbs have left to gain: as their certificates say, as `unveil.examine` says, and in truth.

    python -m benchmarks.trust.gains [first] [last]

Each number is a climb: a mixture or a chain, rows that overlap more or less, and a tolerance from 1e-2 to 1e-5 with
plain passes, or the default. The truth is where the same climb ends after some thousands of passes with leaps and as
many without. What there is to choose in `unveil.certificate.remaining` was chosen on climbs 100 to 260.
"""

from __future__ import annotations

import sys
import warnings
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

import unveil
from unveil.core.arrays import Floats

FIRST, LAST = 300, 340  # climbs that nothing was chosen on
SIZES = (200, 400, 800, 1500, 3000)
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 3e-4, "auto", "auto")
LEAPS, PASSES = 4000, 6000  # of the way to the end
SMALL = 1e-4  # nats in all: what no one would ever miss, and rounding is not far
FACTOR = 3.0  # between an estimate and the truth


class Climb(NamedTuple):
    """A model that was fitted, and its rows."""

    name: str
    model: Any
    rows: Floats


def groups(random: np.random.Generator, n: int, k: int) -> Climb:
    """Gaussian mixtures, now and then with a component too many."""
    centres = random.normal(size=(k, int(random.integers(1, 5)))) * random.choice([0.8, 1.2, 2.0])
    rows = centres[random.integers(k, size=n)] + random.normal(size=(n, centres.shape[1]))
    structure = str(random.choice(["full", "diag", "tied", "spherical"]))
    start = str(random.choice(["auto", "random_from_data", "k-means++"]))
    count = k + int(random.integers(2))
    return Climb("groups", unveil.GaussianMixture(count, covariance_type=structure, init_params=start), rows)


def one_cloud(random: np.random.Generator, n: int, k: int) -> Climb:
    """Two components for a single Gaussian: a ridge that EM hardly moves along."""
    return Climb("one cloud", unveil.GaussianMixture(2), random.normal(size=(n, 2)))


def answers(random: np.random.Generator, n: int, k: int) -> Climb:
    """Yes and no."""
    chances = random.uniform(size=(k, 8))[random.integers(k, size=n)]
    return Climb("yes/no", unveil.BernoulliMixture(k), (random.random((n, 8)) < chances).astype(np.float64))


def counts(random: np.random.Generator, n: int, k: int) -> Climb:
    """Counts of three things."""
    rates = random.gamma(2.0, 2.0, size=(k, 3))[random.integers(k, size=n)]
    return Climb("counts", unveil.PoissonMixture(k), random.poisson(rates).astype(np.float64))


def tails(random: np.random.Generator, n: int, k: int) -> Climb:
    """Student's t."""
    centres = 2.0 * random.normal(size=(k, 2))
    rows = centres[random.integers(k, size=n)] + random.normal(size=(n, 2)) + 0.3 * random.standard_t(3, size=(n, 2))
    return Climb("tails", unveil.StudentMixture(k), rows)


def states(random: np.random.Generator, n: int, k: int) -> Floats:
    """A chain that stays where it is four times in five."""
    path = [0]
    for chance in random.random(n - 1):
        path.append(path[-1] if chance < 0.8 else int(random.integers(k)))
    return np.array(path)


def chain(random: np.random.Generator, n: int, k: int) -> Climb:
    """Gaussian states."""
    centres = random.normal(size=(k, 2)) * random.choice([1.0, 1.5, 2.5])
    structure = str(random.choice(["full", "diag"]))
    rows = centres[states(random, n, k)] + random.normal(size=(n, 2))
    return Climb("chain", unveil.GaussianHMM(k, covariance_type=structure), rows)


def words(random: np.random.Generator, n: int, k: int) -> Climb:
    """A chain of six words."""
    chances = np.cumsum(random.dirichlet(np.full(6, 0.7), size=k), axis=1)[states(random, n, k)]
    rows = np.minimum((random.random((n, 1)) > chances).sum(axis=1), 5)[:, None]
    return Climb("words", unveil.CategoricalHMM(k), rows)


KINDS = (groups, groups, groups, one_cloud, answers, counts, tails, chain, chain, words)


def fitted(number: int) -> Climb:
    """A climb as far as its tolerance lets it go."""
    random = np.random.default_rng([77, number])
    n, k = int(random.choice(SIZES)), int(random.integers(2, 6))
    tol = TOLERANCES[int(random.integers(len(TOLERANCES)))]
    climb = KINDS[number % len(KINDS)](random, n, k)
    schedule = "auto" if tol == "auto" else "batch"
    climb.model.set_params(tol=tol, schedule=schedule, max_iter=5000, random_state=number).fit(climb.rows)
    return climb


def truth(climb: Climb) -> float:
    """Nats between the parameters and the end of the climb."""
    model = deepcopy(climb.model).set_params(warm_start=True, schedule="squarem", tol=1e-14, max_iter=LEAPS)
    leaps = model.fit(climb.rows).history_.heights
    passes = model.set_params(schedule="batch", tol=0.0, max_iter=PASSES).fit(climb.rows).history_.heights
    return float(max(*leaps, *passes) - leaps[0])


def said(certificate: Any) -> float:
    """What a certificate says of it; nan where it gives no number."""
    value = certificate["remaining_gain"].value if "remaining_gain" in certificate else None
    return float("nan") if value is None else float(value)


def main(first: int = FIRST, last: int = LAST) -> None:
    """Print a line a climb, and how many are within the factor."""
    print(f"{'climb':>5}  {'rows':10} {'tol':>6} {'passes':>6} {'truth':>9} {'fit':>9} {'examined':>9}")
    ratios = []
    for number in range(first, last):
        climb = fitted(number)
        told, examined = said(climb.model.certificate_), said(unveil.examine(climb.model, climb.rows))
        left, model = truth(climb), climb.model
        if left < SMALL:
            continue
        ratios.append((told / left, examined / left))
        figures = f"{left:9.3g} {told:9.3g} {examined:9.3g}"
        print(f"{number:5}  {climb.name:10} {model.tol!s:>6} {model.n_iter_:6} {figures}", flush=True)
    for name, column in zip(("fit", "examined"), np.array(ratios).T, strict=True):
        near = (column >= 1.0 / FACTOR) & (column <= FACTOR)
        print(f"{name}: {near.sum()} of {np.isfinite(column).sum()} told, of {len(column)}, are within {FACTOR:g}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:3]))
