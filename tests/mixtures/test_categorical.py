import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import unveil
from unveil import BernoulliMixture, CategoricalMixture

random = np.random.default_rng(1)
GROUP = random.random(150) < 0.6
FRAME = pd.DataFrame(
    {
        "shape": np.where(GROUP, random.choice(list("rs"), 150, p=[0.9, 0.1]), random.choice(list("st"), 150)),
        "size": np.where(GROUP, random.choice([1, 2, 3], 150, p=[0.7, 0.2, 0.1]), random.choice([2, 3], 150)),
        "sweet": random.random(150) < np.where(GROUP, 0.8, 0.2),
    }
)
HOLED = FRAME.astype(object).mask(random.random(FRAME.shape) < 0.2, None)


@pytest.fixture(scope="module")
def model():
    return CategoricalMixture(2, random_state=0).fit(HOLED)


def brute_force(model, frame):
    """log p(x, s) by looking every cell up."""
    joint = np.tile(np.log(model.weights_), (len(frame), 1))
    for row, cells in enumerate(frame.itertuples(index=False)):
        for column, cell in enumerate(cells):
            if cell is not None and not pd.isna(cell):
                code = model.categories_[column].tolist().index(cell)
                joint[row] += np.log(model.probabilities_[column][:, code])
    return joint


def test_log_likelihood_of_cells_that_are_there(model):
    joint = brute_force(model, HOLED)
    np.testing.assert_allclose(model.score_samples(HOLED), logsumexp(joint, axis=1), rtol=1e-12)
    want = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(HOLED), want, atol=1e-12)
    np.testing.assert_array_equal(model.predict(HOLED), want.argmax(axis=1))


def test_values_and_probabilities_belong_together(model):
    assert [values.tolist() for values in model.categories_] == [["r", "s", "t"], [1, 2, 3], [False, True]]
    for values, table in zip(model.categories_, model.probabilities_, strict=True):
        assert table.shape == (2, len(values))
        np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_an_m_step_by_hand_changes_nothing(model):
    tight = CategoricalMixture(2, tol=1e-13, random_state=0).fit(HOLED)
    q = tight.predict_proba(HOLED)
    np.testing.assert_allclose(q.mean(axis=0), tight.weights_, atol=1e-5)
    codes = HOLED["shape"].map({"r": 0, "s": 1, "t": 2}).to_numpy(dtype=float)
    there = ~np.isnan(codes)
    counts = np.stack([q[there][codes[there] == code].sum(axis=0) for code in range(3)], axis=1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), tight.probabilities_[0], atol=1e-5)


def test_two_values_are_yes_and_no():
    table = (random.random((100, 4)) < 0.4).astype(float)
    start = np.eye(2)[random.integers(0, 2, 100)]
    ours = CategoricalMixture(2, responsibilities_init=start, tol=1e-6).fit(table)
    theirs = BernoulliMixture(2, responsibilities_init=start, tol=1e-6).fit(table)
    np.testing.assert_allclose(ours.score_samples(table), theirs.score_samples(table), rtol=1e-9)
    assert ours.bic(table) == pytest.approx(theirs.bic(table))


