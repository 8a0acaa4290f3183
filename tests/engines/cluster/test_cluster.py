"""The engine on a cluster in this process: whose cluster, what travels, what is kept, what is given up."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client

import unveil
from unveil.core.protocols import Block
from unveil.core.statistics import Statistics, TreeSum
from unveil.engines import Dask, Threads
from unveil.engines.cluster import flight, rows
from unveil.engines.cluster.patience import ClusterLostError
from unveil.engines.cluster.runs import TreePart, joined
from unveil.estimation.picking import picked
from unveil.sources import ArraySource, with_weights
from unveil.sources.dask import DaskSource

SIZE = 16384
ROWS = np.random.default_rng(11).normal(size=(40 * SIZE + 5, 2))
WEIGHTS = np.random.default_rng(12).uniform(size=len(ROWS))


MADE: list[int] = []


def noted(block: np.ndarray) -> np.ndarray:
    MADE.append(len(block))
    return block


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "100MB"}),  # arrays here go in whole
        Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as client,
    ):
        yield client


def sums(block: Block, memo: Any) -> tuple[Statistics, Any]:
    return Statistics(sums=block.rows.sum(axis=0), weight=len(block.rows)), None


def collection(rows: np.ndarray = ROWS) -> Any:
    return da.from_array(rows, chunks=(99_999, 1))


@pytest.mark.parametrize("word", ["client", "address", "dask"])
def test_a_client_its_address_or_a_word(client: Client, word: str) -> None:
    engine = {"client": client, "address": client.scheduler.address, "dask": "dask"}[word]
    X = ROWS[: 2 * SIZE]
    model = unveil.KMeans(2, random_state=0, engine=engine).fit(X)
    assert model.cluster_centers_.tobytes() == unveil.KMeans(2, random_state=0).fit(X).cluster_centers_.tobytes()


def test_what_is_no_cluster_is_said(client: Client) -> None:
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client, the address"):
        Dask(3).map_reduce(sums, ArraySource(ROWS), None)
    quickly = dask.config.set({"distributed.comm.timeouts.connect": "0.3s"})
    with quickly, pytest.raises(ConnectionError, match="no Dask scheduler answers"):
        Dask("tcp://127.0.0.1:1").map_reduce(sums, ArraySource(ROWS), None)
    with pytest.raises(ValueError, match=r"address of a Dask scheduler"):
        unveil.KMeans(2, engine="dusk").fit(ROWS[:100])


def test_sums_are_added_where_they_are(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight, "FAN", 3)  # 41 runs, several levels
    monkeypatch.setattr(rows, "FEWEST_RUNS", 64)
    heard: list[int] = []
    listen = flight.Flight._heard
    monkeypatch.setattr(
        flight.Flight, "_heard", lambda self, batch: heard.append(len(batch.tops)) or listen(self, batch)
    )
    for partitions in (None, range(1, 41), [0, 2, 3, 4, 5, 6, 11, 12, 13, 40]):
        found, _ = Dask(client).map_reduce(sums, ArraySource(ROWS), None, partitions)
        wanted, _ = Threads(1).map_reduce(sums, ArraySource(ROWS), None, partitions)
        assert found["sums"].tobytes() == wanted["sums"].tobytes()
    assert heard
    assert max(heard) <= 3


def test_joined_parts_are_the_subtrees_of_the_tree() -> None:
    leaves = [str(number) for number in range(23)]
    for first in range(0, 9):
        parts = [TreePart(place, [(0, leaf)], {}) for place, leaf in enumerate(leaves[first:], start=first)]
        whole = joined(joined(*parts[:5]), *parts[5:7], joined(*parts[7:]))
        wanted, adder = joined(*parts), TreeSum()
        assert whole.sums == wanted.sums
        for height, item in ((0, leaf) for leaf in leaves[:first]):
            adder.push(item, height)
        for height, item in whole.sums:
            adder.push(item, height)
        everything = TreeSum()
        for leaf in leaves:
            everything.push(leaf)
        assert adder._pending == everything._pending


def test_a_collection_is_cut_once_and_kept_where_it_fits(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Threads(1).map_reduce(sums, ArraySource(ROWS), None)[0]["sums"].tobytes()
    chunks = 7
    for fits in (True, False):
        monkeypatch.setattr(rows.Members, "memory_left", lambda self, fits=fits: 1e12 if fits else 0.0)
        source = DaskSource(da.from_array(ROWS, chunks=(99_999, 2)).map_blocks(noted, meta=np.empty((0, 2))))
        MADE.clear()
        for _ in range(3):
            assert Dask(client).map_reduce(sums, source, None)[0]["sums"].tobytes() == wanted
        assert (len(MADE) == chunks) == fits
        assert sum(MADE) >= (1 if fits else 3) * len(ROWS)


def test_only_rows_that_are_drawn_travel(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    source = with_weights(DaskSource(collection()), WEIGHTS)
    numbers = np.array([3, 17, SIZE, 9 * SIZE - 1, len(ROWS) - 1])
    asked: list[Any] = []
    run = Dask.map
    monkeypatch.setattr(Dask, "map", lambda self, f, s, p=None: asked.append(p) or run(self, f, s, p))
    monkeypatch.setattr(DaskSource, "read", lambda self, partitions=None: pytest.fail("rows came here"))
    found, weights = picked(source, numbers, Dask(client))
    assert found.tobytes() == ROWS[numbers].tobytes()
    assert weights is not None
    assert weights.tobytes() == WEIGHTS[numbers].tobytes()
    assert asked == [[0, 1, 8, 40]]


def test_a_start_draws_from_a_sample(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    read = DaskSource.read
    brought: list[int] = []

    def noted(self: DaskSource, partitions: Any = None) -> Iterator[Block]:
        for block in read(self, partitions):
            brought.append(len(block.rows))
            yield block

    monkeypatch.setattr(DaskSource, "read", noted)
    for make in (unveil.KMeans, unveil.GaussianMixture):
        brought.clear()
        model = make(2, max_iter=2, random_state=0, tol=0, engine=client)
        with pytest.warns(unveil.certificate.FitWarning):
            model.fit(collection())
        assert sum(brought) <= 3 * SIZE  # the frame looks at the first partition


def test_a_scan_is_sent_once(client: Client, tmp_path: Path) -> None:
    for number in range(4):
        table = pa.table(dict(zip("ab", ROWS[number * 100_000 : (number + 1) * 100_000].T, strict=True)))
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=20_000)
    scan = unveil.scan(tmp_path)
    send, sent = rows.ClusterRows.send, []

    def noted(self: Any, values: list[Any], worker: str | None) -> list[Any]:
        sent.extend(type(value).__name__ for value in values)
        return send(self, values, worker)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows.ClusterRows, "send", noted)
        for _ in range(2):
            found = Dask(client).map_reduce(sums, scan, None)[0]["sums"]
    assert found.tobytes() == Threads(1).map_reduce(sums, ArraySource(ROWS[:400_000]), None)[0]["sums"].tobytes()
    assert sent.count("Scan") == 1


def test_runs_stay_where_they_were_unless_one_has_too_many(client: Client) -> None:
    placed = rows.ClusterRows(client, rows.Members(client), ArraySource(ROWS))
    first, second = placed.members.threads()
    every = range(len(placed.runs))
    placed.note({first: list(every)})  # all on one, as after the other was gone for a while
    again = placed.places(every)
    assert abs(len(again[first]) - len(again[second])) <= 1
    placed.note({where: runs for where, runs in again.items() if where is not None})
    assert placed.places(every) == again


def test_a_cluster_that_is_gone_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SCATTER_SECONDS", 0.1)
    with (
        Client(n_workers=0, threads_per_worker=1, processes=False, dashboard_address=":0") as empty,
        pytest.raises(ClusterLostError, match="the last it said was"),
    ):
        Dask(empty, patience=0.5).map_reduce(sums, ArraySource(ROWS), None)
