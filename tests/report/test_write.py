import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import unveil
from tests.places import EXAMPLES
from unveil.certificate.certificate import QUESTIONS
from unveil.report import write_report

DATA = EXAMPLES
SECTIONS = ["columns", "plane", "choice", "mixture", "groups", "convergence", "certificate", "reproduce"]


class Page(HTMLParser):
    """The tags of a page, and the text of each section outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sections, self._open, self._silent = [], {"": ""}, "", False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")
        if tag == "section":
            self._open = dict(attrs)["id"]
            self.sections[self._open] = ""

    def handle_endtag(self, tag):
        self._silent = False

    def handle_data(self, data):
        if not self._silent:
            self.sections[self._open] += data


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    reports = {
        name: write_report(DATA / f"{name}.csv", folder / f"{name}.html", max_components=4)
        for name in ("faithful", "iris")
    }
    return {name: (report, Page(report.path.read_text(encoding="utf-8"))) for name, report in reports.items()}


@pytest.mark.parametrize("name", ["faithful", "iris"])
def test_all_sections_are_there_in_order(written, name):
    report, page = written[name]
    assert [attrs["id"] for tag, attrs in page.tags if tag == "section"] == SECTIONS
    assert all(page.sections[section].strip() for section in SECTIONS)
    assert report.summary in page.sections[""]
    figures = [attrs["id"] for tag, attrs in page.tags if attrs.get("class") == "plot"]
    assert figures == [
        "plot-plane",
        *(["plot-scree"] if name == "iris" else []),
        "plot-bic",
        "plot-mixture",
        "plot-climb",
    ]


def test_what_is_known_of_old_faithful(written):
    # the choice of R's mclust: model EEE with 3 components and BIC -2314.4 (its sign is the other way)
    report, page = written["faithful"]
    assert report.selection.best_params_ == {"n_components": 3, "covariance_type": "tied"}
    assert report.selection.best_score_ == pytest.approx(2314.4, abs=0.2)
    assert report.n_clusters == 2  # short and long eruptions
    said = "There are two groups: three components describe the density; components 1 and 3 are group 1."
    assert report.summary.startswith(f"272 rows, 2 columns of numbers. {said} They hold 64% and 36% of the rows.")
    assert re.search(r"eruptions\s*number\s*1\.6\s*3\.488\s*5\.1\s*0", page.sections["columns"])
    assert "divided by its standard deviation" in page.sections["plane"]


def test_what_is_known_of_iris(written):
    report, page = written["iris"]
    assert report.selection.best_params_ == {"n_components": 2, "covariance_type": "full"}
    assert report.selection.best_score_ == pytest.approx(574.02, abs=0.05)
    assert "92.5% and 5.3% of the variance" in page.sections["plane"]
    assert re.search(r"Group 2\s*50\s*33\.3%", page.sections["groups"])
    assert "very low Petal.Length" in report.labels[1]


@pytest.mark.parametrize("name", ["faithful", "iris"])
def test_numbers_agree_with_the_model(written, name):
    report, page = written[name]
    X = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)
    sizes = np.bincount(report.model.predict(X))
    noun, home = ("Group", "") if name == "iris" else ("Component", r"group \d")
    for number, size in enumerate(sizes):
        assert re.search(rf"{noun} {number + 1}{home}\s*{size}\s*{size / len(X):.1%}", page.sections["groups"])
    assert f"{report.model.bic(X):,.1f}" in page.sections["choice"]
    assert f"{report.model.n_iter_} passes" in page.sections["convergence"]
    told = page.sections["certificate"]
    for finding in report.certificate.findings:
        assert re.sub(r"(component|cluster|column)s? \d.*", "", finding.message) in told
    for question, answer in report.certificate.verdicts.items():
        assert re.search(rf"{re.escape(QUESTIONS[question])}\s+{answer.capitalize()}\s", told)


def test_the_page_asks_the_network_for_nothing(written):
    _, page = written["iris"]
    loads = {"src", "href", "action", "srcset", "data", "poster", "background", "formaction"}
    assert not [(tag, attrs) for tag, attrs in page.tags if loads & attrs.keys()]
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "img", "object", "embed", "base", "form")]
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert len(re.findall(r"'sha256-[^']+'", policy)) == 2
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_plotly_is_there_once_and_headings_are_in_order(written):
    report, page = written["iris"]
    assert [attrs.get("type") for tag, attrs in page.tags if tag == "script"].count(None) == 2
    assert report.path.stat().st_size < 6_000_000
    assert [tag for tag, _ in page.tags if tag == "h1"] == ["h1"]
    assert len([tag for tag, _ in page.tags if tag == "h2"]) == len(SECTIONS)


def test_how_to_reproduce_it(tmp_path):
    table = DATA / "iris.csv"
    columns = ["Petal.Length", "Petal.Width"]
    report = write_report(table, tmp_path / "a b.html", columns=columns, max_components=2, seed=3)
    text = Page(report.path.read_text(encoding="utf-8")).sections["reproduce"]
    assert f"unveil report {table} -o '{tmp_path / 'a b.html'}' --seed 3 --columns Petal.Length,Petal.Width" in text
    (call,) = re.findall(r"report = (write_report\(.*?\n?\))\s*report\.model", text, re.DOTALL)
    again = eval(call, {"write_report": write_report})
    np.testing.assert_array_equal(again.model.means_, report.model.means_)
    assert unveil.__version__ in report.path.read_text(encoding="utf-8")


def test_arrays_frames_scans_and_paths_give_the_same_model(tmp_path):
    frame = pd.read_csv(DATA / "faithful.csv")
    sources = [DATA / "faithful.csv", frame, frame.to_numpy(), unveil.scan(DATA / "faithful.csv")]
    models = [write_report(source, tmp_path / "r.html", max_components=2).model for source in sources]
    for model in models[1:]:
        np.testing.assert_array_equal(model.means_, models[0].means_)


def test_weights_equal_repetition(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9]], 30, axis=0))
    frame.columns = ["a", "b"]
    frame["count"] = np.repeat([1, 2, 0], 20)
    repeated = frame.loc[frame.index.repeat(frame["count"]), ["a", "b"]]
    weighted = write_report(frame, tmp_path / "w.html", weight="count", max_components=2)
    plain = write_report(repeated, tmp_path / "p.html", max_components=2)
    assert weighted.selection.best_params_ == plain.selection.best_params_
    np.testing.assert_allclose(weighted.model.means_, plain.model.means_, rtol=1e-4)
    text = Page(weighted.path.read_text(encoding="utf-8")).sections["columns"]
    assert "20 rows with a missing value or a weight of 0 were left out; 40 rows remain." in text


def test_progress_is_told(tmp_path):
    seen = []
    write_report(DATA / "faithful.csv", tmp_path / "r.html", max_components=1, callbacks=[seen.append])
    assert seen[0].words == "reading the table"
    assert [(step.done, step.total) for step in seen if step.words == "comparing mixtures"] == [
        (n, 4) for n in (1, 2, 3, 4)
    ]
    assert seen[-1].words == "writing the page"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_components": 0}, "max_components must be a whole number of at least 1; got 0"),
        ({"max_components": 2.5}, "max_components must be a whole number of at least 1; got 2.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"columns": "eruptions"}, "columns must be a list of names; got the string 'eruptions'"),
        ({"engine": "gpu"}, "engine"),
    ],
)
def test_bad_arguments_are_named(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_report(DATA / "faithful.csv", tmp_path / "r.html", **options)
    assert not list(tmp_path.iterdir())
