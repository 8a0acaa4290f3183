import numpy as np
import pandas as pd

import unveil
from tests.reporting.study.made import blobs


def test_no_groups_are_said_to_be_none():
    rows = np.random.default_rng(1).normal(size=(300, 2))
    found = unveil.report(rows, max_components=3)
    assert found.headline == "There are no groups among the 300 rows: they form one whole."
    assert "differs by 0.0" not in found.text  # full and tied of one component are one model
    assert found.summary["clusters"] == 1


def test_groups_that_were_not_looked_for():
    found = unveil.report(blobs(), max_components=1)
    assert "not looked for" in found.headline


def test_a_column_of_zeros_and_ones_does_not_hide_the_groups():
    frame = blobs(200)
    frame["target"] = np.repeat([0, 1], 100)
    found = unveil.report(frame, max_components=4)
    assert found.summary["clusters"] == 2
    assert found.summary["model"]["class"] == "MixedMixture"


def test_a_row_number_is_no_feature():
    frame = blobs(200)
    frame.insert(0, "Unnamed: 0", np.arange(200))
    found = unveil.report(frame, max_components=4)
    assert found.summary["columns"][0]["role"] == "row number"
    assert found.summary["clusters"] == 2


def test_rows_that_wander_are_not_taken_for_groups():
    walk = np.cumsum(np.random.default_rng(5).normal(size=(600, 2)), axis=0)
    days = pd.date_range("2023-01-01", periods=600)
    found = unveil.report(pd.DataFrame({"day": days, "a": walk[:, 0], "b": walk[:, 1]}), max_components=6)
    assert found.certificate.verdicts["real"] != "yes"
    assert found.summary["time"]["name"] == "day"


def test_the_words_of_the_trade_are_explained():
    rows = np.random.default_rng(1).standard_t(3, size=(300, 1)) + np.repeat([0.0, 9.0], 150)[:, None]
    said = unveil.report(rows, max_components=4).text
    assert "BIC" not in said or "BIC, which weighs" in said
    assert " covariance" not in said
