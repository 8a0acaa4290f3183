import sys
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from unveil.core.result import History, Record, Status
from unveil.core.statistics import Statistics
from unveil.storage.parts import StorableParts


@dataclass(frozen=True)
class Pair:
    left: object
    right: object = None
    cache: dict = field(default_factory=dict, init=False)


class Point(NamedTuple):
    x: float
    y: float


PARTS = StorableParts(
    {
        "Pair": f"{__name__}:Pair",
        "Point": f"{__name__}:Point",
        "Statistics": "unveil.core.statistics:Statistics",
        "History": "unveil.core.result:History",
        "antigravity": "antigravity:fly",
    }
)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _module())


def _module():
    module = type(sys)(__name__)
    module.Pair, module.Point = Pair, Point
    return module


def there_and_back(value):
    arrays = {}
    return PARTS.decode(PARTS.encode(value, "v", arrays), arrays)


@pytest.mark.parametrize(
    "value",
    [
        Pair(1, "two"),
        Pair(Pair(Point(1.5, float("inf")), None), (1, 2)),
        Point(0.0, -0.0),
        {"x": Pair(1), 2: [Point(1.0, 2.0)]},
        [("word", [1, 2]), (Pair(None), (3,))],
        History((Record(*map(float, range(len(Record._fields)))),), {"floored": 2}, Status.CONVERGED),
        3.5,
        None,
    ],
)
def test_parts_come_back(value):
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


def test_arrays_inside_parts_are_named_by_their_path():
    arrays = {}
    stored = PARTS.encode(Pair(Statistics(count=[1.0, 2.0])), "state", arrays)
    assert list(arrays) == ["state.left.count"]
    back = PARTS.decode(stored, arrays)
    assert isinstance(back.left, Statistics)
    np.testing.assert_array_equal(back.left["count"], [1.0, 2.0])


def test_class_of_the_same_name_is_not_the_known_one():
    impostor = type("Pair", (), {})()
    with pytest.raises(TypeError, match="cannot be stored"):
        PARTS.encode(impostor, "v", {})


def test_names_outside_the_table_are_refused_and_never_imported():
    for name in ("os:system", f"{__name__}:Pair", "subprocess.Popen", "", 3, None, []):
        with pytest.raises(ValueError, match="is not known; unveil has Pair, Point"):
            PARTS.decode({"part": name, "fields": {}}, {})
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("stored", [{"part": "Pair"}, {"part": "Pair", "fields": [1]}])
def test_part_without_fields_is_refused(stored):
    with pytest.raises(ValueError, match="has no fields"):
        PARTS.decode(stored, {})
