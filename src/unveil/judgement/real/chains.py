"""Are the states of a chain real?

Four things would have to be so. One state must not do as well (BIC), nor one that goes on from where it was,

    x_t = a + B x_t-1 + noise,

as a random walk does, which states can only cut into slices; the order of the steps must tell of the states (a chain
beats a mixture of the same emissions); each state must be told from the others by what it emits and how long it lasts:
the mean posterior of the steps that it is given; and it must be there again when blocks of the sequences are drawn anew
and the chain is fitted to those (Jaccard's coefficient of the steps that the old and the new state are given; Hennig,
Cluster-wise assessment of cluster stability, 2007).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from unveil.certificate import Finding
from unveil.core.arrays import Floats, Labels
from unveil.judgement.case import Answer, Case
from unveil.judgement.steps import SeenSteps
from unveil.numerics.constants import LOG_TWO_PI

CERTAIN, HARDLY = 0.8, 0.6  # mean posterior of the steps of a state: of one that is told apart; of one that is not
STABLE, SHAKY = 0.75, 0.5  # Jaccard's coefficient, as Hennig reads it
REFITS = 4  # each costs a fit; a thorough look takes ten times as many
BLOCKS = 20  # into which sequences are cut to be drawn from
LEAST_BLOCK = 10  # steps
BETTER = 10.0  # by which BIC speaks very strongly (Kass & Raftery 1995)
LEAST_STEPS = 30  # that anything can be told from
PURPOSE = 37  # of the random numbers


def examine_states(case: Case) -> Answer:
    """Findings on whether the states are real; nothing is asked of a single one."""
    seen = case.once("steps", SeenSteps.of)
    if seen.n_states == 1 or len(seen.rows) < LEAST_STEPS:
        why = "there is one state" if seen.n_states == 1 else f"{len(seen.rows)} steps are too few to tell"
        return Answer((Finding("states", "note", f"whether states are real was not asked: {why}", None, "real"),))
    against = [*_one_state(case, seen), *_no_order(seen)]
    if not against:
        against += [*_told_apart(seen), *_superfluous(case, seen), *_come_again(case, seen)]
    if against:
        return Answer(tuple(against))
    words = f"all {seen.n_states} states are told apart, last, and come again in other blocks"
    return Answer((Finding("states", "fine", words, None, "real"),))


def _one_state(case: Case, seen: SeenSteps) -> Iterator[Finding]:
    """Would one state do, or one that goes on from where it was?"""
    own = _bic(seen, seen.model)
    single = _bic(seen, _refitted(case, seen, 1))
    if single <= own:
        words = f"one state describes the steps as well: its BIC is lower by {own - single:.3g}"
        yield Finding("one state", "warning", words, own - single, "real", "no_groups", "n_components=1")
        return
    walk = _autoregression(seen)
    if walk is not None and walk <= own:
        words = (
            f"steps go on from where they were: the BIC of an autoregression without states is {own - walk:.3g} lower"
        )
        remedy = "differences of the series, np.diff(X, axis=0)"
        yield Finding("one state", "warning", words, own - walk, "real", "random_walk", remedy)


def _no_order(seen: SeenSteps) -> Iterator[Finding]:
    """Are these states of a chain, or components of a mixture?"""
    severity = seen.gain.severity
    if severity != "fine":
        words = "states follow each other in no order: a mixture of the same emissions says as much of the steps"
        yield Finding(
            "order", severity, words, seen.gain.nats, "real", "no_dynamics", "a mixture, which forgets the order"
        )


def _told_apart(seen: SeenSteps) -> Iterator[Finding]:
    """Each state by the mean posterior of the steps that it is given."""
    posteriors = seen.posteriors
    labels = np.argmax(posteriors, axis=1)
    for state in range(seen.n_states):
        own = posteriors[labels == state]
        certainty = float(own[:, state].mean()) if len(own) else 0.0
        if certainty >= CERTAIN:
            continue
        rest = (posteriors[:, [state]] * np.delete(posteriors, state, axis=1)).sum(axis=0)
        other = int(np.delete(np.arange(seen.n_states), state)[np.argmax(rest)])
        words = f"state {state} is not told from state {other}: its steps are its own with probability {certainty:.2f}"
        severity = "doubt" if certainty >= HARDLY or seen.n_states > 2 else "warning"
        yield Finding(f"state {state} apart", severity, words, certainty, "real", "overlap", "fewer states")


def _superfluous(case: Case, seen: SeenSteps) -> Iterator[Finding]:
    """Would one state less do?"""
    k = seen.n_states
    if k == 2:
        return
    gain = _bic(seen, seen.model) - _bic(seen, _refitted(case, seen, k - 1))
    if gain > BETTER:
        words = f"{k - 1} states describe the steps as well: their BIC is lower by {gain:.3g}"
        yield Finding("one state less", "doubt", words, gain, "real", "superfluous", f"n_components={k - 1}")


def _come_again(case: Case, seen: SeenSteps) -> Iterator[Finding]:
    """Are the states there again in other blocks?"""
    own = np.argmax(seen.posteriors, axis=1)
    times = REFITS * (10 if case.thorough else 1)
    found = np.mean([_overlaps(own, _again(case, seen, number), seen.n_states) for number in range(times)], axis=0)
    for state in np.flatnonzero(found < STABLE):
        severity = "warning" if found[state] < SHAKY and seen.n_states == 2 else "doubt"
        words = f"state {state} is not there again when blocks are drawn anew (Jaccard {found[state]:.2f})"
        name = f"state {state} again"
        yield Finding(name, severity, words, float(found[state]), "real", "instability", "fewer states, or more steps")


def _again(case: Case, seen: SeenSteps, number: int) -> Labels:
    """States of the steps under a chain that was fitted to blocks of them drawn anew."""
    blocks, random = _blocks(seen), case.random(PURPOSE, number)
    drawn = [blocks[place] for place in random.integers(len(blocks), size=len(blocks))]
    model = _fitted(_like(case, seen.n_states, number + 1), drawn)
    return np.argmax(model.predict_proba(_shown(seen, seen.rows), lengths=seen.lengths), axis=1)


def _blocks(seen: SeenSteps) -> list[Any]:
    """Whole sequences where there are enough, or pieces of them."""
    if len(seen.lengths) >= BLOCKS:
        edges = np.concatenate([[0], np.cumsum(seen.lengths)])
    else:
        size = max(len(seen.rows) // BLOCKS, LEAST_BLOCK)
        cuts = [np.arange(0, length, size) + first for first, length in _spans(seen)]
        edges = np.concatenate([*cuts, [len(seen.rows)]])
    shown = _shown(seen, seen.rows)
    return [shown[begin:end] for begin, end in pairwise(edges) if end > begin]


def _spans(seen: SeenSteps) -> Iterator[tuple[int, int]]:
    return zip(seen.firsts.tolist(), seen.lengths.tolist(), strict=True)


def _overlaps(own: Labels, other: Labels, k: int) -> Floats:
    """Jaccard's coefficients of the states of one labelling with those of another, matched as well as can be."""
    both = np.zeros((k, k))
    np.add.at(both, (own, other), 1.0)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0) - both
    shares = both / np.where(either > 0, either, 1.0)
    rows, columns = linear_sum_assignment(-shares)
    found: Floats = shares[rows, columns]
    return found


