"""A file is read once an iteration for a whole search: restarts, combinations of `select`, draws of a bootstrap.

What a fit looks at before it climbs counts too: one block for the frame, and all of the file for each size of sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import unveil
from tests.counted import Counted
from unveil import BernoulliMixture, GaussianHMM, GaussianMixture, KMeans, PoissonHMM, StudentMixture
from unveil.chains import small
from unveil.clusters.kmeans import restarts
from unveil.core.partition import count_of
from unveil.mixtures.bootstrap import bootstrap
from unveil.sources import Sequences

N_ROWS = 34_000  # three partitions
STRUCTURES = ("full", "tied", "diag", "spherical")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(1)
    labels = random.choice(3, N_ROWS, p=[0.5, 0.3, 0.2])
    rows = np.array([[0.0, 0.0], [3.0, 1.0], [0.0, 4.0]])[labels] + random.normal(size=(N_ROWS, 2))
    path = tmp_path_factory.mktemp("one-read") / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), path, row_group_size=9000)
    return path


@pytest.fixture
def source(file: Path) -> Counted:
    counted = Counted(unveil.scan(file))
    assert count_of(counted) == 3
    return counted


class Watching:
    """How far each climb came."""

    def __init__(self) -> None:
        self.iterations: dict[int, int] = {}

    def __call__(self, state: Any) -> None:
        self.iterations[state.climb] = state.iteration

    @property
    def longest(self) -> int:
        return max(self.iterations.values())


def counted(source: Counted, run: Callable[[], Any]) -> tuple[float, Watching]:
    """Reads while something runs, and its climbs."""
    watching, before = Watching(), source.reads
    with unveil.watch(watching):
        run()
    return source.reads - before, watching


def in_turn(climbs: Iterable[Any], final: Any = None) -> Any:
    """`unveil.core.drive.together`, but one after the other."""
    outcomes = []
    for climb in climbs:
        outcomes.append((yield from climb))
    return outcomes


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A switch to climbs that are run one after the other."""

    def switch() -> None:
        for place in ("core.loop", "estimation.scaffold", "selection.search", "mixtures.bootstrap"):
            monkeypatch.setattr(f"unveil.{place}.together", in_turn)

    return switch


def hashed(model: Any) -> str:
    digest = hashlib.sha256()
    for name in ("weights_", "means_", "covariances_", "degrees_of_freedom_", "rates_", "probabilities_"):
        digest.update(np.ascontiguousarray(getattr(model, name, 0.0)).tobytes())
    digest.update(np.array(model.history_.restarts).tobytes() + np.array(model.lower_bounds_).tobytes())
    return digest.hexdigest()


FRAME, SAMPLE, CRITERIA, EXAMINED = 1 / 3, 1, 1, 1


@pytest.mark.parametrize("schedule", ["batch", "stepwise", "squarem"])
def test_restarts(source: Counted, apart: Callable[[], None], schedule: str) -> None:
    model = GaussianMixture(3, n_init=4, random_state=0, max_iter=6, tol=0.0, schedule=schedule)
    again = GaussianMixture(3, n_init=4, random_state=0, max_iter=6, tol=0.0, schedule=schedule)
    with pytest.warns(UserWarning, match="not converged"):
        reads, watching = counted(source, lambda: model.fit(source))
    assert len(watching.iterations) == 4
    taken_back = max(model.history_.passes - 6, 0)
    ending = schedule == "stepwise"  # a pass of its own for the certificate
    assert reads == pytest.approx(FRAME + SAMPLE + 6 + ending, abs=0.01 + taken_back)
    apart()
    with pytest.warns(UserWarning, match="not converged"):
        more, _ = counted(source, lambda: again.fit(source))
    assert more >= 4 * 6
    assert hashed(again) == hashed(model)


