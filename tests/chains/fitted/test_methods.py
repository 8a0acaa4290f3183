"""What a fitted chain says of sequences, against enumeration of all paths, textbooks and hmmlearn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.oracles.fitted_chains import Enumerated, Given, gaussian_chain, gaussian_scores, random_chain
from unveil.engines import Threads
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.covariance.structure import Diagonal
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams

HEALTH = Given(
    Categorical((3,)),  # normal, cold, dizzy
    [0.6, 0.4],
    [[0.7, 0.3], [0.4, 0.6]],
    CategoricalParams(np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])),
)
UMBRELLA = Given(
    Categorical((2,)),  # no umbrella, umbrella
    [0.5, 0.5],
    [[0.7, 0.3], [0.3, 0.7]],
    CategoricalParams(np.array([[0.1, 0.9], [0.8, 0.2]])),
)
WEATHER = Given(  # Rabiner (1989), II.A: rain, cloudy, sunny, seen as they are, and sunny on the first day
    Categorical((3,)),
    [0.0, 0.0, 1.0],
    [[0.4, 0.3, 0.3], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]],
    CategoricalParams(np.maximum(np.eye(3), 1e-300)),
)


def codes(*numbers):
    return np.array(numbers, dtype=np.float64)[:, None]


# -- textbooks ---------------------------------------------------------------------------------------------------------


def test_healthy_or_fever():
    """The example of most lecture notes on Viterbi's algorithm."""
    value, states = HEALTH.decode(codes(0, 1, 2))
    assert np.exp(value) == pytest.approx(0.01512, rel=1e-12)
    assert states.tolist() == [0, 0, 1]
    assert np.exp(HEALTH.score(codes(0, 1, 2))) == pytest.approx(0.03628, rel=1e-12)


def test_umbrella_world():
    """Russell & Norvig: umbrellas on all days but the third."""
    seen = codes(1, 1, 0, 1, 1)
    log_likelihood, posteriors = UMBRELLA.score_samples(seen)
    assert np.exp(log_likelihood) == pytest.approx(0.0343037005, abs=5e-11)
    wanted = [0.86733889, 0.82041905, 0.30748358, 0.82041905, 0.86733889]
    np.testing.assert_allclose(posteriors[:, 0], wanted, atol=5e-9)
    np.testing.assert_allclose(UMBRELLA.filter(codes(1, 1))[:, 0], [0.818182, 0.883357], atol=5e-7)


def test_rabiners_weather():
    """sun sun sun rain rain sun cloudy sun has probability 1.536e-4; a sunny spell lasts 5 days, rain 1.67."""
    days = codes(2, 2, 2, 0, 0, 2, 1, 2)
    assert np.exp(WEATHER.score(days)) == pytest.approx(1.536e-4, rel=1e-9)
    assert WEATHER.predict(days).tolist() == days.ravel().astype(int).tolist()
    np.testing.assert_allclose(WEATHER.expected_durations(), [1 / 0.6, 2.5, 5.0])


# -- against enumeration -----------------------------------------------------------------------------------------------


def check_everything(model, X, scores):
    """All that is said of one sequence."""
    oracle = Enumerated(model.start, model.transition, scores)
    log_likelihood, posteriors = model.score_samples(X)
    tight = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(log_likelihood, oracle.log_likelihood, **tight)
    np.testing.assert_allclose(model.score(X), oracle.log_likelihood, **tight)
    np.testing.assert_allclose(model.log_likelihoods(X), [oracle.log_likelihood], **tight)
    np.testing.assert_allclose(posteriors, oracle.smoothed(), **tight)
    np.testing.assert_allclose(model.predict_proba(X), oracle.smoothed(), **tight)
    np.testing.assert_allclose(model.filter(X), oracle.smoothed(0), **tight)
    for lag in (0, 1, 2, 7, None):
        np.testing.assert_allclose(model.smooth(X, lag=lag), oracle.smoothed(lag), **tight)
    value, states = model.decode(X)
    np.testing.assert_allclose(value, oracle.joint.max(), **tight)
    worth = oracle.joint[np.all(oracle.paths == states, axis=1)]  # paths of the same steps in another order tie
    np.testing.assert_allclose(worth, [oracle.joint.max()], **tight)
    assert states.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(model.path_entropy(X), [oracle.entropy], **tight)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 6), st.booleans())
