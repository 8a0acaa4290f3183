"""What the results were made on: processor, cores, versions. No names of hosts, no paths."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

MISSING = "not installed"
LIBRARIES = (
    "unveil",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "faiss-cpu",
    "pomegranate",
    "torch",
    "stepmix",
    "kmedoids",
    "hmmlearn",
    "tslearn",
    "python-picard",
    "pyppca",
    "ppca",
    "statsmodels",
)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Model of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    fields = dict(part.split(":", 1) for part in map(str.strip, reversed(lines)) if ":" in part)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    if "model name" not in named:
        return platform.processor() or platform.machine()
    numbers = [f"{key} {named[key]}" for key in ("cpu family", "model") if key in named]
    return ", ".join([named["model name"], *numbers])


def versions() -> dict[str, str]:
    """Version of each library, or that it is missing."""
    return {name: _version(name) for name in LIBRARIES} | {
        package: version_in_r(package) for package in ("mclust", "princurve")
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return MISSING


def version_in_r(package: str) -> str:
    """Version of R's package, where there is R."""
    if shutil.which("Rscript") is None:
        return MISSING
    command = ["Rscript", "--vanilla", "-e", f'cat(as.character(packageVersion("{package}")))']
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout if answer.returncode == 0 else MISSING


def describe() -> list[str]:
    """The machine in a few lines."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    return [
        f"Processor: {processor()}; {cores()} cores, all of them for everybody",
        f"System: {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions().items()),
        f"Load average before the start: {load}",
    ]
