import subprocess
import sys

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import unveil
from unveil.cli.rows import again


@pytest.fixture
def mixture(faithful, tmp_path):
    model = unveil.GaussianMixture(2, random_state=0).fit(unveil.scan(faithful))
    model.save(tmp_path / "gm.unveil")
    return model


def columns(path):
    return {name: np.array(column) for name, column in pyarrow.csv.read_csv(path).to_pydict().items()}


def test_mixture(run, mixture, faithful):
    assert run("predict", "gm.unveil", faithful, "-o", "out.csv").exit_code == 0
    found, table = columns("out.csv"), unveil.scan(faithful)
    names = ["row", "cluster", "component", "probability", "probability_1", "probability_2", "log_density"]
    assert list(found) == names
    np.testing.assert_array_equal(found["row"], np.arange(1, 273))
    np.testing.assert_array_equal(found["component"], mixture.predict(table) + 1)
    np.testing.assert_array_equal(found["cluster"], found["component"])  # nobody has said which belong together
    chances = np.column_stack([found["probability_1"], found["probability_2"]])
    np.testing.assert_array_equal(chances, mixture.predict_proba(table))
    np.testing.assert_array_equal(found["log_density"], mixture.score_samples(table))


def test_bernoulli_mixture(run, yes_no, tmp_path):
    unveil.BernoulliMixture(2, random_state=0).fit(unveil.scan(yes_no)).save(tmp_path / "m")
    assert run("predict", "m", yes_no, "-o", "out.csv").exit_code == 0
    assert len(columns("out.csv")["probability_1"]) == 60


def test_missing_cells_go_by_what_is_there(run, refused, mixture, tmp_path):
    (tmp_path / "d.csv").write_text("eruptions,waiting\n1.8,\n,\n4.3,80\n")
    assert run("predict", "gm.unveil", "d.csv", "-o", "out.csv").exit_code == 0
    found = columns("out.csv")
    np.testing.assert_array_equal(found["log_density"], mixture.score_samples(unveil.scan("d.csv")))
    assert found["probability_1"][1] == pytest.approx(mixture.weights_[0])
    unveil.KMeans(2, random_state=0).fit(np.arange(8.0).reshape(4, 2)).save(tmp_path / "k")
    assert "kmeans does not take missing cells (column 'eruptions', row 2" in refused("predict", "k", "d.csv")


@pytest.mark.filterwarnings("error")
def test_mixed_columns_by_name(run, people, tmp_path):
    assert run("fit", "mixed-mixture", people, "-k", 2, "-o", "m", "--columns", "height,town,visits").exit_code == 0
    whole = run("predict", "m", people)
    assert whole.stderr == ""
    rows = [line.split(",") for line in whole.stdout.splitlines()[1:]]
    assert len(rows) == 80
    assert whole.stdout.startswith('"row","name","cluster"')
    assert rows[79][:2] == ["80", '"n79"']
    assert sum(row[2] != rows[0][2] for row in rows) == 40
    (tmp_path / "new.csv").write_text("visits,town,more,height\n1,Nowhere,x,1.5\n")  # a town that was not there
    new = run("predict", "m", "new.csv")
    assert len(new.stdout.splitlines()) == 2
    assert "values that the model has not seen are taken as missing: town (1 cells)" in new.stderr


def test_mixed_columns_that_are_missing(run, refused, people, iris):
    assert run("fit", "mixed-mixture", people, "-k", 2, "-o", "m").exit_code == 0
    assert "columns of the model that are missing: height, visits" in refused("predict", "m", iris)


def test_kmeans_to_parquet(run, iris, tmp_path):
    model = unveil.KMeans(3, random_state=0).fit(unveil.scan(iris))
    model.save(tmp_path / "m")
    assert run("predict", "m", iris, "-o", "out.parquet", "--threads", 1).exit_code == 0
    found = pyarrow.parquet.read_table("out.parquet").to_pydict()
    assert list(found) == ["row", "cluster", "distance"]
    np.testing.assert_array_equal(found["cluster"], model.labels_ + 1)
    assert np.sum(np.square(found["distance"])) == pytest.approx(model.inertia_, rel=1e-12)


def test_pca_to_stdout(run, iris, tmp_path):
    model = unveil.PCA(2).fit(unveil.scan(iris))
    model.save(tmp_path / "m")
    for words in ([], ["-o", "-"]):
        lines = run("predict", "m", iris, *words).stdout.splitlines()
        assert lines[0] == '"row","pc1","pc2"'
        scores = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines[1:]])
        np.testing.assert_array_equal(scores, model.transform(unveil.scan(iris)))


