"""What a stored value must be, in a small language of its own: declared by its class, checked when a file is opened.

A declaration is read in order. Sizes have names, and are bound where they are first seen:

    yield "n_features_in_", size("columns")
    yield "weights_", shares("components")
    yield "means_", numbers("components", "columns")

so that siblings must agree. What is not said is strict: floats are finite and such that their squares are too, whole
numbers are not negative, and an attribute that is not declared is refused. A declaration may be a generator that looks
at what it has declared before: that has been checked by then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from unveil.core.arrays import Array

Sizes = dict[str, int]
Extent = str | int | None  # of an array in one direction: a named size, a number, or any
Law = Callable[[Array], str | None]  # what an array lacks, in words; None where it is as it should be

LARGEST = 1e152  # the squares of greater numbers leave no room for sums
FINITE = float(np.finfo(np.float64).max)  # of sums of squares, and where nothing is squared
LEAST_DIVISOR = 1e-300  # what is less overflows where something is divided by it
SMALLEST = 1e-150  # what is divided by must leave room for squares
LARGEST_COUNT = 1 << 53  # whole numbers beyond are none to float64
SUM_TOLERANCE = 1e-6  # how far from 1 shares may sum: what passes through float32 does
ASYMMETRY, ROUNDING = 1e-9, 1e-14  # of a symmetric matrix, as a share of the diagonals, and of its largest entry
NEGATIVE = 1e-6  # of an eigenvalue that should not be below 0, as a share of the largest


class Declared(ABC):
    """What a value must be."""

    optional: bool = False  # may the attribute be missing?

    @abstractmethod
    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Raise a ValueError that names `place` where `value` is something else; bind sizes that it has first."""


Declaration = Iterable[tuple[str, Declared]]


def check(declaration: Declaration, held: Mapping[str, Any], sizes: Sizes | None = None, within: str = "") -> None:
    """Refuse what is held where it is not as declared, is missing, or is not declared.

    >>> check([("weights_", shares("k")), ("means_", numbers("k", 2))], {"weights_": np.ones(1), "means_": np.ones(3)})
    Traceback (most recent call last):
    ...
    ValueError: means_ must have shape (k = 1, 2), got (3,)
    """
    sizes, known = {} if sizes is None else sizes, set()
    for name, declared in declaration:
        known.add(name)
        if name in held:
            declared.check(held[name], f"{within}{name}", sizes)
        elif not declared.optional:
            raise ValueError(f"{within}{name} is missing")
    unknown = sorted(held.keys() - known)
    if unknown:
        raise ValueError(f"{within}{unknown[0]} is not declared: no fit leaves it behind")


# -- arrays and numbers ------------------------------------------------------------------------------------------------

NAMES = {"f": "floats", "iu": "whole numbers", "b": "truth values", "fiu": "numbers"}


