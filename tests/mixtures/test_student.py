import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_t

import unveil
from unveil import GaussianMixture, StudentMixture
from unveil.certificate import FitWarning

random = np.random.default_rng(3)
CENTRES = np.array([[0.0, 0.0], [6.0, 4.0]])
LABELS = np.repeat([0, 1], [90, 60])
TABLE = CENTRES[LABELS] + random.standard_t(3.0, (150, 2)) @ np.array([[1.0, 0.4], [0.0, 0.8]])
START = np.where(LABELS[:, None] == 0, [0.9, 0.1], [0.1, 0.9])


@pytest.fixture(scope="module")
def model():
    return StudentMixture(2, random_state=0).fit(TABLE)


def log_joint(rows, weights, means, scales, dofs):
    """log p(x, s) by SciPy."""
    densities = [
        multivariate_t(mean, scale, df=dof).logpdf(rows) for mean, scale, dof in zip(means, scales, dofs, strict=True)
    ]
    return np.log(weights) + np.stack(densities, axis=1)


def plain_em(rows, q, dof, passes):
    """EM for fixed degrees of freedom, as Peel and McLachlan (2000) have it, one loop per component."""
    u = np.ones_like(q)
    for _ in range(passes):
        weights, means, scales = q.mean(axis=0), [], []
        for r, v in zip(q.T, u.T, strict=True):
            mean = (r * v) @ rows / (r @ v)
            away = rows - mean
            means.append(mean)
            scales.append((away * (r * v)[:, None]).T @ away / r.sum())
        joint = log_joint(rows, weights, means, scales, [dof] * len(weights))
        q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        for c, (mean, scale) in enumerate(zip(means, scales, strict=True)):
            away = rows - mean
            distances = np.einsum("ni,ij,nj->n", away, np.linalg.inv(scale), away)
            u[:, c] = (dof + rows.shape[1]) / (dof + distances)
    return weights, np.array(means), np.array(scales), logsumexp(joint, axis=1).mean()


def test_fixed_degrees_of_freedom_agree_with_plain_em():
    settings = {"degrees_of_freedom": 4.0, "reg_covar": 0.0, "tol": 1e-14}
    fitted = StudentMixture(2, responsibilities_init=START, **settings).fit(TABLE)
    weights, means, scales, score = plain_em(TABLE, START, 4.0, 400)
    assert fitted.score(TABLE) == pytest.approx(score, abs=1e-10)
    np.testing.assert_allclose(fitted.weights_, weights, atol=1e-6)
    np.testing.assert_allclose(fitted.means_, means, atol=1e-5)
    np.testing.assert_allclose(fitted.scales_, scales, atol=1e-5)
    np.testing.assert_array_equal(fitted.degrees_of_freedom_, 4.0)


def test_log_likelihood_is_scipys(model):
    joint = log_joint(TABLE, model.weights_, model.means_, model.scales_, model.degrees_of_freedom_)
    np.testing.assert_allclose(model.score_samples(TABLE), logsumexp(joint, axis=1), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(TABLE), joint.argmax(axis=1))


def test_estimated_degrees_of_freedom_are_better_than_any_given(model):
    tight = StudentMixture(2, responsibilities_init=START, tol=1e-12).fit(TABLE)
    for dof in (1.0, 2.0, 4.0, 8.0, 100.0):
        given = StudentMixture(2, responsibilities_init=START, degrees_of_freedom=dof).fit(TABLE)
        assert given.score(TABLE) <= tight.score(TABLE)
    assert np.all((tight.degrees_of_freedom_ > 1.0) & (tight.degrees_of_freedom_ < 20.0))


def test_many_degrees_of_freedom_are_a_gaussian():
    settings = {"responsibilities_init": START, "tol": 1e-10}
    student = StudentMixture(2, degrees_of_freedom=1e7, **settings).fit(TABLE)
    gaussian = GaussianMixture(2, max_iter=1000, **settings).fit(TABLE)
    np.testing.assert_allclose(student.means_, gaussian.means_, atol=1e-4)
    assert student.score(TABLE) == pytest.approx(gaussian.score(TABLE), abs=1e-4)


