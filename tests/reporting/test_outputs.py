import json
from dataclasses import replace

import pyarrow.parquet
import pytest

import unveil
from tests.reporting.study.made import blobs
from unveil.reporting.outputs import ADDED, placements, prepared_folder


@pytest.fixture(scope="module")
def found():
    return unveil.report(blobs(60), max_components=2)


def test_rows_model_and_summary(found, tmp_path):
    written = found.save_outputs(tmp_path / "new" / "folder", rows_format="parquet")
    assert [path.name for path in written] == ["model.unveil", "rows.parquet", "summary.json"]
    rows = pyarrow.parquet.read_table(written[1])
    assert rows.column_names == ["x0", "x1", *ADDED]
    assert set(rows["group"].to_pylist()) == {1, 2}
    assert unveil.load(written[0]).n_components == found.model.n_components
    assert json.loads(written[2].read_text()) == found.summary


def test_groups_are_empty_where_they_are_not_those_of_the_mixture(found):
    analysis = found._analysis
    others = analysis.found._replace(judged=analysis.found.judged._replace(n_clusters=3))
    assert placements(replace(analysis, found=others))["group"].null_count == 60


def test_what_a_report_wrote_is_replaced(found, tmp_path):
    found.save_outputs(tmp_path)
    (tmp_path / "rows.csv").write_text("changed")
    found.save_outputs(tmp_path)
    assert "group" in (tmp_path / "rows.csv").read_text()


@pytest.mark.parametrize("name", ["rows.csv", "model.unveil", "summary.json"])
def test_what_somebody_else_wrote_needs_force(found, tmp_path, name):
    (tmp_path / name).write_text('{"schema": 1}')
    with pytest.raises(FileExistsError, match=rf"has {name} already, not written by unveil report; --force"):
        found.save_outputs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert len(found.save_outputs(tmp_path, force=True)) == 3


def test_places_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file"):
        prepared_folder(tmp_path / "file", "csv")
    with pytest.raises(ValueError, match="rows_format must be one of csv, parquet; got 'xml'"):
        prepared_folder(tmp_path / "new", "xml")
    assert not (tmp_path / "new").exists()
    (tmp_path / "summary.json").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        prepared_folder(tmp_path, "csv")
