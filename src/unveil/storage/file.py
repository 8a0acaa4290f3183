"""One safetensors file: named arrays, and a JSON header among its metadata. docs/format.md is its description.

Safetensors stores plain numbers and text, so reading runs no code, whoever wrote the file. The header lists the
arrays, so that a file with some of them gone is recognised, and says which lay in memory column by column: matrix
products differ in the last bit between the two layouts, and a model must predict the same bits after a round trip.

A digest tells a file that was damaged from one that was not. It is the SHA-256 of all bytes of the file, the 64 digits
of the digest itself taken for zeros. Who changes a file on purpose can make it anew: what arrays hold is checked by
whoever knows what they mean.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import unveil
from unveil.storage.atomic import PathLike, replacing

logger = logging.getLogger("unveil")

FORMAT_VERSION = 2
FIRST_WITH_DIGEST = 2
KEY, DIGEST = "unveil", "sha256"  # where in the metadata the header and the digest are
NO_DIGEST = "0" * 64
KINDS = "biuf"  # kinds of dtype that are stored: truth values, integers, floats
LENGTH = 8  # bytes that say how long the JSON is that follows


class ModelFileError(ValueError):
    """The file is no model file, or one that this version cannot read; said on one printable line."""

    def __init__(self, message: str) -> None:
        super().__init__("".join(letter if letter.isprintable() else " " for letter in message)[:500])


def write(path: PathLike, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `header` (what JSON can say) and `arrays` to one file, which appears whole or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from unveil.storage.file import read, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.unveil")
    ...     write(path, {"class": "KMeans"}, {"centers": np.eye(2)})
    ...     header, arrays = read(path)
    >>> header["class"], arrays["centers"].tolist()
    ('KMeans', [[1.0, 0.0], [0.0, 1.0]])
    """
    from safetensors.numpy import save

    layouts = {name: _layout(name, array) for name, array in arrays.items()}
    ours = {"format_version": FORMAT_VERSION, "library_version": unveil.__version__, "arrays": layouts}
    text = json.dumps(ours | {name: value for name, value in header.items() if name not in ours}, allow_nan=False)
    tensors = {name: _rows_first(arrays[name], layouts[name]) for name in arrays}
    data = sealed(bytearray(save(tensors, metadata={KEY: text, DIGEST: NO_DIGEST})))
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read(path: PathLike) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that `write` wrote; a `ModelFileError` that names `path` for anything else."""
    place = Path(path).expanduser()
    data = _content(place)
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        stored = load(data)
        metadata = json.loads(json_of(data)).get("__metadata__") or {}
        header = _header(place, metadata)
        _check_digest(place, data, metadata.get(DIGEST), header)
        layouts = _layouts(place, header.pop("arrays", None), set(stored))
        arrays = {name: _laid_out(place, name, stored[name], layout) for name, layout in layouts.items()}
    except ModelFileError:
        raise
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{place}: the model file is damaged or cut short ({error})") from error
    return header, arrays


def _layout(name: str, array: NDArray[Any]) -> str:
    """``"rows"`` or ``"columns"``: which of them lie together in memory."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in KINDS or array.dtype.itemsize > 8:
        raise TypeError(
            f"array {name!r} must hold truth values, integers or floats of up to 64 bits, got {array!r:.80}"
        )
    return "columns" if array.flags.f_contiguous and not array.flags.c_contiguous else "rows"