@pytest.mark.parametrize("room", [restarts.MEMO_ROOM, 2 * 8 * 5 * N_ROWS], ids=["all at once", "two at once"])
def test_restarts_of_k_means(source: Counted, file: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """As many side by side as there is room for what they remember of the rows; the bits of a table at hand."""
    monkeypatch.setattr(restarts, "MEMO_ROOM", room)
    monkeypatch.setattr(KMeans, "_hartigan_work", 0)  # as in larger files
    settings = {"n_clusters": 3, "n_init": 4, "random_state": 0, "max_iter": 40}
    model = KMeans(**settings)
    reads, watching = counted(source, lambda: model.fit(source))
    one, two, three, four = watching.iterations.values()
    climbing = max(one, two, three, four) if room > 1 << 29 else max(one, two) + max(three, four)
    alone, only = counted(source, lambda: KMeans(**{**settings, "n_init": 1}).fit(source))
    assert reads <= alone - only.longest + climbing
    assert climbing < one + two + three + four - 5
    rows = np.concatenate([block.rows for block in unveil.scan(file).read()])
    again = KMeans(**settings).fit(rows)
    assert again.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()
    assert again.history_.restarts == model.history_.restarts


def test_named_starts_are_passes_too(source: Counted, apart: Callable[[], None]) -> None:
    model = StudentMixture(3, n_init=3, random_state=0, max_iter=3, tol=0.0, init_params="kmeans")
    with pytest.warns(UserWarning, match="not converged"):
        reads, _ = counted(source, lambda: model.fit(source))
    assert reads == pytest.approx(FRAME + SAMPLE + 1 + 3)
    before = hashed(model)
    apart()
    with pytest.warns(UserWarning, match="not converged"):
        counted(source, lambda: model.fit(source))
    assert hashed(model) == before


def table_of(selection: Any) -> list[Any]:
    """All but the time."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in selection.table]


def test_select(source: Counted, apart: Callable[[], None]) -> None:
    grid = {"n_components": range(1, 5), "covariance_type": STRUCTURES}
    estimator = GaussianMixture(random_state=0, max_iter=20, tol=1e-3)
    found: list[Any] = []
    reads, watching = counted(source, lambda: found.append(unveil.select(estimator, source, grid)))
    assert len(watching.iterations) == 16
    assert reads <= FRAME + 4 * SAMPLE + watching.longest + CRITERIA + EXAMINED  # samples of some sizes
    apart()
    more, _ = counted(source, lambda: found.append(unveil.select(estimator, source, grid)))
    assert more > 5 * reads
    one, other = found
    assert table_of(one) == table_of(other)
    assert hashed(one.best_estimator_) == hashed(other.best_estimator_)


def test_select_with_weights_on_other_columns(source: Counted, apart: Callable[[], None]) -> None:
    weights = np.random.default_rng(0).integers(0, 3, N_ROWS).astype(np.float64)
    estimator = BernoulliMixture(binarize=1.0, random_state=0, max_iter=5)
    found: list[Any] = []

    def run() -> None:
        found.append(unveil.select(estimator, source, {"n_components": [1, 2, 3]}, sample_weight=weights))

    reads, watching = counted(source, run)
    assert reads <= FRAME + 3 * SAMPLE + watching.longest + CRITERIA + EXAMINED  # a size of sample for each
    apart()
    counted(source, run)
    assert table_of(found[0]) == table_of(found[1])


def test_an_array_and_a_file_agree(file: Path) -> None:
    grid = {"n_components": [1, 2], "covariance_type": ["full", "diag"]}
    rows = np.concatenate([block.rows for block in unveil.scan(file).read()])
    one, other = (unveil.select(GaussianMixture(random_state=0), table, grid) for table in (unveil.scan(file), rows))
    assert table_of(one) == table_of(other)


def test_a_combination_that_fails_fails_alone(source: Counted) -> None:
    grid = {"n_components": [1, 2], "reg_covar": [1e-6, -1.0]}
    selection = unveil.select(GaussianMixture(random_state=0, max_iter=3), source, grid)
    assert [row["error"] is None for row in selection.table] == [True, False, True, False]
    alone = unveil.select(GaussianMixture(random_state=0, max_iter=3), source, {"n_components": [1, 2]})
    assert [row["bic"] for row in selection.table[::2]] == [row["bic"] for row in alone.table]


def test_ctrl_c_ends_a_comparison_with_what_is_there(source: Counted) -> None:
    def stop(state: Any) -> None:
        if state.iteration == 6:
            raise KeyboardInterrupt

    estimator = GaussianMixture(random_state=0, tol=1e-4)
    with unveil.watch(stop):
        selection = unveil.select(estimator, source, {"n_components": range(1, 6)})
    assert 0 < len(selection.table) < 5
    assert selection.undone == 5 - len(selection.table)


def test_a_bootstrap(source: Counted, apart: Callable[[], None]) -> None:
    model = GaussianMixture(3, random_state=0, tol=1e-3).fit(source)
    found: list[Any] = []
    reads, watching = counted(source, lambda: found.append(bootstrap(model, source, None, 6, 0)))
    assert len(watching.iterations) == 6
    assert reads == pytest.approx(FRAME + SAMPLE + watching.longest + 1)  # one more to match the components
    apart()
    more, _ = counted(source, lambda: found.append(bootstrap(model, source, None, 6, 0)))
    assert more > 3 * reads
    for name, draws in found[0].draws.items():
        assert draws.tobytes() == found[1].draws[name].tobytes(), name


# -- chains ------------------------------------------------------------------------------------------------------------

LENGTHS = np.full(N_ROWS // 200, 200)


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["one sequence", "sequences"])
def test_select_of_chains(
    source: Counted, file: Path, apart: Callable[[], None], monkeypatch: pytest.MonkeyPatch, lengths: Any
) -> None:
    """As for mixtures; criteria are measured in larger blocks, hence not along with climbs that go on."""
    monkeypatch.setattr(small, "MOST_WORK", 0)  # as in larger files
    grid: dict[str, list[Any]] = {"n_components": [1, 2, 3], "covariance_type": ["full", "diag"]}
    estimator = GaussianHMM(random_state=0, max_iter=8, tol=0.0)
    found: list[Any] = []

    def run() -> None:
        found.append(unveil.select(estimator, source, grid, lengths=lengths))

    reads, watching = counted(source, run)
    assert len(watching.iterations) == 6
    assert reads <= FRAME + SAMPLE + watching.longest + 2 * CRITERIA + EXAMINED  # one state is done before two
    apart()
    more, _ = counted(source, run)
    assert more > 3 * reads
    rows = np.concatenate([block.rows for block in unveil.scan(file).read()])
    at_hand = unveil.select(estimator, rows, grid, lengths=lengths)
    assert table_of(found[0]) == table_of(found[1]) == table_of(at_hand)
    for name in ("startprob_", "transmat_", "means_", "covariances_"):
        one, *others = (getattr(each.best_estimator_, name).tobytes() for each in (*found, at_hand))
        assert others == [one, one], name
    assert found[0].table[5]["bic"] == found[0].best_estimator_.bic(Sequences(source, lengths))


def test_small_files_of_sequences_are_read_for_all_chains(source: Counted) -> None:
    """One read for all climbs, each of which is one compiled piece; and one for the criteria of each."""
    grid, estimator = {"n_components": [2, 3]}, GaussianHMM(random_state=0)
    found: list[Any] = []
    reads, _ = counted(source, lambda: found.append(unveil.select(estimator, source, grid, lengths=LENGTHS)))
    assert reads <= FRAME + SAMPLE + 1 + 2 * CRITERIA + EXAMINED
    model = GaussianHMM(3, random_state=0).fit(source, lengths=LENGTHS)
    assert found[0].table[1]["bic"] == model.bic(source, LENGTHS)


def test_counts_are_looked_at_as_they_are_read(
    tmp_path: Path, apart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = np.random.default_rng(2).poisson(np.repeat([1.0, 6.0, 2.0, 9.0], 8500))
    pyarrow.parquet.write_table(pa.table({"n": counts}), tmp_path / "counts.parquet")
    source = Counted(unveil.scan(tmp_path / "counts.parquet"))
    found: list[Any] = []

    def run() -> None:
        estimator = PoissonHMM(random_state=0, max_iter=5, tol=0.0)
        found.append(unveil.select(estimator, source, {"n_components": [2, 3]}, lengths=LENGTHS))

    monkeypatch.setattr(small, "MOST_WORK", 0)
    reads, watching = counted(source, run)
    assert reads <= FRAME + 2 * SAMPLE + watching.longest + CRITERIA + EXAMINED
    apart()
    counted(source, run)
    assert table_of(found[0]) == table_of(found[1])


def test_named_starts_of_a_chain_are_passes_too(source: Counted, apart: Callable[[], None]) -> None:
    model = GaussianHMM(3, n_init=3, random_state=0, max_iter=3, tol=0.0, init_params="k-means++")
    sequences = Sequences(source, LENGTHS)
    with pytest.warns(UserWarning, match="not converged"):
        reads, _ = counted(source, lambda: model.fit(sequences))
    assert reads <= FRAME + 2 * SAMPLE + 1 + 3  # a sample for the scale of the prior, and one for the starts
    before = model.means_.tobytes(), model.history_.restarts
    apart()
    with pytest.warns(UserWarning, match="not converged"):
        counted(source, lambda: model.fit(source, lengths=LENGTHS))
    assert (model.means_.tobytes(), model.history_.restarts) == before
