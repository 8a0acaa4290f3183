"""The judges of chains and grammars agree with slow sums, and contenders here run on them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from benchmarks.contenders import chart, unveil
from benchmarks.tasks.chain import CategoricalChain, Chain, Decoding, GaussianChain, log_likelihood
from benchmarks.tasks.trees import InsideOutside, Parsing, notation
from unveil.grammar import read_grammar

CHAINS: tuple[Chain, ...] = (GaussianChain(3, 40, 3, n_columns=2), CategoricalChain(3, 40, 3, n_symbols=5))


def test_likelihood_is_the_sum_over_all_paths() -> None:
    random = np.random.default_rng(0)
    scores, start = random.normal(size=(2, 4, 3)), random.dirichlet(np.ones(3))
    transition = random.dirichlet(np.ones(3), 3)
    total = 0.0
    for sequence in scores:
        joint = 0.0
        for path in itertools.product(range(3), repeat=4):
            steps = np.prod([transition[one, other] for one, other in itertools.pairwise(path)])
            joint += start[path[0]] * steps * np.exp(sum(sequence[t, state] for t, state in enumerate(path)))
        total += np.log(joint)
    assert log_likelihood(scores, start, transition) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("task", CHAINS, ids=lambda task: task.word)
def test_unveil_climbs_on_a_chain(task: Chain) -> None:
    arrays = task.arrays()
    run = getattr(unveil, task.word)(arrays)
    with pytest.warns(ConvergenceWarning):
        after = task.quality(arrays, run(6))
    before = task.quality(arrays, arrays)
    assert after > before
    assert task.seconds({2: 1.0, 12: 2.0}) == 0.1


@pytest.mark.parametrize("task", CHAINS, ids=lambda task: task.word)
def test_decoded_paths_beat_any_other(task: Chain) -> None:
    decoding = Decoding(task)
    arrays = decoding.arrays()
    found = getattr(unveil, decoding.word)(arrays)(1)
    best = decoding.quality(arrays, found)
    other = {"states": np.zeros_like(found["states"])}
    assert best > decoding.quality(arrays, other)


def test_grammar_in_text_is_the_grammar_in_arrays() -> None:
    arrays = InsideOutside(2, n_words=4, n_symbols=4, n_binary=10, n_vocabulary=6).arrays()
    grammar = read_grammar(notation(arrays))
    np.testing.assert_allclose(grammar.probabilities[:10], arrays["weights"], rtol=1e-12)
    totals = np.bincount(arrays["binary"][:, 0], arrays["weights"], 4) + arrays["lexical"].sum(axis=1)
    np.testing.assert_allclose(totals, 1.0, rtol=1e-12)


def test_unveil_and_the_plain_chart_agree() -> None:
    task = InsideOutside(5, n_words=6, n_symbols=5, n_binary=30, n_vocabulary=8)
    arrays = task.arrays()
    with pytest.warns(ConvergenceWarning):
        ours = task.quality(arrays, unveil.inside_outside(arrays)(1))
    np.testing.assert_allclose(ours, task.quality(arrays, chart.inside_outside(arrays)(1)), rtol=1e-9)


def test_parsing_finds_trees() -> None:
    task = Parsing(4)
    arrays = task.arrays()
    assert np.all(np.isfinite(task.quality(arrays, unveil.parsing(arrays)(1))))
