"""The same table in units whose squares float64 does not hold: the same answer, or a word on which column it is."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import unveil
from unveil.certificate import FitWarning
from unveil.engines import Threads
from unveil.estimation.units import refuse_units, unit_of
from unveil.sources.array import ArraySource

GROUPS = np.random.default_rng(0).integers(0, 3, 240)
ROWS = np.random.default_rng(1).normal(size=(240, 3)) + np.array([[0, 0, 0], [9, 5, -6], [-8, 6, 9]])[GROUPS]
SCALES = [2.0**532, 2.0**900, 2.0**-532, 2.0**-664, 2.0**-900]  # about 1e160, 1e271, 1e-160, 1e-200, 1e-271
every_scale = pytest.mark.parametrize("scale", SCALES)

CENTRED = [
    unveil.KMeans(3, random_state=0),
    unveil.KMeans(3, random_state=0, n_init=1, tol=0, init="random"),
    unveil.KMeans(3, random_state=0, missing="partial"),
    unveil.KMeans(3, n_init=1, init=ROWS[:3]),
    unveil.KMeans(3, n_init=1, init=lambda rows, k, random_state: rows[:k]),
    unveil.KMedoids(3, random_state=0),
    unveil.KMedoids(3, random_state=0, metric="manhattan"),
]


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@every_scale
@pytest.mark.parametrize("number", range(len(CENTRED)))
def test_clusters_are_the_same_in_any_unit(number, scale):
    from sklearn.base import clone

    plain, there = clone(CENTRED[number]).fit(ROWS), clone(CENTRED[number])
    if isinstance(there.get_params().get("init"), np.ndarray):
        there.set_params(init=ROWS[:3] * scale)
    there.fit(ROWS * scale)
    np.testing.assert_array_equal(there.labels_, plain.labels_)
    np.testing.assert_array_equal(there.cluster_centers_, plain.cluster_centers_ * scale)
    np.testing.assert_array_equal(there.predict(ROWS * scale), plain.predict(ROWS))
    np.testing.assert_allclose(there.transform(ROWS[:9] * scale) / scale, plain.transform(ROWS[:9]), rtol=1e-12)


@every_scale
def test_what_float64_does_not_hold_is_said(scale, tmp_path):
    lost = f"{float(unveil.KMeans(3, random_state=0).fit(ROWS).inertia_) * scale * scale:.2g}"
    with pytest.warns(FitWarning, match=rf"in column \d.*learnt in units of 2\*\*.*inertia_ is {lost}"):
        model = unveil.KMeans(3, random_state=0).fit(ROWS * scale)
    assert f"{model.inertia_:.2g}" == lost
    assert model.certificate_["units"].severity == "warning"
    model.save(tmp_path / "there.unveil")
    np.testing.assert_array_equal(unveil.load(tmp_path / "there.unveil").predict(ROWS * scale), model.labels_)


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
@pytest.mark.parametrize("scale", [2.0**532, 2.0**-664])
def test_streams_threads_weights_and_sparse_rows_agree(scale, tmp_path):
    rows, weights = np.tile(ROWS, (400, 1)) * scale, np.random.default_rng(2).integers(1, 4, 96_000).astype(float)
    np.save(tmp_path / "rows.npy", rows)
    one, two, read = (
        unveil.KMeans(3, random_state=0, engine=Threads(workers)).fit(source, sample_weight=weights)
        for workers, source in ((1, rows), (2, rows), (2, unveil.scan(tmp_path / "rows.npy")))
    )
    for model in two, read:
        assert model.cluster_centers_.tobytes() == one.cluster_centers_.tobytes()
        np.testing.assert_array_equal(model.labels_, one.labels_)
    thin = np.where(np.abs(ROWS) > 5, ROWS, 0.0)
    plain = unveil.KMeans(3, random_state=0).fit(sparse.csr_array(thin))
    there = unveil.KMeans(3, random_state=0).fit(sparse.csr_array(thin * scale))
    np.testing.assert_array_equal(there.labels_, plain.labels_)
    np.testing.assert_array_equal(there.cluster_centers_, plain.cluster_centers_ * scale)


@every_scale
def test_sources_are_the_same_in_any_unit(scale):
    plain = unveil.ICA(random_state=0, max_iter=500).fit(ROWS)
    there = unveil.ICA(random_state=0, max_iter=500).fit(ROWS * scale)
    np.testing.assert_allclose(there.components_ * scale, plain.components_, rtol=1e-9)
    np.testing.assert_allclose(there.mixing_, plain.mixing_ * scale, rtol=1e-9)
    np.testing.assert_allclose(there.transform(ROWS * scale), plain.transform(ROWS), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.inverse_transform(there.transform(ROWS * scale)) / scale, ROWS, atol=1e-9)


def test_columns_of_very_different_units_and_a_far_offset():
    uneven = ROWS * [2.0**532, 2.0**-664, 1.0]
    with pytest.warns(FitWarning, match="inertia_ is inf"):
        model = unveil.KMeans(3, random_state=0).fit(uneven)
    first = unveil.KMeans(3, random_state=0).fit(ROWS[:, :1])
    np.testing.assert_array_equal(model.labels_, first.labels_)
    means = [ROWS[first.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(model.cluster_centers_ / [2.0**532, 2.0**-664, 1.0], means, rtol=1e-12)
    with pytest.warns(FitWarning, match="inertia_ is inf"):
        far = unveil.KMeans(3, random_state=0).fit(ROWS * 2.0**520 + 1e160)
    np.testing.assert_array_equal(far.labels_, unveil.KMeans(3, random_state=0).fit(ROWS).labels_)


def test_rows_beyond_measure_have_a_nearest_centre():
    model = unveil.KMeans(3, random_state=0).fit(ROWS)
    far = np.concatenate([ROWS[:5], [[1e200, -1e200, 1e200]]])
    np.testing.assert_array_equal(model.predict(far)[:5], model.labels_[:5])
    np.testing.assert_allclose(model.transform(far)[5], np.sqrt(3) * 1e200)
    np.testing.assert_allclose(model.transform(far)[:5], model.transform(ROWS[:5]), rtol=1e-12)
    assert model.score(far) == -np.inf


OF_VARIANCES = [
    unveil.PCA(2), unveil.PCA(2, svd_solver="full"), unveil.ProbabilisticPCA(1), unveil.FactorAnalysis(1),
    unveil.PrincipalCurve(), unveil.GenerativeTopographicMap(random_state=0), unveil.LinearDiscriminantAnalysis(),
    unveil.GaussianMixture(3, random_state=0, reg_covar=0.0), unveil.StudentMixture(3, random_state=0, reg_covar=0.0),
    unveil.MixedMixture(3, random_state=0, reg_covar=0.0), unveil.GaussianHMM(3, random_state=0, reg_covar=0.0),
    unveil.MixedHMM(3, random_state=0, reg_covar=0.0), unveil.KernelKMeans(3, gamma="scale", random_state=0),
]  # fmt: skip


@pytest.mark.parametrize("model", OF_VARIANCES, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("scale", [1e160, 1e-200])
def test_models_of_variances_name_column_and_factor(model, scale):
    from sklearn.base import clone

    given = (GROUPS,) if isinstance(model, unveil.LinearDiscriminantAnalysis) else ()
    way = r"divide by 1e16[01]" if scale > 1 else r"multiply by 1e199"
    with pytest.raises(ValueError, match=rf"X has cells .* in column 0 and 2 more, .*: {way}"):
        clone(model).fit(ROWS * scale, *given)


def test_a_cell_beyond_measure_is_found_wherever_it_is(tmp_path):
    rows = np.tile(ROWS, (300, 1))
    rows[70_000, 1] = 1e200
    np.save(tmp_path / "rows.npy", rows)
    for source in (rows, unveil.scan(tmp_path / "rows.npy")):
        for model in (unveil.GaussianMixture(3, random_state=0), unveil.GaussianHMM(3, random_state=0), unveil.PCA(1)):
            with pytest.raises(ValueError, match=r"cells up to 1e\+200 in column 1, .*: divide by 1e200"):
                model.fit(source)


def test_no_error_where_nothing_is_wrong_with_the_units():
    refuse_units(ArraySource(np.array([[1.0, np.nan, 7.0], [2.0, 1e-30, 7.0]])))
    assert unit_of(ROWS) == 0
    assert unit_of(np.zeros((2, 2))) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unveil.GaussianMixture(2, random_state=0, reg_covar=0.0).fit(ROWS * 1e140)
        unveil.GaussianMixture(2, random_state=0, reg_covar=0.0).fit(ROWS * 1e-140)
