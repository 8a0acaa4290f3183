"""What fitted mixtures are used for: densities, draws, criteria, marginals and conditionals, against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from tests.places import EXAMPLES
from unveil import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    PoissonMixture,
    StudentMixture,
)
from unveil.engines import Threads

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
GROUPS = random.integers(3, size=300)
NUMBERS = random.normal(size=(300, 3)) + np.array([[0, 0, 0], [5, 0, 3], [0, 6, -4]])[GROUPS] + 20
TAILS = NUMBERS + 0.3 * random.standard_t(3, size=(300, 3))
COUNTS = random.poisson(np.array([[1, 5, 9], [8, 1, 2], [3, 3, 12]])[GROUPS]).astype(np.float64)
ANSWERS = (COUNTS > 3).astype(np.float64)
WORDS = np.array(list("abc"))[np.where(random.random((300, 3)) < 0.8, GROUPS[:, None], 0)]
FRAME = pd.DataFrame({"x": NUMBERS[:, 0], "n": COUNTS[:, 0].astype(int), "y": NUMBERS[:, 1], "w": WORDS[:, 0]})
CASES: dict[str, tuple[Any, Any]] = {
    "full": (GaussianMixture(3), NUMBERS),
    "diag": (GaussianMixture(3, covariance_type="diag"), NUMBERS),
    "VEV": (GaussianMixture(3, covariance_type="VEV"), NUMBERS),
    "student": (StudentMixture(3, tol=1e-4), TAILS),
    "poisson": (PoissonMixture(3), COUNTS),
    "bernoulli": (BernoulliMixture(3, binarize=None), ANSWERS),
    "categorical": (CategoricalMixture(3), WORDS),
    "mixed": (MixedMixture(3), FRAME),
}
MODELS = {kind: model.set_params(random_state=0).fit(rows) for kind, (model, rows) in CASES.items()}


def taken(rows: Any, columns: list[int]) -> Any:
    return rows.iloc[:, columns] if isinstance(rows, pd.DataFrame) else rows[:, columns]


# -- densities and draws -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["full", "student"])
def test_a_density_in_one_column_integrates_to_one(kind: str) -> None:
    one = MODELS[kind].marginal([1])
    grid = np.linspace(-400, 440, 400_001)
    assert one.density(grid[:, None]).sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("kind", ["full", "VEV"])
def test_a_density_in_two_columns_integrates_to_one(kind: str) -> None:
    two = MODELS[kind].marginal([0, 2])
    axis = np.linspace(5, 40, 400)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert two.density(grid).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=1e-6)


def test_probabilities_of_all_that_can_happen_sum_to_one() -> None:
    counts = np.stack(np.meshgrid(*[np.arange(60.0)] * 2), axis=-1).reshape(-1, 2)
    assert MODELS["poisson"].marginal([0, 1]).density(counts).sum() == pytest.approx(1.0)
    answers = np.stack(np.meshgrid(*[[0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
    assert MODELS["bernoulli"].density(answers).sum() == pytest.approx(1.0)
    words = np.stack(np.meshgrid(*[list("abc")] * 3), axis=-1).reshape(-1, 3)
    assert MODELS["categorical"].density(words).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", CASES)
def test_draws_look_like_the_rows(kind: str) -> None:
    model, rows = MODELS[kind], CASES[kind][1]
    drawn, components = model.sample(4000)
    assert len(drawn) == len(components) == 4000
    np.testing.assert_allclose(np.bincount(components, minlength=3) / 4000, model.weights_, atol=0.03)
    if kind == "mixed":
        drawn = pd.DataFrame(drawn, columns=FRAME.columns).astype(FRAME.dtypes.to_dict())
    assert np.mean(model.score_samples(drawn)) == pytest.approx(model.score(rows), abs=0.15)
    np.testing.assert_array_equal(model.sample(5)[1], model.sample(5)[1])
    with pytest.raises(ValueError, match="n_samples must be a positive integer, got 0"):
        model.sample(0)


@pytest.mark.parametrize("kind", CASES)
def test_scores_are_means_and_weights_count(kind: str) -> None:
    model, rows = MODELS[kind], CASES[kind][1]
    scores = model.score_samples(rows)
    np.testing.assert_allclose(model.density(rows), np.exp(scores))
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(rows), model.predict_proba(rows).argmax(axis=1))
    times = random.integers(0, 3, 300)
    assert model.score(rows, sample_weight=times) == pytest.approx(np.average(scores, weights=times))


# -- criteria ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CASES)
def test_criteria_by_their_formulas(kind: str) -> None:
    model, rows = MODELS[kind], CASES[kind][1]
    total, free = model.score_samples(rows).sum(), model.n_parameters()
    assert model.bic(rows) == pytest.approx(-2 * total + free * np.log(300))
    assert model.aic(rows) == pytest.approx(-2 * total + 2 * free)
    sure = np.log(model.predict_proba(rows).max(axis=1)).sum()
    assert model.icl(rows) == pytest.approx(model.bic(rows) - 2 * sure)
    assert model.icl(rows) >= model.bic(rows)
    repeated = pd.concat([rows, rows]) if isinstance(rows, pd.DataFrame) else np.concatenate([rows, rows])
    for criterion in (model.bic, model.aic, model.icl):
        assert criterion(rows, sample_weight=np.full(300, 2.0)) == pytest.approx(criterion(repeated))


FAITHFUL = np.loadtxt(EXAMPLES / "faithful.csv", delimiter=",", skiprows=1, ndmin=2)


@pytest.mark.parametrize(
    ("rows", "structure", "k", "icl", "bic"),
    [  # from mclust 6, whose sign is the other
        (FAITHFUL, "EEE", 3, 2357.824, 2314.316),
        (load_iris().data, "VEV", 2, 561.7289, 561.7285),
        (load_iris().data, "VEV", 3, 566.46728712, 562.552236906),
    ],
)
def test_criteria_are_those_of_mclust(rows: Floats, structure: str, k: int, icl: float, bic: float) -> None:
    settings = {"reg_covar": 0.0, "tol": 1e-9, "max_iter": 5000, "init_params": "hierarchical"}
    model = GaussianMixture(k, covariance_type=structure, random_state=0, **settings).fit(rows)
    assert model.bic(rows) == pytest.approx(bic, abs=0.05)  # mclust stops a little earlier
    assert model.icl(rows) == pytest.approx(icl, rel=5e-4)


# -- marginal and conditional mixtures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("columns", [[0], [2, 0]])
def test_a_conditional_density_is_a_ratio(kind: str, columns: list[int]) -> None:
    """p(rest | given) = p(row) / p(given)."""
    model, rows = MODELS[kind], CASES[kind][1]
    rest = [column for column in range(rows.shape[1]) if column not in columns]
    given = model.marginal(columns)
    assert given.n_features_in_ == len(columns)
    for number in (0, 17, 100):
        row = taken(rows, list(range(rows.shape[1])))[number : number + 1]
        cells = [row.iloc[0, c] if isinstance(row, pd.DataFrame) else row[0, c] for c in range(rows.shape[1])]
        conditional = model.conditional({column: cells[column] for column in columns})
        expected = model.score_samples(row)[0] - given.score_samples(taken(row, columns))[0]
        assert conditional.score_samples(taken(row, rest))[0] == pytest.approx(expected, abs=1e-8)
        assert conditional.weights_.sum() == pytest.approx(1.0)


def test_a_marginal_by_brute_force() -> None:
    """Summed over what is left out."""
    row = np.array([[2.0, 3.0]])
    whole = np.column_stack([np.full(80, 2.0), np.full(80, 3.0), np.arange(80.0)])
    expected = MODELS["poisson"].density(whole).sum()
    assert MODELS["poisson"].marginal([0, 1]).density(row)[0] == pytest.approx(expected, rel=1e-9)


def test_marginals_of_marginals_keep_names_and_order() -> None:
    frame = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    model = GaussianMixture(2, random_state=0).fit(frame)
    two = model.marginal(["c", "a"])
    assert two.feature_names_in_.tolist() == ["c", "a"]
    np.testing.assert_allclose(
        two.marginal(["a"]).score_samples(frame[["a"]]), model.marginal([0]).score_samples(frame[["a"]])
    )
    assert model.conditional({"b": 20.0}).feature_names_in_.tolist() == ["a", "c"]
    row = [np.nan, 20.0, np.nan]
    np.testing.assert_array_equal(model.conditional(row).means_, model.conditional({1: 20.0}).means_)
    drawn, _ = model.conditional({-2: 20.0}).sample(3)
    assert drawn.shape == (3, 2)


def test_yes_and_no_are_read_as_at_fit_time() -> None:
    model = BernoulliMixture(2, binarize=3.0, random_state=0).fit(COUNTS)
    np.testing.assert_allclose(model.conditional({0: 50.0}).weights_, model.conditional({0: 4.0}).weights_)
    assert model.conditional({0: 50.0}).weights_[0] != pytest.approx(model.conditional({0: 2.0}).weights_[0])


def test_values_far_from_everything() -> None:
    weights = MODELS["full"].conditional({0: 1e7}).weights_
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.marginal([]), "at least one column"),
        (lambda model: model.marginal([0, 0]), "each once"),
        (lambda model: model.marginal([0, -3]), "each once"),
        (lambda model: model.marginal("ab"), "columns must be a list"),
        (lambda model: model.marginal(1), "columns must be a list"),
        (lambda model: model.marginal([3]), "no column 3: a number below 3 is taken"),
        (lambda model: model.marginal(["a"]), "no column 'a'"),
        (lambda model: model.conditional({}), "some but not all"),
        (lambda model: model.conditional({0: 1.0, 1: 1.0, 2: 1.0}), "some but not all"),
        (lambda model: model.conditional([1.0]), "a row of 3 cells"),
        (lambda model: model.conditional({0: np.nan}), "finite numbers"),
        (lambda model: model.conditional({0: np.inf}), "finite numbers"),
    ],
)
def test_bad_columns(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(MODELS["full"])


def test_a_count_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="counts"):
        MODELS["poisson"].conditional({0: 1.5})


# -- what is missing ---------------------------------------------------------------------------------------------------


def test_complete_rows_come_back_to_the_last_bit() -> None:
    far = NUMBERS + 1e8
    model = GaussianMixture(3, random_state=0).fit(far)
    holes = far.copy()
    holes[::7, 1] = np.nan
    found = model.impute(holes)
    np.testing.assert_array_equal(found[~np.isnan(holes)], far[~np.isnan(holes)])
    assert np.all(np.isfinite(found))


def test_words_are_imputed_by_the_likeliest() -> None:
    frame = FRAME.copy()
    frame.loc[:9, "w"] = None
    found = MODELS["mixed"].impute(frame)
    assert set(found[:10, 3]) <= {"a", "b", "c"}
    q = MODELS["mixed"].predict_proba(frame)[:10]
    tables = next(params for word, columns, params in MODELS["mixed"].components_ if word == "category")
    likeliest = np.array(list("abc"))[(q @ tables.probabilities).argmax(axis=1)]
    np.testing.assert_array_equal(found[:10, 3].astype(str), likeliest)


@pytest.mark.parametrize("kind", ["full", "student", "poisson"])
def test_rows_at_hand_are_answered_as_those_that_are_handed_out(kind: str) -> None:
    model, rows = MODELS[kind], CASES[kind][1]
    here = [getattr(model, name)(rows) for name in ("predict", "predict_proba", "score_samples", "score", "bic")]
    model.set_params(engine=Threads(2))
    there = [getattr(model, name)(rows) for name in ("predict", "predict_proba", "score_samples", "score", "bic")]
    model.set_params(engine="auto")
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(model.score(rows), model.score_samples(rows).mean(), rtol=1e-12)
    np.testing.assert_allclose(model.score(rows, sample_weight=np.full(len(rows), 2.0)), model.score(rows), rtol=1e-12)
