"""What is made of the attributes of an estimator, made once and kept for as long as they hold the same.

A fitted estimator is asked many times over (a chain for every step that comes in), and making its model ready may take
longer than the answer. Attributes may be set by hand, as a whole or number by number (`model.means_[0] = 3`), so
before each use they are looked at and compared with what they held when it was made: arrays by their bytes, which for a
few kilobytes takes about a microsecond, lists and records part by part, all else by its pickle. What cannot be told is
made anew each time. What is kept lies beside the estimators, not in them: it does not travel with copies and pickles.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

Made = TypeVar("Made")
WORDS = frozenset({type(None), bool, str, bytes})
NUMBERS = frozenset({int, float})
ARRAYS = frozenset({np.ndarray, np.memmap})
COPIED_BYTES = 1 << 16  # of an array that are kept as they are; larger ones by a digest, so as not to take room twice

LEARNING = frozenset(
    {"schedule", "expectation", "max_iter", "tol", "n_init", "init_params", "warm_start", "random_state"}
    | {"random_seed_", "verbose", "verbose_interval"}
)
RECORDS = frozenset({"history_", "certificate_", "lower_bound_", "lower_bounds_", "converged_", "n_iter_"})
"""What the model that attributes describe does not depend on: how it was learnt, and what is on record of that."""


class UntoldError(Exception):
    """What an attribute holds cannot be told."""


class Kept(Generic[Made]):
    """What `make` makes of an estimator, until an attribute changes.

    Parameters
    ----------
    make : callable
        From a fitted estimator to anything that does not hold the estimator itself, which would never be let go of. It
        may add attributes (what a fit knows of the columns, where others were set by hand), and change none.
    apart : collection of str
        Attributes that it does not depend on, besides those that say how a fit was made or went, and private ones.
    same : collection of str
        Attributes that are told by identity: what is made has to hold the very objects that they are.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import KMeans
    >>> lengths = Kept(lambda model: print("made") or np.linalg.norm(model.cluster_centers_, axis=1))
    >>> model = KMeans(2, random_state=0).fit([[0.0], [0.0], [3.0], [3.0]])
    >>> sum(lengths(model)), sum(lengths(model))
    made
    (np.float64(3.0), np.float64(3.0))
    >>> model.cluster_centers_ *= 2
    >>> sum(lengths(model))
    made
    np.float64(6.0)
    """

    def __init__(self, make: Callable[[Any], Made], apart: Collection[str] = (), same: Collection[str] = ()) -> None:
        self.make, self.same = make, frozenset(same)
        self.apart = LEARNING | RECORDS | frozenset(apart)
        self._kept: WeakKeyDictionary[Any, tuple[dict[str, Any], Made]] = WeakKeyDictionary()

    def __call__(self, estimator: Any) -> Made:
        """What was made of the estimator, made anew if its attributes do not hold the same as then."""
        before, kept = self._seen(estimator), self._kept.get(estimator)
        if kept is not None and before == kept[0]:
            return kept[1]
        made = self.make(estimator)
        after = self._seen(estimator)
        if before is not None and after is not None and before.items() <= after.items():
            self._kept[estimator] = (after, made)
        return made

    def _seen(self, estimator: Any) -> dict[str, Any] | None:
        """All that the attributes hold, by name; None where it cannot be told."""
        try:
            return {
                name: id(value) if name in self.same else contents(value)
                for name, value in vars(estimator).items()
                if name in self.same or (name[0] != "_" and name not in self.apart)
            }
        except UntoldError:
            return None


def contents(value: Any) -> Any:
    """What an attribute holds, so that two of them are equal only if nothing can tell the attributes apart."""
    kind = type(value)
    if kind in WORDS:
        return value
    if kind in NUMBERS:
        return kind, value.hex() if kind is float else value  # 0 and -0 are two; nan is one
    if kind in ARRAYS:
        return value.shape, value.dtype, _numbers(value)
    if kind is list or kind is tuple:
        return kind, [contents(one) for one in value]
    if kind is dict:
        return kind, [(contents(key), contents(one)) for key, one in value.items()]
    if is_dataclass(value):
        return kind, [contents(getattr(value, field.name)) for field in fields(value)]
    try:
        return kind, pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError):
        raise UntoldError from None


def _numbers(array: NDArray[Any]) -> Any:
    """The numbers of an array; a digest where they take much room."""
    if array.dtype.hasobject:
        return [contents(one) for one in array.ravel().tolist()]
    if array.nbytes <= COPIED_BYTES:
        return array.tobytes()
    return blake2b(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).digest()
