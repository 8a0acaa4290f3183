import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans as Reference
from sklearn.metrics import silhouette_score

from tests.counted import Counted
from unveil import KMeans
from unveil.judgement.criteria.resampling import ByCentres, ByClones
from unveil.judgement.criteria.rows import SAMPLE_ROWS
from unveil.judgement.criteria.study import Study
from unveil.sources import ArraySource

X = np.random.default_rng(0).normal(size=(90, 2)) * 0.5 + np.repeat([[0, 0], [8, 0], [0, 9]], 30, axis=0)


def test_all_criteria_of_a_good_clustering():
    study, model = Study(KMeans(random_state=0), X, None), KMeans(3, random_state=0, n_init=5).fit(X)
    assert study.silhouette(model) == pytest.approx(silhouette_score(X, model.labels_), abs=1e-12)
    assert study.stability(model).rand == 1.0
    assert study.gap(model) is study.gap(model)
    assert study.gap(model).value > 1.0
    assert study.even_silhouette(model) < 0.5
    assert isinstance(study.resampling, ByCentres)


def test_one_cluster_has_neither_silhouette_nor_stability():
    study, model = Study(KMeans(random_state=0), X, None), KMeans(1, random_state=0).fit(X)
    assert study.silhouette(model) is None
    assert study.stability(model) is None
    assert study.gap(model) is not None


def test_sparse_rows_have_no_gap_but_all_else():
    study = Study(Reference(random_state=0, n_init=3), csr_matrix(X), None)
    model = Reference(3, random_state=0, n_init=3).fit(csr_matrix(X))
    assert study.gap(model) is None
    assert study.even_silhouette(model) is None
    assert study.silhouette(model) == pytest.approx(silhouette_score(X, model.labels_))
    assert isinstance(study.resampling, ByClones)
    assert study.stability(model).rand == 1.0


def test_a_large_table_is_seen_through_its_sample():
    many = np.tile(X, (60, 1)) + np.random.default_rng(1).normal(size=(5400, 2)) * 0.1
    study, model = Study(KMeans(random_state=0), many, None), KMeans(3, random_state=0).fit(many)
    assert len(study.labels(model)) == SAMPLE_ROWS
    np.testing.assert_array_equal(study.labels(model), model.predict(study.rows.values))
    assert study.silhouette(model) == pytest.approx(silhouette_score(many, model.labels_), abs=0.01)


def test_a_random_state_stays_as_it_was():
    state = np.random.RandomState(0)
    before = state.get_state()[1].copy()
    seeds = {Study(KMeans(random_state=each), X, None).seed for each in (state, np.random.RandomState(0))}
    assert len(seeds) == 1
    np.testing.assert_array_equal(state.get_state()[1], before)
    assert Study(KMeans(), X, None).seed == Study(KMeans(random_state=0), X, None).seed


def test_bootstrap_samples_are_of_rows_that_are_read_once():
    source = Counted(ArraySource(np.repeat(X, 300, axis=0)))  # two partitions
    models = [KMeans(size, random_state=0).fit(source) for size in (2, 3)]
    study, before = Study(KMeans(random_state=0), source, None), source.reads
    found = [study.stability(model) for model in models]
    assert source.reads - before == 1
    again = [Study(KMeans(random_state=0), np.repeat(X, 300, axis=0), None).stability(model) for model in models]
    assert [one.rand for one in found] == [one.rand for one in again]