def test_gaussian_chain(seed, k, steps, holes):
    """Gaussian emissions; cells and whole steps may be missing."""
    model = gaussian_chain(seed, k)
    random = np.random.default_rng(seed)
    X = random.normal(size=(steps, 2)) * 2
    if holes:
        X[random.random(X.shape) < 0.4] = np.nan
    check_everything(model, X, gaussian_scores(model, X))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(1, 6))
@example(528, 3, 5)
def test_chain_with_impossible_steps(seed, k, steps):
    """Transitions and starts of probability 0."""
    start, transition = random_chain(seed, k, sparse=True)
    random = np.random.default_rng(seed)
    table = random.dirichlet(np.ones(4), k)
    model = Given(Categorical((4,)), start, transition, CategoricalParams(table))
    X = random.integers(4, size=(steps, 1)).astype(np.float64)
    check_everything(model, X, np.log(table).T[X[:, 0].astype(int)])


def test_several_sequences_are_each_by_itself():
    model = gaussian_chain(1)
    X = np.random.default_rng(1).normal(size=(12, 2))
    lengths = [5, 1, 6]
    pieces = np.split(X, np.cumsum(lengths)[:-1])
    alone = [model.score_samples(piece) for piece in pieces]
    np.testing.assert_allclose(model.score(X, lengths), sum(value for value, _ in alone), rtol=1e-13)
    np.testing.assert_allclose(model.log_likelihoods(X, lengths), [value for value, _ in alone], rtol=1e-13)
    np.testing.assert_allclose(model.predict_proba(X, lengths), np.concatenate([t for _, t in alone]), atol=1e-14)
    np.testing.assert_array_equal(model.predict(X, lengths), np.concatenate([model.predict(p) for p in pieces]))
    np.testing.assert_array_equal(model.filter(pieces), model.filter(X, lengths))
    np.testing.assert_allclose(model.path_entropy(X, lengths), [model.path_entropy(p)[0] for p in pieces], rtol=1e-12)


# -- weights -----------------------------------------------------------------------------------------------------------


def test_sequence_weights_count_sequences():
    model = gaussian_chain(2)
    X = np.random.default_rng(2).normal(size=(9, 2))
    weighted = model.score(X, [4, 5], sequence_weight=[3.0, 0.0])
    assert weighted == pytest.approx(3 * model.score(X[:4]), rel=1e-13)
    assert model.bic(X, [4, 5], sequence_weight=[3.0, 0.0]) == pytest.approx(
        -2 * weighted + model.n_parameters() * np.log(12)
    )


def test_weight_zero_hides_an_impossible_sequence():
    model = Given(Categorical((2,)), [1.0, 0.0], np.eye(2), CategoricalParams(np.array([[1.0, 1e-300], [0.5, 0.5]])))
    hidden = Given(Poisson(), [1.0, 0.0], np.eye(2), PoissonParams(np.array([[1.0], [2.0]])))
    X = codes(0, 0, 1, 1)
    assert np.isfinite(model.score(X, [2, 2], sequence_weight=[1.0, 0.0]))
    assert hidden.score(X, [2, 2], sequence_weight=[1, 0]) == pytest.approx(hidden.score(X[:2]))


def test_step_weight_zero_is_a_missing_step():
    model = gaussian_chain(3)
    X = np.random.default_rng(3).normal(size=(6, 2))
    holes = X.copy()
    holes[[1, 4]] = np.nan
    weights = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    assert model.score(X, sample_weight=weights) == pytest.approx(model.score(holes), rel=1e-13)
    doubled = Enumerated(model.start, model.transition, 2 * gaussian_scores(model, X)).log_likelihood
    assert model.score(X, sample_weight=np.full(6, 2.0)) == pytest.approx(doubled, rel=1e-12)
    assert model.log_likelihoods(X, sample_weight=weights)[0] == pytest.approx(model.score(holes), rel=1e-13)


