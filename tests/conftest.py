"""A profile for property tests that looks further: `pytest --hypothesis-profile=many -m hypothesis`.

Tests say themselves how many examples they take, which no profile changes, so these are multiplied here. Together with
`--hypothesis-seed=N` it is for once in a while, a file at a time.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

MANY = 20  # times the examples
SETTINGS = "_hypothesis_internal_use_settings"  # where `hypothesis.settings` puts what a test says

settings.register_profile("many", deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Multiply the examples of all property tests, if that is asked for."""
    if config.getoption("--hypothesis-profile", None) != "many":
        return
    for test in {id(item.obj): item.obj for item in items if isinstance(item, pytest.Function)}.values():
        function = getattr(test, "__func__", test)
        if hasattr(function, "hypothesis"):
            said = getattr(function, SETTINGS, None) or settings.get_profile("many")
            more = settings(said, max_examples=MANY * said.max_examples, deadline=None)
            setattr(function, SETTINGS, more)
