"""What is known of the state after the observations so far: all that filtering takes from step to step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.once import cached_property

SUM_TOLERANCE = 1e-6  # by which probabilities that a user writes down may miss 1


@dataclass(frozen=True, eq=False)
class Belief:
    """Probabilities of the states given what was seen so far, made by ``step`` of a fitted hidden Markov model.

    Attributes
    ----------
    log_probabilities : array of shape (n_components,)
        Logarithms of `probabilities`. These are what is kept: a state that is out of the question today, with a
        probability too small for a number, may be the only one that is left tomorrow.
    probabilities : array of shape (n_components,)
        Of the state at the last observation, given all observations up to it.
    log_likelihood : float
        Log-density of all observations so far.
    steps : int
        How many there were.
    model : str
        A digest of the parameters that it was made with; other models refuse it.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from unveil.chains.fitted.belief import Belief
    >>> belief = Belief(np.log([0.25, 0.75]), -1.5, 3, "f00d")
    >>> again = Belief.from_dict(json.loads(json.dumps(belief.to_dict())))
    >>> again.probabilities.round(15).tolist(), again.log_likelihood, again.steps
    ([0.25, 0.75], -1.5, 3)
    """

    log_probabilities: Floats
    log_likelihood: float
    steps: int
    model: str

    def __post_init__(self) -> None:
        logs = np.array(self.log_probabilities, dtype=np.float64)
        logs.flags.writeable = False
        object.__setattr__(self, "log_probabilities", logs)

    @cached_property
    def probabilities(self) -> Floats:
        """Of the states, (n_components,)."""
        found: Floats = np.exp(self.log_probabilities)
        found.flags.writeable = False
        return found

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words only, as JSON takes them, with None for minus infinity; nothing is lost on the way."""
        return {
            "log_probabilities": [_written(value) for value in self.log_probabilities.tolist()],
            "log_likelihood": _written(float(self.log_likelihood)),
            "steps": int(self.steps),
            "model": self.model,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Belief:
        """What `to_dict` wrote."""
        logs = np.array([_read(value) for value in stored["log_probabilities"]])
        return cls(logs, _read(stored["log_likelihood"]), int(stored["steps"]), str(stored["model"]))


def _written(value: float) -> float | None:
    return None if value == -np.inf else value


def _read(value: float | None) -> float:
    return -np.inf if value is None else float(value)


def belief_of(argument: str, given: Any, n_states: int, model: str) -> Belief:
    """`given` as a belief of the model of this digest: one that it made itself, or probabilities of its states."""
    taken = f"a belief that step of this model returned, or probabilities of its {n_states} states"
    if isinstance(given, Belief):
        if given.model == model and given.log_probabilities.shape == (n_states,):
            return given
        got = f"a belief over {len(given.log_probabilities)} states" + (
            "" if given.model == model else " of another model"
        )
        raise ValueError(f"{argument} must be {taken}, got {got}")
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{argument} must be {taken}, got {type(given).__name__}") from None
    if shares.shape != (n_states,):
        raise ValueError(f"{argument} must be {taken}, got an array of shape {shares.shape}")
    if not np.all(shares >= 0) or not abs(shares.sum() - 1) <= SUM_TOLERANCE:
        raise ValueError(f"{argument} must be {taken}, which sum to 1, got {shares.tolist()}")
    with np.errstate(divide="ignore"):
        return Belief(np.log(shares), 0.0, 0, model)


def digest(*parts: Any) -> str:
    """A short name for parameters: the same for the same numbers, whatever process or machine they are on."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        _feed(found, part)
    return found.hexdigest()


def _feed(found: Any, part: Any) -> None:
    """Arrays by their shape and numbers, records and tuples part by part."""
    if is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            _feed(found, getattr(part, one.name))
    elif isinstance(part, tuple | list):
        for piece in part:
            _feed(found, piece)
    elif part is None or isinstance(part, str):
        found.update(repr(part).encode())
    else:
        numbers = np.asarray(part, dtype="<f8")
        found.update(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes())