# -- hmmlearn ----------------------------------------------------------------------------------------------------------


def drawn_chain():
    """The parameters and rows of which hmmlearn 0.3.3 gave the numbers below, from startprob_ ... set by hand."""
    random = np.random.default_rng(6)
    start, transition = random.dirichlet(np.ones(3)), random.dirichlet(np.ones(3), 3)
    means, variances = random.normal(size=(3, 2)) * 2, random.uniform(0.5, 2.0, size=(3, 2))
    X = random.normal(size=(40, 2)) * 2
    table, seen = random.dirichlet(np.ones(5), 3), random.integers(5, size=(30, 1))
    gaussian = Given(Gaussian(Diagonal(), 0.0), start, transition, GaussianParams(means, variances, np.zeros((3, 2))))
    categorical = Given(Categorical((5,)), start, transition, CategoricalParams(table))
    return gaussian, X, categorical, seen.astype(np.float64)


def digits(text):
    return [int(letter) for letter in text]


def test_gaussian_as_in_hmmlearn():
    model, X, _, _ = drawn_chain()
    lengths = [1, 14, 25]
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(model.score(X, lengths), -205.12668326348347, **near)
    np.testing.assert_allclose(model.score(X), -204.28489513842666, **near)
    value, states = model.decode(X, lengths)
    np.testing.assert_allclose(value, -210.9845439300945, **near)
    assert states.tolist() == digits("1021021012121011012111101110100112110121")
    value, states = model.decode(X, lengths, algorithm="map")
    np.testing.assert_allclose(value, 34.19139522388558, **near)
    assert states.tolist() == digits("1021021012121011012111101110100112110121")
    posteriors = model.predict_proba(X, lengths)
    wanted = [
        [0.3698749882552354, 0.6300048920369287, 0.00012011970783630886],
        [0.928144080033066, 0.031323140286029734, 0.04053277968091124],
        [0.0004378699645339881, 0.8170037155778178, 0.18255841445765447],
        [0.013175384011323286, 0.9856917623467879, 0.0011328536418885398],
    ]
    np.testing.assert_allclose(posteriors[[0, 7, 14, 39]], wanted, **near)
    np.testing.assert_allclose(posteriors.sum(axis=0), [11.901043873736752, 21.14496289197426, 6.953993234289022])
    np.testing.assert_allclose(model.aic(X, lengths), 450.25336652696694, **near)
    np.testing.assert_allclose(model.bic(X, lengths), 484.03095560924567, **near)
    stationary = [0.3809645463064968, 0.3831487358967161, 0.23588671779678708]
    np.testing.assert_allclose(model.get_stationary_distribution(), stationary, **near)


def test_categorical_as_in_hmmlearn():
    _, _, model, seen = drawn_chain()
    lengths = [10, 20]
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(model.score(seen, lengths), -50.93579224411049, **near)
    value, states = model.decode(seen, lengths)
    np.testing.assert_allclose(value, -60.06420808223824, **near)
    assert states.tolist() == digits("102102102102102102101010210210")
    wanted = [
        [0.39347548217894446, 0.4873960036931737, 0.11912851412788032],
        [0.16320146055365864, 0.7577506224473394, 0.07904791699900354],
        [0.5873566000876601, 0.21868009277299164, 0.19396330713934953],
        [0.6263487150408082, 0.1494315027783561, 0.2242197821808345],
    ]
    np.testing.assert_allclose(model.predict_proba(seen, lengths)[[0, 9, 10, 29]], wanted, **near)
    np.testing.assert_allclose(model.aic(seen, lengths), 141.87158448822098, **near)
    np.testing.assert_allclose(model.bic(seen, lengths), 169.8955321214641, **near)


