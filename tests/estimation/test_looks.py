"""What fits to the same rows look for is found once, and is what each would have found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.counted import Counted
from unveil.core.drive import answer_to, drive, together
from unveil.core.protocols import Ask, Block
from unveil.core.statistics import Statistics
from unveil.engines import Threads
from unveil.estimation.input import frame_of, sample_of
from unveil.estimation.looks import along, looked, looking_once
from unveil.sources import ArraySource, with_weights
from unveil.sources.binarized import Binarized

ROWS = np.random.default_rng(0).normal(size=(40_000, 2))  # three partitions
WEIGHTS = np.random.default_rng(1).integers(0, 3, 40_000).astype(np.float64)
LAYERS = {
    "plain": lambda source: source,
    "weighted": lambda source: with_weights(source, WEIGHTS),
    "binarized": lambda source: Binarized(source, 0.5),
    "both": lambda source: with_weights(Binarized(source, 0.5), WEIGHTS),
}


@pytest.mark.parametrize("name", LAYERS)
def test_frames_and_samples_are_those_of_a_fit_alone(name: str) -> None:
    layer, counted = LAYERS[name], Counted(ArraySource(ROWS))
    rows, weights = sample_of(layer(ArraySource(ROWS)), 3, 2)
    shift = frame_of(layer(ArraySource(ROWS)))
    with looking_once(counted):
        for _ in range(3):
            again, own = sample_of(layer(counted), 3, 2)
            assert again.tobytes() == rows.tobytes()
            assert (own is None and weights is None) or own.tobytes() == weights.tobytes()  # type: ignore[union-attr]
            assert frame_of(layer(counted)).tobytes() == shift.tobytes()
    assert counted.reads == pytest.approx(1 + 1 / 3)


def test_other_seeds_draw_other_rows() -> None:
    with looking_once(source := ArraySource(ROWS)):
        samples = [sample_of(source, seed, 2, 1000)[0].tobytes() for seed in (0, 1, 0)]
    assert samples[0] == samples[2] != samples[1]


def test_nothing_is_remembered_of_other_rows_or_afterwards() -> None:
    rows, other = [1.0], [2.0]
    with looking_once(rows):
        assert looked("one", rows, lambda: "first") == looked("one", rows, lambda: "second") == "first"
        assert looked("one", other, lambda: "first") != looked("one", other, lambda: "second")
    assert looked("one", rows, lambda: "third") == "third"


def test_only_rows_that_are_shared_are_climbed_along() -> None:
    class Rows:
        def __call__(self, block: Block, memo: Any) -> tuple[Statistics, Any]:
            return Statistics(count=len(block.rows)), None

    def asks(source: Any) -> Any:
        return along(answer_to(Ask(Threads(1), source, Rows())), source)

    shared, own = Counted(ArraySource(ROWS)), Counted(ArraySource(ROWS))
    with looking_once(shared):
        found = drive(together([asks(shared), asks(own), asks(shared), asks(own)]))
    assert [float(one["count"]) for one in found] == [40_000] * 4
    assert (shared.reads, own.reads) == (1, 2)
