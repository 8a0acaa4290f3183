"""Objects come back from JSON and arrays as they were; a file can ask for no object but a record."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Any

import numpy as np
import pytest

from unveil.core.fingerprint import Fingerprints
from unveil.core.result import Fit, History, Record, Status
from unveil.core.snapshots import Album
from unveil.core.statistics import Statistics
from unveil.schedules import LBFGS
from unveil.storage.objects import Writer, restored

RECORDS = tuple(Record(-1.5, -np.inf, float(n), 2.0, np.nan) for n in range(6))
FACTORS = np.asfortranarray(np.arange(8.0).reshape(2, 2, 2))
VALUES: list[Any] = [
    {"a": 1, "b": [None, True, "x", 0.1, np.inf], "c": (np.int32(4), np.float32(0.1))},
    RECORDS,
    list(RECORDS[:2]),
    Fit(np.eye(2), Statistics(weight=3.0, sums=[1.0, 2.0]), History(RECORDS, {"floored": 2}, Status.CONVERGED)),
    deque([1, 2], maxlen=2),
    Album(3),
    LBFGS(4),
    dict(Counter(a=1)),
    np.array(["a", "bc"], dtype=object),
    FACTORS,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back(value):
    writer = Writer()
    stored = json.loads(json.dumps(writer.stored(value), allow_nan=False))
    found = restored(stored, writer.arrays)
    assert type(found) is type(value)
    assert Fingerprints().of(found) == Fingerprints().of(value)


def test_an_array_that_is_met_twice_is_stored_once():
    table, writer = np.arange(3.0), Writer()
    stored = writer.stored([table, {"again": table}])
    assert len(writer.arrays) == 1
    found = restored(stored, writer.arrays)
    assert found[0] is found[1]["again"]


def test_a_class_that_is_no_record_is_never_made():
    for word in ("subprocess:Popen", "os:system", "builtins:eval", "unveil.core.checkpoint:CheckpointError", "x", ""):
        for made in ({"object": [word, {}]}, {"record": [word, []]}, {"member": [word, "a"]}):
            with pytest.raises(ValueError, match="no stored value"):
                restored(made, {})
    with pytest.raises(TypeError, match="cannot be stored"):
        Writer().stored([lambda: 1])


def test_a_record_is_made_without_its_own_code(monkeypatch):
    def refuse(self: Any) -> None:
        raise AssertionError("code of a class was run")

    monkeypatch.setattr(LBFGS, "__post_init__", refuse)
    assert restored({"object": ["unveil.schedules.ascent:LBFGS", {"memory": 3}]}, {}).memory == 3