# -- what is missing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_imputed_cells_are_expectations_over_all_paths(seed):
    model = gaussian_chain(seed)
    random = np.random.default_rng(seed)
    X = random.normal(size=(5, 2)) * 2
    X[1, 0] = X[3, 1] = np.nan
    X[2] = np.nan
    oracle = Enumerated(model.start, model.transition, gaussian_scores(model, X))
    means, covariances = model.emissions.means, model.emissions.covariances
    filled = model.impute(X)
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])
    shares = oracle.smoothed()
    np.testing.assert_allclose(filled[2], shares[2] @ means, atol=1e-10)
    for row, lost, seen in ((1, 0, 1), (3, 1, 0)):
        slope = covariances[:, lost, seen] / covariances[:, seen, seen]
        expected = shares[row] @ (means[:, lost] + slope * (X[row, seen] - means[:, seen]))
        np.testing.assert_allclose(filled[row, lost], expected, atol=1e-10)


def test_imputed_categories_and_counts():
    family = Product(((Poisson(), (0,)), (Categorical((2,)), (1,))))
    parts = (PoissonParams(np.array([[1.0], [20.0]])), CategoricalParams(np.array([[0.9, 0.1], [0.2, 0.8]])))
    model = Given(family, [0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], ProductParams(parts))
    X = np.array([[19.0, 1.0], [np.nan, np.nan], [21.0, np.nan], [np.nan, 1.0]])
    filled = model.impute(X)
    assert filled[1:, 1].tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(filled[1, 0], model.predict_proba(X)[1] @ [1.0, 20.0])
    np.testing.assert_array_equal(model.impute(X[:1]), X[:1])


# -- the chain itself --------------------------------------------------------------------------------------------------


def with_transitions(transition, start=None):
    k = len(transition)
    start = np.full(k, 1 / k) if start is None else start
    return Given(Poisson(), start, transition, PoissonParams(np.arange(1.0, k + 1)[:, None]))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_stationary_distribution_stays(seed, k):
    transition = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), k)
    found = with_transitions(transition).get_stationary_distribution()
    np.testing.assert_allclose(found @ transition, found, atol=1e-13)
    assert found.sum() == pytest.approx(1.0)
    assert np.all(found >= 0)


def test_periodic_chain_has_a_stationary_distribution():
    cycle = np.roll(np.eye(3), 1, axis=1)
    np.testing.assert_allclose(with_transitions(cycle).get_stationary_distribution(), np.full(3, 1 / 3))


def test_reducible_chain_goes_by_where_it_starts():
    """State 0 leads to 1 (never left) with .25 and to the pair 2, 3 with .75."""
    transition = [[0.2, 0.2, 0.6, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.25, 0.75]]
    from_first = with_transitions(transition, [1.0, 0.0, 0.0, 0.0]).get_stationary_distribution()
    np.testing.assert_allclose(from_first, [0.0, 0.25, 0.75 / 3, 0.75 * 2 / 3], atol=1e-15)
    absorbed = with_transitions(transition, [0.0, 1.0, 0.0, 0.0])
    assert absorbed.get_stationary_distribution().tolist() == [0.0, 1.0, 0.0, 0.0]
    assert absorbed.expected_durations().tolist()[1] == np.inf


def test_rare_states_keep_their_digits():
    """Grassmann, Taksar & Heyman: no digit is lost at 1e-12."""
    small = 1e-12
    found = with_transitions([[1 - small, small], [0.5, 0.5]]).get_stationary_distribution()
    assert found[1] == pytest.approx(small / (small + 0.5), rel=1e-12)


