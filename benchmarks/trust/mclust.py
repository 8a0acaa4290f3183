"""mclust's number of components, by BIC and by ICL, from an R process that lives as long as this one."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.contenders import r_process
from benchmarks.machine import MISSING, version_in_r
from benchmarks.trust.tables import Table

SCRIPT = Path(__file__).with_name("mclust_number.R")


@cache
def available() -> bool:
    """Whether R and its package are here."""
    return version_in_r("mclust") != MISSING


@cache
def _process() -> subprocess.Popen[str]:
    return r_process.started(SCRIPT, [])


def numbers(table: Table) -> dict[str, int | None]:
    """By both criteria; None where no model could be fitted, and nothing where columns are no measurements."""
    if not table.numeric:
        return {}
    rows = np.asarray(table.rows, dtype=np.float64)
    with tempfile.TemporaryDirectory(prefix="unveil-r-") as folder:
        file = Path(folder, "rows.bin")
        rows.ravel(order="F").tofile(file)
        line = " ".join(map(str, (*rows.shape, table.most, file)))
        bic, icl = r_process.ask(_process(), "mclust", line).split()
    return {"mclust, BIC": _whole(bic), "mclust, ICL": _whole(icl)}


def _whole(word: str) -> int | None:
    return None if word == "NA" else int(word)
