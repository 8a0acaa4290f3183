import numpy as np
import pandas as pd
import pytest

from unveil.estimation.degenerate import degeneracy
from unveil.report.analysis import Settings, analyse
from unveil.report.page import render
from unveil.report.reproduce import ReportRequest
from unveil.report.table import open_table
from unveil.report.verdicts import lights
from unveil.report.write import content, write_report
from unveil.sources.errors import DataError


def blobs(n=40, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(2 * n, d)) + np.repeat([[0.0], [9.0]], n, axis=0)


def look(data, most=3, columns=None, weight=None, **settings):
    return analyse(open_table(data, columns, weight), Settings(most, 0, "auto", **settings))


def test_rows_with_missing_values_are_left_out_and_counted(tmp_path):
    X = blobs()
    X[3, 0] = X[50, 1] = np.nan
    found = look(X)
    assert found.usable.n_rows == 78
    assert len(found.rows) == 78
    assert [column.missing for column in found.columns] == [1, 1]
    text = write_report(X, tmp_path / "r.html", max_components=2).path.read_text(encoding="utf-8")
    assert "2 rows with a missing value were left out; 78 rows remain." in text


def test_constant_and_empty_columns_do_not_cost_rows(tmp_path):
    frame = pd.DataFrame(blobs(), columns=["a", "b"])
    frame["same"] = 5.0
    frame.loc[:10, "same"] = np.nan
    frame["nothing"] = np.nan
    frame["word"] = "x"
    found = look(frame)
    assert found.names == ("a", "b")
    assert found.usable.n_rows == 80
    assert found.table.skipped == ("word",)
    text = write_report(frame, tmp_path / "r.html", max_components=1).path.read_text(encoding="utf-8")
    assert "constant: left out of the model" in text
    assert "empty: left out of the model" in text
    assert "Not numbers, so left out: word (text)." in text


def test_a_column_that_is_constant_among_the_complete_rows_is_left_out(tmp_path):
    frame = pd.DataFrame(blobs(), columns=["a", "b"])
    frame["late"] = 1.0
    frame.loc[0, "late"] = 2.0
    frame.loc[0, "a"] = np.nan
    assert look(frame).usable.constant == ("late",)
    text = write_report(frame, tmp_path / "r.html", max_components=1).path.read_text(encoding="utf-8")
    assert "Constant among the complete rows, so left out: late." in text


def test_one_column_has_no_plane_but_a_histogram(tmp_path):
    found = look(blobs(d=1))
    assert found.plane is None
    assert len(found.model.weights_) == 2
    assert set(found.selection.grid["covariance_type"]) == {"full", "tied"}
    text = write_report(blobs(d=1), tmp_path / "r.html", max_components=2).path.read_text(encoding="utf-8")
    assert 'id="plane"' not in text
    assert "Histogram with the density of the mixture" in text


def test_structures_may_be_chosen(tmp_path):
    report = write_report(blobs(), tmp_path / "r.html", max_components=2, covariance_types=["EII", "VEV", "EII"])
    assert report.selection.grid["covariance_type"] == ("EII", "VEV")
    assert report.model.covariance_type == "EII"
    assert "two groups, all round and of one size" in report.summary
    text = report.path.read_text(encoding="utf-8")
    assert "VEV: one shape" in text
    assert '<th scope="col" class="num" title="one shape">VEV</th>' in text
    assert "covariance_types=[&#39;EII&#39;, &#39;VEV&#39;]" in text
    for wrong in ("EII", [], ["EII", "XXX"]):
        with pytest.raises(ValueError, match=r"covariance_types must be a list of some of full, tied, .*; got"):
            write_report(blobs(), tmp_path / "r.html", covariance_types=wrong)


@pytest.mark.parametrize(("structure", "words"), [("EEV", "all of one width"), ("VEI", "each with its own width")])
def test_structures_of_one_column_differ_by_width_alone(tmp_path, structure, words):
    X = blobs(d=1)
    report = write_report(X, tmp_path / "r.html", max_components=2, covariance_types=[structure])
    assert f"two groups, {words}" in report.summary


