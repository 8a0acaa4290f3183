"""Fits: their laws, every expectation with every schedule, and the same bits on every engine."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.grammar.pcfg.cases import ASTRONOMERS, CYCLIC, SENTENCE, TEXT, TREES, even, quietly, shares
from unveil import PCFG
from unveil.engines import Threads
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.grammar import Rule, Tree, read_bracketed, read_grammar, read_trees
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
    parts = {"expectation": EXPECTATIONS[expectation], "schedule": SCHEDULES[schedule]}
    return quietly(
        PCFG(even(ASTRONOMERS), **{"tol": 1e-7, "max_iter": 60, "random_state": 0} | parts | settings_), text
    )


@pytest.fixture(scope="module")
def heights(text: list[list[str]]) -> dict[str, float]:
    """What EM comes to, by its expectation."""
    return {expectation: climbed(text, expectation, "batch").score(text) for expectation in ("exact", "hard")}


@pytest.mark.parametrize(("expectation", "schedule"), list(product(EXPECTATIONS, SCHEDULES)))
def test_what_is_allowed_climbs_to_the_likelihood_of_em(
    text: Any, heights: dict[str, float], expectation: str, schedule: str
) -> None:
    if (expectation, schedule) in REFUSED:
        with pytest.raises(ValueError, match="is not possible"):
            climbed(text, expectation, schedule)
        return
    found = climbed(text, expectation, schedule, max_iter=10 if expectation == "sampled" else 60)
    best = heights["hard" if expectation == "hard" else "exact"]
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


def test_a_fit_climbs_converges_and_says_so() -> None:
    model = PCFG(ASTRONOMERS, tol=1e-9).fit(TEXT)
    assert model.converged_
    assert model.n_iter_ == len(model.history_) == len(model.lower_bounds_)
    assert model.history_.largest_fall() <= 1e-12
    assert model.lower_bound_ == pytest.approx(model.score_samples(TEXT).sum() / 25, abs=1e-7)
    assert model.certificate_.ok
    assert model.certificate_["stationarity"].severity == "fine"
    assert model.certificate_["consistency"].severity == "fine"
    assert "rules that no tree uses" not in str(model.certificate_)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        assert not PCFG(ASTRONOMERS, max_iter=2, tol=0).fit(TEXT).converged_


def test_weights_are_repetitions() -> None:
    times = [3, 0, 1, 2, 0]
    repeated = [sentence for sentence, n in zip(TEXT, times, strict=True) for _ in range(n)]
    weighted = PCFG(ASTRONOMERS, tol=1e-8).fit(TEXT, sample_weight=times)
    plain = PCFG(ASTRONOMERS, tol=1e-8).fit(repeated)
    np.testing.assert_allclose(weighted.probabilities_, plain.probabilities_, rtol=1e-9, atol=1e-12)
    assert weighted.score(TEXT[:4], sample_weight=times[:4]) == pytest.approx(plain.score(repeated), rel=1e-9)
    np.testing.assert_array_equal(weighted.word_counts_, plain.word_counts_)


def test_a_sentence_of_weight_0_may_be_anything() -> None:
    model = PCFG(ASTRONOMERS).fit([SENTENCE, "never heard of"], sample_weight=[1.0, 0.0])
    assert len(model.skipped_) == 0
    assert PCFG(n_nonterminals=2, random_state=0).fit(["a b", "c"], sample_weight=[1.0, 0.0]).words_ == ("a", "b")
    other = [Tree("S", (Tree("XP", ("stars",)),)), read_bracketed("(XP stars)", labels={"XP"})]
    assert PCFG().fit([*TREES, *other], sample_weight=[1, 1, 1, 0, 0]).grammar_ == PCFG().fit(list(TREES)).grammar_


@pytest.mark.parametrize(
    "sentences", [["stars saw ears"] * 7, [["stars", "saw", "ears"]], np.array(["stars saw ears"])]
)
def test_equal_sentences_in_any_form(sentences: Any) -> None:
    found = shares(PCFG(ASTRONOMERS).fit(sentences))
    assert found["NP -> 'stars'"] == pytest.approx(0.5)
    assert found["VP -> V NP"] == pytest.approx(1.0)


def test_sentences_of_one_word_and_of_none() -> None:
    model = PCFG("S -> 'a' [0.5] | [0.25] | S S [0.25]", tol=1e-10).fit(["a", "", "a", "a"])
    found = shares(model)
    assert found["S -> 'a'"] == pytest.approx(0.75, abs=1e-5)
    assert found["S ->"] == pytest.approx(0.25, abs=1e-5)
    assert np.exp(model.score([""])) == pytest.approx(0.25, abs=1e-5)
    assert PCFG("S -> [0.5] | 'a' [0.5]").fit([""]).score([""]) == pytest.approx(0.0)
    drawn = PCFG(n_nonterminals=2, random_state=0, tol=1e-3).fit(["a", "", "b"])
    assert np.all(np.isfinite(drawn.score_samples(["a", "", "b"])))


def test_a_cyclic_grammar_climbs() -> None:
    model = quietly(PCFG(CYCLIC, max_iter=60, tol=1e-9), ["a b", "", "b a b", "a", "b b b a"])
    assert model.history_.largest_fall() <= 1e-12
    assert np.all(np.isfinite(model.history_.log_likelihood))


def test_priors_smooth_and_prune() -> None:
    smooth = shares(PCFG(ASTRONOMERS, rule_prior=2.0).fit([SENTENCE]))
    assert min(smooth.values()) > 0.05
    assert smooth["NP -> 'telescopes'"] == pytest.approx(smooth["NP -> 'saw'"], rel=1e-12)
    one = shares(PCFG(ASTRONOMERS, rule_prior={"NP -> 'telescopes'": 4.0}).fit([SENTENCE]))
    assert one["NP -> 'telescopes'"] > 0.3
    assert one["NP -> 'saw'"] < 1e-9
    sparse = quietly(PCFG(ASTRONOMERS, rule_prior={"VP -> VP PP": 0.1}, tol=1e-9), TEXT)
    assert sparse.history_.largest_fall() <= 1e-9
    plain = PCFG(ASTRONOMERS, tol=1e-9).fit(TEXT)
    assert shares(sparse)["VP -> VP PP"] < shares(plain)["VP -> VP PP"]
    assert np.all(np.isfinite(sparse.score_samples(TEXT)))
    for schedule in ("gradient", "ascent", "lbfgs"):
        with pytest.raises(ValueError, match="rule_prior below 1 has no gradient"):
            PCFG(ASTRONOMERS, rule_prior=0.5, schedule=schedule).fit(TEXT)
    for schedule in ("incremental", "squarem", "stepwise"):
        few = quietly(PCFG(ASTRONOMERS, rule_prior=0.5, schedule=schedule, tol=1e-9), TEXT)
        assert np.all(np.isfinite(few.lower_bounds_))
        assert schedule == "stepwise" or few.history_.largest_fall() <= 1e-9


def test_rules_that_end_low_are_dropped() -> None:
    model = PCFG(ASTRONOMERS, prune=0.01).fit([SENTENCE])
    assert "NP -> 'saw'" not in shares(model)
    assert model.certificate_["pruned"].value == 12 - len(model.rules_) >= 2
    assert len(model.counts_) == len(model.rules_) == len(model.probabilities_)
    np.testing.assert_allclose(np.bincount(model.grammar_.parents, weights=model.probabilities_), 1.0)
    assert np.isfinite(model.score([SENTENCE]))
    assert PCFG(ASTRONOMERS, prune=0.999).fit(["stars saw ears"]).grammar_.is_consistent
    assert set(read_grammar(ASTRONOMERS).rules) - set(model.rules_) == set(model.pruned_rules_)


def test_what_is_said_of_rules_that_were_dropped_is_no_mistake() -> None:
    said = {"rule_prior": {"NP -> 'saw'": 1.00001, "PP": 1.5}, "fixed": ["NP -> NP PP"]}
    model = PCFG(ASTRONOMERS, prune=0.05, warm_start=True, **said).fit(["stars saw ears"])
    assert "NP -> 'saw'" not in shares(model)
    assert shares(model)["NP -> NP PP"] == 0.4  # what is fixed is neither dropped nor given a share of what was
    assert model.fit(["ears saw stars"]).partial_fit(["ears saw stars"]).converged_ is False
    assert np.isfinite(model.bic(["ears saw stars"]))
    low = PCFG(ASTRONOMERS, prune=0.05, fixed=["NP -> 'saw'"]).fit(["stars saw ears"])
    assert shares(low)["NP -> 'saw'"] == 0.04
    assert sum(p for rule, p in shares(low).items() if rule.startswith("NP")) == pytest.approx(1.0)


def test_words_keep_their_counts_when_rules_change_places() -> None:
    text = ["z a", "z z a", "z z z b c"]
    drawn = quietly(PCFG(n_nonterminals=2, random_state=0, max_iter=5), text)
    assert dict(zip(drawn.words_, drawn.word_counts_, strict=True)) == {"z": 6, "a": 2, "b": 1, "c": 1}
    fewer = PCFG(ASTRONOMERS, prune=0.01, unknown_words="rare").fit(["stars saw ears"])
    assert dict(zip(fewer.words_, fewer.word_counts_, strict=True)) == {"stars": 1, "saw": 1, "ears": 1}
    assert np.isfinite(fewer.score(["stars saw comets"]))


def test_fixed_rules_stay() -> None:
    found = shares(PCFG(ASTRONOMERS, fixed=["VP", Rule(*read_grammar(ASTRONOMERS).rules[4])]).fit(TEXT))
    assert found["VP -> V NP"] == 0.7
    assert found["NP -> NP PP"] == 0.4
    assert sum(p for rule, p in found.items() if rule.startswith("NP")) == pytest.approx(1.0)
    woken = PCFG("S -> 'a' [0.7] | 'b' [0.3] | 'c' [0.0]", fixed=["S -> 'a'"], rule_prior=2.0).fit(["a", "b"])
    np.testing.assert_allclose(woken.probabilities_, [0.7, 0.2, 0.1], rtol=1e-12)
    every = PCFG(ASTRONOMERS, fixed=["S", "VP", "NP", "PP", "P", "V"]).fit(TEXT)
    assert every.grammar_ == read_grammar(ASTRONOMERS)
    assert every.converged_


def test_a_batch_may_need_what_a_fit_ruled_out() -> None:
    model = PCFG(ASTRONOMERS).fit(["stars saw ears"] * 3)
    assert shares(model)["NP -> 'telescopes'"] == 0.0
    model.partial_fit(["stars saw telescopes"]).partial_fit(list(read_trees("(S (NP saw) (VP (V saw) (NP ears)))")))
    assert np.all(np.isfinite(model.lower_bounds_))
    assert min(shares(model)["NP -> 'telescopes'"], shares(model)["NP -> 'saw'"]) > 0.01
    with pytest.raises(ValueError, match="grammar must be that of the batches before"):
        model.set_params(grammar="S -> 'a' [1.0]").partial_fit(["a"])


def test_partial_fit_follows_a_stream() -> None:
    drawn, _ = PCFG.from_grammar(ASTRONOMERS, random_state=3).sample(500)
    sentences = [words for words in drawn if len(words) <= 15][:400]
    model = PCFG(even(ASTRONOMERS))
    for first in range(0, 400, 50):
        model.partial_fit(sentences[first : first + 50])
    assert model.n_iter_ == 8
    assert model.score(sentences) > PCFG(even(ASTRONOMERS), tol=1e-6).fit(sentences).score(sentences) - 0.1
    assert model.word_counts_.sum() == sum(map(len, sentences))
    model.fit(sentences[:50]).partial_fit(sentences[50:100])
    assert model.word_counts_.sum() == sum(map(len, sentences[:100]))
    fresh = PCFG(n_nonterminals=2, random_state=0).partial_fit(sentences[:50])
    words = set(fresh.words_)
    assert np.isfinite(fresh.partial_fit([s for s in sentences[50:] if set(s) <= words]).score(sentences[:50]))


def test_a_warm_start_goes_on() -> None:
    model = quietly(PCFG(ASTRONOMERS, max_iter=3, tol=0, warm_start=True), TEXT)
    first = model.lower_bound_
    assert quietly(model, TEXT).lower_bounds_[0] > first
    through = quietly(PCFG(ASTRONOMERS, max_iter=6, tol=0), TEXT)
    np.testing.assert_allclose(model.probabilities_, through.probabilities_, rtol=1e-10, atol=1e-12)
