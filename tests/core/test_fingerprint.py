"""Equal things have equal fingerprints in any process, different things never; what cannot be told has none."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas
import polars
import pytest
from scipy import sparse

from unveil import scan, schedules
from unveil.core.fingerprint import Fingerprints
from unveil.sources import ArraySource, with_weights


@dataclass
class Thing:
    cells: Any
    word: str = "a"

    @cached_property
    def looked_up(self) -> int:
        return 1


class Pair(NamedTuple):
    one: int
    other: int


ROWS = np.arange(12.0).reshape(4, 3)
DIFFERENT = [
    *(None, True, 1, 1.0, "1", b"1", (1,), [1], {1: 1}, Pair(1, 1), (1, 1), [[1], []], [[], [1]], range(1)),
    *(ROWS, ROWS.T, ROWS.ravel(), ROWS.astype(np.float32), np.nextafter(ROWS, 99.0), -0.0 * ROWS, 0.0 * ROWS),
    *(Thing(1), Thing(1, "b"), Thing(ROWS), np.float64(1), np.float32(1), np.array([1, "b"], dtype=object)),
    *(abs, os.path.join, partial(os.path.join, "a"), Thing, np.sqrt, np.dtype("f8"), schedules.Stepwise()),
    *(schedules.Stepwise(0.7), np.random.RandomState(0), np.random.RandomState(1), np.random.default_rng(0)),
    *(
        sparse.csr_array(ROWS),
        sparse.csr_array(ROWS + 1),
        pandas.DataFrame(ROWS),
        pandas.DataFrame(ROWS, columns=[*"abc"]),
    ),
    *(
        polars.DataFrame(ROWS),
        ArraySource(ROWS),
        ArraySource(ROWS, np.ones(4)),
        with_weights(ArraySource(ROWS), np.ones(4)),
    ),
    *(["ab", "c"] * 9, ["a", "bc"] * 9, [*["ab", "c"] * 9, ""], lambda: 1, pandas.DataFrame({"a": ["x", None]})),
]


def test_different_things_differ_and_equal_ones_do_not():
    prints = Fingerprints()
    found = [prints.of(one) for one in DIFFERENT]
    assert len(set(found)) == len(found)
    assert [Fingerprints().of(one) for one in DIFFERENT] == found
    seen = Thing(1)
    assert seen.looked_up == 1
    assert prints.of(seen) == prints.of(Thing(1))
    assert prints.of(np.asfortranarray(ROWS)) == prints.of(ROWS)


def test_another_process_finds_the_same():
    script = "import numpy as np; from unveil.core.fingerprint import Fingerprints; from unveil import schedules;"
    script += "print(Fingerprints().of({'b': {1, 2, 'x'}}, np.arange(9.0), schedules.LBFGS(), ('a', 1.5)))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == Fingerprints().of({"b": {1, 2, "x"}}, np.arange(9.0), schedules.LBFGS(), ("a", 1.5))


def test_a_large_array_is_looked_at_once_until_all_is_forgotten():
    prints, table = Fingerprints(), np.zeros(100_000)
    before = prints.of(table)
    table[5] = 1.0
    assert prints.of(table) == before  # nobody writes to data while it is fitted
    prints.forget()
    assert prints.of(table) != before


def test_files_are_what_they_are_now(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    before = Fingerprints().of(scan(path))
    counted = scan(path)
    assert counted.n_rows == 2
    assert Fingerprints().of(counted) == before
    assert Fingerprints().of(scan(path, ["a"])) != before
    os.utime(path, (1, 1))
    assert Fingerprints().of(scan(path)) != before
    np.save(tmp_path / "b.npy", ROWS)
    mapped = [np.load(tmp_path / "b.npy", mmap_mode="r") for _ in range(2)]
    assert Fingerprints().of(mapped[0]) == Fingerprints().of(mapped[1]) != Fingerprints().of(mapped[0][1:])


def test_what_cannot_be_told_apart_has_none():
    with pytest.raises(TypeError, match="no parts to tell it by"):
        Fingerprints().of(iter([1]))
    loop: list[Any] = []
    loop.append(loop)
    assert Fingerprints().of(loop) != Fingerprints().of([[]])
