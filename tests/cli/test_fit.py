import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import unveil
from unveil.cli import progress
from unveil.estimation.registry import STRUCTURES


@pytest.mark.parametrize("shape", list(STRUCTURES))
def test_mixture_of_every_shape(run, faithful, shape):
    result = run("fit", "gaussian-mixture", faithful, "-k", 2, "--covariance", shape, "-o", "m.unveil", "--seed", 4)
    assert result.exit_code == 0, result.output
    assert "m.unveil" in result.stdout
    model = unveil.load("m.unveil")
    same = unveil.GaussianMixture(2, covariance_type=shape, random_state=4).fit(unveil.scan(faithful))
    assert repr(model) == repr(same)
    np.testing.assert_array_equal(model.means_, same.means_)
    assert model.feature_names_in_.tolist() == ["eruptions", "waiting"]


def test_kmeans_with_all_its_options(run, iris):
    options = ("--max-iter", 50, "--tol", 0.01, "--n-init", 3, "--threads", 1, "--columns", "Petal.Width,Sepal.Length")
    assert run("fit", "kmeans", iris, "--components", 3, "-o", "m", *options).exit_code == 0
    model = unveil.load("m")
    assert (model.n_clusters, model.max_iter, model.tol, model.n_init) == (3, 50, 0.01, 3)
    assert model.engine == "auto"  # how many threads is no part of a model
    assert model.feature_names_in_.tolist() == ["Petal.Width", "Sepal.Length"]


def test_pca_and_bernoulli_mixture(run, iris, yes_no):
    assert run("fit", "pca", iris, "-k", 2, "-o", "p").exit_code == 0
    assert unveil.load("p").components_.shape == (2, 4)
    assert run("fit", "bernoulli-mixture", yes_no, "-k", 2, "-o", "b").exit_code == 0
    assert unveil.load("b").n_components == 2


def test_json_for_machines(run, faithful):
    result = run("fit", "kmeans", faithful, "-k", 2, "-o", "m", "--json")
    plain = json.loads(result.stdout)
    assert plain["class"] == "KMeans"
    assert plain["rows"] == 272
    assert plain["columns"] == ["eruptions", "waiting"]
    assert plain["output"] == "m"
    assert plain["fitted"]["cluster_centers_"] == unveil.load("m").cluster_centers_.tolist()
    assert plain["certificate"]["ok"] is True
    assert result.stderr == ""


def test_weight_column(run, tmp_path):
    (tmp_path / "d.csv").write_text("x,name,w\n0,a,1\n1,b,3\n10,c,1\n11,d,1\n")
    result = run("fit", "kmeans", "d.csv", "-k", 2, "-o", "m", "--weight", "w")
    assert "name" in result.stdout  # was left out
    assert sorted(unveil.load("m").cluster_centers_.ravel()) == [0.75, 10.5]


def test_ways_of_fitting(run, faithful):
    options = ("--start", "furthest", "--schedule", "SQUAREM", "--expectation", "exact", "--covariance", "vev")
    assert run("fit", "gaussian-mixture", faithful, "-k", 2, "-o", "m", *options).exit_code == 0
    model = unveil.load("m")
    chosen = model.init_params, model.schedule, model.expectation, model.covariance_type
    assert chosen == ("furthest", "squarem", "exact", "VEV")


def test_counts_and_heavy_tails(run, faithful, tmp_path):
    (tmp_path / "counts.csv").write_text("calls\n0\n1\n0\n2\n1\nNA\n11\n9\n12\n10\n")
    assert run("fit", "poisson-mixture", "counts.csv", "-k", 2, "-o", "p").exit_code == 0
    np.testing.assert_allclose(np.sort(unveil.load("p").rates_.ravel()), [0.8, 10.5], atol=0.1)
    assert run("fit", "student-mixture", faithful, "-k", 2, "-o", "s", "--covariance", "tied").exit_code == 0
    assert unveil.load("s").scales_.shape == (2, 2)


def test_words_beside_numbers(run, people):
    result = run("fit", "mixed-mixture", people, "-k", 2, "-o", "m", "--weight", "times")
    assert result.exit_code == 0, result.output
    model = unveil.load("m")
    assert model.feature_names_in_.tolist() == ["height", "visits", "smoker", "town"]
    assert model.kinds_ == ["number", "count", "yes/no", "category"]
    assert all(words in result.stdout for words in ("name (identifier)", "born (constant)"))  # left out
    assert "probabilities of town" in result.stdout
    assert model.history_[-1].weight == 120


