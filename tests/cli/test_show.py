import json

import numpy as np
import pytest

import unveil
from unveil.storage.file import read, write


@pytest.fixture
def saved(faithful, tmp_path):
    path = tmp_path / "m.unveil"
    unveil.GaussianMixture(2, random_state=3).fit(unveil.scan(faithful)).save(path)
    return path


def test_page_tells_the_essentials(run, saved):
    result = run("show", saved)
    assert result.exit_code == 0
    for words in ("GaussianMixture", "eruptions, waiting", "n_components", "means_", "converged", unveil.__version__):
        assert words in result.stdout


def test_json_for_machines(run, saved):
    plain = json.loads(run("show", saved, "--json").stdout)
    assert plain["class"] == "GaussianMixture"
    assert plain["seed"] == 3
    assert plain["format_version"] == 2
    assert plain["history"]["status"] == "converged"
    assert plain["fitted"]["means_"] == unveil.load(saved).means_.tolist()


def test_the_three_verdicts_of_a_fit_are_in_its_file(run, faithful):
    fitted = json.loads(run("fit", "gaussian-mixture", faithful, "-k", 2, "-o", "m", "--json").stdout)
    page = run("show", "m").stdout
    places = [
        page.index(words)
        for words in ("Is the fit sound? Yes.", "Does the model describe the data? ", "Are the groups real? Yes.")
    ]
    assert places == sorted(places)
    assert "Not examined" not in page
    shown = json.loads(run("show", "m", "--json").stdout)
    assert shown["certificate"] == fitted["certificate"]
    assert sorted(shown["certificate"]["clusters"]) == sorted(shown["fitted"]["clusters_"]) == [0, 1]


def test_a_model_keeps_its_certificate_and_clusters(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [9.0], [18.0]], 30, axis=0)
    best = unveil.select(unveil.GaussianMixture(random_state=0), X, {"n_components": [2, 3]}).best_estimator_
    best.certificate_ = unveil.examine(best, X)
    best.save(tmp_path / "m")
    again = unveil.load(tmp_path / "m")
    assert again.certificate_ == best.certificate_
    assert again.certificate_.clusters == best.certificate_.clusters
    assert again.certificate_.verdicts == {"sound": "yes", "describes": "yes", "real": "yes"}
    np.testing.assert_array_equal(again.clusters_, best.clusters_)


def test_parameters_of_mixed_columns_go_by_name(run, people):
    assert run("fit", "mixed-mixture", people, "-k", 2, "-o", "m", "--columns", "height,town").exit_code == 0
    page = run("show", "m").stdout
    assert all(words in page for words in ("means of height", "probabilities of town", "[number, category]"))
    assert "params_" not in page
    assert "height (number), town (category)" in page
    plain = json.loads(run("show", "m", "--json").stdout)
    assert plain["recipe"]["identifiers"] == ["name"]
    assert np.shape(plain["fitted"]["probabilities of town"]) == (2, 2)
    assert plain["fitted"]["categories_"] == [None, ["Bath", "York"]]


def test_the_certificate_of_pca(run, tmp_path):
    unveil.PCA(1).fit(np.random.default_rng(0).normal(size=(9, 2))).save(tmp_path / "p")
    result = run("show", "p")
    assert result.exit_code == 0
    assert "Verdicts" in result.stdout
    assert "S u = lambda u" in result.stdout


def test_without_a_certificate_none_is_shown(run, tmp_path):
    model = unveil.PCA(1).fit(np.random.default_rng(0).normal(size=(9, 2)))
    del model.certificate_
    model.save(tmp_path / "p")
    assert "Verdicts" not in run("show", "p").stdout


def test_what_was_not_kept_is_shown(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(9, 2))
    unveil.KMeans(2, random_state=np.random.RandomState(0)).fit(X).save(tmp_path / "k")
    assert "random_state" in run("show", "k").stdout
    assert "RandomState" in json.loads(run("show", "k", "--json").stdout)["not_kept"]["random_state"]


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\0" * 400])
def test_foreign_files(refused, tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert "x: " in refused("show", "x")


def test_truncated_missing_folder_and_unknown_class(refused, saved, tmp_path):
    assert "no such file" in refused("show", "gone")
    assert "is a folder" in refused("show", tmp_path)
    header, arrays = read(saved)
    write(tmp_path / "evil", header | {"class": "os.system"}, arrays)
    assert "class 'os.system' is not known" in refused("show", "evil")
    saved.write_bytes(saved.read_bytes()[:-1])
    assert "damaged or cut short" in refused("show", saved)


@pytest.mark.parametrize("section", ["created", "feature_names", "seed", "not_kept", "library_version"])
@pytest.mark.parametrize("value", [None, 7, "x\x1b[2Jy", ["a", 3], {"k": []}])
def test_header_with_odd_words_never_gives_a_traceback(run, saved, section, value):
    header, arrays = read(saved)
    write(saved, header | {section: value}, arrays)
    result = run("show", saved)
    assert result.exit_code in (0, 2)
    assert "\x1b" not in result.output