def test_outliers_do_not_pull():
    noisy = np.concatenate([TABLE, [[200.0, -300.0]]])
    clean, robust = (StudentMixture(2, random_state=0).fit(rows).means_ for rows in (TABLE, noisy))
    np.testing.assert_allclose(robust, clean, atol=0.3)


def test_weight_is_repetition():
    weights = random.integers(0, 3, len(TABLE))
    ours = StudentMixture(2, responsibilities_init=START, tol=1e-6).fit(TABLE, sample_weight=weights)
    start, rows = np.repeat(START, weights, axis=0), np.repeat(TABLE, weights, axis=0)
    theirs = StudentMixture(2, responsibilities_init=start, tol=1e-6).fit(rows)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-8)
    np.testing.assert_allclose(ours.degrees_of_freedom_, theirs.degrees_of_freedom_, rtol=1e-8)


@pytest.mark.parametrize("structure", ["tied", "diag", "spherical", "VEV", "EVE", "EEI"])
def test_structures_keep_their_shape_and_bind(model, structure):
    fitted = StudentMixture(2, covariance_type=structure, random_state=0).fit(TABLE)
    assert fitted.score(TABLE) <= model.score(TABLE) + 1e-4
    assert fitted.certificate_.ok
    assert np.isfinite(fitted.bic(TABLE))


def test_marginal_and_conditional(model):
    part = model.marginal([1])
    joint = log_joint(
        TABLE[:, [1]], model.weights_, model.means_[:, [1]], model.scales_[:, 1:, 1:], model.degrees_of_freedom_
    )
    np.testing.assert_allclose(part.score_samples(TABLE[:, [1]]), logsumexp(joint, axis=1), rtol=1e-10)
    given = model.conditional({1: 2.0})
    np.testing.assert_allclose(given.degrees_of_freedom_, model.degrees_of_freedom_ + 1.0)
    rows = np.column_stack([TABLE[:, 0], np.full(len(TABLE), 2.0)])
    want = model.score_samples(rows) - part.score_samples(rows[:, [1]])
    np.testing.assert_allclose(given.score_samples(TABLE[:, [0]]), want, rtol=1e-9)


def test_missing_cells_are_refused(model):
    holed = TABLE.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(holed)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        StudentMixture(2).fit(holed)


def test_files_and_pickles_bring_back_the_same_bits(model, tmp_path):
    model.save(tmp_path / "m")
    loaded, pickled = unveil.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.score_samples(TABLE), model.score_samples(TABLE))
    loaded.partial_fit(TABLE)
    pickled.partial_fit(TABLE)
    np.testing.assert_array_equal(loaded.means_, pickled.means_)
    np.testing.assert_array_equal(loaded.degrees_of_freedom_, pickled.degrees_of_freedom_)


def test_warm_start_goes_on_and_is_cold_for_another_structure():
    fitted = StudentMixture(2, warm_start=True, random_state=0).fit(TABLE)
    assert fitted.fit(TABLE).n_iter_ <= 4
    fitted.set_params(covariance_type="tied").fit(TABLE)
    assert fitted.scales_.shape == (2, 2)


def test_fewer_rows_than_columns_are_told_of():
    flat = np.random.default_rng(0).random((22, 30))  # fewer rows than columns: reg_covar alone keeps scales upright
    with pytest.warns(FitWarning, match="more parameters than the rows support"):
        fitted = StudentMixture(random_state=0).fit(flat)
    assert "reg_covar=1e-06 is not small against a component's variance" in str(fitted.certificate_)


@pytest.mark.parametrize("dof", [0.0, -1.0, "many"])
def test_degrees_of_freedom_that_are_none_are_refused(dof):
    with pytest.raises(ValueError, match="'degrees_of_freedom' parameter of StudentMixture"):
        StudentMixture(degrees_of_freedom=dof).fit(TABLE)
