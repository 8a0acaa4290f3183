"""BLAS held to one thread, whoever asks, and let go of at the end."""

from __future__ import annotations

from threading import Barrier, Thread

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from unveil.numerics.blas import single_threaded_blas


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    """BLAS has the threads that it has for users."""


def threads() -> set[int]:
    np.linalg.inv(np.eye(2))  # loads the library
    return {int(entry["num_threads"]) for entry in ThreadpoolController().info() if entry["user_api"] == "blas"}


def test_one_thread_inside_and_as_before_outside() -> None:
    before = threads()
    with single_threaded_blas():
        assert threads() == {1}
        with single_threaded_blas():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before


def hold_and_fail() -> None:
    with single_threaded_blas():
        raise RuntimeError("within")


def test_an_error_inside_lets_go() -> None:
    before = threads()
    with pytest.raises(RuntimeError, match="within"):
        hold_and_fail()
    assert threads() == before


def test_of_several_threads_the_last_out_restores() -> None:
    before, together, seen = threads(), Barrier(3), []

    def work() -> None:
        with single_threaded_blas():
            together.wait(timeout=10)
            seen.append(threads())
            together.wait(timeout=10)

    workers = [Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=20)
    assert seen == [{1}] * 3
    assert threads() == before


def test_a_product_has_the_same_bits_at_any_alignment() -> None:
    random = np.random.default_rng(0)
    left, right = random.normal(size=(9, 40)), random.normal(size=(40, 500))
    with single_threaded_blas():
        want = left @ right
        for offset in (1, 2, 3, 5):
            room = np.empty(right.size + offset)[offset:].reshape(right.shape)
            room[:] = right
            assert (left @ room).tobytes() == want.tobytes()
