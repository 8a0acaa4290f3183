"""A smoke of everything, for `make quick`: the first test of every file, and no more.

A plugin (``python -m pytest -p tests.quick tests``). A test that comes first in its file and is slow, or says little
of its subject, is in the wrong place: put one there that is quick and that breaks when the subject does.
"""

from __future__ import annotations

import pytest

SLOW = frozenset({"test_docs.py", "test_examples.py", "test_race.py", "test_references.py"})
"""Files of which even one test takes long: they run what users would, as a whole."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first item of every file."""
    firsts = {item.path: item for item in reversed(items) if item.path.name not in SLOW}
    kept = [item for item in items if firsts.get(item.path) is item]
    config.hook.pytest_deselected(items=[item for item in items if firsts.get(item.path) is not item])
    items[:] = kept
