"""The tests as on other processors: ``python -m tools.processors [argument of pytest ...]``.

OpenBLAS, Numba and NumPy each choose their code by the processor they find, and each can be told to take another. Every
such choice that this machine can play is one run of the tests, with a compile cache of its own below ``.processors``
(kernels of one processor are not those of another). A run that fails does not end the series.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

CACHES = Path(".processors")
AVX512 = ("X86_V4", "AVX512")
"""How those of NumPy's features begin that are AVX-512."""


class Processor(NamedTuple):
    """What the libraries are told, and the instructions without which they could not obey."""

    name: str
    told: dict[str, str]  # environment variables
    needs: str = "avx2"  # a flag of the processor


def _processors() -> list[Processor]:
    return [
        Processor("OpenBLAS as on Haswell", {"OPENBLAS_CORETYPE": "Haswell"}),
        Processor("OpenBLAS as on SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX"}, "avx512f"),
        Processor("OpenBLAS as on Zen", {"OPENBLAS_CORETYPE": "Zen"}),
        Processor("Numba for any processor", {"NUMBA_CPU_NAME": "generic"}),
        Processor("NumPy without AVX-512", {"NPY_DISABLE_CPU_FEATURES": " ".join(_wide())}, "avx512f"),
    ]


def main() -> int:
    """Run all, say how each ended; 1 if any failed."""
    flags, outcomes = _flags(), []
    for processor in _processors():
        if processor.needs in flags:
            print(f"\n== {processor.name}: {_said(processor)}", flush=True)
            outcomes.append((processor, *_run(processor, sys.argv[1:])))
        else:
            outcomes.append((processor, f"not played: no {processor.needs} here", 0.0))
    print()
    for processor, outcome, seconds in outcomes:
        print(f"{processor.name:26} {outcome:32} {seconds:7.0f} s")
    return int(any(outcome.startswith("failed") for _, outcome, _ in outcomes))


def _run(processor: Processor, arguments: list[str]) -> tuple[str, float]:
    """How the tests ended, and after how long."""
    cache = (CACHES / processor.name.replace(" ", "-").lower()).resolve()
    told = {"NUMBA_CACHE_DIR": str(cache), **processor.told}
    began = time.perf_counter()
    code = subprocess.run([sys.executable, "-m", "pytest", *arguments], env=os.environ | told).returncode
    return "passed" if code == 0 else f"failed, exit code {code}", time.perf_counter() - began


def _wide() -> list[str]:
    """NumPy's features that are AVX-512, may be switched off and are on: it warns of others, which fails tests."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if name.startswith(AVX512) and __cpu_features__.get(name)]


def _flags() -> set[str]:
    """Instructions that the processor has, in Linux's words."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def _said(processor: Processor) -> str:
    return " ".join(f"{name}={value!r}" for name, value in processor.told.items())


if __name__ == "__main__":
    sys.exit(main())
