"""What all tests share: one thread of BLAS, and garbage that is quickly looked through.

And a profile for property tests that looks further, `pytest --hypothesis-profile=many -m hypothesis`. Tests say
themselves how many examples they take, which no profile changes, so these are multiplied here. Together with
`--hypothesis-seed=N` it is for once in a while, a file at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

MANY = 20  # times the examples
SETTINGS = "_hypothesis_internal_use_settings"  # where `hypothesis.settings` puts what a test says

settings.register_profile("many", deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads of BLAS and of OpenMP wait for each other by spinning; our own are those of the engines.

    Where other processes are at work that takes ten times as long as one thread does. Files in which it matters what
    BLAS does on its own have a fixture of this name that leaves it alone.
    """
    with threadpool_limits(1):
        yield


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


def pytest_collection_finish() -> None:
    """Leave alone what is there before the first test: all tests and libraries, which stay to the end.

    Whoever collects garbage would look through all of it each time, which takes a second or two.
    """
    gc.collect()
    gc.freeze()
