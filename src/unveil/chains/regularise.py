"""A mild prior for all that a chain has to learn: the default, since states often stand for few steps.

What a state emits is pulled towards the steps on the whole by a row or so that looks like them (`Family.mildly`): of
numbers the variances within rough groups, of categories their shares, of counts half an event. With k states, the steps
out of each are counted as if there had been more,

    transmat[i, j] = (n_ij + s / k + 2 s [i = j]) / (sum over j of that),

s being the strength, and the first states as if there had been one more sequence, begun anywhere. To the free energy
the log-density of each of these priors is added (Gauvain & Lee, Maximum a posteriori estimation for multivariate
Gaussian mixture observations of Markov chains, 1994). What the prior stands for does not grow with the
steps, so its pull falls off as one over the steps of a state, or sooner. Steps that the user rules out stay so.

The numbers were chosen by held-out likelihood (`benchmarks.trust.chains --tuning`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.starts import sampled
from unveil.core.arrays import Floats
from unveil.families.base import Family
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences

AUTO = 1.0  # strength of "auto"
SHARED_STEPS = 1.0  # out of each state, shared out evenly: a step that was never seen is not impossible
STAYING_STEPS = 2.0  # from each state to itself: states that mean something last
GAUGED_STEPS = 4096  # of a long table, from which the scale of a prior is taken
GAUGE_SEED = 0  # by which they are drawn: the prior is the same for all starts


def strength_of(regularise: Any) -> float:
    """0 is no prior."""
    if regularise is None:
        return 0.0
    return AUTO if isinstance(regularise, str) else float(regularise)


def start_prior(regularise: Any, n_states: int, given: Any) -> Any:
    """Concentrations of the first states; flat where it is `given` that there is no beginning."""
    strength = strength_of(regularise)
    if not strength:
        return None
    return _possible(np.full(n_states, 1.0 + strength * SHARED_STEPS / n_states), given)


def transition_prior(regularise: Any, n_states: int, given: Any) -> Any:
    """Concentrations of the steps from state to state; flat where it is `given` that there is none."""
    strength = strength_of(regularise)
    if not strength:
        return None
    shared = np.full((n_states, n_states), 1.0 + strength * SHARED_STEPS / n_states)
    return _possible(shared + strength * STAYING_STEPS * np.eye(n_states), given)


def _possible(concentration: Floats, given: Any) -> Floats:
    """A probability of 0 at the start stays one: nothing is to pull at it."""
    if given is None or np.shape(given) != concentration.shape:
        return concentration
    return np.where(np.equal(given, 0), 1.0, concentration)


def priors_of(estimator: Any) -> tuple[Any, Any]:
    """Of first states and of steps: the user's own, or mild ones."""
    start, steps, k = estimator.startprob_prior, estimator.transmat_prior, estimator.n_components
    if start is None:
        start = start_prior(estimator.regularise, k, _begun(estimator, "startprob"))
    if steps is None:
        steps = transition_prior(estimator.regularise, k, _begun(estimator, "transmat"))
    return start, steps


def _begun(estimator: Any, name: str) -> Any:
    """A table from which a fit begins, if the user gave one or goes on from one."""
    given = getattr(estimator, f"{name}_init")
    return getattr(estimator, f"{name}_", None) if given is None and estimator.warm_start else given


def family_of(estimator: Any, shift: Floats) -> Family:
    """What states emit, in a frame, under a mild prior where one was asked for and there is no other."""
    family: Family = estimator._emission().held_family(shift, estimator.fixed, estimator.tied)
    gauge = getattr(estimator, "gauge_", None)
    if gauge is None or estimator.regularise is None or len(gauge) != family.gauge_size(len(shift)):
        return family
    return family.mildly(gauge, strength_of(estimator.regularise))


def gauge_of(estimator: Any, source: Sequences) -> Floats | None:
    """What the prior of the emissions has to know, from some of the steps; None where there is none."""
    if estimator.regularise is None:
        return None
    family, n_states = estimator._emission().family(), estimator.n_components
    some = sampled(source, GAUGE_SEED, GAUGED_STEPS, whole=False)
    assert isinstance(some.source, ArraySource)
    rows = np.asarray(some.source.rows, dtype=np.float64)
    weights = np.ones(len(rows)) if some.source.weights is None else np.asarray(some.source.weights, dtype=np.float64)
    if some.sequence_weights is not None:
        weights = weights * np.repeat(some.sequence_weights, some.lengths)
    gauge: Floats = family.gauge(rows, weights * (_steps(source) / _steps(some)), n_states)
    return gauge


def _steps(sequences: Sequences) -> float:
    """As many as their sequences count for."""
    weights = sequences.sequence_weights
    return float(sequences.lengths.sum() if weights is None else weights @ sequences.lengths)
