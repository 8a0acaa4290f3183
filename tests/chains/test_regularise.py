"""The mild prior that chains have by default."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import unveil
from unveil import CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

STATES = np.cumsum(np.random.default_rng(3).random(240) < 0.1) % 3


def rows_of(kind: str, count: int = 240) -> np.ndarray:
    random, states = np.random.default_rng(4), STATES[:count]
    if kind == "counts":
        return random.poisson(np.array([1.0, 5.0, 12.0])[states])[:, None].astype(float)
    if kind == "codes":
        return ((states + random.integers(0, 3, count)) % 5)[:, None].astype(float)
    return 3.0 * random.normal(size=(3, 2))[states] + random.normal(size=(count, 2))


FACES = {"numbers": GaussianHMM, "counts": PoissonHMM, "codes": CategoricalHMM}


@pytest.mark.parametrize("kind", FACES)
def test_the_objective_is_likelihood_and_prior_and_never_falls(kind):
    rows = rows_of(kind)
    model = FACES[kind](3, random_state=0).fit(rows)
    assert model.history_.largest_fall() <= 1e-9
    last = model.history_[-1]
    chain = model._model(model._stream.shift)
    assert last.objective != last.log_likelihood
    assert last.objective - last.log_likelihood == pytest.approx(chain.log_prior(model._stream.params), abs=0.05)
    plain = FACES[kind](3, regularise=None, random_state=0).fit(rows)
    assert plain.history_[-1].objective == plain.history_[-1].log_likelihood
    assert plain.score(rows) >= model.score(rows) - 1e-3


@pytest.mark.parametrize("kind", FACES)
def test_small_tables_and_others_end_alike(kind, monkeypatch):
    import unveil.chains.small as small

    quick = FACES[kind](3, random_state=0, tol=1e-9).fit(rows_of(kind))
    monkeypatch.setattr(small, "is_small", lambda model, n_rows: False)
    slow = FACES[kind](3, random_state=0, tol=1e-9).fit(rows_of(kind))
    assert quick.history_[-1].objective == pytest.approx(slow.history_[-1].objective, abs=1e-4)


def test_it_fades_among_many_steps_and_grows_with_its_strength():
    few, many = rows_of("numbers", 60), np.tile(rows_of("numbers"), (20, 1))

    def shift(rows: np.ndarray, strength: object) -> float:
        fits = [GaussianHMM(3, regularise=one, random_state=0).fit(rows) for one in (None, strength)]
        return float(np.abs(fits[0].score(rows) - fits[1].score(rows)) / len(rows))

    assert shift(many, "auto") < 0.1 * shift(few, "auto")
    assert shift(few, 0.01) < shift(few, 1.0) < shift(few, 10.0)
    assert shift(few, "auto") == shift(few, 1.0)


def test_priors_of_the_user_win():
    rows = rows_of("numbers")
    given = {"covariance_prior": np.eye(2), "transmat_prior": 1.0, "startprob_prior": 1.0}
    mild, none = (GaussianHMM(3, regularise=one, random_state=0, **given).fit(rows) for one in ("auto", None))
    np.testing.assert_array_equal(mild.covariances_, none.covariances_)
    np.testing.assert_array_equal(mild.transmat_, none.transmat_)


def test_zeros_that_are_given_stay():
    start = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])
    model = GaussianHMM(3, transmat_init=start, random_state=0).fit(rows_of("numbers"))
    assert np.all(model.transmat_[start == 0] == 0)


@pytest.mark.parametrize("kind", FACES)
def test_files_and_batches(kind, tmp_path):
    rows = rows_of(kind)
    model = FACES[kind](3, regularise=0.5, random_state=0).fit(rows)
    model.save(tmp_path / "model.unveil")
    again = unveil.load(tmp_path / "model.unveil")
    assert again.regularise == 0.5
    model.partial_fit(rows)
    again.partial_fit(rows)
    np.testing.assert_array_equal(model.transmat_, again.transmat_)
    assert clone(model).get_params()["regularise"] == 0.5


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")  # forty steps are few
def test_few_steps_are_foretold_better():
    """Seeds 900 to 909: forty steps of three states in four columns, and others to score."""
    gains = []
    for seed in range(900, 910):
        random = np.random.default_rng(seed)
        means = 2.0 * random.normal(size=(3, 4))
        path = np.cumsum(random.random(440) < 0.1) % 3
        rows = means[path] + random.normal(size=(440, 4))
        mild, none = (GaussianHMM(3, regularise=one, random_state=0).fit(rows[:40]) for one in ("auto", None))
        gains.append((mild.score(rows[40:]) - none.score(rows[40:])) / 400)
    assert np.median(gains) > 0.5


def test_columns_of_all_kinds():
    rows = np.concatenate([rows_of("numbers"), rows_of("counts"), rows_of("codes")], axis=1)
    kinds = {0: "number", 1: "number", 2: "count", 3: "category"}
    model = MixedHMM(3, families=kinds, random_state=0).fit(rows)
    assert model.history_.largest_fall() <= 1e-9
    assert len(model.gauge_) == 3 + 1 + 5
    with pytest.raises(ValueError, match="regularise"):
        MixedHMM(3, regularise=-1.0).fit(rows)
