"""One mutation of a model file: of its bytes, of its header, or of its arrays, which are then laid out anew.

Half of them get the digest of what they then hold: such a file is one that somebody made on purpose.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from unveil.storage.file import DIGEST, KEY, NO_DIGEST, json_of, sealed

Arrays = dict[str, NDArray[Any]]

EXTREMES = (0, -1, 1, 2, 7, -(2**31), 2**31, 2**53, 2**62, -1e-9, 0.5, 1e-320, 1e-12, 1e12, 1e100, 1e160, 1e300, -1e300)
NOT_FINITE = (np.nan, np.inf, -np.inf)
LEAVES = (
    *(
        "auto",
        "tied",
        "diag",
        "EEI",
        "VEE",
        "VEV",
        "svd",
        "lsqr",
        "eigen",
        "hard",
        "sampled",
        "sparse",
        "stepwise",
        "lbfgs",
    ),
    *("threads", "error", "missing", "random", "banded", "ergodic", "viterbi", "map", "bic", "mle", "local", "rare"),
    *(None, True, False, "", "x", "full", "spherical", "cosine", "partial", "mahalanobis", "nystroem", "precomputed"),
    *([], {}, {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"tuple": []}, {"dict": {}}, {"strings": ["a"]}),
    *(0, -1, 1, 2, 3, 5, 1000, 2**31, 2**40, 2**63, 10**30, -0.5, 0.25, 1e-300, 1e30, 1e300),
)
KINDS = {"f": "F", "i": "I", "u": "U", "b": "BOOL"}  # of types, as safetensors calls them
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "uint64", "bool")


class Opened(NamedTuple):
    """A file, taken apart."""

    header: dict[str, Any]
    arrays: Arrays


class Mutant(NamedTuple):
    """A mutated file, by what was done to it, and whether its digest was made anew."""

    kind: str
    sealed: bool
    data: bytes


def mutant(data: bytes, seed: int) -> Mutant:
    """One mutation, which `seed` tells all about."""
    draw = random.Random(seed)
    kind, anew = draw.choice(list(IN_PLACE) * 2 + list(LAID_OUT) * 3), draw.random() < 0.5
    if kind in IN_PLACE:
        return Mutant(
            kind, anew, _sealed_in_place(IN_PLACE[kind](data, draw), data) if anew else IN_PLACE[kind](data, draw)
        )
    text = json.loads(json_of(data))["__metadata__"]
    file = Opened(json.loads(text[KEY]), {name: array.copy() for name, array in sorted(load(data).items())})
    LAID_OUT[kind](file, draw)
    metadata = {KEY: json.dumps(file.header), DIGEST: NO_DIGEST if anew else text[DIGEST]}
    made = _container(metadata, file.arrays)
    return Mutant(kind, anew, bytes(sealed(made) if anew else made))


def _container(metadata: dict[str, str], arrays: Arrays) -> bytearray:
    """The file of docs/format.md: safetensors itself puts what it writes in another order every time."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    cells = b""
    for name, array in arrays.items():
        kind = KINDS[array.dtype.kind]
        bits = "" if kind == "BOOL" else str(8 * array.dtype.itemsize)
        offsets = [len(cells), len(cells) + array.nbytes]
        entries[name] = {"dtype": kind + bits, "shape": list(array.shape), "data_offsets": offsets}
        cells += array.tobytes()
    text = json.dumps(entries, separators=(",", ":")).encode()
    return bytearray(struct.pack("<Q", len(text)) + text + cells)


def _sealed_in_place(changed: bytes, before: bytes) -> bytes:
    """With the digest anew, if the old one is still where it was."""
    digest = json.loads(json_of(before))["__metadata__"][DIGEST].encode()
    place = changed.find(digest)
    if place < 0:
        return changed
    blank = bytearray(changed[:place] + NO_DIGEST.encode() + changed[place + len(digest) :])
    try:
        return bytes(sealed(blank))
    except (struct.error, IndexError):  # so short that it has no header
        return changed


# -- in place ----------------------------------------------------------------------------------------------------------