def test_streaming_changes_nothing(run, tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40_000, 2))
    np.save(tmp_path / "x.npy", X)
    model = unveil.GaussianMixture(3, random_state=0, max_iter=3, tol=1e9).fit(X)
    model.save(tmp_path / "m")
    monkeypatch.setattr(again, "TOGETHER", 1)
    for name in ("whole.parquet", "streamed.parquet"):
        assert run("predict", "m", "x.npy", "-o", name).exit_code == 0
        found = pyarrow.parquet.read_table(name).to_pydict()
        np.testing.assert_array_equal(found["row"], np.arange(1, 40_001))
        np.testing.assert_array_equal(found["log_density"], model.score_samples(X))
        monkeypatch.setattr(again, "STREAMED", 0)


def test_columns_are_found_by_name(run, mixture, faithful, tmp_path):
    table = pyarrow.csv.read_csv(faithful)
    swapped = table.select(["waiting", "eruptions"]).append_column("more", [["x"] * 272])
    pyarrow.parquet.write_table(swapped, tmp_path / "swapped.parquet")
    assert run("predict", "gm.unveil", faithful).stdout == run("predict", "gm.unveil", "swapped.parquet").stdout


def test_files_without_names_go_by_position(run, mixture, faithful, tmp_path):
    np.save(tmp_path / "x.npy", np.loadtxt(faithful, delimiter=",", skiprows=1))
    assert run("predict", "gm.unveil", "x.npy").stdout == run("predict", "gm.unveil", faithful).stdout


def test_model_without_names_takes_any(run, faithful, tmp_path):
    unveil.KMeans(2, random_state=0).fit(np.loadtxt(faithful, delimiter=",", skiprows=1)).save(tmp_path / "m")
    assert len(run("predict", "m", faithful).stdout.splitlines()) == 273


def test_missing_columns_are_listed(refused, mixture, iris, tmp_path):
    assert "missing: eruptions, waiting" in refused("predict", "gm.unveil", iris)
    (tmp_path / "d.csv").write_text("waiting,eruptions\n3,x\n")
    assert "column 'eruptions' cannot be a number" in refused("predict", "gm.unveil", "d.csv")


def test_wrong_number_of_columns(refused, mixture, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 5)))
    assert "has 5 columns, the model takes 2" in refused("predict", "gm.unveil", "x.npy")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("a\n", "no rows"),
    ],
)
def test_data_that_cannot_be_predicted(refused, mixture, tmp_path, content, said):
    (tmp_path / "d.csv").write_text(content)
    assert said in refused("predict", "gm.unveil", "d.csv", "-o", "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_files_are_checked_first(refused, mixture, faithful, tmp_path):
    assert "must end in .csv, .parquet" in refused("predict", "gm.unveil", faithful, "-o", "out.xlsx")
    assert "not a model file" in refused("predict", faithful, faithful)
    (tmp_path / "d.csv").write_text("eruptions,waiting\n1,2\n")
    assert "is an input" in refused("predict", "gm.unveil", "d.csv", "-o", "d.csv", "--force")
    assert (tmp_path / "d.csv").read_text() == "eruptions,waiting\n1,2\n"
    (tmp_path / "cut.unveil").write_bytes((tmp_path / "gm.unveil").read_bytes()[:-5])
    assert "damaged or cut short" in refused("predict", "cut.unveil", faithful)


def test_reader_that_leaves_early_is_no_error(tmp_path):
    X = np.random.default_rng(0).normal(size=(40_000, 2))
    np.save(tmp_path / "x.npy", X)
    unveil.PCA().fit(X).save(tmp_path / "m")
    command = [sys.executable, "-c", "from unveil.cli import main; main()", "predict", "m", "x.npy"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'"row","pc1","pc2"\n'
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (unveil.ProbabilisticPCA(2), ["pc1", "pc2"]),
        (unveil.FactorAnalysis(1), ["factor1"]),
        (unveil.ICA(2, random_state=0), ["source1", "source2"]),
        (unveil.PrincipalCurve(), ["coordinate", "distance"]),
        (unveil.GenerativeTopographicMap(1, lattice_shape=9, basis_shape=3), ["map1", "log_density"]),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore:ICA. component 1 cannot be told from Gaussian noise")
def test_projections(run, iris, tmp_path, model, names):
    model.fit(unveil.scan(iris)).save(tmp_path / "m")
    assert run("predict", "m", iris, "-o", "out.csv").exit_code == 0
    found = columns("out.csv")
    assert list(found) == ["row", *names]
    np.testing.assert_array_equal(found[names[0]], model.transform(unveil.scan(iris))[:, 0])


def test_classes(run, species, tmp_path):
    model = unveil.LinearDiscriminantAnalysis().fit(unveil.scan(species), "species")
    model.save(tmp_path / "m")
    assert run("predict", "m", species, "-o", "out.csv").exit_code == 0
    found = columns("out.csv")
    assert list(found)[:4] == ["row", "class", "probability", "probability_setosa"]
    assert found["class"][[0, 70, 149]].tolist() == ["setosa", "virginica", "virginica"]
    assert found["probability_virginica"][70] == pytest.approx(0.750922666, abs=1e-9)
