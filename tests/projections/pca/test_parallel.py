from __future__ import annotations

import numpy as np
import pytest

from unveil import PCA, plot
from unveil.projections.pca.parallel import direction_variances, parallel_analysis


def planted(n: int = 300) -> np.ndarray:
    random = np.random.default_rng(0)
    return random.normal(size=(n, 2)) @ random.normal(size=(2, 8)) + 0.5 * random.normal(size=(n, 8))


def test_planted_directions_stand_out_and_noise_has_none() -> None:
    assert parallel_analysis(planted()).n_directions == 2
    assert parallel_analysis(planted(), scale=False).n_directions >= 1
    assert parallel_analysis(np.random.default_rng(1).normal(size=(300, 8))).n_directions <= 1


def test_missing_cells_are_left_out_pair_by_pair() -> None:
    X = planted()
    X[np.random.default_rng(2).random(X.shape) < 0.15] = np.nan
    assert parallel_analysis(X).n_directions == 2
    assert parallel_analysis(X, scale=False).n_directions >= 1


def test_variances_are_those_of_the_covariance_also_of_wide_tables() -> None:
    X = np.random.default_rng(0).normal(size=(9, 20))
    wanted = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    np.testing.assert_allclose(direction_variances(X, scale=False), wanted[:9], atol=1e-9)
    np.testing.assert_allclose(direction_variances(X.T, scale=True).sum(), 9.0)


def test_the_scree_plot_says_how_many_stand_out() -> None:
    X = planted()
    figure = plot.scree(PCA(scale=True).fit(X), parallel_analysis(X))
    assert "2 directions stand out" in figure.layout.meta["caption"]
    bars, _, limits = figure.data
    assert [bar > limit for bar, limit in zip(bars.y, limits.y, strict=True)][:3] == [True, True, False]
    assert len(set(bars.marker.color[:2])) == 1 != len(set(bars.marker.color))
    with pytest.raises(ValueError, match="null must have the 8 directions of pca, got 2"):
        plot.scree(PCA().fit(X), parallel_analysis(X[:, :2]))


def test_what_cannot_be_shuffled_is_named() -> None:
    with pytest.raises(ValueError, match="draws must be at least 1, got 0"):
        parallel_analysis(planted(), draws=0)
    with pytest.raises(ValueError, match=r"X must have at least 3 rows, got shape \(2, 8\)"):
        parallel_analysis(planted(2))