def test_verdicts_have_the_worst_on_top_and_leave_nothing_out():
    found = look(np.random.default_rng(0).uniform(size=(300, 2)), most=4)
    order = ["warning", "doubt", "note", "fine"]
    shown = lights(found)
    assert [light["name"] for light in shown] == ["sound", "describes", "real"]
    for light in shown:
        ranks = [order.index(one["severity"]) for one in light["told"] + light["fine"]]
        assert ranks == sorted(ranks)
    told = sum(len(light["told"]) + len(light["fine"]) for light in shown)
    assert told == len(found.judged.certificate.findings)


def test_few_rows_limit_the_grid():
    assert tuple(look(blobs(n=6), most=9).selection.grid["n_components"]) == (1, 2)
    assert tuple(look(np.array([[0.0, 1.0], [1.0, 3.0]]), most=9).selection.grid["n_components"]) == (1,)


def test_repeated_rows_limit_the_grid():
    assert tuple(look(np.repeat(blobs(n=5), 20, axis=0), most=9).selection.grid["n_components"]) == (1, 2)


def test_far_and_narrow_groups_are_found():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [1e4]], 30, axis=0)
    found = look(X)
    assert [group.rows for group in found.groups] == [30, 30]


def test_rounded_values_make_no_groups_of_their_own():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:, 0] = X[:, 0].round()  # rows with equal values invite components without spread
    found = look(X, most=5)
    assert found.selection.table[found.selection.best_index_]["degenerate"] is None
    assert degeneracy(found.model) is None


def test_tiny_units_change_nothing():
    usual, tiny = look(blobs()), look(blobs() * 1e-6)
    assert usual.selection.best_params_ == tiny.selection.best_params_
    assert [group.rows for group in usual.groups] == [group.rows for group in tiny.groups]


def test_an_offset_changes_nothing():
    near, far = look(blobs()), look(blobs() + 1e8)
    assert near.selection.best_params_ == far.selection.best_params_
    assert [group.rows for group in near.groups] == [group.rows for group in far.groups]


def test_large_tables_are_compared_on_a_sample_and_fitted_whole():
    X = blobs(n=500)
    X[7, 0] = np.nan
    one, two = (look(X, most=2, sample_rows=200) for _ in range(2))
    assert one.sampled
    assert len(one.rows) == 200
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_array_equal(one.model.means_, two.model.means_)
    assert sum(group.rows for group in one.groups) == 999
    complete = np.delete(X, 7, axis=0)
    order = np.argsort(one.model.means_[:, 0])
    np.testing.assert_allclose(one.model.means_[order[0]], complete[:499].mean(axis=0), atol=1e-6)
    text = render(content(one, ReportRequest("r.html", None, None, 2)))
    assert "a reproducible sample of 200 of 999 rows" in text
    assert "A sample of 200 of 999 rows is drawn." in text
    assert "from the best of 5 fits to the sample" in text


def test_the_model_of_all_rows_is_examined_not_the_one_of_the_sample():
    found = look(blobs(n=2500), most=2, sample_rows=200)
    assert found.judged.certificate is not found.selection.certificate
    assert found.judged.certificate.verdicts == {"sound": "yes", "describes": "yes", "real": "yes"}
    assert found.model.clusters_.tolist() == list(found.judged.certificate.clusters)
    assert f"{found.model.n_iter_} passes" in found.judged.certificate["converged"].message
    text = render(content(found, ReportRequest("r.html", None, None, 2)))
    assert "asked of a reproducible sample of 4,096 rows" in text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,b\n1,2\n", "the table has 1 row; a report needs at least 2"),
        ("a,b\n1,2\n1,2\n1,2\n", "no column varies, so there is nothing to find; constant: 'a', 'b'"),
        ("a,b\nx,y\nz,w\n", "no column of numbers"),
        ("a,b\n1,\n,2\n3,\n,5\n", "every row has a missing value .*column 'a' misses most, 2 of 4"),
        ("a,b\n1,\n4,2\n3,\n,5\n", "only 1 of 4 rows is complete"),
        ("a,b\n1,inf\n4,2\n", "column 'b' holds infinity"),
        ("a,b\n", "no rows"),
        ("", "."),
    ],
)
def test_tables_without_a_report_say_why(tmp_path, table, message):
    path = tmp_path / "table.csv"
    path.write_text(table)
    with pytest.raises(DataError, match=message):
        write_report(path, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_that_varies_only_where_rows_are_incomplete_says_so():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, np.nan], [np.nan, 6.0]])
    with pytest.raises(DataError, match="no column varies among the 2 complete rows"):
        look(X)