def _flip_bits(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _flip_array_bit(data: bytes, draw: random.Random) -> bytes:
    changed, first = bytearray(data), 8 + len(json_of(data))
    changed[draw.randrange(min(first, len(data) - 1), len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _change_bytes(data: bytes, draw: random.Random) -> bytes:
    changed, length = bytearray(data), draw.choice((1, 2, 8, 64))
    place = draw.randrange(len(data))
    changed[place : place + length] = draw.randbytes(len(changed[place : place + length]))
    return bytes(changed)


def _truncate(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def _change_digits(data: bytes, draw: random.Random) -> bytes:
    """Digits of the JSON: numbers in the header, shapes and offsets."""
    changed, end = bytearray(data), 8 + len(json_of(data))
    places = [place for place in range(8, end) if 48 <= changed[place] <= 57]
    for place in draw.sample(places, min(draw.choice((1, 1, 3)), len(places))):
        changed[place] = draw.randrange(48, 58)
    return bytes(changed)


IN_PLACE: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "bits": _flip_bits,
    "array bit": _flip_array_bit,
    "bytes": _change_bytes,
    "truncated": _truncate,
    "digits": _change_digits,
}


# -- the header --------------------------------------------------------------------------------------------------------


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Containers and keys of all that is below `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found.append((value, key))
        _places(item, found)
    return found


def _change_value(file: Opened, draw: random.Random) -> None:
    for _ in range(draw.choice((1, 1, 2))):
        home, key = draw.choice(_places({name: file.header[name] for name in ("attributes", "parameters")}, [])[2:])
        old = home[key]
        is_number = isinstance(old, int | float) and not isinstance(old, bool)
        home[key] = (
            draw.choice((old * 2, -old, old + 1, old * 1e9)) if is_number and draw.random() < 0.5 else _leaf(draw)
        )


def _leaf(draw: random.Random) -> Any:
    return json.loads(json.dumps(draw.choice(LEAVES)))


def _drop_value(file: Opened, draw: random.Random) -> None:
    home, key = draw.choice(_places(file.header, []))
    del home[key]


def _swap_values(file: Opened, draw: random.Random) -> None:
    places = _places(file.header["attributes"], [])
    (one, first), (other, second) = draw.choice(places), draw.choice(places)
    one[first], other[second] = json.loads(json.dumps(other[second])), json.loads(json.dumps(one[first]))


def _change_parameter(file: Opened, draw: random.Random) -> None:
    home = file.header["parameters"]
    name = draw.choice(list(home))
    home[name] = _leaf(draw)


def _change_class(file: Opened, draw: random.Random) -> None:
    file.header["class"] = draw.choice(
        ("KMeans", "GaussianMixture", "PCA", "GaussianHMM", "StudentMixture", "PoissonMixture")
    )


def _add_attribute(file: Opened, draw: random.Random) -> None:
    file.header["attributes"][draw.choice(("n_outputs_", "oob_score_", "weights_", "clusters_", "labels_"))] = _leaf(
        draw
    )


# -- arrays ------------------------------------------------------------------------------------------------------------


def _cells(file: Opened, draw: random.Random) -> NDArray[Any]:
    """The cells of one of the arrays, to be written to; there may be none."""
    filled = [array for array in file.arrays.values() if array.size]
    return draw.choice(filled).reshape(-1) if filled else np.empty(0)


def _set_cells(file: Opened, draw: random.Random, values: tuple[Any, ...]) -> None:
    cells = _cells(file, draw)
    with np.errstate(all="ignore"):
        for _ in range(draw.choice((1, 1, 2, 5))):
            if len(cells):
                cells[draw.randrange(len(cells))] = _cast(draw.choice(values), cells.dtype)


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as a type holds it."""
    if dtype.kind not in "iu" or not np.isfinite(value):
        return np.array(value, dtype=np.float64).astype(dtype)
    limits = np.iinfo(dtype)
    return dtype.type(min(max(int(value), int(limits.min)), int(limits.max)))


def _set_extremes(file: Opened, draw: random.Random) -> None:
    _set_cells(file, draw, EXTREMES)


def _set_not_finite(file: Opened, draw: random.Random) -> None:
    _set_cells(file, draw, NOT_FINITE)


def _nudge(file: Opened, draw: random.Random) -> None:
    cells, factor = _cells(file, draw), draw.choice((1.0 + 1e-9, 1.001, 2.0, -1.0, 1e3, 0.0))
    if len(cells):
        place = draw.randrange(len(cells))
        with np.errstate(all="ignore"):
            cells[place] = np.asarray(cells[place] * factor).astype(cells.dtype)


def _scale(file: Opened, draw: random.Random) -> None:
    cells = _cells(file, draw)
    with np.errstate(all="ignore"):
        cells[...] = (cells * draw.choice((0.0, 0.5, -1.0, 1e6, 1e-6, 1e150, 1e-200, 1e300))).astype(cells.dtype)


def _shuffle(file: Opened, draw: random.Random) -> None:
    cells = _cells(file, draw)
    cells[...] = cells[np.random.default_rng(draw.randrange(1 << 30)).permutation(len(cells))]


def _name(file: Opened, draw: random.Random) -> str | None:
    return draw.choice(list(file.arrays)) if file.arrays else None


def _reshape(file: Opened, draw: random.Random) -> None:
    name = _name(file, draw)
    if name is not None:
        array = file.arrays[name]
        ways = [
            array.T,
            array[:-1] if array.ndim else array,
            array.reshape(-1),
            array[..., None],
            array[:0] if array.ndim else array,
        ]
        ways += [
            np.concatenate([array, array[:1]]) if array.ndim and len(array) else array,
            np.repeat(array[None], 2, axis=0),
        ]
        file.arrays[name] = draw.choice(ways)


def _retype(file: Opened, draw: random.Random) -> None:
    name = _name(file, draw)
    if name is not None:
        with np.errstate(all="ignore"):
            file.arrays[name] = file.arrays[name].astype(draw.choice(DTYPES))


def _swap_arrays(file: Opened, draw: random.Random) -> None:
    one, other = _name(file, draw), _name(file, draw)
    if one is not None and other is not None:
        file.arrays[one], file.arrays[other] = file.arrays[other], file.arrays[one]


def _remove_array(file: Opened, draw: random.Random) -> None:
    name = _name(file, draw)
    if name is not None:
        del file.arrays[name]
        if draw.random() < 0.7:
            file.header["arrays"].pop(name, None)
            for home, key in _places(file.header, []):
                if isinstance(home, dict) and home.get(key) == {"array": name}:
                    del home[key]
                    break


def _turn_layout(file: Opened, draw: random.Random) -> None:
    name = draw.choice(list(file.header["arrays"]) or [""])
    file.header["arrays"][name] = draw.choice(("rows", "columns", "x"))


LAID_OUT: Mapping[str, Callable[[Opened, random.Random], None]] = {
    "value": _change_value,
    "value dropped": _drop_value,
    "values swapped": _swap_values,
    "parameter": _change_parameter,
    "class": _change_class,
    "attribute added": _add_attribute,
    "extremes": _set_extremes,
    "not finite": _set_not_finite,
    "nudged": _nudge,
    "scaled": _scale,
    "shuffled": _shuffle,
    "shape": _reshape,
    "type": _retype,
    "arrays swapped": _swap_arrays,
    "array removed": _remove_array,
    "layout": _turn_layout,
}
