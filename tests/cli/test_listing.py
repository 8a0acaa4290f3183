import json

from unveil.cli.models import ModelName


def test_models_by_group_one_line_each(run):
    lines = run("models").stdout.splitlines()
    assert len(lines) == len(ModelName) + 5
    assert lines[0].startswith("Mixtures (")
    assert "kmeans               round groups about their means [KMeans]" in lines[8]


def test_json_for_machines(run):
    plain = json.loads(run("models", "--json").stdout)
    assert {model["model"] for model in plain} == {model.value for model in ModelName}