# -- other fits to the same steps --------------------------------------------------------------------------------------


def _like(case: Case, n_states: int, number: int = 0) -> Any:
    """The same chain with so many states, not fitted, and with nothing given that has other shapes."""
    model = clone(case.model)
    given = [name for name in model.get_params() if name.endswith("_init") and name != "n_init"]
    plain = dict.fromkeys((*given, "fixed", "tied")) if n_states != len(case.model.startprob_) else {}
    arrays = {name: None for name in ("startprob_prior", "transmat_prior") if np.ndim(getattr(model, name))}
    masks = {} if isinstance(model.transitions, str | tuple) else {"transitions": "any"}
    changed = plain | (arrays | masks if plain else {})
    return model.set_params(n_components=n_states, random_state=case.seed + number, warm_start=False, **changed)


def _refitted(case: Case, seen: SeenSteps, n_states: int) -> Any:
    return _fitted(_like(case, n_states), _shown(seen, seen.rows), seen.lengths)


def _fitted(model: Any, rows: Any, lengths: Any = None) -> Any:
    """Fitted without a word: what it says of itself is not asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(verbose=0).fit(rows, lengths=lengths)


def _shown(seen: SeenSteps, rows: Floats) -> Any:
    """Rows as the user knows them."""
    return np.asarray(seen.chain.emissions.rows_out(rows))


def _bic(seen: SeenSteps, model: Any) -> float:
    """Of a chain over the steps that are looked at."""
    score = seen.log_likelihood if model is seen.model else model.score(_shown(seen, seen.rows), lengths=seen.lengths)
    return float(-2.0 * score + model.n_parameters() * np.log(len(seen.rows)))


def _autoregression(seen: SeenSteps) -> float | None:
    """BIC of steps that go on from the last; None where columns are no numbers, or cells are missing."""
    family, (n, d) = seen.chain.model.family, seen.rows.shape
    numbers = all(family.n_levels(column) is None and not family.is_lattice(column) for column in range(d))
    later = seen.pairs(1)
    if not numbers or np.isnan(seen.rows).any() or len(later) < LEAST_STEPS + d * (d + 2):
        return None
    before = np.concatenate([np.ones((len(later), 1)), seen.rows[later - 1]], axis=1)
    noise = seen.rows[later] - before @ np.linalg.lstsq(before, seen.rows[later], rcond=None)[0]
    first = seen.rows - seen.rows.mean(axis=0)
    total = -0.5 * len(later) * _log_spread(noise) - 0.5 * (n - len(later)) * _log_spread(first)
    parameters = 2 * d + d * d + 2 * (d * (d + 1) // 2)  # of the noise, and of first steps
    return float(-2.0 * total + parameters * np.log(n))


def _log_spread(away: Floats) -> float:
    """-2 / n times the log-likelihood of rows about 0 under their own covariance."""
    covariance = away.T @ away / len(away)
    floor = 1e-12 * np.diag(np.maximum(np.diagonal(covariance), 1e-300))
    return float(np.linalg.slogdet(covariance + floor)[1] + len(covariance) * (1.0 + LOG_TWO_PI))
