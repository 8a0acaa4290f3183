"""What all hidden Markov models share: scikit-learn's contract, weights, engines, schedules, streams, files."""

from __future__ import annotations

import itertools
import pickle
import warnings
from functools import cache
from typing import Any

import dask.array
import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from unveil import CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM, watch
from unveil.engines import Dask, Threads
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES
from unveil.expectations import Annealed, Sampled

# -- scikit-learn's own checks -----------------------------------------------------------------------------------------


class Counts(PoissonHMM):
    """A chain of counts. There is no tag for these, but one that makes the checks round the numbers they feed."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


CHAIN = {
    "check_methods_sample_order_invariance": "rows are steps of a chain: another order is another chain",
    "check_methods_subset_invariance": "what a step is depends on its neighbours, which a subset leaves out",
    "check_sample_weight_equivalence_on_dense_data": "a step of weight 2 is one step whose observation counts twice, "
    "not two steps; sequence_weight is what equals repetition",
}
COUNTS = {
    "check_positive_only_tag_during_fit": "its table holds a fraction before it holds a negative number, and the "
    "first cell that is no count is the one that is named",
}


def exemptions(estimator):
    """Checks that are expected to fail, each with its reason."""
    alone = {} if estimator.n_components > 1 or isinstance(estimator, Counts) else {CHECK_WEIGHTS: None}
    reasons = CHAIN | (COUNTS if isinstance(estimator, Counts) else {})
    return {name: reason for name, reason in reasons.items() if name not in alone}


CHECK_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"  # which a chain of one state passes


@pytest.mark.filterwarnings("ignore:.*(more parameters than the rows support|has no spread)")  # checks feed a few rows
@parametrize_with_checks(
    [GaussianHMM(), GaussianHMM(2, init_params="kmeans"), CategoricalHMM(), Counts(), MixedHMM()],
    expected_failed_checks=exemptions,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- data --------------------------------------------------------------------------------------------------------------


@cache
def truth(kind: str) -> Any:
    """A chain to draw from."""
    model = {"gaussian": GaussianHMM(3), "categorical": CategoricalHMM(2), "poisson": PoissonHMM(2)}[kind]
    if kind == "gaussian":
        model.startprob_ = np.array([0.5, 0.3, 0.2])
        model.transmat_ = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
        model.means_, model.covars_ = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]]), np.tile(np.eye(2), (3, 1, 1))
        return model
    model.startprob_, model.transmat_ = np.array([0.7, 0.3]), np.array([[0.9, 0.1], [0.2, 0.8]])
    if kind == "categorical":
        model.emissionprob_ = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    else:
        model.lambdas_ = np.array([[2.0], [9.0]])
    return model


@cache
def drawn(kind: str, count: int = 40, length: int = 30) -> tuple[np.ndarray, ...]:
    return tuple(truth(kind).sample(length, random_state=seed)[0] for seed in range(count))


def made(kind: str, **others: Any) -> Any:
    """An estimator for such data, with a start that takes no time."""
    quick = {"random_state": 0, "n_init": 1, "init_params": "runs" if kind == "categorical" else "kmeans"}
    return clone(truth(kind)).set_params(**quick | others)


def alike(one: Any, other: Any, rtol: float = 1e-7) -> None:
    for name in ("startprob_", "transmat_", "means_", "covars_", "emissionprob_", "lambdas_"):
        if hasattr(one, name):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=rtol, err_msg=name)


KINDS = ("gaussian", "categorical", "poisson")


# -- what is handed in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_in_every_place(kind):
    X, lengths = np.concatenate(drawn(kind)), [30] * 40
    listed = made(kind).fit(list(drawn(kind)))
    for model in (
        made(kind).fit(X, lengths),
        made(kind).fit(X, lengths=lengths),
        made(kind).fit(X, np.zeros(len(X)), lengths),
        made(kind).fit(dask.array.from_array(X, chunks=(500, -1)), lengths),
    ):
        np.testing.assert_array_equal(model.transmat_, listed.transmat_)
    assert listed.score(X, lengths) == pytest.approx(listed.score(list(drawn(kind))))
    assert listed.score(X, lengths=lengths) == listed.score(X, lengths)
    assert made(kind).fit(X).score(X) != pytest.approx(listed.score(X, lengths), abs=1e-6)


def test_files_of_steps(tmp_path):
    X, lengths = np.concatenate(drawn("gaussian")), [30] * 40
    np.save(tmp_path / "steps.npy", X)
    wanted = made("gaussian").fit(X, lengths)
    for steps in (unveil.scan(tmp_path / "steps.npy"), np.load(tmp_path / "steps.npy", mmap_mode="r")):
        np.testing.assert_array_equal(made("gaussian").fit(steps, lengths).means_, wanted.means_)


def test_frames_keep_their_names():
    frames = [pandas.DataFrame(rows, columns=["a", "b"]) for rows in drawn("gaussian")]
    model = made("gaussian").fit(frames)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.predict(frames[0]).shape == (30,)


def test_labels_are_ignored():
    X = np.concatenate(drawn("gaussian"))
    plain, labelled = made("gaussian").fit(X), made("gaussian").fit(X, np.arange(len(X)) % 3)
    np.testing.assert_array_equal(plain.means_, labelled.means_)
    with pytest.raises(ValueError, match="lengths must be integers from 1 on that sum to the number of rows, 1200"):
        made("gaussian").fit(X, [600, 500])


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_of_weight_three_is_three_sequences(kind):
    sequences = list(drawn(kind, 12))
    times = np.array([3, 1, 0, 1, 2, 1, 1, 0, 1, 1, 4, 1])
    repeated = [rows for rows, count in zip(sequences, times, strict=True) for _ in range(count)]
    start = made(kind).fit(sequences)
    weighted, plain = (clone(start).set_params(warm_start=True, tol=1e-4) for _ in range(2))
    for model, name in itertools.product((weighted, plain), ("startprob_", "transmat_", *start._emission().shown)):
        setattr(model, name, getattr(start, name))
    weighted.fit(sequences, sequence_weight=times)
    plain.fit(repeated)
    alike(weighted, plain)
    np.testing.assert_allclose(weighted.history_.log_likelihood, plain.history_.log_likelihood)
    assert weighted.score(sequences, sequence_weight=times) == pytest.approx(plain.score(repeated))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_without_weight_is_none_from_the_start_on(kind):
    sequences = list(drawn(kind, 12))
    odd = [*sequences, np.full_like(sequences[0], 1.0)]
    weighted = made(kind, init_params="auto").fit(odd, sequence_weight=[1.0] * 12 + [0.0])
    alike(weighted, made(kind, init_params="auto").fit(sequences), rtol=1e-6)


def test_weights_of_steps_by_sequence():
    sequences, random = list(drawn("gaussian", 6)), np.random.default_rng(0)
    weights = [random.integers(0, 3, 30).astype(float) for _ in sequences]
    listed = made("gaussian", n_components=2).fit(sequences, sample_weight=weights)
    joined = made("gaussian", n_components=2).fit(sequences, sample_weight=np.concatenate(weights))
    np.testing.assert_array_equal(listed.means_, joined.means_)
    assert listed.history_[-1].weight == np.concatenate(weights).sum()


# -- the climb ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_found(kind):
    model = made(kind, n_init=3, init_params="auto").fit(list(drawn(kind)))
    assert model.converged_
    assert model.certificate_.ok
    assert model.history_.largest_fall() <= 1e-9 * abs(model.history_[-1].objective)
    assert model.score(list(drawn(kind))) > truth(kind).score(list(drawn(kind)))
    assert model.n_iter_ == len(model.history_) == len(model.lower_bounds_)
    assert model.lower_bound_ == pytest.approx(model.history_[-1].objective / 1200)
    assert len(model.history_.restarts) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_states_come_in_order_of_occupancy(kind):
    for seed in range(3):
        model = made(kind, random_state=seed).fit(list(drawn(kind)))
        shares = model.predict_proba(list(drawn(kind))).sum(axis=0)
        assert np.all(np.diff(shares) < 0)
        np.testing.assert_allclose(model.occupancy_, shares / shares.sum(), atol=1e-3)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=2, max_size=6),
    st.integers(1, 3),
    st.sampled_from([None, "auto"]),
)
def test_any_sequences_climb_and_end_in_probabilities(symbols, k, prior):
    sequences = [np.array(one) for one in symbols]
    if sum(map(len, sequences)) < k:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps support no parameters
        model = CategoricalHMM(k, regularise=prior, random_state=0, n_init=1, init_params="runs", tol=1e-4)
        model.fit(sequences)
    assert model.history_.largest_fall() <= 1e-9 * max(abs(model.history_[-1].objective), 1.0)
    for table in (model.startprob_[None], model.transmat_, model.emissionprob_):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    if prior is None:
        assert model.score(sequences) >= model.history_[-1].log_likelihood - 1e-8


def test_not_converged_is_said():
    with pytest.warns(UserWarning, match="not converged"):
        model = made("gaussian", max_iter=2, tol=0.0, init_params="random").fit(list(drawn("gaussian")))
    assert not model.converged_


def test_no_pass_at_all():
    with pytest.warns(UserWarning, match="not converged"):
        model = made("gaussian", max_iter=0).fit(list(drawn("gaussian")))
    assert model.lower_bound_ == -np.inf
    assert np.isfinite(model.score(list(drawn("gaussian"))))


@pytest.mark.parametrize("name", ["mixture", "kmeans", "k-means++", "random_from_data", "runs", "random", "progress"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_start_by_name(kind, name):
    model = made(kind, init_params=name).fit(list(drawn(kind)))
    assert model.converged_
    assert len(model.history_.restarts) == 1
    assert np.isfinite(model.score(list(drawn(kind))))


LOOSE = {"stepwise": 5.0, "hard": 60.0, "annealed": 5.0, "sampled": 3.0}  # log-likelihood that a part may give away
REFUSED = {
    *itertools.product(("ascent", "lbfgs"), ("hard", "sampled", "sparse", "annealed")),
    *itertools.product(("squarem",), ("sampled", "sparse", "annealed")),
}


@cache
def begun(kind: str) -> dict[str, Any]:
    """A start, not far from the truth."""
    model, k = truth(kind), truth(kind).n_components
    start = {"startprob_init": np.full(k, 1 / k), "transmat_init": 0.5 * model.transmat_ + 0.5 / k}
    if kind == "gaussian":
        return {**start, "means_init": 0.5 * model.means_ + 1.0, "covars_init": 2.0 * model.covars_}
    return {**start, "emissionprob_init": 0.5 * model.emissionprob_ + 0.5 / 3}


@cache
def best(kind: str) -> float:
    return made(kind, **begun(kind)).fit(list(drawn(kind))).score(list(drawn(kind)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_every_schedule_with_every_expectation(kind, schedule, expectation):
    part = {"annealed": Annealed(0.9), "sampled": Sampled(draws=16, growth=1.0)}.get(expectation, expectation)
    model = made(kind, schedule=schedule, expectation=part, max_iter=60, tol=1e-6, **begun(kind))
    if (schedule, expectation) in REFUSED:
        with pytest.raises(ValueError, match=f"(?i)schedule .* with expectation {expectation}.* is not possible"):
            model.fit(list(drawn(kind)))
        return
    model.fit(list(drawn(kind)))
    allowance = 0.5 + LOOSE.get(schedule, 0.0) + LOOSE.get(expectation, 0.0)
    assert model.score(list(drawn(kind))) > best(kind) - allowance


def test_an_interrupted_fit_keeps_the_best_so_far():
    model = made("gaussian", init_params="random", tol=0.0)

    def interrupt(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    with watch(interrupt), pytest.warns(UserWarning, match="interrupted after 3 passes"):
        model.fit(list(drawn("gaussian")))
    assert not model.converged_
    assert np.isfinite(model.score(list(drawn("gaussian"))))


# -- same bits ---------------------------------------------------------------------------------------------------------


def bits(model: Any) -> list[bytes]:
    names = ("startprob_", "transmat_", "means_", "covariances_", "emissionprob_", "lambdas_", "lower_bounds_")
    return [np.asarray(getattr(model, name)).tobytes() for name in names if hasattr(model, name)]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("gaussian", {"init_params": "auto", "tol": 1e-4}),
        ("categorical", {"init_params": "runs", "tol": 1e-4}),
        ("poisson", {"expectation": "hard"}),
        ("gaussian", {"schedule": "stepwise", "tol": 1e-3}),
    ],
    ids=str,
)
def test_threads_and_clusters_change_no_bit(kind, parts):
    X, lengths = np.concatenate(drawn(kind, 80, 60)), [60] * 80
    wanted = bits(made(kind, engine=Threads(1), **parts).fit(X, lengths))
    for engine in (Threads(2), Threads(5)):
        assert bits(made(kind, engine=engine, **parts).fit(X, lengths)) == wanted
    if "init_params" in parts:
        chunks = dask.array.from_array(X, chunks=(1500, -1))
        assert bits(made(kind, engine="threads", **parts).fit(chunks, lengths)) == wanted


def test_a_cluster_changes_no_bit():
    from distributed import Client, LocalCluster

    X, lengths = np.concatenate(drawn("gaussian", 80, 60)), [60] * 80
    wanted = bits(made("gaussian", engine=Threads(1)).fit(X, lengths))
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        assert bits(made("gaussian", engine=Dask(client)).fit(X, lengths)) == wanted


# -- streams, files, copies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_a_stream(kind):
    model = made(kind, random_state=18)  # of single starts of symbols that are drawn, one in four leads so far
    for first in range(0, 40, 8):
        model.partial_fit(list(drawn(kind)[first : first + 8]))
    assert len(model.history_) == 5
    assert not model.converged_
    best = made(kind).fit(list(drawn(kind))).score(list(drawn(kind)))
    assert model.score(list(drawn(kind))) > best - 30.0
    with pytest.raises(ValueError, match="changed since partial_fit began"):
        model.set_params(n_components=5).partial_fit(drawn(kind)[0])


def test_a_stream_goes_on_from_a_fit():
    model = made("gaussian").fit(list(drawn("gaussian")))
    before = model.means_.copy()
    model.partial_fit(list(drawn("gaussian")[:5]))
    assert 0 < np.abs(model.means_ - before).max() < 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts(kind):
    model = made(kind, warm_start=True).fit(list(drawn(kind)))
    before = bits(model)[0]
    model.fit(list(drawn(kind)))
    assert model.n_iter_ <= 4
    assert np.frombuffer(before).shape == model.startprob_.shape
    model.set_params(n_components=4).fit(list(drawn(kind)))
    assert model.startprob_.shape == (4,)


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_pickles(kind, tmp_path):
    X = list(drawn(kind))
    rules = {"transitions": ("banded", 1), "tied": {"startprob": [0] * truth(kind).n_components}}
    model = made(kind, **rules).fit(X)
    model.save(tmp_path / "model.unveil")
    for other in (unveil.load(tmp_path / "model.unveil"), pickle.loads(pickle.dumps(model))):
        assert other.score(X) == model.score(X)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.transitions == ("banded", 1)
        other.partial_fit(X[:3])
    assert bits(clone(model).fit(X)) == bits(model)


def test_a_mixture_in_each_state_can_be_saved(tmp_path):
    model = made("gaussian", n_mix=2, max_iter=20, tol=1e-2, n_components=2).fit(list(drawn("gaussian")))
    model.save(tmp_path / "model.unveil")
    assert unveil.load(tmp_path / "model.unveil").score(drawn("gaussian")[0]) == model.score(drawn("gaussian")[0])


def test_free_parameters():
    counts = {kind: made(kind).fit(list(drawn(kind))).n_parameters() for kind in KINDS}
    assert counts == {"gaussian": 2 + 6 + 6 + 9, "categorical": 1 + 2 + 4, "poisson": 1 + 2 + 2}
