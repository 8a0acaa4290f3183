"""A smoke of everything, for `make quick`: the first test of every file, and no more.

A plugin (``python -m pytest -p tests.quick tests``). A test that comes first in its file and is slow, starts processes,
compiles much, or says little of its subject, is in the wrong place: put one there that is quick and that breaks when
the subject does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SLOW = frozenset({"test_docs.py", "test_examples.py", "test_race.py", "test_references.py"})
"""Files of which even one test takes long: they run what users would, as a whole."""


NAMED = pytest.StashKey[bool]()  # of a file or class that has named a test


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[pytest.Item] | None:
    """No test after the first: to make them all takes longer than to run those that are kept."""
    if not (collector.istestfunction(obj, name) or collector.istestclass(obj, name)):
        return None
    if collector.stash.get(NAMED, False):
        return []
    collector.stash[NAMED] = True
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Tests have no doctests, which are looked for in each file nevertheless."""
    config.option.doctestmodules = False


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Nothing of files that are slow as a whole; about the others nothing is said."""
    return True if collection_path.name in SLOW else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first item of every file: a test may have several cases."""
    firsts = {item.path: item for item in reversed(items)}
    kept = [item for item in items if firsts[item.path] is item]
    config.hook.pytest_deselected(items=[item for item in items if firsts[item.path] is not item])
    items[:] = kept
