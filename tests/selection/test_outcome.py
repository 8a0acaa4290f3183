import numpy as np
import pandas as pd
import polars as pl
import pytest

import unveil
from unveil.judgement.criteria.criteria import CRITERIA
from unveil.judgement.criteria.opinions import Choice
from unveil.selection.outcome import Selection, merit, worth


def outcome(scores, sizes=None, criterion="bic"):
    sizes = tuple(sizes or range(1, len(scores) + 1))
    table = [
        {
            "n_components": k,
            criterion: score,
            "converged": True,
            "seconds": 0.1,
            "degenerate": None,
            "error": None if score else "too many",
        }
        for k, score in zip(sizes, scores, strict=True)
    ]
    fitted = [number for number, score in enumerate(scores) if score]
    rule = CRITERIA[criterion]
    best = max(fitted, key=lambda number: rule.sign * scores[number])
    return Selection(table, object(), {"n_components": sizes}, rule, best)


def test_frames_take_the_table():
    selection = outcome([30.0, 20.0, None])
    by_rows, by_columns = pd.DataFrame(selection.table), pd.DataFrame(selection.to_dict())
    pd.testing.assert_frame_equal(by_rows, by_columns)
    assert pl.DataFrame(selection.to_dict())["bic"].to_list() == [30.0, 20.0, None]


@pytest.mark.parametrize(
    ("scores", "clear", "words"),
    [
        ([130.0, 100.0, 101.0, 140.0], False, "No clear answer."),
        ([130.0, 100.0, 103.0, 140.0], True, "3.0 behind; the evidence for the best is positive"),
        ([130.0, 100.0, 107.0, 140.0], True, "7.0 behind; the evidence for the best is strong"),
        ([130.0, 100.0, 150.0, 140.0], True, "30.0 behind; the evidence for the best is very strong"),
        ([130.0, 120.0, 110.0, 100.0], False, "is at the edge of what was tried"),
        ([100.0, 120.0, 130.0, 140.0], True, "n_components = 1 "),
    ],
)
def test_how_clear_the_win_is(scores, clear, words):
    selection = outcome(scores)
    assert selection.decisive is clear
    assert words in selection.verdict()
    assert selection.verdict().startswith("No clear answer.") is not clear
    assert ("no clear answer" in repr(selection)) is not clear


def test_a_lead_below_two_is_barely_worth_a_mention():
    assert "1.0 behind, barely worth a mention." in outcome([130.0, 100.0, 101.0, 140.0]).verdict()


def test_the_lower_edge_counts_unless_it_is_one():
    assert outcome([100.0, 120.0, 130.0], sizes=[3, 4, 5]).standing.edges == ("n_components",)
    assert outcome([100.0, 120.0, 130.0], sizes=[1, 2, 3]).standing.edges == ()


def test_what_could_not_be_fitted_does_not_widen_the_grid():
    assert outcome([130.0, 100.0, None]).standing.edges == ("n_components",)


def test_nothing_to_compare_with():
    selection = outcome([10.0])
    assert selection.standing.lead == np.inf
    assert "nothing to compare it with" in selection.verdict()


def test_combinations_can_be_named_otherwise():
    said = outcome([130.0, 100.0, 107.0]).verdict(lambda params: f"{params['n_components']} groups")
    assert "Best by BIC: 2 groups (BIC 100.0). The runner-up, 3 groups, is 7.0 behind" in said


def test_a_value_that_is_not_there_loses():
    assert merit(CRITERIA["bic"], {"bic": None, "degenerate": None}) == (True, -np.inf)
    assert np.isnan(worth(None))


def test_a_choice_speaks_for_itself_and_caveats_follow():
    selection = outcome([30.0, 20.0, None])
    choice = Choice(2, True, {1: 0.0, 2: 5.0}, (), "2 clusters.")
    chosen = Selection(selection.table, None, selection.grid, selection.rule, 1, choice, undone=3)
    assert chosen.decisive
    assert chosen.verdict().startswith("2 clusters.")
    assert chosen.verdict().endswith("the table says why. Interrupted: 3 combinations were not tried.")


def test_a_model_is_no_rival_to_itself():
    X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=200)
    grid = {"n_components": [1, 2], "covariance_type": ["full", "tied"]}
    selection = unveil.select(unveil.GaussianMixture(random_state=0), X, grid)
    assert selection.best_params_["n_components"] == 1
    assert selection.standing.runner_up["n_components"] == 2
    assert selection.decisive
    assert "0.0 behind" not in selection.verdict()
