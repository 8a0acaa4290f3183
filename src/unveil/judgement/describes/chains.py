"""Does a hidden Markov model describe its sequences?

Each column is examined by forecast pseudo-residuals (`pseudo_residuals`): their shape, their memory and that of their
squares, and for counts the spread about what was expected. Apart from that, does the chain say more than the same
emissions would if steps knew nothing of each other? With g the gain in log-likelihood over such a mixture and k states,
which spend k (k - 1) parameters on it, there is nothing to be seen of a chain where g is below k (k - 1) / 2 log n, nor
where a single emission for all steps has the lower BIC.

What speaks against the model is significant over all tests together (Bonferroni), and large enough to matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.pseudo_residuals import MemoryTest, memory_test, residuals, shape_test
from unveil.judgement.steps import SeenSteps

LEVEL = 0.01  # of all tests together: a fit that is right fails one in a hundred times
DOUBTFUL_LEVEL = 0.05
DIVERGENCE = 0.01  # nats of a step by which a margin misses: below it nobody would notice
MEMORY = 0.2  # an autocorrelation that matters: 4% of the variance could have been foretold
WALKING = 0.95  # autocorrelation of a column at lag 1 from which it wanders rather than stays
DISPERSION = 0.25  # by which the squared distances of counts may miss their expectation
LEAST_STEPS = 30  # that anything can be told from
PURPOSE = 31  # of the random numbers


def examine_chain_description(case: Case) -> Answer:
    """Findings on the margins, the memory and the dynamics of a chain."""
    seen = case.once("steps", SeenSteps.of)
    if len(seen.rows) < LEAST_STEPS:
        few = f"{len(seen.rows)} steps are too few to tell whether the model describes them"
        return Answer((Finding("description", "note", few, float(len(seen.rows)), "describes"),))
    tests = 4 * seen.rows.shape[1]
    found = [one for column in range(seen.rows.shape[1]) for one in _column(seen, column, tests, case)]
    found += _dynamics(seen)
    if not any(one.severity in ("warning", "doubt") for one in found):
        fine = "each step is as its past leads one to expect, in its margins and from step to step"
        found.append(Finding("residuals", "fine", fine, None, "describes"))
    return Answer(tuple(found))


def _column(seen: SeenSteps, column: int, tests: int, case: Case) -> Iterator[Finding]:
    """What speaks against one column."""
    u = residuals(seen, column, case.random(PURPOSE, column))
    if u is None or np.isnan(u).all():
        return
    name = _name(case.model, column)
    if seen.chain.model.family.n_levels(column) is None:
        yield from _shape(u, name, tests)
    walks = _wanders(seen, column)
    for squares in (False, True):
        memory = memory_test(seen, u, squares)
        if memory is not None and (not squares or not walks):
            yield from _memory(memory, name, tests, squares, walks)
    if seen.chain.model.family.is_lattice(column):
        yield from _dispersion(seen, column, name, tests)


def _severity(p_value: float, size: float, least: float, tests: int) -> str | None:
    """How much a test speaks against the model; None where it does not."""
    if p_value * tests < LEVEL and size >= least:
        return "warning"
    return "doubt" if p_value * tests < DOUBTFUL_LEVEL and size >= 0.5 * least else None


def _shape(u: Floats, name: str, tests: int) -> Iterator[Finding]:
    test = shape_test(u)
    severity = _severity(test.p_value, test.divergence, DIVERGENCE, tests)
    if severity is None:
        return
    what, remedy = _misfit(test.means)
    words = f"{name} is not distributed as the chain expects: {what} ({test.divergence:.2g} nats a step)"
    yield Finding(f"margin of {name}", severity, words, test.divergence, "describes", "margin", remedy)


def _misfit(means: Floats) -> tuple[str, str]:
    """What the largest of the polynomials says, and what to try."""
    more = "n_mix=2, more states, or Student() in MixedHMM(families=...)"
    words = (
        ("it lies too high or too low", "more states"),
        ("too much of it is in the tails" if means[1] > 0 else "too little of it is in the tails", more),
        ("it is skewed", "the logarithm of the column where it is positive, n_mix=2, or more states"),
        ("its tails and its middle are not those of the family", more),
    )
    return words[int(np.argmax(np.abs(means)))]


def _memory(memory: MemoryTest, name: str, tests: int, squares: bool, walks: bool) -> Iterator[Finding]:
    severity = _severity(memory.p_value, abs(memory.correlation), MEMORY, tests)
    if severity is None:
        return
    of = "squared residuals" if squares else "residuals"
    words = f"{of} of {name} are correlated at lag {memory.lag} ({memory.correlation:+.2f}): states do not tell all"
    remedy = "more states, or columns that hold the steps before"
    kind = "volatility" if squares else "autocorrelation"
    if walks:
        how = f"its {of} are correlated at lag {memory.lag} ({memory.correlation:+.2f})"
        words, kind = f"{name} wanders like a random walk: {how}", "random_walk"
        remedy = "differences of the series, np.diff(X, axis=0)"
    yield Finding(f"{kind} of {name}", severity, words, memory.correlation, "describes", kind, remedy)


def _wanders(seen: SeenSteps, column: int) -> bool:
    """Whether a column of numbers is nearly what it was a step before."""
    family = seen.chain.model.family
    if family.n_levels(column) is not None:
        return False
    later = seen.pairs(1)
    one, other = seen.rows[later, column], seen.rows[later - 1, column]
    there = ~np.isnan(one) & ~np.isnan(other)
    if there.sum() < LEAST_STEPS or min(one[there].std(), other[there].std()) <= 0:
        return False
    return bool(np.corrcoef(one[there], other[there])[0, 1] > WALKING)


def _dispersion(seen: SeenSteps, column: int, name: str, tests: int) -> Iterator[Finding]:
    """Do counts scatter about what was expected as far as they should?"""
    family, params = seen.chain.model.family.within, seen.chain.plan.params.emissions
    spread = getattr(family, "variances", None)
    if spread is None:
        return
    means, variances = family.means(params)[:, column], spread(params)[:, column]
    middle = seen.expected @ means
    width = seen.expected @ (variances + means**2) - middle**2
    ratios = ((seen.rows[:, column] - middle) ** 2 / np.maximum(width, 1e-300))[~np.isnan(seen.rows[:, column])]
    error = float(ratios.std()) / np.sqrt(len(ratios))
    excess = float(ratios.mean()) - 1.0
    p_value = 2.0 * float(ndtr(-abs(excess) / max(error, 1e-300)))
    severity = _severity(p_value, abs(excess), DISPERSION, tests)
    if severity is not None:
        words = f"{name} scatters {1.0 + excess:.2f} times as much as its counts should"
        remedy = "more states, or Compound(Poisson(), 2) in MixedHMM(families=...)"
        yield Finding(f"dispersion of {name}", severity, words, 1.0 + excess, "describes", "dispersion", remedy)


def _dynamics(seen: SeenSteps) -> list[Finding]:
    """Is a chain more than a mixture?"""
    n = len(seen.rows)
    if seen.n_states == 1:
        return []
    gain, price, alone = seen.gain
    if seen.gain.severity == "fine":
        words = f"the order of the steps tells {gain / n:.2g} nats a step beyond a mixture of the same emissions"
        return [Finding("dynamics", "fine", words, gain / n, "describes")]
    words = (
        f"the order of the steps tells next to nothing: {gain:.2g} nats beyond a mixture, where BIC asks {price:.2g}"
    )
    if alone >= 0.0:
        words = f"steps that are all alike and know nothing of each other are as likely (by {alone:.2g} nats of BIC)"
    remedy = "a mixture of the same emissions, which forgets the order"
    return [Finding("dynamics", seen.gain.severity, words, gain / n, "describes", "no_dynamics", remedy)]


def _name(model: Any, column: int) -> str:
    """What the user calls a column."""
    names = getattr(model, "feature_names_in_", None)
    return f"column {column}" if names is None else f"column {str(names[column])!r}"
