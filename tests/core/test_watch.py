"""`unveil.watch` shows every pass of every fit in its context, and of no other."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import unveil
from unveil.core.loop import watchers

ROWS = np.random.default_rng(3).normal(size=(90, 2)) + 6.0 * np.repeat(np.eye(2), 45, axis=0)
STEPS = [("a", "b", "a", "a"), ("b", "b", "a")]

WATCHED = {
    "GaussianMixture": lambda: unveil.GaussianMixture(2, random_state=0).fit(ROWS),
    "KMeans": lambda: unveil.KMeans(4, random_state=0, n_init=1).fit(ROWS),
    "KernelKMeans": lambda: unveil.KernelKMeans(2, random_state=0, n_init=1).fit(ROWS),
    "ProbabilisticPCA": lambda: unveil.ProbabilisticPCA(1, schedule="batch").fit(holed()),
    "PrincipalCurve": lambda: unveil.PrincipalCurve(max_iter=3, tol=1.0).fit(ROWS),
    "GenerativeTopographicMap": lambda: unveil.GenerativeTopographicMap(1, random_state=0, tol=0.1).fit(ROWS),
    "PCA": lambda: unveil.PCA(1).fit(ROWS, cell_weight=np.where(ROWS > 6.5, 0.5, 1.0)),
    "GaussianHMM": lambda: unveil.GaussianHMM(2, random_state=0).fit(ROWS),
    "PCFG": lambda: unveil.PCFG("S -> S S [0.25] | 'a' [0.5] | 'b' [0.25]").fit(STEPS),
}


def holed() -> Any:
    """Rows with a missing cell, so that the factors climb."""
    rows = ROWS.copy()
    rows[3, 1] = np.nan
    return rows


def stop_at(pass_number: int, error: type[BaseException]) -> Any:
    """A callback that raises `error` in a pass."""

    def callback(state: Any) -> None:
        if state.iteration == pass_number:
            raise error

    return callback


@pytest.mark.parametrize("name", WATCHED)
def test_every_pass_is_shown_in_order(name: str) -> None:
    seen: list[Any] = []
    with unveil.watch(seen.append):
        model = WATCHED[name]()
    last = [state for state in seen if state.record.free_energy == model.history_[-1].free_energy][-1]
    own = [state.iteration for state in seen if state.climb == last.climb]
    assert own[-model.n_iter_ :] == list(range(1, model.n_iter_ + 1))
    assert float(last.statistics["weight"]) > 0
    count = len(seen)
    WATCHED[name]()
    assert len(seen) == count, "a fit after the context was shown"


def test_what_is_watched_comes_out_the_same() -> None:
    with unveil.watch(lambda state: None):
        watched = WATCHED["GaussianMixture"]()
    assert watched.means_.tobytes() == WATCHED["GaussianMixture"]().means_.tobytes()
    assert "_callbacks" not in vars(watched)


def test_contexts_nest_and_the_outer_is_called_first() -> None:
    calls: list[str] = []
    with unveil.watch(lambda state: calls.append("outer")):
        with unveil.watch(lambda state: calls.append("inner")):
            WATCHED["KMeans"]()
        both = len(calls)
        WATCHED["KMeans"]()
    assert calls[:both] == ["outer", "inner"] * (both // 2)
    assert set(calls[both:]) == {"outer"}
    assert watchers() == ()


def test_restarts_are_shown_one_after_the_other() -> None:
    seen: list[int] = []
    with unveil.watch(lambda state: seen.append(state.iteration)):
        model = unveil.GaussianMixture(2, n_init=3, init_params="random", random_state=0).fit(ROWS)
    assert seen.count(1) == len(model.history_.restarts) == 3
    assert all(later in (1, before + 1) for before, later in itertools.pairwise(seen))


def test_medoids_are_shown_once_a_start() -> None:
    seen: list[int] = []
    with unveil.watch(lambda state: seen.append(state.iteration)):
        unveil.KMedoids(2, n_init=3, random_state=0).fit(ROWS)
    assert seen == [1, 2, 3]


def test_batches_of_a_stream_are_shown() -> None:
    seen: list[Any] = []
    model = unveil.GaussianMixture(2, random_state=0)
    with unveil.watch(seen.append):
        for batch in (ROWS[::2], ROWS[1::2]):
            model.partial_fit(batch)
    assert [float(state.statistics["weight"]) for state in seen] == [45.0, 45.0]


def test_every_fit_of_a_selection_is_shown() -> None:
    seen: list[Any] = []
    with unveil.watch(seen.append):
        selection = unveil.select(unveil.GaussianMixture(random_state=0), ROWS, {"n_components": [1, 2, 3]})
    assert len(selection.table) == 3
    assert sum(state.iteration == 1 for state in seen) >= 3
    assert {len(state.params.weights) for state in seen} == {1, 2, 3}


def test_an_error_in_the_callback_ends_the_fit_and_the_context() -> None:
    with pytest.raises(ZeroDivisionError), unveil.watch(stop_at(1, ZeroDivisionError)):
        WATCHED["GaussianMixture"]()
    assert watchers() == ()
    WATCHED["GaussianMixture"]()


def test_ctrl_c_in_the_callback_keeps_what_was_reached() -> None:
    model = unveil.GaussianMixture(3, tol=0.0, random_state=0)
    with unveil.watch(stop_at(2, KeyboardInterrupt)), pytest.warns(ConvergenceWarning, match="interrupted after 2"):
        model.fit(ROWS)
    assert model.n_iter_ == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_engines_do_not_matter_and_threads_have_watchers_of_their_own(workers: int) -> None:
    engine = unveil.engines.Threads(workers=workers)

    def fitted(watched: bool) -> int:
        seen: list[Any] = []
        if not watched:
            unveil.KMeans(3, random_state=0, engine=engine).fit(ROWS)
            return len(watchers())
        with unveil.watch(seen.append):
            unveil.KMeans(3, random_state=0, engine=engine).fit(ROWS)
        return len(seen)

    alone = fitted(True)
    with unveil.watch(lambda state: None), ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(fitted, [True, True, False]))
    assert alone > 0
    assert counts == [alone, alone, 0]


def test_a_callback_is_a_function() -> None:
    with pytest.raises(TypeError, match="callback must be a function of a state, got 3"), unveil.watch(3):  # type: ignore[arg-type]
        pass