@dataclass(frozen=True)
class NumbersOf(Declared):
    """An array, or a single number where there is no extent."""

    extents: tuple[Extent, ...] | None  # None: of any shape
    kinds: str  # of dtype, as NumPy has them
    low: float = -LARGEST
    high: float = LARGEST
    gaps: bool = False  # may there be NaN?
    bytes: tuple[int, ...] = (8,)  # of a number
    laws: tuple[Law, ...] = ()
    above: bool = False  # is `low` itself refused?
    loose: bool = False  # may users have set lists, or whole numbers, in place of an array of floats?

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Type, shape, range and laws."""
        array = self._array(value, place)
        if self.extents is not None:
            check_shape(array.shape, self.extents, place, sizes)
        if self.kinds != "b":
            self._check_range(array, place)
        for law in self.laws if array.size else ():
            lacks = law(array)
            if lacks is not None:
                raise ValueError(f"{place} must {lacks}")

    def _array(self, value: Any, place: str) -> Array:
        if self.loose and not isinstance(value, np.ndarray):
            value = _as_array(value)
        elif self.extents == ():
            value = _as_scalar(value)
        kinds = "fiu" if self.loose else self.kinds
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise ValueError(f"{place} must hold {NAMES[self.kinds]}, got {_kind_of(value)}")
        if not self.loose and self.extents != () and value.dtype.itemsize not in self.bytes and self.kinds != "b":
            raise ValueError(f"{place} must hold {NAMES[self.kinds]} of {8 * self.bytes[0]} bits, got {value.dtype}")
        return value

    def _check_range(self, array: Array, place: str) -> None:
        if array.dtype.kind == "f" and not self.gaps and np.isnan(array).any():
            raise ValueError(f"{place} must not hold NaN")
        array = array.astype(np.float64) if array.dtype.kind == "f" else array  # float32 does not know the limits
        with np.errstate(invalid="ignore"):
            wrong = (array <= self.low if self.above else array < self.low) | (array > self.high)
        if wrong.any():
            low = "more than" if self.above else "from"
            got = array[wrong].flat[0] if array.ndim else array
            raise ValueError(f"{place} must hold numbers {low} {self.low:g} to {self.high:g}, got {got!s}")


def check_shape(shape: tuple[int, ...], extents: Sequence[Extent], place: str, sizes: Sizes) -> None:
    """Refuse another shape than that of the named sizes; those that are new are bound."""
    fits = len(shape) == len(extents)
    for extent, found in zip(extents, shape, strict=False) if fits else ():
        wanted = sizes.setdefault(extent, found) if isinstance(extent, str) else extent
        fits &= wanted is None or found == wanted
    if not fits:
        said = [f"{one} = {sizes[one]}" if one in sizes else "any" if one is None else str(one) for one in extents]
        raise ValueError(f"{place} must have shape ({', '.join(said)}{',' * (len(said) == 1)}), got {shape}")


def _as_array(value: Any) -> Any:
    """A list of numbers as an array; anything else as it is."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return value


def _as_scalar(value: Any) -> Any:
    """A number as an array of no dimension; anything else as it is."""
    return np.asarray(value) if isinstance(value, int | float | np.generic) else value


def _kind_of(value: Any) -> str:
    return f"{value.dtype}" if isinstance(value, np.ndarray) else f"{value!r:.40}"


def numbers(*extents: Extent, **rules: Any) -> NumbersOf:
    """Floats: an array of this shape, or a single one."""
    return NumbersOf(extents, "f", **rules)


def by_hand(*extents: Extent, **rules: Any) -> NumbersOf:
    """NumbersOf as users may set them; without extents of any shape, which whoever uses them checks."""
    return NumbersOf(extents or None, "f", loose=True, **{"low": -FINITE, "high": FINITE, **rules})


def positive(*extents: Extent, **rules: Any) -> NumbersOf:
    """Floats that may be divided by."""
    return NumbersOf(extents, "f", low=SMALLEST, **rules)


def at_least_zero(*extents: Extent, **rules: Any) -> NumbersOf:
    """Floats from 0 on."""
    return NumbersOf(extents, "f", low=0.0, **rules)


def chances(*extents: Extent, **rules: Any) -> NumbersOf:
    """Floats from 0 to 1."""
    return NumbersOf(extents, "f", **{"low": 0.0, "high": 1.0 + SUM_TOLERANCE, **rules})


def shares(*extents: Extent, **rules: Any) -> NumbersOf:
    """Floats from 0 on that sum to 1 along the last axis."""
    return NumbersOf(extents, "f", low=0.0, laws=(sum_to_one,), **rules)


def counts(*extents: Extent, below: int = LARGEST_COUNT, **rules: Any) -> NumbersOf:
    """Whole numbers from 0 to below `below`; what indexes something must be such."""
    return NumbersOf(extents, "iu", low=0, high=below - 1, bytes=(8, 4), **rules)