def test_samples_follow_the_chain():
    model = gaussian_chain(5)
    X, states = model.sample(40_000, random_state=0)
    assert X.shape == (40_000, 2)
    assert states.shape == (40_000,)
    shares = np.bincount(states, minlength=3) / len(states)
    np.testing.assert_allclose(shares, model.get_stationary_distribution(), atol=0.02)
    moves = np.zeros((3, 3))
    np.add.at(moves, (states[:-1], states[1:]), 1.0)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), model.transition, atol=0.02)
    for k in range(3):
        np.testing.assert_allclose(X[states == k].mean(axis=0), model.emissions.means[k], atol=0.1)
        np.testing.assert_allclose(np.cov(X[states == k].T), model.emissions.covariances[k], rtol=0.1, atol=0.1)


def test_samples_by_seed_and_from_a_state():
    model = gaussian_chain(5, random_state=3)
    one, other = model.sample(20), model.sample(20)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(model.sample(20, random_state=3)[1], one[1])
    assert not np.array_equal(model.sample(20, random_state=4)[0], one[0])
    assert [int(model.sample(3, currstate=state)[1][0]) for state in range(3)] == [0, 1, 2]
    assert model.sample()[0].shape == (1, 2)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, X: m.score(X, [2, 3]), "lengths must sum"),
        (
            lambda m, X: m.decode(X, algorithm="vertebrate"),
            "algorithm must be one of 'viterbi', 'map', got 'vertebrate'",
        ),
        (lambda m, X: m.smooth(X, lag=-1), "lag must be an integer of at least 0, got -1"),
        (lambda m, X: m.smooth(X, lag=1.5), "lag must be an integer of at least 0, got 1.5"),
        (lambda m, X: m.kbest(X, 0), "k must be an integer of at least 1, got 0"),
        (lambda m, X: m.sample_paths(X, n_paths=0), "n_paths must be an integer of at least 1, got 0"),
        (lambda m, X: m.forecast(X, 0), "h must be an integer of at least 1, got 0"),
        (lambda m, X: m.sample(0), "n_samples must be an integer of at least 1, got 0"),
        (lambda m, X: m.sample(2, currstate=3), "currstate must be a state below 3, got 3"),
        (lambda m, X: m.score(np.where(X[0, 0] == X, np.inf, X)), "infinity: row 0, column 0"),
    ],
    ids=["lengths", "algorithm", "lag", "lag type", "k", "n_paths", "h", "n_samples", "currstate", "infinity"],
)
def test_errors_name_what_came_and_what_is_taken(call, words):
    with pytest.raises(ValueError, match=words):
        call(gaussian_chain(0), np.random.default_rng(0).normal(size=(4, 2)))


def test_impossible_sequences_say_so():
    """Of two sequences the second cannot be."""
    start, transition = np.array([1.0, 0.0]), np.eye(2)
    sharp = Given(Gaussian(), start, transition, GaussianParams(np.zeros((2, 1)), np.ones((2, 1, 1)), np.zeros((2, 1))))
    X = np.array([[0.0], [0.0], [1e200], [0.0]])
    with np.errstate(over="ignore"):
        values = sharp.log_likelihoods(X, [2, 2])
        drawn = sharp.sample_paths(X, [2, 2], n_paths=2, random_state=0)
        posteriors = sharp.predict_proba(X, [2, 2])
    assert np.isfinite(values[0])
    assert values[1] == -np.inf
    assert drawn.tolist() == [[0, 0, -1, -1]] * 2
    assert posteriors.tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


# -- same bits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 5])
def test_same_bits_on_any_number_of_threads(workers):
    random = np.random.default_rng(4)
    lengths = random.integers(1, 900, size=160)
    X = random.normal(size=(int(lengths.sum()), 2))
    one, several = gaussian_chain(4, engine=Threads(1)), gaussian_chain(4, engine=Threads(workers))
    for name in ("predict_proba", "predict", "filter", "log_likelihoods", "path_entropy"):
        np.testing.assert_array_equal(getattr(one, name)(X, lengths), getattr(several, name)(X, lengths))
    assert one.score(X, lengths) == several.score(X, lengths)
    draws = [model.sample_paths(X, lengths, n_paths=2, random_state=1) for model in (one, several)]
    np.testing.assert_array_equal(*draws)
