"""What a fitted hidden Markov model is used for: likelihoods, states, forecasts, what is missing, draws, criteria.

Everything here reads the fitted attributes alone, through the model that they describe, and runs on the engine by
blocks of whole sequences; the results are the same bits on any number of threads. Names and shapes are hmmlearn's where
it has the method.

References
----------
Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unveil.chains.fitted.as_mixture import Description
from unveil.chains.fitted.base import whole_number
from unveil.chains.fitted.block_functions import Completed, LogLikelihoods, Smoothed
from unveil.chains.fitted.online import Online
from unveil.chains.fitted.paths import Paths
from unveil.chains.fitted.stationary import durations, long_run
from unveil.core.arrays import Floats, Integers


class Chain(Online, Paths):
    """Mixin of the fitted hidden Markov models."""

    # -- likelihoods and states ----------------------------------------------------------------------------------------

    def score(self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None) -> float:
        """Log-likelihood of all sequences: the sum over them, as in hmmlearn, not the mean over rows.

        Parameters
        ----------
        X, lengths
            As in `decode`.
        sample_weight : array-like of shape (n_samples,), optional
            How often the observation of each step counts; 0 is a step that is missing.
        sequence_weight : array-like of shape (n_sequences,), optional
            How often each sequence counts.
        """
        return self._likelihood(X, lengths, sample_weight, sequence_weight)[0]

    def log_likelihoods(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Floats:
        """Log-likelihood of each sequence, (n_sequences,)."""
        return np.concatenate([one for one, *_ in self._each(X, lengths, LogLikelihoods, sample_weight=sample_weight)])

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Floats]:
        """Log-likelihood of all sequences, and the probabilities of the states given each, as in hmmlearn.

        Returns
        -------
        log_likelihood : float
        posteriors : array of shape (n_samples, n_components)
        """
        found = list(self._each(X, lengths, Smoothed))
        total = np.concatenate([values for values, _ in found]).sum()
        return float(total), np.concatenate([table for _, table in found])

    def predict_proba(self, X: Any, lengths: Any = None) -> Floats:
        """Probabilities of the states given whole sequences, (n_samples, n_components).

        A sequence that is impossible under the model has zeros.
        """
        return self.score_samples(X, lengths)[1]

    def impute(self, X: Any, lengths: Any = None) -> Any:
        """`X` with missing cells (NaN) replaced by their expectation given the whole sequence they are in.

        Where a column has no expectation (categories), the likeliest value stands in.
        """
        return self._rows_out(np.concatenate(list(self._each(X, lengths, Completed))))

    # -- criteria ------------------------------------------------------------------------------------------------------

    def aic(self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-likelihood + 2 * parameters."""
        return -2.0 * self._likelihood(X, lengths, sample_weight, sequence_weight)[0] + 2.0 * self._n_parameters()

    def bic(self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-likelihood + parameters * log(steps)."""
        log_likelihood, weight = self._likelihood(X, lengths, sample_weight, sequence_weight)
        return -2.0 * log_likelihood + self._n_parameters() * float(np.log(weight))

    def _likelihood(self, X: Any, lengths: Any, sample_weight: Any, sequence_weight: Any) -> tuple[float, float]:
        """Log-likelihood and weight of all sequences; one without weight takes no part, however unlikely it is."""
        weights = {"sample_weight": sample_weight, "sequence_weight": sequence_weight}
        found = zip(*self._each(X, lengths, LogLikelihoods, **weights), strict=True)
        values, shares, steps = (np.concatenate(part) for part in found)
        counted = shares > 0
        return float((shares[counted] * values[counted]).sum()), float(steps.sum())

    # -- the chain itself ----------------------------------------------------------------------------------------------

    def get_stationary_distribution(self) -> Floats:
        """Share of the steps that the chain spends in each state in the long run, (n_components,).

        It solves p = p @ transmat_. A chain that is periodic has it too, as an average over time. Where states fall
        into several groups that are never left, there is one solution for each: they are weighted by the chance to end
        up in them from `startprob_`.
        """
        plan = self._planned().plan
        return long_run(plan.start, plan.transition)

    def expected_durations(self) -> Floats:
        """Mean number of steps that a visit to each state lasts, (n_components,); infinite for one never left."""
        return durations(self._planned().plan.transition)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[Any, Integers]:
        """A sequence drawn from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of steps.
        random_state : optional
            A seed or generator; None takes that of the estimator.
        currstate : int, optional
            The state of the first step; None draws it from `startprob_`.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        states : array of shape (n_samples,)
        """
        model, plan, _ = self._planned()
        count = whole_number("n_samples", n_samples, 1)
        start = plan.start if currstate is None else _certain(currstate, model.n_components)
        random = check_random_state(self.random_state if random_state is None else random_state)
        states = _walk(start, plan.transition, random.random_sample((count, 1)))
        return Description.of(self, model, plan.params.emissions).draw(states, random), states


def _certain(state: Any, n_states: int) -> Floats:
    """All of the probability on one state."""
    if whole_number("currstate", state, 0) >= n_states:
        raise ValueError(f"currstate must be a state below {n_states}, got {state!r}")
    start = np.zeros(n_states)
    start[int(state)] = 1.0
    return start


def _walk(start: Floats, transition: Floats, uniforms: Floats) -> Integers:
    """States of a chain: a path drawn given observations that say nothing."""
    from unveil.chains.kernels.paths import draw_paths

    count = len(uniforms)
    out, silent = np.empty((count, 1), dtype=np.int64), np.zeros((count, len(start)))
    draw_paths(silent, np.array([count], dtype=np.intp), start, transition, uniforms, out)
    return out[:, 0]
