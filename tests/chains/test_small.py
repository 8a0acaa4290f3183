"""Whole passes over small tables against the general way, to the last digits."""

from __future__ import annotations

import numpy as np
import pytest

from unveil import CategoricalHMM, GaussianHMM, PoissonHMM
from unveil.chains.model.model import HiddenMarkov
from unveil.chains.model.probability_table import Stochastic, left_right
from unveil.chains.small import SmallChainClimb, climb_over, is_small
from unveil.core.loop import Parts, fit
from unveil.core.protocols import Block
from unveil.core.stopping import BoundChange
from unveil.engines import Threads
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.expectations import Exact
from unveil.families.categorical import Categorical
from unveil.families.gaussian import Gaussian
from unveil.families.poisson import Poisson
from unveil.schedules import Batch
from unveil.sources import ArraySource, Sequences

LENGTHS, WEIGHTS = [100, 1, 200, 299], [1.0, 2.0, 0.5, 1.0]
STATES = np.cumsum(np.random.default_rng(0).random(600) < 0.1) % 3


def rows_of(kind: str) -> np.ndarray:
    random = np.random.default_rng(1)
    if kind == "counts":
        return random.poisson(np.array([[1.0, 9.0], [5.0, 2.0], [12.0, 12.0]])[STATES]).astype(np.float64)
    if kind == "codes":
        return ((STATES + random.integers(0, 3, 600)) % 5)[:, None].astype(np.float64)
    return 3.0 * random.normal(size=(3, 4))[STATES] + random.normal(size=(600, 4)) + 100.0


CASES = [("numbers", Gaussian(lookup(STRUCTURES[name])())) for name in ("full", "tied", "diag", "spherical")]
CASES += [("counts", Poisson()), ("codes", Categorical((5,)))]
MILD = [("numbers", family.mildly(np.array([8.0, 3.0, 1.0, 2.0, 0.5]), 1.0)) for _, family in CASES[:4]]
MILD += [("counts", Poisson().mildly(np.array([3.0, 5.0]), 1.0))]
MILD += [("codes", Categorical((5,)).mildly(np.array([0.1, 0.2, 0.3, 0.2, 0.2]), 1.0))]
PULL = Stochastic(concentration=1.3 + np.eye(3))


def task(kind: str, family, **rules) -> tuple[Parts, object]:
    """Parts of a climb, and where it begins."""
    rows = rows_of(kind)
    source = Sequences(ArraySource(rows), LENGTHS, WEIGHTS)
    model = HiddenMarkov(family, 3, np.where(family.framed, rows.mean(axis=0), 0.0), **rules)
    parts = Parts(model, source, Exact(), Batch(), Threads(1), BoundChange(1e-9), 60)
    shares = 0.3 * np.random.default_rng(2).dirichlet(np.ones(3), 600).T + 0.7 * np.eye(3)[:, STATES]
    (block,) = source.read()
    return parts, model.first(model.gather(block, shares))


@pytest.mark.parametrize(("kind", "family"), [*CASES, *MILD])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"transition_rule": Stochastic(left_right(3, 2))},
        {"transition_rule": PULL},
        {"transition_rule": PULL, "start_rule": Stochastic(concentration=1.5)},
        {"transition_rule": Stochastic(left_right(3, 2), concentration=1.3 + np.eye(3))},
    ],
)
def test_as_the_general_way(kind, family, rules):
    parts, start = task(kind, family, **rules)
    climb = climb_over(parts.model, parts)
    assert isinstance(climb, SmallChainClimb)
    wanted, found = fit(parts, start), climb.plain(parts, start)
    assert len(found.history) == len(wanted.history)
    assert found.history.events == wanted.history.events
    np.testing.assert_allclose(found.history.log_likelihood, wanted.history.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(found.history.column("objective"), wanted.history.column("objective"), rtol=1e-11)
    for name in ("starts", "transitions", "moments", "weight"):
        np.testing.assert_allclose(found.statistics[name], wanted.statistics[name], rtol=1e-9, atol=1e-7)
    for own, other in ((found.params, wanted.params), (found.entered, wanted.entered)):
        np.testing.assert_allclose(own.transition, other.transition, rtol=0, atol=1e-9)
        np.testing.assert_allclose(own.start, other.start, rtol=0, atol=1e-9)
        for name in vars(own.emissions).keys() - {"floored"}:  # of the last step; events count it
            np.testing.assert_allclose(vars(own.emissions)[name], vars(other.emissions)[name], rtol=1e-9, atol=1e-9)


def test_what_is_not_plain_goes_the_general_way():
    parts, _ = task("numbers", Gaussian())
    model, (block,) = parts.model, parts.source.read()
    holes = block.rows.copy()
    holes[3, 1] = np.nan
    for rows, weights in ((holes, None), (block.rows, np.ones(600))):
        source = Sequences(ArraySource(rows, weights), LENGTHS)
        assert climb_over(model, Parts(model, source, Exact(), Batch(), Threads(1), BoundChange(0.0))) is fit
    assert not is_small(model, 100_000)


def test_a_state_that_loses_its_steps_is_left_to_the_general_way():
    parts, start = task("numbers", Gaussian())
    start.emissions.means[2] += 1e4
    climb = climb_over(parts.model, parts)
    assert climb.plain(parts, start) is None
    assert climb(parts, start).objective == fit(parts, start).objective


def test_several_partitions_of_a_small_table_are_one():
    rows = np.tile(rows_of("counts"), (10, 1))
    source = Sequences(ArraySource(rows), [600] * 10)
    assert len(list(source.read())) > 1
    found = PoissonHMM(3, random_state=0).fit(rows, lengths=[600] * 10)
    again = PoissonHMM(3, random_state=0, expectation="exact", engine=Threads(2)).fit(rows, lengths=[600] * 10)
    np.testing.assert_array_equal(found.lambdas_, again.lambdas_)


@pytest.mark.parametrize(
    ("face", "kind"), [(GaussianHMM, "numbers"), (PoissonHMM, "counts"), (CategoricalHMM, "codes")]
)
def test_watchers_see_every_pass(face, kind):
    import unveil

    rows, seen = rows_of(kind), []
    with unveil.watch(seen.append):
        model = face(3, random_state=0).fit(rows)
    assert [state.iteration for state in seen] == list(range(1, model.n_iter_ + 1))
    assert [state.record for state in seen] == list(model.history_)
    assert {"starts", "transitions", "moments"} <= set(seen[-1].statistics)


def test_a_block_without_lengths_is_one_sequence():
    from unveil.chains.small import small_chain

    parts, start = task("numbers", Gaussian())
    rows = rows_of("numbers")
    table = small_chain(parts.model, [Block(0, 0, rows)])
    vector = table.vector(start)
    bound, _ = table.sweep(vector, np.empty_like(vector), np.empty(table.n_sums()))
    statistics, _ = parts.model.expect(parts.model.prepare(start), Block(0, 0, rows), Exact(), None, lambda: None)
    assert bound == pytest.approx(float(statistics["log_likelihood"]), rel=1e-13)


def test_a_long_way_is_finished_by_leaps() -> None:
    """Two states where there is hardly one: EM creeps, and no fit should end at its limit for that."""
    counts = np.random.default_rng(0).poisson(4.0, size=(300, 1)).astype(float)
    model = PoissonHMM(3, random_state=0).fit(counts)
    assert model.converged_
    assert np.all(np.diff(model.history_.column("objective")) >= -1e-9)
    assert np.all(np.diff(model.history_.column("seconds")) >= 0)
    assert model.history_.passes >= model.n_iter_
