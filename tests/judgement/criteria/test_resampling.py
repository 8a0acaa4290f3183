import numpy as np
from sklearn.cluster import KMeans as Reference

from unveil.judgement.criteria.resampling import ByCentres, ByClones, draws
from unveil.judgement.criteria.rows import RESAMPLED_ROWS, Rows
from unveil.judgement.criteria.stability import compare


def blobs(n=40):
    return np.random.default_rng(0).normal(size=(3 * n, 2)) * 0.5 + np.repeat([[0, 0], [8, 0], [0, 9]], n, axis=0)


def rows(X):
    return Rows(X, np.ones(len(X)), np.arange(len(X)), None, len(X), 1.0)


def test_clusters_come_back_by_centres_and_by_clones():
    X, labels = blobs(), np.repeat([0, 1, 2], 40)
    model = Reference(3, n_init=5, random_state=0)
    for resampling in (ByCentres(rows(X), 0, sets=4), ByClones(rows(X), 0, sets=3)):
        found = resampling.labels(model, 3)
        assert all(len(each) == len(X) for each in found)
        assert compare(labels, found, np.ones(120), 3).rand == 1.0


def test_one_lump_cut_in_two_does_not_come_back():
    X = np.random.default_rng(1).normal(size=(150, 3))
    labels = Reference(2, random_state=0, n_init=3).fit(X).labels_
    assert compare(labels, ByCentres(rows(X), 0).labels(None, 2), np.ones(150), 2).rand < 0.8


def test_samples_are_fixed_bounded_and_different():
    many = rows(np.zeros((5000, 2)))
    one, two = draws(many, 0, 3, RESAMPLED_ROWS), draws(many, 0, 3, RESAMPLED_ROWS)
    assert [len(drawn) for drawn in one] == [RESAMPLED_ROWS] * 3
    np.testing.assert_array_equal(one[0], two[0])
    assert (one[0] != one[1]).any()


def test_the_same_size_is_clustered_once():
    resampling = ByCentres(rows(blobs()), 0, sets=2)
    assert resampling.labels(None, 2) is resampling.labels(None, 2)
    assert len(np.unique(resampling.labels(None, 4)[0])) == 4
    assert len(np.unique(ByCentres(rows(blobs()), 0, sets=1).labels(None, 1)[0])) == 1
