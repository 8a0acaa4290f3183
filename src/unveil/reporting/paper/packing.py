"""What is compressed into a page, and the scripts that the page may run.

A browser unpacks gzip itself (DecompressionStream), so the plotting library and the data of all figures travel as
gzip in base64, less than half of their size. Letters, digits and three signs can end no element, whatever the data
hold. A script runs only if its hash is in the content policy, the unpacked library too.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

_PARTS = ("unpack", "adapt", "figures", "replay", "choices", "tables", "contents", "start")


class PackedLibrary(NamedTuple):
    """The plotting library as it stands in the page, and the hash of what comes out of it."""

    text: str
    digest: str


@cache
def library() -> PackedLibrary:
    """Plotly's cartesian bundle; see vendor/README.md."""
    stored = resources.files(__package__).joinpath("vendor", "plotly-cartesian.min.js.gz").read_bytes()
    return PackedLibrary(base64.b64encode(stored).decode(), digest(gzip.decompress(stored)))


def packed(value: Any) -> str:
    """A JSON value, compressed.

    >>> packed({"a": "</script>"})[:4], json.loads(gzip.decompress(base64.b64decode(packed([1, "x"]))))
    ('H4sI', [1, 'x'])
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


@cache
def page_script() -> str:
    """What the page does: one script, in one scope, of the files in the folder `scripts`."""
    return (
        "(function () {\n'use strict';\n" + "\n".join(resource("scripts", f"{part}.js") for part in _PARTS) + "})();\n"
    )


def resource(*path: str) -> str:
    """The text of a file of this folder, with the line ends by which browsers hash it."""
    text = resources.files(__package__).joinpath(*path).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def digest(script: str | bytes) -> str:
    """A script as the content policy names it."""
    code = script.encode() if isinstance(script, str) else script
    return "sha256-" + base64.b64encode(hashlib.sha256(code).digest()).decode()
