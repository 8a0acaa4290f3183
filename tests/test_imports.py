"""`import unveil` is instant: what is heavy loads on first use, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import unveil

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "plotly", "dask", "distributed", "pandas", "polars", "jinja2")


def loaded_by(code: str) -> set[str]:
    """Top-level packages in memory after `code` ran in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_importing_unveil_loads_nothing_heavy() -> None:
    assert loaded_by("import unveil; dir(unveil); unveil.__version__").isdisjoint(HEAVY)


@pytest.mark.parametrize("part", ["engines", "schedules", "expectations"])
def test_parts_load_without_estimators(part: str) -> None:
    loaded = loaded_by(f"import unveil.{part}")
    assert loaded.isdisjoint({"sklearn", "dask", "distributed", "plotly"})


def test_a_fit_on_threads_loads_neither_a_cluster_nor_figures() -> None:
    loaded = loaded_by("import unveil; unveil.KMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])")
    assert loaded.isdisjoint({"dask", "distributed", "plotly", "jinja2", "typer"})


@pytest.mark.parametrize("name", unveil.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(unveil, name) is not None
    assert name in dir(unveil)


def test_an_unknown_name_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"module 'unveil' has no attribute 'KMedian'; it has .*KMeans"):
        unveil.KMedian  # noqa: B018
