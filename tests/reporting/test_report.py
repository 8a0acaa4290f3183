import json

import numpy as np
import pandas as pd
import pytest

import unveil
from tests.reporting.study.made import blobs, visits
from unveil.sources.errors import DataError


@pytest.fixture(scope="module")
def found():
    frame, _ = visits()
    return unveil.report(frame, max_components=4)


def test_the_answer_is_one_sentence_and_says_what_it_rests_on(found):
    assert found.headline == "There are three groups among the 300 rows."
    assert "visit_id (identifier)" in found.text
    assert found.n_clusters == 3
    assert found.certificate.verdicts["real"] == "yes"
    assert "three groups" in repr(found)
    assert "<strong>" in found._repr_html_()


def test_the_summary_is_plain_data(found):
    summary = json.loads(json.dumps(found.summary, allow_nan=False))
    roles = {column["name"]: (column["role"], column["used"]) for column in summary["columns"]}
    assert roles["visit_id"] == ("identifier", False)
    assert roles["device"] == ("category", True)
    assert summary["rows"]["read"] == summary["rows"]["used"] == 300
    assert summary["rows"]["imputed"] > 10
    assert summary["model"]["class"] == "MixedMixture"
    assert (summary["components"], summary["clusters"]) == (3, 3)
    assert len(summary["groups"]) == 3


def test_a_page_replaces_pages_and_nothing_else(found, tmp_path):
    path = found.save(tmp_path / "r.html")
    assert path.stat().st_size < 2_200_000
    found.save(path)
    other = tmp_path / "mine.html"
    other.write_text("<p>a letter</p>")
    with pytest.raises(FileExistsError, match="not written by unveil"):
        found.save(other)
    assert other.read_text() == "<p>a letter</p>"
    found.save(other, force=True)
    assert "three groups" in other.read_text(encoding="utf-8")


def test_outputs_have_every_row_and_a_model_that_reads_the_table_again(found, tmp_path):
    frame, _ = visits()
    found.save_outputs(tmp_path / "out")
    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    assert list(rows.columns) == [*frame.columns, "group", "component", "probability", "outlier_score"]
    assert rows["visit_id"].tolist() == frame["visit_id"].tolist()
    assert set(rows["group"]) == {1, 2, 3}
    model = unveil.load(tmp_path / "out" / "model.unveil")
    from unveil.tables import Recipe

    again = Recipe.from_dict(model.recipe_).apply(frame)
    clusters = np.asarray(model.clusters_)[model.predict(again.frame)]
    assert len(set(zip(clusters.tolist(), rows["group"].tolist(), strict=True))) == 3
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["clusters"] == 3


def test_the_same_seed_gives_the_same_answer():
    frame = blobs()
    one, two = (unveil.report(frame, max_components=2, seed=3).summary for _ in range(2))
    assert one == two


def test_a_time_limit_gives_an_answer_and_says_what_was_cut(tmp_path):
    rows = np.random.default_rng(0).normal(size=(6000, 12))
    found = unveil.report(rows, time_limit=0.01)
    assert found.summary["cut"]
    assert "time limit" in found.text
    found.save(tmp_path / "r.html")


def test_a_table_wider_than_long_has_a_page(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 40))
    assert unveil.report(rows, max_components=2).save(tmp_path / "r.html").exists()


def test_logs_are_undone_on_the_way_out(tmp_path):
    random = np.random.default_rng(3)
    rows = np.exp(random.normal(size=(400, 2)) * 0.5 + np.repeat([[0.0], [4.0]], 200, axis=0))
    found = unveil.report(pd.DataFrame(rows, columns=["a", "b"]), max_components=4)
    assert found.n_clusters == 2
    transforms = {column["name"]: column["transform"] for column in found.model.recipe_["columns"]}
    assert "log" in transforms.values()
    found.save(tmp_path / "r.html")
    limits = [float(word) for group in found.summary["groups"] for word in group["rule"].split() if word[0].isdigit()]
    assert all(2.0 < limit < 60.0 for limit in limits)  # between the groups, in the units of the table


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (pd.DataFrame({"key": [f"K{n:04d}" for n in range(50)]}), {}, "no column is left to model"),
        (np.zeros((3, 2)), {}, "no column is left"),
        (np.zeros((1, 2)), {}, "the table: 1 row; a report needs at least 2"),
        (blobs(), {"label": "nothing"}, "no column 'nothing'"),
        (blobs(), {"roles": {"x0": "numbr"}}, "did you mean 'number'"),
        (blobs(), {"max_components": 0}, "max_components must be a whole number"),
        (blobs(), {"time_limit": -1}, "time_limit must be a number of seconds"),
        (blobs(), {"covariance_types": "full"}, "covariance_types must be a list"),
    ],
)
def test_what_cannot_be_reported(data, options, words):
    with pytest.raises((ValueError, DataError), match=words):
        unveil.report(data, **options)