def test_kinds_of_columns_may_be_said(run, refused, people):
    options = ("--columns", "visits,town,times", "--kinds", "visits=number", "--roles", "times=category")
    assert run("fit", "mixed-mixture", people, "-k", 2, "-o", "m", *options).exit_code == 0
    assert unveil.load("m").kinds_ == ["number", "category", "category"]
    for wrong, said in {
        "visits": "--kinds must be",
        "heigt=count": "did you mean height",
        "town=colour": "must",
    }.items():
        assert said in refused("fit", "mixed-mixture", people, "-o", "x", "--kinds", wrong)


def test_categories(run, people):
    assert run("fit", "categorical-mixture", people, "-k", 2, "-o", "m", "--columns", "town,smoker").exit_code == 0
    model = unveil.load("m")
    assert [list(values) for values in model.categories_] == [["Bath", "York"], [False, True]]
    assert model.n_components == 2


def test_options_that_a_model_lacks_are_refused(refused, faithful):
    said = refused("fit", "kmeans", faithful, "-o", "m", "--covariance", "full")
    assert "--covariance is not an option of kmeans; it is one of gaussian-mixture, student-mixture" in said
    assert "--start is not an option of kmeans" in refused("fit", "kmeans", faithful, "-o", "m", "--start", "kmeans")
    said = refused("fit", "gaussian-mixture", faithful, "-o", "m", "--covariance", "VVX")
    assert "--covariance must be one of full, tied" in said
    assert said.endswith("VVV?")
    assert "--n-init is not an option of pca" in refused("fit", "pca", faithful, "-o", "m", "--n-init", 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("a,b\n", "no rows"),
        ("name\nx\ny\n", "no column of numbers"),
        ("a,b\n1.5,2.5\n3.5,\n4.5,5.5\n", "does not take missing cells (column 'b', row 2); these do: gaussian-mix"),
        ("a\n1.5\n2.5\n", "n_samples"),
    ],
    ids=["empty", "header only", "no numbers", "holes", "k > n"],
)
@pytest.mark.parametrize("model", ["gaussian-mixture", "kmeans"])
def test_data_that_cannot_be_fitted(refused, tmp_path, model, content, said):
    model = "pca" if "missing" in said and model == "gaussian-mixture" else model  # mixtures take missing cells
    (tmp_path / "d.csv").write_text(content)
    assert said in refused("fit", model, "d.csv", "-k", 7 if said == "n_samples" else 2, "-o", "m")
    assert not (tmp_path / "m").exists()


def test_places_that_cannot_be_read_or_written(refused, faithful, tmp_path):
    assert "gone.csv: no such file" in refused("fit", "pca", "gone.csv", "-o", "m")
    (tmp_path / "picture").write_bytes(b"\x89PNG")
    assert "not a table but a picture" in refused("fit", "pca", tmp_path / "picture", "-o", "m")
    assert "does not exist" in refused("fit", "pca", faithful, "-o", "no/such/folder/m")
    assert "is a folder" in refused("fit", "pca", faithful, "-o", tmp_path)
    assert "did you mean 'waiting'" in refused("fit", "pca", faithful, "-o", "m", "--columns", "waitin")
    assert "--columns" in refused("fit", "pca", faithful, "-o", "m", "--columns", "a,,b")


