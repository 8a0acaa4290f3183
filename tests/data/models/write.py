"""Write a model file of every estimator, and what the models say, for later versions to be held against.

    python -m tests.data.models.write 0.1      from the root of the repository

makes the folder ``0.1`` beside this file. It is run once for a format or version and its files are never written anew:
that later code opens them as they are is what `tests/test_old_files.py` is about.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import unveil
from tests.data.models.examples import Example, examples
from tests.data.models.record import answers, attributes, gone_on, plain

HERE = Path(__file__).parent


def write(folder: Path, example: Example) -> None:
    """The model file, and beside it the JSON that says what it holds and answers."""
    path = folder / f"{example.name}.unveil"
    example.model.save(path)
    model = unveil.load(path)
    said = {
        "asked": plain(example.asked),
        "parameters": plain(model.get_params(deep=False)),
        "attributes": attributes(model),
        "answers": answers(model, example.asked),
        "batch": plain(example.batch),
        "after": None if example.batch is None else gone_on(unveil.load(path), example.batch),
    }
    path.with_suffix(".json").write_text(json.dumps(said, separators=(",", ":")) + "\n")


def main(version: str) -> None:
    """All of them, into a folder that must not be there yet."""
    folder = HERE / version
    folder.mkdir()
    for example in examples():
        write(folder, example)


if __name__ == "__main__":
    main(sys.argv[1])
