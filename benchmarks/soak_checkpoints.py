"""Fits that are killed at random moments, over and over, and begun again: do they end in the bits of a fit left alone?

    python -m benchmarks.soak_checkpoints [--kills 50] [--ways kill,term,full] [--seed 0] [--only NAME]

Six estimators with restarts, on arrays and on files (Parquet), and a comparison. Each run is a process of its own, that
is ended by ``kill -9`` or SIGTERM at a moment drawn from the time that the fit takes alone, or cannot write any more
from some size on (a full disk, by a limit on the size of files); one to three times, and then left to end. What it
prints: moments, resumes that found a file, fits whose bits differ (none may), the largest file, and how much of the
work was done again. Runs are forked from one process that has loaded and compiled everything.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import unveil
from unveil.engines.threads import Threads

EVERY = 0.02  # seconds between writes: as often as they can, so that every moment is met
WAYS = ("kill", "kill", "term", "full")  # half of the moments are kills
FULL_DISK = 20_000  # bytes: less than this, and files end
PAUSE = 0.005  # seconds between looks at a child
PATIENCE = 300.0  # seconds after which a fit hangs


class Case(NamedTuple):
    """A fit."""

    make: Callable[[], Any]
    data: str  # rows, holes, answers, sentences
    scanned: bool = False


def _mixture() -> Any:
    return unveil.GaussianMixture(4, n_init=3, init_params="random_from_data", tol=0.0, max_iter=150, random_state=0)


def _clusters() -> Any:
    return unveil.KMeans(24, n_init=4, algorithm="elkan", max_iter=40, random_state=0)


def _chain() -> Any:
    return unveil.GaussianHMM(3, n_init=2, tol=0.0, max_iter=25, random_state=0)


def _latent() -> Any:
    return unveil.BernoulliMixture(4, n_init=3, init_params="random", tol=0.0, max_iter=80, random_state=0)


CASES = {
    "GaussianMixture": Case(_mixture, "rows"),
    "GaussianMixture, scan": Case(_mixture, "rows", True),
    "KMeans": Case(_clusters, "rows"),
    "KMeans, scan": Case(_clusters, "rows", True),
    "GaussianHMM": Case(_chain, "rows"),
    "GaussianHMM, scan": Case(_chain, "rows", True),
    "BernoulliMixture": Case(_latent, "answers"),
    "BernoulliMixture, scan": Case(_latent, "answers", True),
    "FactorAnalysis": Case(lambda: unveil.FactorAnalysis(2, tol=1e-9, max_iter=60), "holes"),
    "FactorAnalysis, scan": Case(lambda: unveil.FactorAnalysis(2, tol=1e-9, max_iter=60), "holes", True),
    "KernelKMeans": Case(lambda: unveil.KernelKMeans(6, n_init=8, init="random", random_state=0), "few"),
    "select": Case(lambda: None, "rows"),
}


def tables(scale: float) -> dict[str, Any]:
    """What is fitted."""
    random, n = np.random.default_rng(0), int(60_000 * scale)
    rows = random.normal(size=(n, 4)) + 1.4 * random.integers(0, 5, size=(n, 1))
    answers = (random.random((n, 6)) < random.choice([0.2, 0.8], size=(n, 1))).astype(np.float64)
    holes = np.where(random.random(rows.shape) < 0.1, np.nan, rows)
    return {"rows": rows, "answers": answers, "holes": holes, "few": rows[: int(1500 * scale**0.5)]}


def written(tables_: dict[str, Any], folder: Path) -> None:
    """The tables as files, in groups of rows that are not those of partitions."""
    import pyarrow as pa
    from pyarrow import parquet

    for name, table in tables_.items():
        columns = {f"x{j}": table[:, j] for j in range(table.shape[1])}
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=7000)


def fitted(case: Case, name: str, data: Any) -> Any:
    """The fit, as what must be the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "select":
            found = unveil.select(unveil.GaussianMixture(n_init=2, random_state=0), data, {"n_components": [2, 3]})
            return [found.best_params_, bits(found.best_estimator_)]
        return bits(case.make().fit(data))


def bits(model: Any) -> str:
    """A digest of all that a fit left behind, but the time it took."""
    found = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "certificate_"}
    history = found.pop("history_")
    found["path"] = [record._replace(seconds=0.0) for record in history], history.restarts, dict(history.events)
    taken = sha256()
    for name in sorted(found):
        value = found[name]
        taken.update(name.encode() + (value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()))
    return taken.hexdigest()


# -- one run in a process of its own -----------------------------------------------------------------------------------


class Run(NamedTuple):
    """How a run ended: what it found, or nothing; calls of the engine; seconds."""

    found: Any
    calls: int
    seconds: float
    code: int


