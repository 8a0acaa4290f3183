"""What blocks remember fits into its room, and no bit depends on how much that is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unveil
from unveil.core import memory
from unveil.engines import Threads, memos
from unveil.engines.memos import Memos, Stored, bytes_of_arrays

ROWS = np.random.default_rng(0).normal(size=(70_000, 3)) + 4.0 * (np.arange(70_000) % 3)[:, None]
MODELS = {
    "K-means": lambda **more: unveil.KMeans(
        9, algorithm="hamerly", init="k-means||", max_iter=6, random_state=0, **more
    ),
    "sparse EM": lambda **more: unveil.GaussianMixture(
        4, expectation=unveil.expectations.Sparse(2, 3), max_iter=5, tol=0.0, random_state=0, **more
    ),
}


def bits(model) -> dict[str, bytes]:
    found = {name: value for name, value in vars(model).items() if name.endswith("_") and isinstance(value, np.ndarray)}
    return {name: value.tobytes() for name, value in found.items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_no_bit_depends_on_the_room(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = bits(MODELS[name](engine=Threads(1)).fit(ROWS))
    np.save(tmp_path / "rows.npy", ROWS)
    made: list[Memos] = []
    plain = Memos.__init__
    monkeypatch.setattr(Memos, "__init__", lambda self, *given: (plain(self, *given), made.append(self))[0])
    for room in (0, 1 << 20, 1 << 30):
        monkeypatch.setattr(memory, "STREAM_MEMOS", room)
        made.clear()
        assert bits(MODELS[name](engine=Threads(2)).fit(unveil.scan(tmp_path / "rows.npy"))) == want
        assert made
        for each in made:
            held = [memo for memo in each.values() if not isinstance(memo, Stored)]
            assert sum(map(bytes_of_arrays, held)) == each.n_bytes <= room


def test_a_limit_leaves_half_to_all_else() -> None:
    class Streamed:
        random_access = False

    class Held:
        random_access = True

    assert Memos(Streamed()).room == memory.STREAM_MEMOS
    assert Memos(Held()).room == np.inf
    with unveil.memory_limit(memory.resident() + 2e8):
        assert Memos(Held()).room <= 1e8
    with unveil.memory_limit("64MiB"):
        assert Memos(Streamed()).room == memory.reading_room() == 0


def test_a_lasting_memo_waits_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lasting(tuple):  # type: ignore[type-arg]
        lasting = True

    monkeypatch.setattr(memos, "memo_room", lambda streamed: 100.0)
    held = Memos(None)
    held.remember(0, np.zeros(10))
    held.remember(1, np.zeros(10))  # no room left
    held.remember(2, {7: None, 8: (np.ones(50),)})
    assert (held.n_bytes, sorted(held)) == (80, [0])
    monkeypatch.setattr(memos, "is_lasting", lambda memo: True)
    held.remember(3, (np.arange(50),))
    (found,) = held.recall(3)
    np.testing.assert_array_equal(found, np.arange(50))
    path = held[3].path
    assert path.exists()
    assert held.recall(1) is None
    del held
    assert not path.exists()
