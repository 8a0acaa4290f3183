"""The search for independent components: what is refused, starts of any size, samples, and Ctrl-C at every place."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from unveil import ICA
from unveil.engines import Threads
from unveil.projections.ica.model import KEPT_CELLS, Compiled, Passes
from unveil.projections.ica.search import sampled, start_of
from unveil.projections.passes import lone_block
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)
SOURCES = np.stack([RANDOM.laplace(size=2000), RANDOM.uniform(-1, 1, 2000), RANDOM.exponential(size=2000)], axis=1)
ROWS = SOURCES @ RANDOM.normal(size=(3, 3))


class Impatient:
    """An engine whose user presses Ctrl-C in pass number `last`."""

    def __init__(self, last: int) -> None:
        self.left = last

    def map_reduce(self, step: Any, source: Any, memos: Any, partitions: Any = None) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return Threads(1).map_reduce(step, source, memos, partitions)

    def map(self, function: Any, source: Any) -> Any:
        return Threads(1).map(function, source)


def unlikeness(one: ICA, other: ICA, rows: Floats = ROWS) -> float:
    count = len(one.components_)
    likeness = np.abs(np.corrcoef(one.transform(rows).T, other.transform(rows).T)[:count, count:])
    return float(1.0 - likeness.max(axis=1).min())


@pytest.mark.parametrize("algorithm", ["picard", "parallel", "deflation"])
def test_what_was_reached_before_an_interrupt_is_kept(algorithm: str, caplog: pytest.LogCaptureFixture) -> None:
    """The first pass whitens; from the third on there is something to keep."""
    whole = ICA(algorithm=algorithm, random_state=0, tol=1e-12).fit(ROWS)
    for last in (4, 6):
        with pytest.warns(ConvergenceWarning, match=r"ICA: interrupted after \d+ iterations?; .* best so far is kept"):
            model = ICA(
                algorithm=algorithm, random_state=0, tol=1e-12, gaussianity_level=1.0, engine=Impatient(last)
            ).fit(ROWS)
        assert "interrupted" in caplog.text
        assert not model.converged_
        assert model.certificate_["converged"].severity == "warning"
        assert model.n_iter_ < whole.n_iter_
        covariance = np.cov(model.transform(ROWS).T, bias=True)
        np.testing.assert_allclose(covariance, np.eye(3), atol=1e-10)
    if algorithm == "picard":
        assert unlikeness(model, whole) < 0.01


@pytest.mark.parametrize("algorithm", ["picard", "parallel", "deflation"])
@pytest.mark.parametrize("last", [1, 2])
def test_an_interrupt_before_there_is_anything_goes_on_to_the_caller(algorithm: str, last: int) -> None:
    model = ICA(algorithm=algorithm, random_state=0, engine=Impatient(last))
    with pytest.raises(KeyboardInterrupt):
        model.fit(ROWS)
    assert not hasattr(model, "components_")


class Cubed:
    """A contrast during whose call number `last` the user presses Ctrl-C."""

    def __init__(self, last: int) -> None:
        self.calls, self.last = 0, last

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        self.calls += 1
        if self.calls == self.last:
            raise KeyboardInterrupt
        return x**3, 3 * x**2


def test_an_interrupt_after_some_of_the_vectors_of_a_deflation() -> None:
    make: dict[str, Any] = {"algorithm": "deflation", "random_state": 0, "tol": 1e-12, "gaussianity_level": 1.0}
    whole = ICA(fun=(patient := Cubed(-1)), **make).fit(ROWS)
    assert patient.calls > 6
    for last in range(2, patient.calls):
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model = ICA(fun=Cubed(last), **make).fit(ROWS)
        np.testing.assert_allclose(np.cov(model.transform(ROWS).T, bias=True), np.eye(3), atol=1e-10)
    assert unlikeness(model, whole) < 1e-6


def test_an_interrupt_between_the_sample_and_all_rows() -> None:
    """Passes over the sample run on threads of its own, so the second pass of the engine is the first over all rows."""
    rows = np.tile(ROWS, (20, 1)) + 1e-3 * np.random.default_rng(1).normal(size=(40_000, 3))
    whole = ICA(random_state=0).fit(rows)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ICA(random_state=0, engine=Impatient(2)).fit(rows)
    assert unlikeness(model, whole, rows) < 1e-3


@pytest.mark.parametrize("algorithm", ["picard", "parallel", "deflation"])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_size_of_a_start_does_not_matter(algorithm: str, size: float) -> None:
    """Squares of such entries are nothing, or beyond all floats."""
    plain, scaled = (ICA(algorithm=algorithm, w_init=one * np.eye(3)).fit(ROWS) for one in (1.0, size))
    np.testing.assert_allclose(scaled.components_, plain.components_, rtol=1e-9)
    assert scaled.n_iter_ == plain.n_iter_


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fun_args": {"alpha": "1"}}, r"alpha must be in \[1,2\], got '1'"),
        ({"fun_args": {"alpha": None}}, r"alpha must be in \[1,2\], got None"),
        ({"fun_args": {"beta": 1, 3: 4}}, "fun_args has '?[b3]"),
        ({"w_init": np.full((3, 3), np.nan)}, "w_init must hold finite numbers, got NaN or infinity"),
        ({"fun": "exp", "orthogonal": False, "extended": False}, "extended=False makes no density"),
        ({"fun": "cube", "orthogonal": False}, "extended=True makes no density"),
        ({"algorithm": "parallel", "orthogonal": False}, "orthogonal=False needs algorithm='picard', got 'parallel'"),
        ({"algorithm": "deflation", "extended": False}, "extended=False needs algorithm='picard', got 'deflation'"),
        ({"algorithm": "parallel", "fun": lambda x: 3}, "fun must return a pair, .* got int"),
        ({"algorithm": "parallel", "fun": lambda x: (x * np.nan, x)}, "fun must return finite numbers"),
    ],
)
def test_what_is_not_taken_is_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ICA(**settings).fit(ROWS)


def test_light_tails_by_the_density_of_the_cube() -> None:
    """exp(-y⁴ / 4) is a density where signs are fixed, and one for light tails."""
    uniform = np.random.default_rng(3).uniform(-1, 1, (5000, 2))
    model = ICA(fun="cube", extended=False, orthogonal=False, random_state=0).fit(uniform @ [[2.0, 1.0], [1.0, 1.0]])
    assert model.converged_
    likeness = np.abs(np.corrcoef(model.transform(uniform @ [[2.0, 1.0], [1.0, 1.0]]).T, uniform.T)[:2, 2:])
    assert likeness.max(axis=1).min() > 0.999


def passes(rows: Floats, weights: Floats | None = None) -> Passes:
    columns = rows.shape[1]
    return Passes(Threads(1), ArraySource(rows, weights), Compiled("logcosh"), np.zeros(columns), np.eye(columns))


def test_a_sample_is_taken_where_it_is_small_and_yet_enough() -> None:
    random = np.random.RandomState(0)
    few = sampled(passes(np.zeros((100_000, 2))), 2, random)
    assert few is not None
    assert few.source.n_rows == 10_000
    assert sampled(passes(np.zeros((30_000, 2))), 2, random) is None  # not much smaller
    assert sampled(passes(np.zeros((100_000, 2))), 60, random) is None  # the error in so many sources would be large
    wide = np.broadcast_to(np.zeros(1), (100_000, 1000))
    assert sampled(passes(wide), 2, random) is None  # more cells than a sample may have
    assert sampled(passes(np.zeros((100_000, 2)), np.eye(1, 100_000, 7)[0]), 2, random) is None  # rows without weight


class Handing:
    """An engine that is not the one of threads, so that every table is handed to it."""

    map_reduce = staticmethod(Threads(1).map_reduce)
    map = staticmethod(Threads(1).map)


@pytest.mark.parametrize("n_rows", [50, 2000, 20_000])
def test_a_small_table_needs_no_engine_and_has_the_same_bits(n_rows: int) -> None:
    rows = np.tile(ROWS, (10, 1))[:n_rows]
    alone, handed = passes(rows), replace(passes(rows), engine=Handing())  # type: ignore[arg-type]
    alone = replace(alone, lone=lone_block(alone.engine, alone.source))
    assert (alone.lone is None) == (n_rows > 16384)
    assert lone_block(handed.engine, handed.source) is None
    for turn in (np.eye(3), np.eye(3)[[2, 0, 1]]):  # the second finds white rows
        for one, other in zip(alone(turn), handed(turn), strict=True):
            assert one.tobytes() == other.tobytes()
        assert alone.powers(turn).tobytes() == handed.powers(turn).tobytes()


def test_a_large_table_is_not_held_twice() -> None:
    kept, streamed = passes(ROWS), passes(np.tile(ROWS, (1 + KEPT_CELLS // ROWS.size, 1)))
    kept = replace(kept, lone=lone_block(kept.engine, kept.source))
    for one, other in zip(kept(np.eye(3)), streamed(np.eye(3)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    assert kept._memos is not None
    assert not any(memo is not None for memo in streamed._memos.values())


def test_a_seed_leads_to_scikit_learns_start() -> None:
    for seed in (3, np.int64(3), np.random.RandomState(3)):
        frame = SimpleNamespace(matrix=np.eye(4))
        start = start_of(ICA(random_state=seed), frame)  # type: ignore[arg-type]
        np.testing.assert_array_equal(start, np.random.RandomState(3).normal(size=(4, 4)))


def loss(model: ICA, rows: Floats) -> float:
    """Signed contrast of the sources, by its definition; signs as the theory has them."""
    y = model.transform(rows)
    slope, product = np.mean(1 - np.tanh(y) ** 2, axis=0) * np.mean(y**2, axis=0), np.mean(np.tanh(y) * y, axis=0)
    return float(np.where(slope < product, -1.0, 1.0) @ np.mean(np.log(np.cosh(y)), axis=0))


@pytest.mark.parametrize("n_rows", [150, 600, 2000])
def test_auto_leaves_no_more_than_it_says(n_rows: int) -> None:
    """0.0001 nats for each thousand rows, or that for fewer; a factor for the curvature's own change."""
    for seed in range(4):
        rows = ROWS[:n_rows]
        auto = ICA(random_state=seed, gaussianity_level=1.0).fit(rows)
        end = ICA(random_state=seed, gaussianity_level=1.0, tol=1e-12).fit(rows)
        assert auto.converged_
        assert auto.n_iter_ < end.n_iter_
        assert (loss(auto, rows) - loss(end, rows)) * n_rows <= 3e-4 * max(n_rows / 1000, 1.0)
