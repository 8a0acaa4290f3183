"""Fits on a Dask cluster of processes of this machine: ``python -m benchmarks.cluster [PART ...] [--rows 2000000]``.

``files`` counts what is decoded and opened where the table is Parquet, ``traffic`` the bytes between client and
scheduler (through a port that counts them) for a start and for a pass, ``overhead`` puts passes beside those of as many
threads, ``peer`` beside dask-ml's where it is installed, ``kills`` kills workers at random moments while one is always
alive and compares bits, ``model`` checks the cost model of docs/clusters.md at three sizes. Ratios are of medians of
times taken in turns; on a machine that does other work they are rough, counts are not.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import random
import signal
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import dask
import dask.array as da
import numpy as np

import unveil
from benchmarks.cluster_counts import CountingProxy, count_reads, counted
from unveil import GaussianMixture, KMeans
from unveil.core.partition import partition_rows
from unveil.core.statistics import Statistics
from unveil.engines import Dask, Threads
from unveil.engines.cluster import rows as placing
from unveil.engines.cluster.rows import cut_runs
from unveil.sources.dask import DaskSource

K, D, PASSES = 16, 16, 20
CHUNK = 1 << 17  # rows of a chunk, and of a row group
WORKERS = 2


# -- tables and models -------------------------------------------------------------------------------------------------


def rows_of(first: int, count: int) -> np.ndarray:
    """Rows of overlapping groups, the same wherever they are made."""
    rng = np.random.default_rng(first)
    places = np.random.default_rng(1).normal(scale=2.0, size=(K, D))
    return places[rng.integers(K, size=count)] + rng.normal(size=(count, D))


def collection(n_rows: int) -> Any:
    """The same as a Dask array, made on the workers."""
    counts = [min(CHUNK, n_rows - first) for first in range(0, n_rows, CHUNK)]
    made = [dask.delayed(rows_of)(number * CHUNK, count) for number, count in enumerate(counts)]
    return da.concatenate([da.from_delayed(one, (count, D), float) for one, count in zip(made, counts, strict=True)])


def at_hand(n_rows: int) -> np.ndarray:
    """The same in memory."""
    return np.concatenate([rows_of(first, min(CHUNK, n_rows - first)) for first in range(0, n_rows, CHUNK)])


def kmeans(engine: Any, passes: int = PASSES) -> KMeans:
    """K-means from given centres, so many passes."""
    return KMeans(K, init=rows_of(0, K), n_init=1, max_iter=passes, tol=0, engine=engine)


def mixture(engine: Any, passes: int = PASSES) -> GaussianMixture:
    """A Gaussian mixture with full covariances, likewise."""
    return GaussianMixture(
        K, means_init=rows_of(0, K), max_iter=passes, tol=0, schedule="batch", random_state=0, engine=engine
    )


def bits(model: Any) -> str:
    """A digest of what was found."""
    found = model.cluster_centers_ if hasattr(model, "cluster_centers_") else model.covariances_
    return hashlib.blake2b(np.ascontiguousarray(found), digest_size=6).hexdigest()


def step(block: Any, memo: Any) -> tuple[Statistics, None]:
    """The least that a pass can do."""
    return Statistics(sums=block.rows.sum(axis=0)), None


@contextmanager
def cluster(workers: int = WORKERS) -> Iterator[Any]:
    """A cluster of processes with a thread each, and its client."""
    from distributed import Client, LocalCluster

    settings = {
        "distributed.deploy.lost-worker-timeout": "1h",  # killed workers are started anew however long it takes
        "distributed.scheduler.allowed-failures": 3,
    }
    with (
        dask.config.set(settings),
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL) as here,
        Client(here) as client,
    ):
        yield client


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turns(times: int, *works: Callable[[], Any]) -> list[float]:
    """Median seconds of each, taken in turns; a first turn is not counted."""
    found = [[seconds(work) for work in works] for _ in range(times + 1)][1:]
    return [median(each) for each in zip(*found, strict=True)]


# -- parts -------------------------------------------------------------------------------------------------------------


def files(n_rows: int) -> None:
    """What is decoded and opened in a pass, and in a fit."""
    import pyarrow as pa
    from pyarrow import parquet

    with tempfile.TemporaryDirectory(prefix="unveil-cluster-") as folder:
        count, each = 30, n_rows // 30
        for number in range(count):
            table = {f"x{column}": cells for column, cells in enumerate(rows_of(number, each).T)}
            parquet.write_table(pa.table(table), Path(folder, f"{number:03}.parquet"), row_group_size=30_000)
        size = each * count * D * 8
        print(f"{count} Parquet files, {each * count:,} rows x {D}, row groups of 30,000 rows")
        with cluster() as client:
            client.run(count_reads)
            scan = unveil.scan(folder)
            engine = Dask(client)

            def told(what: str, passes: int) -> None:
                found = client.run(counted).values()
                sums = {name: sum(one.get(name, 0) for one in found) for name in ("decoded", "opened", "footers")}
                client.run(count_reads)
                print(
                    f"  {what}: decoded {sums['decoded'] / passes / size:.3f} times the table a pass, files opened"
                    f" {sums['opened'] / passes:.0f} times a pass (files x workers: {count * WORKERS}),"
                    f" footers read {sums['footers']}"
                )

            engine.map_reduce(step, scan, None)
            told("one pass", 1)
            for _ in range(5):
                engine.map_reduce(step, scan, None)
            told("five more", 5)
            model = KMeans(K, max_iter=5, tol=0, random_state=0, engine=engine)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(scan)
            told(f"a whole fit of K-means, start, {model.n_iter_} passes, labels", model.n_iter_)


def traffic(n_rows: int) -> None:
    """Bytes between client and scheduler."""
    from distributed import Client

    with cluster() as owner, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = collection(n_rows).persist()
        proxy = CountingProxy(owner.scheduler.address)
        table = n_rows * D * 8
        with Client(proxy.address, set_as_default=True) as client:

            def cost(model: Any) -> Counter:
                before = proxy.bytes.copy()
                model.fit(X)
                return proxy.bytes - before

            for name, make in (("K-means", kmeans), ("mixture, full covariances", mixture)):
                make(Dask(client), 2).fit(X)
                few, many = cost(make(Dask(client), 2)), cost(make(Dask(client), 12))
                each = {way: (many[way] - few[way]) / 10 for way in ("sent", "received")}
                print(
                    f"{name}, {n_rows:,} x {D}: a pass sends {each['sent']:,.0f} bytes and receives"
                    f" {each['received']:,.0f}; the table has {table:,}"
                )
            for name, make in (
                ("K-means", lambda: KMeans(K, max_iter=2, tol=0, random_state=0, engine=Dask(client))),
                ("mixture", lambda: GaussianMixture(K, max_iter=2, tol=0, random_state=0, engine=Dask(client))),
            ):
                found = cost(make())
                print(
                    f"{name} from a drawn start, 2 passes, all in all: sent {found['sent']:,},"
                    f" received {found['received']:,} bytes ({found['received'] / table:.1%} of the table)"
                )
        proxy.close()


def overhead(n_rows: int) -> None:
    """Passes on a cluster of processes beside those of as many threads."""
    X = at_hand(n_rows)
    with cluster() as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C = collection(n_rows).persist()
        for name, make in (("K-means", kmeans), ("mixture, full covariances", mixture)):
            here, there = make(Threads(WORKERS)), make(Dask(client))
            threads, on_cluster = in_turns(3, partial(here.fit, X), partial(there.fit, C))
            same = "same bits" if bits(here) == bits(there) else "OTHER BITS"
            print(
                f"{name}, {n_rows:,} x {D}, K {K}, {here.n_iter_} passes: {WORKERS} threads {threads:.2f} s,"
                f" {WORKERS} processes {on_cluster:.2f} s, overhead {on_cluster / threads - 1:.0%}, {same}"
            )


def peer(n_rows: int) -> None:
    """dask-ml's K-means, from the same centres, the same passes."""
    try:
        from dask_ml.cluster import KMeans as Theirs
    except ImportError:
        print("dask-ml is not installed")
        return
    with cluster() as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C = collection(n_rows).persist()
        start = rows_of(0, K)
        ours = kmeans(Dask(client))
        theirs = Theirs(K, init=start, max_iter=PASSES, tol=0)
        mine, other = in_turns(2, lambda: ours.fit(C), lambda: theirs.fit(C))
        cost = [float(one.inertia_) for one in (ours, theirs)]
        print(
            f"K-means, {n_rows:,} x {D}, K {K}: unveil {mine:.2f} s ({ours.n_iter_} passes), dask-ml {other:.2f} s"
            f" ({theirs.n_iter_} passes), {other / mine:.1f} times; cost {cost[0]:.6g},"
            f" theirs (distances, not squares) {cost[1]:.6g}"
        )


