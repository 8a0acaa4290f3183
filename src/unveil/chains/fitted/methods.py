"""The methods of a fitted hidden Markov model, as its users know them.

Each takes what is handed in and calls a function of the fitted chain, which reads the attributes alone. Names and
shapes are hmmlearn's where it has the method.

References
----------
Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from unveil.chains.fitted import forecast as ahead
from unveil.chains.fitted import online, paths, states
from unveil.chains.fitted.belief import Belief
from unveil.chains.fitted.chain import FittedChain
from unveil.chains.fitted.stationary import durations, long_run
from unveil.chains.input import as_sequences, lengths_of
from unveil.core.arrays import Floats, Integers
from unveil.core.protocols import Asking
from unveil.estimation.shapes import Shapes, shapes_of
from unveil.sources.sequences import Sequences


class ChainMethods:
    """Mixin of the fitted hidden Markov models. It needs a face's chain, and how it takes sequences."""

    random_state: Any

    @abstractmethod
    def _chain(self) -> FittedChain:
        """What the fitted attributes describe."""

    @abstractmethod
    def _sequences(
        self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None, *, reset: bool
    ) -> Sequences:
        """What the user hands in, checked, as sequences."""

    def _asked(
        self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None
    ) -> tuple[FittedChain, Sequences]:
        """The chain, and the sequences that it is asked about."""
        chain = self._chain()
        plain = None if chain.plain is None or sample_weight is not None else chain.plain(X)
        if plain is None:
            return chain, self._sequences(X, lengths, sample_weight, sequence_weight, reset=False)
        return chain, as_sequences(plain, None, lengths_of(lengths, None, plain.n_rows), sequence_weight)

    # -- likelihoods ---------------------------------------------------------------------------------------------------

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
        return states.totals(*self._asked(X, lengths, sample_weight, sequence_weight)).log_likelihood

    def log_likelihoods(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Floats:
        """Log-likelihood of each sequence, (n_sequences,)."""
        return states.log_likelihoods(*self._asked(X, lengths, sample_weight))

    def n_parameters(self) -> int:
        """Number of free parameters: those that are masked, fixed or tied to others are none."""
        model = self._chain().model
        return model.n_parameters(len(model.shift))

    def aic(self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None) -> float:
        """Akaike's information criterion, the lower the better: -2 log-likelihood + 2 * parameters."""
        return self._criteria(states.totals(*self._asked(X, lengths, sample_weight, sequence_weight)))["aic"]

    def bic(self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better: -2 log-likelihood + parameters * log(steps)."""
        return self._criteria(states.totals(*self._asked(X, lengths, sample_weight, sequence_weight)))["bic"]

    def _summing(self, X: Any, sample_weight: Any = None) -> Asking[states.ChainTotals]:
        """What criteria need of all sequences."""
        return states.summing(*self._asked(X, None, sample_weight))

    def _criteria(self, totals: states.ChainTotals) -> dict[str, float]:
        """What models are compared by, from sums over the sequences."""
        parameters = self.n_parameters()
        return {
            "bic": -2.0 * totals.log_likelihood + parameters * float(np.log(totals.weight)),
            "aic": -2.0 * totals.log_likelihood + 2.0 * parameters,
            "log_likelihood": totals.log_likelihood,
        }

    # -- states --------------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Floats]:
        """Log-likelihood of all sequences, and the probabilities of the states given each, as in hmmlearn.

        Returns
        -------
        log_likelihood : float
        posteriors : array of shape (n_samples, n_components)
        """
        return states.posteriors(*self._asked(X, lengths))

    def predict_proba(self, X: Any, lengths: Any = None) -> Floats:
        """Probabilities of the states given whole sequences, (n_samples, n_components).

        A sequence that is impossible under the model has zeros.
        """
        return self.score_samples(X, lengths)[1]

    def filter(self, X: Any, lengths: Any = None) -> Floats:
        """Probabilities of the states given the past and the present only, (n_samples, n_components).

        Row t is p(s_t | x_1 ... x_t): what was known at the time, with no look ahead. From a step on
        that is impossible under the model, rows are zeros.
        """
        return states.filtered(*self._asked(X, lengths))

    def smooth(self, X: Any, lengths: Any = None, lag: int | None = None) -> Floats:
        """Probabilities of the states given the sequence up to `lag` steps ahead, (n_samples, n_components).

        Parameters
        ----------
        X, lengths
            As in `decode`.
        lag : int, optional
            Row t is p(s_t | x_1 ... x_t+lag), or given all there is where the sequence ends before. 0 is `filter`;
            None, the default, looks at the whole sequence, as `predict_proba` does.
        """
        return states.smoothed(*self._asked(X, lengths), lag)

    def impute(self, X: Any, lengths: Any = None) -> Any:
        """`X` with missing cells (NaN) replaced by their expectation given the whole sequence they are in.

        Where a column has no expectation (categories), the likeliest value stands in.
        """
        return states.imputed(*self._asked(X, lengths))

    # -- paths ---------------------------------------------------------------------------------------------------------

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, Integers]:
        """The likeliest states, and how likely they are.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features), or a list of sequences
            The steps of all sequences, one after the other.
        lengths : array-like of int, optional
            How many steps each sequence has; by default `X` is one sequence.
        algorithm : {"viterbi", "map"}, optional
            "viterbi", the default, finds the likeliest path as a whole. "map" takes the likeliest state of each step
            by itself: most states are right on average, but a step from one to the next may be impossible.

        Returns
        -------
        log_prob : float
            log p(x, path), summed over the sequences. For "map" it is the sum of the probabilities of the states, which
            is the expected number of steps that are right: no logarithm, and the same number as hmmlearn's.
        states : array of shape (n_samples,)
        """
        asked = getattr(self, "algorithm", None) or "viterbi" if algorithm is None else algorithm
        return paths.decode(*self._asked(X, lengths), asked)

    def predict(self, X: Any, lengths: Any = None) -> Integers:
        """The likeliest states: those of `decode`, (n_samples,)."""
        return self.decode(X, lengths)[1]

    def kbest(self, X: Any, k: int, lengths: Any = None) -> list[Any]:
        """The `k` likeliest paths.

        Returns
        -------
        list
            Of pairs (log p(x, path), states), the likeliest first; fewer than `k` where no more paths are possible. For
            several sequences, a list of such lists.
        """
        found = paths.k_best(*self._asked(X, lengths), k)
        return found[0] if len(found) == 1 else found

    def sample_paths(self, X: Any, lengths: Any = None, n_paths: int = 1, random_state: Any = None) -> Integers:
        """Paths drawn from their posterior given the sequences.

        Returns
        -------
        array of shape (n_paths, n_samples)
            Each row is a whole path through all sequences. -1 where a sequence is impossible under the model.
        """
        random_state = self.random_state if random_state is None else random_state
        return paths.drawn_paths(*self._asked(X, lengths), n_paths, random_state)

    def path_entropy(self, X: Any, lengths: Any = None) -> Floats:
        """Entropy in nats of the path given each sequence, (n_sequences,).

        0 where only one path is possible; the exponential is about the number of paths among which it is open.
        """
        return paths.entropies(*self._asked(X, lengths))

    # -- one step at a time --------------------------------------------------------------------------------------------

    def step(self, x: Any, state: Any = None) -> Belief:
        """Take in one more observation: `filter`, one step at a time.

        Parameters
        ----------
        x : array-like of shape (n_features,), mapping of names to cells, table of one row, or a single cell
            The observation; NaN for cells that are missing. What has names is taken by them.
        state : Belief or array of shape (n_components,), optional
            What the last call returned, or None before the first observation. Probabilities of the states serve where
            the parameters have changed since.

        Returns
        -------
        Belief
            Probabilities of the states given all observations so far, their log-density and their number.

        Examples
        --------
        >>> import numpy as np
        >>> from unveil import PoissonHMM
        >>> counts = np.array([1, 0, 2, 9, 8, 11, 1, 0, 1, 9, 12, 10])[:, None]
        >>> model = PoissonHMM(2, random_state=0).fit(counts)
        >>> belief = None
        >>> for count in [1, 0, 10]:
        ...     belief = model.step([count], belief)
        >>> belief.steps, bool(np.allclose(belief.probabilities, model.filter([[1], [0], [10]])[-1]))
        (3, True)
        """
        chain = self._chain()
        return online.step(chain, online.observation(self, x), state)

    def forecast(self, X: Any, h: int = 1, lengths: Any = None) -> Any:
        """What is to be expected in the `h` steps after a sequence ends.

        Parameters
        ----------
        X : sequences as in `decode`, or Belief
            What was seen so far.
        h : int, default=1
            Number of steps ahead.
        lengths : array-like of int, optional
            Lengths of the sequences, where `X` holds several.

        Returns
        -------
        Forecast
            A distribution for each step from 1 to `h`: probabilities of the states, and the mixture of observations
            that they weigh. For several sequences, a list of forecasts.
        """
        chain = self._chain()
        seen = X if isinstance(X, Belief) else self._sequences(X, lengths, reset=False)
        found = ahead.forecast(chain, seen, h)
        return found[0] if len(found) == 1 else found

    # -- the chain itself ----------------------------------------------------------------------------------------------

    def get_stationary_distribution(self) -> Floats:
        """Share of the steps that the chain spends in each state in the long run, (n_components,).

        It solves p = p @ transmat_. A chain that is periodic has it too, as an average over time. Where states fall
        into several groups that are never left, there is one solution for each: they are weighted by the chance to end
        up in them from `startprob_`.
        """
        plan = self._chain().plan
        return long_run(plan.start, plan.transition)

    def _shapes(self) -> Shapes | None:
        emitted = self._chain().emissions
        return shapes_of(emitted.family, emitted.params, self.get_stationary_distribution(), emitted.shift)

    def expected_durations(self) -> Floats:
        """Mean number of steps that a visit to each state lasts, (n_components,); infinite for one never left."""
        return durations(self._chain().plan.transition)

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
        random_state = self.random_state if random_state is None else random_state
        return paths.sample(self._chain(), n_samples, random_state, currstate)
