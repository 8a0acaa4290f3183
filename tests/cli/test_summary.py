import io
import json

import numpy as np
import pytest
from rich.console import Console

import unveil
from unveil.certificate import Certificate, Finding
from unveil.cli.summary import MOST_NUMBERS, page, summary

X = np.random.default_rng(0).normal(size=(40, 2)) + np.tile([[0.0], [9.0]], (20, 1))


def text_of(renderable):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


@pytest.fixture
def model():
    return unveil.GaussianMixture(2, random_state=0, max_iter=500, means_init=X[:2]).fit(X)


def test_summary_is_strict_json(model):
    model.lower_bound_ = float("nan")
    plain = json.loads(json.dumps(summary(model), allow_nan=False))
    assert plain["class"] == "GaussianMixture"
    assert plain["parameters"]["means_init"] == X[:2].tolist()
    assert plain["fitted"]["means_"] == model.means_.tolist()
    assert plain["fitted"]["lower_bound_"] is None
    assert plain["columns"] is None
    assert plain["history"]["passes"] == model.n_iter_
    assert plain["certificate"]["ok"] is True


def test_large_arrays_are_told_by_shape(model):
    model.means_ = np.zeros((MOST_NUMBERS, 2))
    assert summary(model)["fitted"]["means_"] == {"shape": [MOST_NUMBERS, 2], "dtype": "float64"}


def test_objects_are_told_by_their_looks(model):
    model.set_params(engine=unveil.engines.Threads(2))
    assert summary(model)["parameters"]["engine"] == "Threads(workers=2)"


def test_model_without_iterations_has_no_history():
    plain = summary(unveil.PCA(1).fit(X))
    assert plain["history"] is None
    assert [found["name"] for found in plain["certificate"]["findings"]] == ["residual", "orthonormality"]


def test_page_has_facts_parameters_sizes_and_certificate(model):
    text = text_of(page({"rows": "40"}, model, "GaussianMixture"))
    assert "rows" in text
    assert "n_components" in text
    assert "tol" not in text  # as by default
    assert "converged after" in text


def test_page_takes_nothing_for_markup_or_control(model):
    model.certificate_ = Certificate((Finding("x", "note", "[red]a[/red]\x1b[2J\nb"),))
    text = text_of(page({"[bold]": "[/]"}, model, "[blink]"))
    assert "[red]a[/red] [2J b" in text
    assert "[blink]" in text
    assert "\x1b" not in text


def test_certificate_has_the_worst_on_top(model):
    findings = (Finding("a", "fine", "well"), Finding("b", "warning", "badly"), Finding("c", "note", "so so"))
    model.certificate_ = Certificate(findings)
    text = text_of(page({}, model, "GaussianMixture"))
    places = [
        text.index(words) for words in ("Is the fit sound? No.", "badly", "so so", "well", "Are the groups real?")
    ]
    assert places == sorted(places)