def run(work: Callable[[], Any], moment: float = np.inf, way: str = "", limit: int = -1) -> Run:
    """`work` in a forked process, ended at a moment in one of the `WAYS`; with "full", files end at `limit` bytes."""
    report = Path(tempfile.mkstemp()[1])
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        _in_child(work, report, limit)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        spent = time.perf_counter() - began
        if spent > PATIENCE or (spent > moment and way in ("kill", "term")):
            os.kill(child, signal.SIGTERM if way == "term" and spent <= PATIENCE else signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(PAUSE)
    spent = time.perf_counter() - began
    content = report.read_bytes()
    report.unlink()
    found, calls = pickle.loads(content) if content else (None, 0)  # our own child's
    return Run(found, calls, spent, os.waitstatus_to_exitcode(ended[1]))


def _in_child(work: Callable[[], Any], report: Path, limit: int) -> None:
    code = 1
    try:
        calls = [0]
        for name in ("map_reduce", "map"):
            setattr(Threads, name, _counted(getattr(Threads, name), calls))
        with report.open("wb") as file:
            if limit >= 0:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            found = work()
            if limit >= 0:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            file.write(pickle.dumps((found, calls[0])))
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        sys.stderr.write(f"child: {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def _counted(function: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(*args: Any, **given: Any) -> Any:
        calls[0] += 1
        return function(*args, **given)

    return counted


# -- the soak ----------------------------------------------------------------------------------------------------------


class Tally(NamedTuple):
    """What came of one case."""

    moments: dict[str, int]
    resumed: int  # runs that found a file
    fits: int
    wrong: int
    largest: int
    again: float  # engine calls of the last run as a share of those of a fit alone, mean over fits
    alone: float  # seconds


def soak(
    name: str, data: Any, kills: int, random: np.random.Generator, folder: Path, ways: Sequence[str] = WAYS
) -> Tally:
    """Fits of one case, each ended one to three times, until there were so many moments."""
    case, path = CASES[name], folder / "night.ckpt"

    def work() -> Any:
        return fitted(case, name, data)

    def kept(every: float = EVERY) -> Any:
        with unveil.checkpoint(path, every=every) if every else nullcontext():
            return work()

    work()  # here, so that all that is loaded and compiled is there for the others
    alone = run(work)
    if alone.found is None:
        raise RuntimeError(f"{name}: the fit alone failed")
    moments = dict.fromkeys(("kill", "term", "full"), 0)
    resumed = fits = wrong = largest = 0
    shares = []
    while sum(moments.values()) < kills:
        path.unlink(missing_ok=True)
        found: Any = None
        for _ in range(int(random.integers(1, 4))):
            way = str(random.choice(ways))
            resumed += path.exists()
            limit = int(random.integers(0, FULL_DISK)) if way == "full" else -1
            ended = run(kept, float(random.uniform(0.0, 1.1 * alone.seconds)), way, limit)
            found = ended.found
            moments[way] += 1
            largest = max(largest, path.stat().st_size if path.exists() else 0)
            if found is not None or ended.code not in (0, 143, -signal.SIGKILL):
                break
        resumed += path.exists()
        last = run(kept) if found is None else ended
        fits += 1
        wrong += last.found != alone.found or path.exists()
        shares.append(last.calls / max(alone.calls, 1))
    return Tally(moments, resumed, fits, wrong, largest, float(np.mean(shares)), alone.seconds)


def main(arguments: list[str] | None = None) -> int:
    """Soak all cases and print a line for each; the number of fits whose bits differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--kills", type=int, default=50, help="moments in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="rows, as a share of 60,000")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--ways", default=",".join(WAYS), help="of ending a run; what stands twice is twice as likely")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("UNVEIL_THREADS", "2")
    random, chosen = np.random.default_rng(asked.seed), [name for name in CASES if asked.only in name]
    total = 0
    head = ("case", "kill -9", "SIGTERM", "full disk", "resumed", "fits", "differ", "largest file", "calls of the last")
    print(" | ".join(head))
    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), tables(asked.scale)
        written(data, folder)
        for case in chosen:
            here: Any = data[CASES[case].data]
            here = unveil.scan(folder / f"{CASES[case].data}.parquet") if CASES[case].scanned else here
            found = soak(case, here, -(-asked.kills // len(chosen)), random, folder, asked.ways.split(","))
            total += found.wrong
            cells = (*found.moments.values(), found.resumed, found.fits, found.wrong)
            size = f"{found.largest / 1e3:.0f} kB"
            print(" | ".join(map(str, (case, *cells, size, f"{found.again:.0%} of alone ({found.alone:.1f} s)"))))
            sys.stdout.flush()
    return total


if __name__ == "__main__":
    sys.exit(min(main(), 1))