def kills(n_rows: int, times: int = 30) -> None:
    """Workers killed at random moments, while one is always alive."""
    model = mixture(Threads(WORKERS), 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = bits(model.fit(at_hand(n_rows)))
    with cluster(3) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        killed: list[float] = []
        over = threading.Event()

        def killing() -> None:
            draw = random.Random(0)
            while len(killed) < times and not over.is_set():
                time.sleep(draw.uniform(0.0, 2.0))
                there = client.run(os.getpid, on_error="ignore")
                if len(there) > 1:
                    os.kill(draw.choice(sorted(there.values())), signal.SIGKILL)
                    killed.append(time.perf_counter())

        C = collection(n_rows)
        thread = threading.Thread(target=killing)
        thread.start()
        fits, same = 0, 0
        try:
            while thread.is_alive():
                found = bits(mixture(Dask(client), 6).fit(C))
                fits, same = fits + 1, same + (found == wanted)
                print(
                    f"  fit {fits}: {'same bits' if found == wanted else 'OTHER BITS'}, {len(killed)} kills so far",
                    flush=True,
                )
        finally:
            over.set()
            thread.join()
        print(f"{len(killed)} kills during {fits} fits to {n_rows:,} x {D}: {same} with the bits of {WORKERS} threads")


def model(n_rows: int) -> None:
    """The constants of the cost model, and what it says of passes at three sizes."""
    with cluster() as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = Dask(client)
        few, many = 16, 512
        pass_of = {}
        for runs in (few, many):
            with mock.patch.object(placing, "FEWEST_RUNS", runs):
                zeros = DaskSource(da.zeros((many * partition_rows(1), 1), chunks=(8 * partition_rows(1), 1)))
                pass_of[runs] = median(_passes(engine, zeros, 9))
        task = (pass_of[many] - pass_of[few]) / (many - few)
        fixed = pass_of[few] - few * task
        start = mixture(Threads(1), 8)
        X = at_hand(n_rows // 8)
        rate = 6 * len(X) / (seconds(lambda: start.fit(X)) - seconds(lambda: mixture(Threads(1), 2).fit(X)))
        print(f"a pass takes {fixed * 1e3:.0f} ms, a task {task * 1e3:.2f} ms; a thread does {rate:,.0f} rows a second")
        for size in (n_rows // 8, n_rows // 2, n_rows):
            C = collection(size).persist()
            works = [partial(_fitted, engine, passes, C) for passes in (2, 8)]
            short, long = in_turns(2, *works)
            found = (long - short) / 6
            said = fixed + len(cut_runs(DaskSource(C), WORKERS)) * task + size / (rate * WORKERS)
            print(f"  {size:,} rows: a pass takes {found * 1e3:.0f} ms, the model says {said * 1e3:.0f} ms")


def _fitted(engine: Any, passes: int, C: Any) -> Any:
    return mixture(engine, passes).fit(C)


def _passes(engine: Any, source: Any, times: int) -> list[float]:
    engine.map_reduce(step, source, None)
    return [seconds(lambda: engine.map_reduce(step, source, None)) for _ in range(times)]


PARTS = {
    "files": files,
    "traffic": traffic,
    "overhead": overhead,
    "peer": peer,
    "kills": kills,
    "model": model,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run parts and tell."""
    parser = argparse.ArgumentParser("python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args(arguments)
    for part in options.parts or PARTS:
        print(f"-- {part}", flush=True)
        PARTS[part](options.rows)


if __name__ == "__main__":
    main()
