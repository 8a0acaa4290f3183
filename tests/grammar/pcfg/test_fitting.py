"""Every expectation with every schedule, and the same bits on every engine."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.grammar.pcfg.test_model import ASTRONOMERS
from tests.grammar.pcfg.test_pcfg import mixed_start, quietly
from unveil import PCFG
from unveil.engines import Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.grammar import read_grammar
from unveil.schedules import LBFGS, Ascent, Batch, Gradient, Incremental, Squarem, Stepwise

EXPECTATIONS = {
    "exact": Exact(),
    "hard": Hard(),
    "sampled": Sampled(draws=16, growth=1.1),
    "sparse": Sparse(active=1, refresh=3),
    "annealed": Annealed(0.7, passes=5),
}
SCHEDULES = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=256),
    "stepwise": Stepwise(batch_rows=256),
    "gradient": Gradient(steps=5),
    "ascent": Ascent(),
    "lbfgs": LBFGS(),
    "squarem": Squarem(),
}
REFUSED = {
    *product(("hard", "sampled", "sparse", "annealed"), ("ascent", "lbfgs")),
    *product(("sampled", "sparse", "annealed"), ("squarem",)),
}


@pytest.fixture(scope="module")
def text() -> list[list[str]]:
    sentences, _ = PCFG.from_grammar(ASTRONOMERS, random_state=5).sample(200)
    return [words for words in sentences if len(words) <= 15]


def climbed(text: Any, expectation: Any, schedule: Any, **settings_: Any) -> PCFG:
    grammar = read_grammar(ASTRONOMERS).with_probabilities(mixed_start())
    parts = {"expectation": EXPECTATIONS[expectation], "schedule": SCHEDULES[schedule]}
    return quietly(PCFG(grammar, **{"tol": 1e-7, "max_iter": 60, "random_state": 0} | parts | settings_), text)


@pytest.mark.parametrize(("expectation", "schedule"), list(product(EXPECTATIONS, SCHEDULES)))
def test_what_is_allowed_climbs_to_the_likelihood_of_em(text: Any, expectation: str, schedule: str) -> None:
    if (expectation, schedule) in REFUSED:
        with pytest.raises(ValueError, match="is not possible"):
            climbed(text, expectation, schedule)
        return
    found = climbed(text, expectation, schedule, max_iter=10 if expectation == "sampled" else 60)
    best = climbed(text, "hard" if expectation == "hard" else "exact", "batch").score(text)
    rough = {"sampled", "stepwise"} & {expectation, schedule}
    assert found.score(text) >= best - (3e-2 if rough else 1e-4) * abs(best)
    history = found.history_
    assert np.all(history.gap >= -1e-9 * np.abs(history.log_likelihood))
    promised = schedule != "stepwise" and expectation not in {"sampled", "annealed"}
    assert history.monotone == promised
    if promised:
        assert history.largest_fall() <= 1e-9 * np.max(np.abs(history.column("objective")))


@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_threads_change_no_bit(text: Any, expectation: str) -> None:
    runs = [climbed(text, expectation, "batch", max_iter=4, engine=Threads(count)) for count in (1, 2, 5)]
    assert len({run.probabilities_.tobytes() for run in runs}) == 1
    assert len({run.history_.column("objective").tobytes() for run in runs}) == 1


def test_dask_changes_no_bit(text: Any) -> None:
    from distributed import Client, LocalCluster

    from unveil.engines import Dask

    here = climbed(text, "exact", "batch", max_iter=4)
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        there = climbed(text, "exact", "batch", max_iter=4, engine=Dask(client))
        assert there.probabilities_.tobytes() == here.probabilities_.tobytes()
        assert there.score_samples(text).tobytes() == here.score_samples(text).tobytes()
