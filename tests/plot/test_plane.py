import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import decomposition

from unveil.plot.plane import Plane, ellipse, oriented, scale_of


def table(seed, d=4):
    random = np.random.default_rng(seed)
    return random.normal(size=(50, d)) @ random.normal(size=(d, d)) + random.normal(size=d)


def test_agrees_with_scikit_learn():
    X = table(0)
    plane, reference = Plane.of(X), decomposition.PCA(2).fit(X)
    assert not plane.standardised
    np.testing.assert_allclose(plane.share, reference.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(plane.project(X)), np.abs(reference.transform(X)), atol=1e-9)


def test_uneven_columns_are_put_on_one_scale():
    X = table(1) * [1.0, 1.0, 1000.0, 1.0]
    plane = Plane.of(X, names=list("abcd"))
    np.testing.assert_allclose(plane.scale, X.std(axis=0))
    assert plane.standardised
    assert plane.names == ("a", "b", "c", "d")


def test_constant_columns_keep_their_scale():
    assert scale_of(np.array([0.0, 1.0, 100.0])).tolist() == [1.0, 1.0, 100.0]
    assert scale_of(np.array([0.0, 7.0])).tolist() == [1.0, 1.0]


def test_weight_two_is_the_row_twice():
    X, weights = table(2), np.repeat([1, 2], 25)
    one, two = Plane.of(X, sample_weight=weights), Plane.of(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(one.project(X), two.project(X), atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_covariances_land_as_the_rows_do(seed):
    X = table(seed)
    plane = Plane.of(X)
    landed = np.cov(plane.project(X).T)
    np.testing.assert_allclose(plane.project_covariance(np.cov(X.T)), landed, rtol=1e-7, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 5.0))
def test_ellipse_lies_at_the_radius(seed, radius):
    root = np.random.default_rng(seed).normal(size=(2, 2))
    covariance, mean = root @ root.T + 0.1 * np.eye(2), np.array([3.0, -1.0])
    points = ellipse(mean, covariance, radius) - mean
    distances = np.sqrt(np.einsum("ni,ij,nj->n", points, np.linalg.inv(covariance), points))
    np.testing.assert_allclose(distances, radius, rtol=1e-7)


def test_too_small_a_table_is_named():
    with pytest.raises(ValueError, match=r"at least 2 rows and 2 columns .* got shape \(5, 1\)"):
        Plane.of(np.ones((5, 1)))


def test_planes_of_the_same_rows_face_one_way() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 1)) + 0.3 * np.random.default_rng(1).normal(size=(60, 2))
    first, again = Plane.of(rows), Plane.of(rows[::-1] * [1.0, 1.0 + 1e-9])
    np.testing.assert_allclose(first.axes, again.axes, atol=1e-6)
    assert (oriented(-first.axes) == first.axes).all()
