"""One safetensors file: named arrays, and a JSON header among its metadata.

Safetensors stores plain numbers and text, so reading runs no code, whoever wrote the file. The header lists the
arrays, so that a file with some of them gone is recognised, and says which lay in memory column by column: matrix
products differ in the last bit between the two layouts, and a model must predict the same bits after a round trip.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import unveil
from unveil.storage.atomic import PathLike, replacing

FORMAT_VERSION = 1
KEY = "unveil"  # where in the metadata the header is
KINDS = "biuf"  # kinds of dtype that are stored: truth values, integers, floats


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
    data = save({name: _rows_first(arrays[name], layouts[name]) for name in arrays}, metadata={KEY: text})
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read(path: PathLike) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that `write` wrote; a `ModelFileError` that names `path` for anything else."""
    place = Path(path).expanduser()
    _reject_foreign(place)
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(place), framework="np") as file:
            header = _header(place, file.metadata())
            layouts = _layouts(place, header.pop("arrays", None), set(file.keys()))
            arrays = {name: _laid_out(file.get_tensor(name), layout) for name, layout in layouts.items()}
    except ModelFileError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
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


def _laid_out(stored: NDArray[Any], layout: str) -> NDArray[Any]:
    """The array as it was."""
    return stored.T if layout == "columns" else stored


def _reject_foreign(place: Path) -> None:
    """An error for what cannot be opened, and for what does not begin like safetensors."""
    try:
        with place.open("rb") as file:
            begin = file.read(9)
    except FileNotFoundError:
        raise ModelFileError(f"{place}: no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{place}: is a folder, expected a model file") from None
    except PermissionError:
        raise ModelFileError(f"{place}: no permission to read it") from None
    except OSError as error:
        raise ModelFileError(f"{place}: cannot be read ({error.strerror})") from error
    if not begin:
        raise ModelFileError(f"{place}: the file is empty, expected a model file")
    if begin[8:] != b"{":  # eight bytes say how long the JSON that follows is
        raise ModelFileError(f"{place}: not a model file written by unveil")


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
