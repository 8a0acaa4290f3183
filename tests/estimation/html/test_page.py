"""What notebooks show of fitted estimators: results, a picture and the verdicts, with nothing in it that runs."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context

import unveil
from unveil.estimation.html.page import html_of
from unveil.estimation.persistence import estimator_names

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(90, 3)) + np.repeat([[0.0], [4.0], [8.0]], 30, axis=0)
CLASSES = np.repeat(["low", "middle", "high"], 30)
COUNTS = RANDOM.poisson(np.repeat([[1.0, 4.0], [6.0, 1.0]], 45, axis=0))
BITS = (RANDOM.random((90, 4)) < np.repeat([[0.9, 0.2, 0.5, 0.1], [0.2, 0.8, 0.5, 0.7]], 45, axis=0)).astype(int)
WORDS = np.array([["a", "x"], ["b", "y"], ["a", "y"]] * 30, dtype=object)
MIXED = np.array([[*row, word] for row, word in zip(ROWS.tolist(), CLASSES, strict=True)], dtype=object)
SOURCES = RANDOM.laplace(size=(300, 2)) @ [[1.0, 0.4], [0.3, 1.0]]
EVIL = '"><script>alert(1)</script><b>'

FITS: dict[str, Any] = {
    "PCA": lambda: unveil.PCA(2).fit(ROWS),
    "ProbabilisticPCA": lambda: unveil.ProbabilisticPCA(1).fit(ROWS),
    "FactorAnalysis": lambda: unveil.FactorAnalysis(1).fit(ROWS),
    "LinearDiscriminantAnalysis": lambda: unveil.LinearDiscriminantAnalysis().fit(ROWS, CLASSES),
    "ICA": lambda: unveil.ICA(2, random_state=0).fit(SOURCES),
    "PrincipalCurve": lambda: unveil.PrincipalCurve().fit(ROWS),
    "GenerativeTopographicMap": lambda: unveil.GenerativeTopographicMap(lattice_shape=4, basis_shape=2).fit(ROWS),
    "KMeans": lambda: unveil.KMeans(3, random_state=0).fit(ROWS),
    "KernelKMeans": lambda: unveil.KernelKMeans(3, random_state=0).fit(ROWS),
    "KMedoids": lambda: unveil.KMedoids(3, random_state=0).fit(ROWS),
    "GaussianMixture": lambda: unveil.GaussianMixture(3, random_state=0).fit(ROWS),
    "StudentMixture": lambda: unveil.StudentMixture(2, random_state=0).fit(ROWS),
    "BernoulliMixture": lambda: unveil.BernoulliMixture(2, random_state=0).fit(BITS),
    "CategoricalMixture": lambda: unveil.CategoricalMixture(2, random_state=0).fit(WORDS),
    "PoissonMixture": lambda: unveil.PoissonMixture(2, random_state=0).fit(COUNTS),
    "MixedMixture": lambda: unveil.MixedMixture(3, random_state=0).fit(MIXED),
    "GaussianHMM": lambda: unveil.GaussianHMM(3, random_state=0).fit(ROWS),
    "CategoricalHMM": lambda: unveil.CategoricalHMM(2, random_state=0).fit(BITS[:, :1]),
    "PoissonHMM": lambda: unveil.PoissonHMM(2, random_state=0).fit(COUNTS),
    "MixedHMM": lambda: unveil.MixedHMM(2, random_state=0).fit(MIXED),
    "PCFG": lambda: unveil.PCFG(n_nonterminals=2, random_state=0).fit(["a b", "a a b b", "a b a b"]),
}
SAID = {
    "PCA": "variance kept",
    "LinearDiscriminantAnalysis": "high, low, middle",
    "KMeans": "3, of 30, 30, 30 rows",
    "GaussianMixture": "3, with shares",
    "GaussianHMM": "steps on average",
    "PCFG": "rules",
    "GenerativeTopographicMap": "4 by 4",
}
ROUGH = ("FitWarning", "NotConvergedWarning")
quiet = pytest.mark.filterwarnings(*(f"ignore::unveil.certificate.{name}" for name in ROUGH))


@cache
def fitted(name: str) -> Any:
    return FITS[name]()


def picture_in(page: str) -> ElementTree.Element:
    """The one SVG, which must be well formed."""
    (found,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    return ElementTree.fromstring(found)


def test_every_estimator_is_among_them() -> None:
    assert set(FITS) == set(estimator_names())


@quiet
@pytest.mark.parametrize("name", FITS)
def test_a_fitted_estimator_shows_results_a_picture_and_the_verdicts(name: str) -> None:
    model = fitted(name)
    page = model._repr_html_()
    assert page == model._repr_mimebundle_()["text/html"]
    assert len(page.encode()) < 20_000
    assert f"<code>{name}(" in page
    assert "Is the fit sound?" in page
    assert SAID.get(name, "<th") in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    drawing = picture_in(page)
    assert drawing.get("aria-label")
    assert len(drawing) >= 3
    places = [float(n) for shape in drawing.iter() for n in re.findall(r"-?[\d.]+", shape.get("points") or "")]
    assert all(-1 <= place <= 241 for place in places)


def test_before_the_fit_it_is_scikit_learns() -> None:
    page = unveil.KMeans(3)._repr_html_()
    assert "unveil-card" not in page
    assert "sk-" in page
    assert html_of(unveil.KMeans(3)) is None


def test_without_diagrams_there_is_none() -> None:
    model = fitted("KMeans")
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()


def test_names_from_the_data_are_only_ever_text() -> None:
    import pandas as pd

    frame = pd.DataFrame(ROWS[:, :2], columns=[EVIL, "height & weight"])
    pages = [
        unveil.GaussianMixture(2, random_state=0).fit(frame)._repr_html_(),
        unveil.KMeans(2, random_state=0).fit(frame)._repr_html_(),
        unveil.PrincipalCurve().fit(frame)._repr_html_(),
        unveil.LinearDiscriminantAnalysis().fit(frame, np.where(CLASSES == "low", EVIL, "<i>"))._repr_html_(),
        unveil.CategoricalMixture(2, random_state=0).fit(np.where(WORDS == "a", EVIL, "<i>"))._repr_html_(),
    ]
    for page in pages:
        assert "<script" not in page
        assert "<i>" not in page
        assert picture_in(page) is not None


def test_what_speaks_against_a_fit_is_said() -> None:
    with pytest.warns(unveil.certificate.NotConvergedWarning):  # type: ignore[attr-defined]
        model = unveil.GaussianMixture(3, random_state=0, init_params="random", max_iter=2).fit(ROWS)
    assert re.search(r"Is the fit sound\? <b>No\.</b>.*<li>not converged", model._repr_html_())
    assert "max_iter=2" in model._repr_html_()


def test_many_components_stay_small_and_one_column_is_a_density() -> None:
    many = unveil.KMeans(60, random_state=0).fit(RANDOM.normal(size=(500, 40)))
    assert len(many._repr_html_()) < 20_000
    one = unveil.GaussianMixture(2, random_state=0).fit(ROWS[:, :1])
    assert "Density of column 1" in one._repr_html_()
    lone = unveil.KMeans(2, random_state=0).fit(ROWS[:, :1])
    assert "rows of each cluster" in lone._repr_html_()


@quiet
@pytest.mark.parametrize("name", ["GaussianMixture", "KMeans", "GaussianHMM", "PCA", "KMedoids"])
def test_a_model_from_a_file_shows_the_same(name: str, tmp_path: Any) -> None:
    fitted(name).save(tmp_path / "model.unveil")
    again = unveil.load(tmp_path / "model.unveil")._repr_html_()
    assert picture_in(again).get("aria-label") == picture_in(fitted(name)._repr_html_()).get("aria-label")


def test_a_chain_set_by_hand_has_a_card_too() -> None:
    model = unveil.GaussianHMM(2)
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]])
    model.means_, model.covariances_ = np.zeros((2, 1)), np.ones((2, 1, 1))
    assert "10, 5 steps on average" in model._repr_html_()