def test_input_is_not_overwritten(refused, tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("a\n1\n2\n")
    assert "is an input" in refused("fit", "pca", "d.csv", "-o", "d.csv", "--force")
    assert data.read_text() == "a\n1\n2\n"


def test_a_model_is_not_overwritten_unless_told_to(run, refused, faithful):
    assert run("fit", "pca", faithful, "-k", 1, "-o", "m").exit_code == 0
    assert "m: is there already; --force replaces it" in refused("fit", "pca", faithful, "-o", "m")
    assert unveil.load("m").n_components == 1
    assert run("fit", "pca", faithful, "-k", 2, "-o", "m", "--force").exit_code == 0
    assert unveil.load("m").n_components == 2


def test_the_default_number_of_components_is_said(run, faithful):
    said = run("fit", "kmeans", faithful, "-o", "m").stderr
    assert said == "unveil: -k was not given: 8 clusters; unveil select kmeans compares numbers of them\n"
    assert run("fit", "pca", faithful, "-o", "p").stderr == ""


def test_infinities_are_missing_and_said(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "".join(f"{n / 7},{n * 7 % 11 / 3}\n" for n in range(30)) + "inf,3.5\n")
    done = run("fit", "probabilistic-pca", "d.csv", "-k", 1, "-o", "m")
    assert "column 'a': 1 infinite, taken as missing (row 31 first)" in " ".join(done.stdout.split())


def test_yes_and_no_enters_a_gaussian_only_if_told(run, refused, tmp_path):
    bits = np.random.default_rng(0).random((90, 2))
    lines = "".join(f"{number},{x:.4f},{int(y > 0.5)}\n" for number, (x, y) in enumerate(bits))
    (tmp_path / "d.csv").write_text("id,x,flag\n" + lines)
    assert run("fit", "gaussian-mixture", "d.csv", "-k", 1, "-o", "m").exit_code == 0
    assert unveil.load("m").feature_names_in_.tolist() == ["x"]
    assert run("fit", "gaussian-mixture", "d.csv", "-k", 1, "-o", "n", "--columns", "flag,x").exit_code == 0
    assert unveil.load("n").feature_names_in_.tolist() == ["flag", "x"]
    assert run("fit", "bernoulli-mixture", "d.csv", "-k", 2, "-o", "b").exit_code == 0
    assert unveil.load("b").feature_names_in_.tolist() == ["flag"]
    assert "no column of words that repeat" in refused(
        "fit", "categorical-mixture", "d.csv", "--drop", "flag", "-o", "c"
    )


def interrupting(at):
    """Progress that presses Ctrl-C in pass number `at`."""

    class Bar(progress.Quiet):
        def watching(self, model):
            def press(state):
                if state.iteration == at:
                    raise KeyboardInterrupt

            if at == 0:
                raise KeyboardInterrupt
            return unveil.watch(press)

    @contextmanager
    def made(title):
        yield Bar()

    return made


def test_ctrl_c_keeps_the_best_so_far(run, faithful, monkeypatch):
    monkeypatch.setattr(progress, "progress", interrupting(3))
    result = run("fit", "gaussian-mixture", faithful, "-k", 3, "--tol", 0, "-o", "m")
    assert result.exit_code == 130
    assert "interrupted after 3 passes; the best so far is saved to m" in result.stderr
    model = unveil.load("m")
    assert "interrupted" in str(model.certificate_)
    assert not model.converged_
    assert np.isfinite(clone(model).set_params(max_iter=500, tol=1e-3).fit(unveil.scan(faithful)).lower_bound_)


def test_ctrl_c_before_there_is_anything_writes_nothing(run, faithful, monkeypatch):
    monkeypatch.setattr(progress, "progress", interrupting(0))
    result = run("fit", "gaussian-mixture", faithful, "-k", 3, "-o", "m")
    assert result.exit_code == 130
    assert result.stderr == "unveil: interrupted; nothing was written\n"
    assert not Path("m").exists()


@pytest.mark.filterwarnings("default")
def test_fit_that_does_not_converge_says_so_and_is_saved(run, iris):
    result = run("fit", "gaussian-mixture", iris, "-k", 3, "--max-iter", 1, "-o", "m")
    assert result.exit_code == 0
    assert result.stderr.startswith("unveil: warning: GaussianMixture: not converged")
    assert len(result.stderr.splitlines()) == 1
    assert Path("m").exists()


@pytest.mark.parametrize(
    ("word", "marks"),
    [
        ("probabilistic-pca", "noise_variance_"),
        ("factor-analysis", "noise_variance_"),
        ("ica", "mixing_"),
        ("topographic-map", "lattice_"),
    ],
)
@pytest.mark.filterwarnings("ignore:ICA. component 1 cannot be told from Gaussian noise")
def test_projections(run, iris, word, marks):
    result = run("fit", word, iris, "-k", 2, "-o", "m", "--max-iter", 300)
    assert result.exit_code == 0, result.output
    model = unveil.load("m")
    assert hasattr(model, marks)
    assert model.transform(unveil.scan(iris)).shape == (150, 2)


def test_a_principal_curve(run, iris):
    assert run("fit", "principal-curve", iris, "-o", "m", "--tol", 1e-3).exit_code == 0
    assert unveil.load("m").distance_ == pytest.approx(32.09, rel=1e-2)


def test_discriminant_by_a_column_of_labels(run, refused, species):
    assert run("fit", "discriminant", species, "--label", "species", "-o", "m").exit_code == 0
    model = unveil.load("m")
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert "needs --label" in refused("fit", "discriminant", species, "-o", "n")
    assert "--label is not an option of kmeans" in refused("fit", "kmeans", species, "--label", "species", "-o", "n")
    assert not Path("n").exists()


def test_a_limit_of_memory_holds_for_the_process(run, iris, monkeypatch):
    from unveil.core import memory

    monkeypatch.setenv(memory.LIMIT_NAME, "900GB")  # put back after the run
    assert run("fit", "kmeans", iris, "-k", 3, "-o", "m", "--memory-limit", "4GB").exit_code == 0
    assert 0 < memory.budget() < 4e9
    wrong = run("predict", "m", iris, "--memory-limit", "4 parsecs")
    assert wrong.exit_code == 2
    assert "--memory-limit must be as '2GB' or a number of bytes, 64 MiB at least, got '4 parsecs'" in wrong.stderr
