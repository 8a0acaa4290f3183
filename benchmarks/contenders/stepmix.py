"""StepMix, https://stepmix.readthedocs.io: latent class models in NumPy.

It draws its starts itself and takes none. `_Started` puts the given one in the place of the one drawn, in the one
method where that is made, so that it climbs from where the others do; the iterations are its own.
"""

from __future__ import annotations

from typing import Any

from stepmix.stepmix import StepMix

from benchmarks.contenders.interface import Arrays, Run


class _Started(StepMix):  # type: ignore[misc]
    """StepMix from given parameters."""

    start: Arrays

    def _initialize_parameters(self, X: Any, random_state: Any) -> None:
        super()._initialize_parameters(X, random_state)
        self.weights_ = self.start["weights"].copy()
        self._mm.parameters["pis"] = self.start["probabilities"].copy()


def bernoulli(arrays: Arrays) -> Run:
    """StepMix with measurement="binary"."""

    def run(steps: int) -> Arrays:
        model = _Started(
            len(arrays["weights"]),
            measurement="binary",
            abs_tol=0.0,
            rel_tol=0.0,
            max_iter=steps,
            progress_bar=0,
            random_state=0,
        )
        model.start = arrays
        model.fit(arrays["rows"])
        return {"weights": model.weights_, "probabilities": model.get_parameters()["measurement"]["pis"]}

    return run