def test_weight_is_repetition():
    weights = random.integers(0, 3, len(FRAME))
    start = np.eye(2)[GROUP.astype(int)]
    repeated = FRAME.loc[FRAME.index.repeat(weights)]
    ours = CategoricalMixture(2, responsibilities_init=start).fit(FRAME, sample_weight=weights)
    theirs = CategoricalMixture(2, responsibilities_init=np.repeat(start, weights, axis=0)).fit(repeated)
    for one, other in zip(ours.probabilities_, theirs.probabilities_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_one_category_and_many():
    constant = CategoricalMixture(2, random_state=0).fit(FRAME.assign(shape="o"))
    np.testing.assert_allclose(constant.probabilities_[0], 1.0)
    words = pd.DataFrame({"word": [f"w{i % 300}" for i in range(900)], "half": ["a", "b", "c"] * 300})
    many = CategoricalMixture(1).fit(words)
    np.testing.assert_allclose(many.score(words), -np.log(300) - np.log(3))
    assert many.impute(words.assign(word=None).head(1))[0, 0] in set(words["word"])


def test_a_prior_keeps_probabilities_off_the_edge():
    fitted = CategoricalMixture(2, concentration_prior=2.0, random_state=0).fit(FRAME)
    assert min(table.min() for table in fitted.probabilities_) > 1e-3
    one = CategoricalMixture(1, concentration_prior=2.0).fit(FRAME)
    counts = FRAME["shape"].value_counts().sort_index().to_numpy() + 1.0
    np.testing.assert_allclose(one.probabilities_[0][0], counts / counts.sum())


def test_marginal_and_conditional_by_name_and_number(model):
    part = model.marginal(["sweet", "shape"])
    np.testing.assert_array_equal(part.feature_names_in_, ["sweet", "shape"])
    narrow = HOLED[["sweet", "shape"]]
    whole = HOLED.assign(size=None)
    np.testing.assert_allclose(part.score_samples(narrow), model.score_samples(whole))
    np.testing.assert_array_equal(model.marginal([2, 0]).score_samples(narrow), part.score_samples(narrow))
    given = model.conditional({"shape": "r"})
    rows = FRAME.assign(shape="r")
    marginal = model.marginal(["shape"]).score_samples(rows[["shape"]])
    np.testing.assert_allclose(given.score_samples(rows[["size", "sweet"]]), model.score_samples(rows) - marginal)


def test_impute_takes_the_likeliest_value(model):
    row = pd.DataFrame({"shape": ["t"], "size": [None], "sweet": [None]})
    q = model.predict_proba(row)[0]
    size = model.categories_[1][np.argmax(q @ model.probabilities_[1])]
    sweet = model.categories_[2][np.argmax(q @ model.probabilities_[2])]
    assert model.impute(row).tolist() == [["t", size, sweet]]


def test_draws_look_like_the_mixture(model):
    rows, labels = model.sample(4000)
    for component in (0, 1):
        mine = rows[labels == component, 0]
        shares = [np.mean(mine == value) for value in model.categories_[0]]
        np.testing.assert_allclose(shares, model.probabilities_[0][component], atol=0.05)


def test_files_and_pickles_bring_back_the_same_bits(model, tmp_path):
    model.save(tmp_path / "m")
    loaded, pickled = unveil.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))
    for back in (loaded, pickled):
        np.testing.assert_array_equal(back.predict_proba(HOLED), model.predict_proba(HOLED))
        assert [values.tolist() for values in back.categories_] == [values.tolist() for values in model.categories_]
    loaded.partial_fit(FRAME)
    pickled.partial_fit(FRAME)
    np.testing.assert_array_equal(loaded.score_samples(FRAME), pickled.score_samples(FRAME))


def test_values_of_several_types_are_kept_by_files(tmp_path):
    table = np.array([["a", 1], [2, "b"], ["a", "b"], [2.5, np.int64(1)]], dtype=object)
    fitted = CategoricalMixture(1).fit(table)
    fitted.save(tmp_path / "m")
    np.testing.assert_array_equal(unveil.load(tmp_path / "m").score_samples(table), fitted.score_samples(table))


def test_parameters_pass_through_clone_and_set_params():
    made = clone(CategoricalMixture(3, handle_unknown="error", random_state=0)).set_params(concentration_prior=1.5)
    assert made.get_params()["handle_unknown"] == "error"
    assert made.fit(FRAME).probabilities_[0].shape == (3, 3)
    with pytest.raises(ValueError, match="'handle_unknown' parameter of CategoricalMixture must be a str among"):
        CategoricalMixture(handle_unknown="ignore").fit(FRAME)


def test_warm_start_is_cold_where_columns_have_other_numbers_of_values():
    one, other = np.array([[0.0, 0], [1, 1], [2, 1], [0, 0]]), np.array([[0.0, 0], [1, 1], [1, 2], [0, 0]])
    fitted = CategoricalMixture(2, warm_start=True, random_state=0).fit(one).fit(other)
    assert [table.shape for table in fitted.probabilities_] == [(2, 2), (2, 3)]


@pytest.mark.parametrize("schedule", ["squarem", "incremental"])
def test_schedules_agree_on_the_optimum(schedule):
    start = np.where(GROUP[:, None], [0.8, 0.2], [0.3, 0.7])
    settings = {"responsibilities_init": start, "tol": 1e-11, "max_iter": 5000}
    batch = CategoricalMixture(2, **settings).fit(HOLED)
    other = CategoricalMixture(2, schedule=schedule, **settings).fit(HOLED)
    assert other.score(HOLED) == pytest.approx(batch.score(HOLED), abs=1e-6)
