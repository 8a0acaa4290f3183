"""Paths of hidden states: the likeliest, the few likeliest, draws from all of them, and how uncertain they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.fitted.base import ChainBase, whole_number
from unveil.chains.fitted.block_functions import Best, Drawn, Entropies, Several, Smoothed
from unveil.core.arrays import Floats, Integers
from unveil.estimation.base import seed_of

DECODERS = ("viterbi", "map")


class Paths(ChainBase):
    """Mixin: paths."""

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
        if (self._decoder() if algorithm is None else self._known_decoder(algorithm)) == "map":
            posteriors = np.concatenate([table for _, table in self._each(X, lengths, Smoothed)])
            return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1).astype(np.int64)
        found = list(self._each(X, lengths, Best))
        values = np.concatenate([values for values, _ in found])
        return float(values.sum()), np.concatenate([states for _, states in found])

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
        whole_number("k", k, 1)
        found = [one for block in self._each(X, lengths, Several, k=int(k)) for one in block]
        return found[0] if len(found) == 1 else found

    def sample_paths(self, X: Any, lengths: Any = None, n_paths: int = 1, random_state: Any = None) -> Integers:
        """Paths drawn from their posterior given the sequences.

        Returns
        -------
        array of shape (n_paths, n_samples)
            Each row is a whole path through all sequences. -1 where a sequence is impossible under the model.
        """
        whole_number("n_paths", n_paths, 1)
        seed = seed_of(self.random_state if random_state is None else random_state)
        drawn = self._each(X, lengths, Drawn, n_paths=int(n_paths), seed=seed)
        return np.ascontiguousarray(np.concatenate(list(drawn)).T)

    def path_entropy(self, X: Any, lengths: Any = None) -> Floats:
        """Entropy in nats of the path given each sequence, (n_sequences,).

        0 where only one path is possible; the exponential is about the number of paths among which it is open.
        """
        return np.concatenate(list(self._each(X, lengths, Entropies)))

    def _decoder(self) -> str:
        """The algorithm that the estimator names, where it has one."""
        return self._known_decoder(getattr(self, "algorithm", None) or "viterbi")

    @staticmethod
    def _known_decoder(algorithm: Any) -> str:
        if algorithm not in DECODERS:
            raise ValueError(f"algorithm must be one of {', '.join(map(repr, DECODERS))}, got {algorithm!r}")
        return str(algorithm)
