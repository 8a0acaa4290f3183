from __future__ import annotations

import numpy as np
import pytest
from sklearn import decomposition

import unveil
from unveil import plot

X = np.random.default_rng(0).normal(size=(90, 60)) * np.linspace(1, 3, 60)


def test_weights_are_those_of_the_model_ours_or_scikit_learn_s() -> None:
    narrow = X[:, :4]
    for pca in (unveil.PCA().fit(narrow), decomposition.PCA().fit(narrow)):
        cells = plot.loadings(pca, list("abcd")).data[0]
        weights = np.array(cells.z)[np.argsort(cells.y)]
        np.testing.assert_allclose(weights, pca.components_.T, atol=1e-4)


def test_of_many_columns_the_heaviest_are_drawn_and_wrong_arguments_named() -> None:
    figure = plot.loadings(pca := unveil.PCA(8).fit(X), n_directions=2)
    assert np.shape(figure.data[0].z) == (40, 2)
    assert "The 40 of 60 columns" in figure.layout.meta["caption"]
    with pytest.raises(ValueError, match="n_directions must be from 1 to 8, got 9"):
        plot.loadings(pca, n_directions=9)
    with pytest.raises(ValueError, match="names must hold 60 names, one a column; got 1"):
        plot.loadings(pca, ["a"])