def bounds(*extents: Extent, **rules: Any) -> NumbersOf:
    """Log-likelihoods and such: floats, which may be infinite."""
    return NumbersOf(extents, "f", low=-np.inf, high=np.inf, **rules)


def truth(*extents: Extent) -> NumbersOf:
    """Truth values."""
    return NumbersOf(extents, "b")


def number(**rules: Any) -> NumbersOf:
    """A single number, whole or not."""
    return NumbersOf((), "fiu", **rules)


# -- laws --------------------------------------------------------------------------------------------------------------


def sum_to_one(array: Array) -> str | None:
    """Along the last axis."""
    away = np.abs(array.sum(axis=-1) - 1.0)
    return None if np.all(away <= SUM_TOLERANCE) else f"sum to 1, and is {float(np.max(away)):.3g} off"


def symmetric(array: Array) -> str | None:
    """Matrices, in the last two axes; what rounding leaves is small against the entry and its diagonals, or all."""
    away, sizes = np.abs(array - np.swapaxes(array, -1, -2)), np.sqrt(np.abs(np.diagonal(array, axis1=-2, axis2=-1)))
    own = ASYMMETRY * sizes[..., :, None] * sizes[..., None, :]
    of_all = ROUNDING * np.abs(array).max(axis=(-1, -2), keepdims=True)
    return None if np.all(away <= np.maximum(own, of_all)) else "be symmetric"


def definite(array: Array) -> str | None:
    """Symmetric matrices that have a Cholesky factor."""
    lacks = symmetric(array)
    if lacks is not None:
        return lacks
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        return "be positive definite"
    return None


def semidefinite(array: Array) -> str | None:
    """Symmetric matrices without a direction of negative variance, to within rounding."""
    lacks = symmetric(array)
    if lacks is not None:
        return lacks
    values = np.linalg.eigvalsh(array)
    return None if np.all(values[..., 0] >= -NEGATIVE * np.abs(values).max(axis=-1)) else "be positive semidefinite"


def not_negative(array: Array) -> str | None:
    """From 0 on."""
    return None if np.all(array >= 0) else "not be negative"


def clear_of_zero(array: Array) -> str | None:
    """Zero, or so large that it may be divided by."""
    return None if np.all((array == 0) | (np.abs(array) >= LEAST_DIVISOR)) else f"be 0, or at least {LEAST_DIVISOR:g}"


def rising(array: Array) -> str | None:
    """Never falling."""
    return None if np.all(np.diff(array) >= 0) else "never fall"


def distinct(array: Array) -> str | None:
    """No value twice."""
    return None if len(np.unique(array)) == array.size else "hold no value twice"


# -- all else ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size(Declared):
    """A whole number that is a size from then on."""

    name: str
    low: int = 1

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Whole, large enough, and the size of that name."""
        counts().check(value, place, sizes)
        if int(value) < self.low or sizes.setdefault(self.name, int(value)) != value:
            raise ValueError(f"{place} must be {sizes.get(self.name, f'at least {self.low}')}, got {value}")


@dataclass(frozen=True)
class Word(Declared):
    """A word, any or one of some."""

    choices: tuple[str, ...] | None = None

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """A str."""
        if not isinstance(value, str) or (self.choices is not None and value not in self.choices):
            wanted = "a word" if self.choices is None else f"one of {', '.join(map(repr, self.choices))}"
            raise ValueError(f"{place} must be {wanted}, got {value!r:.40}")


@dataclass(frozen=True)
class Words(Declared):
    """An array of different words."""

    extent: Extent

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Of one dimension."""
        cells = _cells_of(value, "OU", "words", self.extent, place, sizes)
        if not all(isinstance(cell, str) for cell in cells) or len(set(cells)) < len(cells):
            raise ValueError(f"{place} must hold different words")


