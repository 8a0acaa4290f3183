import time

import pytest

from unveil.engines import Dask
from unveil.engines.cluster.patience import ClusterLostError, Patience


def test_patience_ends_with_an_error_that_says_what_to_do() -> None:
    patience, began = Patience(0.3), time.monotonic()
    gone = TimeoutError("no worker")
    with pytest.raises(ClusterLostError, match=r"no worker.*Dask\(client, patience=seconds\)"):
        any(patience.lost(gone) for _ in range(100))  # type: ignore[func-returns-value]
    assert 0.3 <= time.monotonic() - began < 5


def test_what_comes_back_begins_the_count_anew() -> None:
    patience, began = Patience(0.15), time.monotonic()
    while time.monotonic() < began + 0.6:
        patience.lost(OSError("gone"))
        patience.over()
    assert not patience.tried


def test_attempts_go_on_until_one_succeeds() -> None:
    left = [OSError("closed"), TimeoutError("none")]

    def attempt() -> str:
        if left:
            raise left.pop()
        return "there"

    assert Patience(60).insist(attempt) == "there"
    with pytest.raises(ZeroDivisionError):
        Patience(60).insist(lambda: 1 / 0)


@pytest.mark.parametrize("patience", [-1, "long", True, float("nan")])
def test_patience_is_a_number_of_seconds(patience: object) -> None:
    with pytest.raises(ValueError, match="patience must be a number of seconds"):
        Dask(patience=patience)  # type: ignore[arg-type]
