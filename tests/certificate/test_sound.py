"""Is the fit sound? Planted failures are caught, with one warning each, and healthy fits are let be."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import unveil
from unveil import (
    ICA,
    PCA,
    PCFG,
    BernoulliMixture,
    CategoricalHMM,
    CategoricalMixture,
    FactorAnalysis,
    GaussianHMM,
    GaussianMixture,
    GenerativeTopographicMap,
    KernelKMeans,
    KMeans,
    KMedoids,
    LinearDiscriminantAnalysis,
    MixedMixture,
    PoissonHMM,
    PoissonMixture,
    PrincipalCurve,
    ProbabilisticPCA,
    StudentMixture,
)
from unveil.certificate import Certificate, FitWarning, NotConvergedWarning

RANDOM = np.random.default_rng(31)
CLOUD = RANDOM.normal(size=(200, 2))
SAME = np.full((100, 2), 3.0)
CONSTANT = np.column_stack([RANDOM.normal(size=200), np.full(200, 2.0)])
THREE_VALUES = np.column_stack([RANDOM.normal(size=300), RANDOM.integers(0, 3, 300)]).astype(np.float64)
COLLINEAR = RANDOM.normal(size=(200, 1)) * [1.0, 2.0]
ONE_ROW = np.concatenate([RANDOM.normal(size=(60, 2)), [[50.0, 50.0]]])
ANSWERS = np.concatenate([np.zeros((40, 5)), np.ones((1, 5))])
COUNTS = np.concatenate([RANDOM.poisson(50.0, size=(40, 2)), np.zeros((2, 2))]).astype(np.float64)
LEVELS = np.concatenate([RANDOM.integers(0, 2, (40, 4)), np.full((1, 4), 2)])
PLANE = RANDOM.normal(size=(60, 2)) @ RANDOM.normal(size=(2, 5))
LABELS = np.arange(30) % 2

PLANTED: dict[str, tuple[Any, Any, set[str]]] = {
    "identical rows": (GaussianMixture(1), SAME, {"point"}),
    "identical rows, two components": (GaussianMixture(2, random_state=0), SAME, {"point"}),
    "a constant column": (GaussianMixture(2, random_state=0), CONSTANT, {"line"}),
    "a constant column, diagonal": (GaussianMixture(1, covariance_type="diag"), CONSTANT, {"line"}),
    "three values": (GaussianMixture(3, random_state=0), THREE_VALUES, {"line"}),
    "collinear columns": (GaussianMixture(1), COLLINEAR, {"line"}),
    "a component on one row": (GaussianMixture(2, random_state=0), ONE_ROW, {"point", "few_rows"}),
    "a third of a row per parameter": (
        GaussianMixture(2, random_state=0),
        CLOUD.reshape(50, 8)[:30],
        {"rows_per_parameter"},
    ),
    "four components of ten columns": (
        GaussianMixture(4, random_state=0),
        RANDOM.normal(size=(100, 10)),
        {"rows_per_parameter"},
    ),
    "not converged": (GaussianMixture(3, max_iter=2, tol=1e-12, random_state=0), CLOUD, {"not_converged"}),
    "Student on one row": (StudentMixture(2, random_state=0), ONE_ROW, {"line", "point", "few_rows"}),
    "mixed columns": (
        MixedMixture(2, random_state=0),
        [[a, b, "xy"[i % 2]] for i, (a, b) in enumerate(CONSTANT.tolist())],
        {"line"},
    ),
    "answers of one row": (BernoulliMixture(2, random_state=0), ANSWERS, {"few_rows", "point"}),
    "counts of two rows": (PoissonMixture(2, random_state=0), COUNTS, {"point", "few_rows"}),
    "levels of one row": (CategoricalMixture(2, random_state=0), LEVELS, {"few_rows", "point"}),
    "a chain on a constant column": (GaussianHMM(2, random_state=0), CONSTANT, {"line"}),
    "a chain that was stopped": (PoissonHMM(2, max_iter=1, random_state=0), COUNTS, {"not_converged"}),
    "words that were stopped": (CategoricalHMM(2, max_iter=1, random_state=0), LEVELS[:, :1], {"not_converged"}),
    "fewer different rows than clusters": (KMeans(3, random_state=0), SAME, {"left_empty"}),
    "fewer different rows than medoids": (KMedoids(3, random_state=0), SAME, {"point", "left_empty"}),
    "a kernel for which rows are the same": (KernelKMeans(3, random_state=0), SAME, {"point", "empty"}),
    "rows that do not differ": (PCA(2), SAME, {"point"}),
    "no noise": (ProbabilisticPCA(2), PLANE, {"floor"}),
    "Gaussian sources": (ICA(random_state=0), RANDOM.normal(size=(1500, 3)), {"gaussian"}),
    "a curve that was stopped": (PrincipalCurve(max_iter=1), CLOUD, {"not_converged"}),
    "a map that was stopped": (GenerativeTopographicMap(max_iter=2), CLOUD, {"not_converged"}),
}


def fitted(model: Any, rows: Any, **given: Any) -> tuple[Certificate, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, **given)
    return model.certificate_, caught


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_failure_is_caught_with_one_warning(name: str) -> None:
    model, rows, kinds = PLANTED[name]
    certificate, caught = fitted(unveil_clone(model), rows)
    assert certificate.verdicts["sound"] == "no"
    assert not certificate.ok
    assert {reason.kind for reason in certificate.reasons("sound")} & kinds
    told = [each for each in caught if issubclass(each.category, FitWarning)]
    assert len(told) == 1
    worst = next(found for found in certificate.findings if found.severity == "warning")
    assert str(told[0].message) == f"{type(model).__name__}: {worst.words}"
    assert issubclass(told[0].category, NotConvergedWarning) == (worst.kind == "not_converged")
    assert told[0].filename == __file__


def unveil_clone(model: Any) -> Any:
    return type(model)(**model.get_params(deep=False))


def test_labels_on_fewer_rows_than_columns() -> None:
    certificate, caught = fitted(LinearDiscriminantAnalysis(), RANDOM.normal(size=(30, 40)), y=LABELS)
    assert (certificate.verdicts["sound"], len(caught)) == ("no", 1)
    shrunk = LinearDiscriminantAnalysis("lsqr", shrinkage="auto")
    certificate, caught = fitted(shrunk, RANDOM.normal(size=(30, 40)), y=LABELS)
    assert (certificate.verdicts["sound"], caught) == ("yes", [])


def test_columns_that_depend_on_each_other_within_classes_are_a_doubt() -> None:
    certificate, caught = fitted(LinearDiscriminantAnalysis(), COLLINEAR, y=np.arange(200) % 2)
    assert (certificate.verdicts["sound"], caught) == ("doubtful", [])


def test_a_grammar_that_was_stopped() -> None:
    grammar = "S -> S S [0.4] | 'a' [0.3] | 'b' [0.3]"
    certificate, caught = fitted(PCFG(grammar=grammar, max_iter=1), [["a", "b", "a"], ["b"], ["a", "a"]])
    assert (certificate.verdicts["sound"], len(caught)) == ("no", 1)


DOUBTFUL: dict[str, tuple[Any, Any, str]] = {
    "a Heywood case": (
        FactorAnalysis(1),
        np.column_stack([CLOUD[:, 0], CLOUD[:, 0], CLOUD[:, 0] + CLOUD[:, 1], CLOUD[:, 0] - 2 * CLOUD[:, 1]]),
        "floor",
    ),
    "states of few rows": (GaussianHMM(4, random_state=0), RANDOM.normal(size=(20, 2)), "few_rows"),
    "more components than there are directions": (PCA(2), COLLINEAR, "line"),
    "a cluster of one row": (KMeans(2, random_state=0), ONE_ROW, "few_rows"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_doubtful_is_not_warned_of(name: str) -> None:
    model, rows, kind = DOUBTFUL[name]
    certificate, caught = fitted(unveil_clone(model), rows)
    assert certificate.verdicts["sound"] in ("doubtful", "no")
    assert kind in {reason.kind for reason in certificate.reasons("sound")}
    assert len(caught) == (certificate.verdicts["sound"] == "no")


# -- healthy fits ------------------------------------------------------------------------------------------------------


def healthy(n: int) -> list[tuple[Any, Any]]:
    random = np.random.default_rng([12, n])
    groups = np.arange(n) % 2
    rows = random.normal(size=(n, 2)) + 6.0 * groups[:, None]
    held = np.repeat(groups[: -(-n // 10)], 10)[:n]
    factors = random.normal(size=(n, 2)) @ random.normal(size=(2, 8)) + random.normal(size=(n, 8))
    return [
        (GaussianMixture(2, random_state=0), rows),
        (GaussianMixture(2, covariance_type="diag", n_init=3, random_state=0), rows * [1e3, 1.0]),
        (GaussianMixture(1), random.normal(size=(n, 5))),
        (
            BernoulliMixture(2, random_state=0),
            (random.random((n, 40)) < 0.2 + 0.6 * groups[:, None]).astype(np.float64),
        ),
        (PoissonMixture(2, random_state=0), random.poisson(3.0 + 20.0 * groups[:, None], (n, 2)).astype(np.float64)),
        (CategoricalMixture(2, random_state=0), (random.random((n, 6)) < 0.2 + 0.6 * groups[:, None]).astype(np.int64)),
        (StudentMixture(2, random_state=0), rows + 0.3 * random.standard_t(4, size=(n, 2))),
        (GaussianHMM(2, random_state=0), random.normal(size=(n, 2)) + 5.0 * held[:, None]),
        (PoissonHMM(2, random_state=0), random.poisson(3.0 + 20.0 * held)[:, None].astype(np.float64)),
        (KMeans(2, random_state=0), rows),
        (KMedoids(2, random_state=0), rows),
        (KernelKMeans(2, random_state=0), rows),
        (PCA(2), factors),
        (ProbabilisticPCA(2), factors),
        (FactorAnalysis(2), factors),
    ]


@pytest.mark.parametrize("n", [60, 400])
def test_healthy_fits_are_sound(n: int) -> None:
    for model, rows in healthy(n):
        certificate, caught = fitted(model, rows)
        assert certificate.verdicts["sound"] == "yes", (model, str(certificate))
        assert caught == [], model


def test_a_thousand_rows_of_fifty_columns_are_enough_for_one_covariance() -> None:
    certificate, _ = fitted(GaussianMixture(1), np.random.default_rng(0).normal(size=(1000, 50)))
    assert certificate["observations_per_parameter"].value < 1
    assert certificate.verdicts["sound"] == "yes"


def test_wide_tables_of_independent_columns_are_sound() -> None:
    groups = np.repeat([[0.0], [3.0]], 30, axis=0)
    rows = np.random.default_rng(0).normal(size=(60, 200)) + groups
    certificate, _ = fitted(GaussianMixture(2, covariance_type="diag", random_state=0), rows)
    assert certificate.verdicts["sound"] == "yes"


# -- with the rows -----------------------------------------------------------------------------------------------------


def test_examined_rows_tell_of_steps_and_copies() -> None:
    copies = np.repeat(CLOUD[:60], 5, axis=0)
    model = GaussianMixture(1).fit(copies)
    assert model.certificate_.verdicts["sound"] == "yes"
    examined = unveil.examine(model, copies)
    assert "repeated_rows" in {reason.kind for reason in examined.reasons("sound")}
    whole = np.column_stack([CLOUD[:, 0], (9.0 * CLOUD[:, 1]).round()])
    whole[:20, 1] = 2.0
    shares = np.eye(2)[np.repeat([1, 0], [20, 180])]
    narrow = GaussianMixture(2, covariance_type="VEV", responsibilities_init=shares, max_iter=3, tol=1e9).fit(whole)
    assert "rounding" in {reason.kind for reason in unveil.examine(narrow, whole).reasons("sound")}