@dataclass(frozen=True)
class LabelsOf(Declared):
    """Values that tell classes, or the levels of a column, apart: sorted words or numbers, none twice."""

    extent: Extent

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Of one dimension, no NaN among them."""
        cells = _cells_of(value, "OUbiuf", "words or numbers", self.extent, place, sizes)
        if len(set(cells)) < len(cells) or any(cell != cell for cell in cells):
            raise ValueError(f"{place} must hold no value twice, and no NaN")
        comparable = all(isinstance(cell, int | float) for cell in cells)
        if comparable and any(one > other for one, other in pairwise(cells)):
            raise ValueError(f"{place} must be sorted")


def _cells_of(value: Any, kinds: str, said: str, extent: Extent, place: str, sizes: Sizes) -> list[Any]:
    """The cells of an array of one dimension, of some kinds of NumPy's."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or value.ndim != 1:
        raise ValueError(f"{place} must be an array of {said}, got {_kind_of(value)}")
    check_shape(value.shape, (extent,), place, sizes)
    return list(value.tolist())


@dataclass(frozen=True)
class ListOf(Declared):
    """A list or tuple whose items are all alike."""

    of: Declared
    kind: type[Any] = list
    extent: Extent | None = None

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Each of them."""
        if type(value) is not self.kind:
            raise ValueError(f"{place} must be a {self.kind.__name__}, got {type(value).__name__}")
        if self.extent is not None:
            check_shape((len(value),), (self.extent,), place, sizes)
        for index, item in enumerate(value):
            self.of.check(item, f"{place}[{index}]", sizes)


@dataclass(frozen=True)
class Each(Declared):
    """A list or tuple whose items are one each."""

    each: tuple[Declared, ...]
    kind: type[Any] = tuple

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Each by its own."""
        if type(value) is not self.kind or len(value) != len(self.each):
            raise ValueError(f"{place} must be a {self.kind.__name__} of {len(self.each)}, got {value!r:.40}")
        for index, (declared, item) in enumerate(zip(self.each, value, strict=True)):
            declared.check(item, f"{place}[{index}]", sizes)


@dataclass(frozen=True)
class RecordOf(Declared):
    """An object of a class, by its fields; or a mapping, by its keys."""

    kind: type[Any]
    fields: Mapping[str, Declared] | None  # None: any

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Each field; a mapping has no others."""
        if not isinstance(value, self.kind):
            raise ValueError(f"{place} must be a {self.kind.__name__}, got {type(value).__name__}")
        if self.fields is None:
            return
        if isinstance(value, Mapping):
            check(self.fields.items(), value, sizes, f"{place}.")
            return
        for name, declared in self.fields.items():
            declared.check(getattr(value, name), f"{place}.{name}", sizes)


@dataclass(frozen=True)
class DictionaryOf(Declared):
    """A dictionary by words, whose values are all alike."""

    of: Declared

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Each of them."""
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{place} must be a dictionary by words, got {type(value).__name__}")
        for name, item in value.items():
            self.of.check(item, f"{place}.{name}", sizes)


@dataclass(frozen=True)
class OrNone(Declared):
    """None, or what it is else."""

    of: Declared

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """What it is, if it is there."""
        if value is not None:
            self.of.check(value, place, sizes)


@dataclass(frozen=True)
class AllOf(Declared):
    """All of several things, in turn."""

    each: tuple[Declared, ...]

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """One after the other."""
        for one in self.each:
            one.check(value, place, sizes)


@dataclass(frozen=True)
class MayLack(Declared):
    """An attribute that may be missing."""

    of: Declared
    optional: ClassVar[bool] = True  # type: ignore[misc]

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """What it is, where it is there."""
        self.of.check(value, place, sizes)


@dataclass(frozen=True)
class Tried(Declared):
    """What only a trial tells: any of its errors speaks against the value."""

    trial: Callable[[Any], Any]

    def check(self, value: Any, place: str, sizes: Sizes) -> None:
        """Run it."""
        try:
            self.trial(value)
        except Exception as error:  # whatever the trial may raise is what use would
            raise ValueError(f"{place} cannot be: {error}") from error