def _rows_first(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """The array as it is stored: safetensors takes the bytes as they lie, whatever the strides."""
    turned = array.T if layout == "columns" else array
    return np.asarray(turned, dtype=array.dtype.newbyteorder("="), order="C")


def _laid_out(place: Path, name: str, stored: NDArray[Any], layout: str) -> NDArray[Any]:
    """The array as it was."""
    if stored.dtype.kind not in KINDS:
        raise ModelFileError(f"{place}: array {name!r} holds {stored.dtype}, which is no type that unveil stores")
    return stored.T if layout == "columns" else stored


def _content(place: Path) -> bytes:
    """All of the file; an error for what cannot be opened, and for what does not begin like safetensors."""
    if place.is_fifo() or place.is_char_device() or place.is_socket():  # which may keep one waiting for ever
        raise ModelFileError(f"{place}: not a file but a pipe or a device")
    try:
        with place.open("rb") as file:
            begin = file.read(LENGTH + 1)
            if begin and begin[LENGTH:] != b"{":
                raise ModelFileError(f"{place}: not a model file written by unveil")
            data = begin + file.read()
    except FileNotFoundError:
        raise ModelFileError(f"{place}: no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{place}: is a folder, expected a model file") from None
    except PermissionError:
        raise ModelFileError(f"{place}: no permission to read it") from None
    except OSError as error:
        raise ModelFileError(f"{place}: cannot be read ({error.strerror})") from error
    if not data:
        raise ModelFileError(f"{place}: the file is empty, expected a model file")
    return data


# -- the digest --------------------------------------------------------------------------------------------------------


def sealed(data: bytearray) -> bytearray:
    """The bytes of a file with its digest in the place of zeros."""
    place = _place_of_digest(data, NO_DIGEST)
    data[place : place + len(NO_DIGEST)] = sha256(data).hexdigest().encode()
    return data


def json_of(data: bytes | bytearray) -> bytes:
    """The JSON at the beginning of the file."""
    return bytes(data[LENGTH : LENGTH + struct.unpack("<Q", data[:LENGTH])[0]])


def _place_of_digest(data: bytes | bytearray, digest: str) -> int:
    """Where the digits of the digest are; quotes within the header are escaped, so there is one such place, or none."""
    mark = f'"{DIGEST}":"'.encode()
    place = json_of(data).find(mark + digest.encode())
    return place if place < 0 else place + LENGTH + len(mark)


def _check_digest(place: Path, data: bytes, digest: Any, header: Mapping[str, Any]) -> None:
    """An error where the digest is not that of the file; a word where there is none."""
    if digest is None and header["format_version"] < FIRST_WITH_DIGEST:
        logger.warning(
            "%s: written in format %d, which has no digest: whether it was changed since cannot be told",
            place,
            header["format_version"],
        )
        return
    if digest is None or _digest_of(data, digest) != digest:
        raise ModelFileError(f"{place}: the model file was damaged or changed: its digest is not that of its content")


def _digest_of(data: bytes, digest: Any) -> str | None:
    """What the digest should be; None for what is no digest, or stands nowhere."""
    start = _place_of_digest(data, digest) if isinstance(digest, str) and len(digest) == len(NO_DIGEST) else -1
    if start < 0:
        return None
    found = sha256(data[:start])
    found.update(NO_DIGEST.encode())
    found.update(memoryview(data)[start + len(NO_DIGEST) :])
    return found.hexdigest()


# -- the header --------------------------------------------------------------------------------------------------------


def _header(place: Path, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """Our header, checked as far as storage goes."""
    text = (metadata or {}).get(KEY)
    if text is None:
        raise ModelFileError(f"{place}: a safetensors file, but not a model file written by unveil")
    try:
        header = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{place}: the header of the model file is malformed ({error})") from error
    version = header.get("format_version") if isinstance(header, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{place}: the header of the model file is malformed (it has no format version)")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{place}: written by unveil {header.get('library_version', '?')!s:.40} in format {version}; "
            f"this is unveil {unveil.__version__}, which reads formats up to {FORMAT_VERSION}"
        )
    return dict(header)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _layouts(place: Path, layouts: Any, stored: set[str]) -> dict[str, str]:
    """The list of arrays, if it agrees with the file."""
    if not isinstance(layouts, dict) or not all(layout in ("rows", "columns") for layout in layouts.values()):
        raise ModelFileError(f"{place}: the header of the model file is malformed (it lists no arrays)")
    if layouts.keys() != stored:
        missing = sorted(layouts.keys() - stored) or sorted(stored - layouts.keys())
        what = "lacks arrays that its header lists" if layouts.keys() - stored else "has arrays that its header lacks"
        raise ModelFileError(f"{place}: the model file {what}: {', '.join(map(repr, missing[:5]))}")
    return layouts
