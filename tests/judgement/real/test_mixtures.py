"""Components as clusters: what is merged, what is apart, what is left alone."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture as TheirMixture

import unveil
from unveil.families.columns.ellipses import Ellipses
from unveil.judgement.real.even import even_rows
from unveil.judgement.real.linkage import linked
from unveil.judgement.real.modes import hills
from unveil.judgement.real.valley import Valley


def blobs(seed, centres, n=100, d=2):
    random = np.random.default_rng(seed)
    return np.concatenate([random.normal(size=(n, d)) + centre for centre in centres])


def examined(model, X, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unveil.certificate.FitWarning)
        return unveil.examine(model.fit(X), X, **named)


def test_more_components_than_blobs_form_the_blobs():
    X = blobs(0, [[0, 0], [9, 0], [0, 9]])
    certificate = examined(unveil.GaussianMixture(6, random_state=0), X)
    assert certificate.verdicts["real"] == "yes"
    assert len(set(certificate.clusters)) == 3
    assert any(finding.kind == "merged" and finding.severity == "note" for finding in certificate.findings)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("d", [2, 15])
def test_one_cloud_cut_into_components_is_one_cluster(covariance_type, d):
    X = np.random.default_rng(1).normal(size=(200, d))
    certificate = examined(unveil.GaussianMixture(3, covariance_type=covariance_type, random_state=0), X)
    assert certificate.verdicts["real"] in ("no", "doubtful")
    assert {reason.kind for reason in certificate.reasons("real")} & {"one_mode", "unstable", "overlap"}


def test_a_ring_is_one_cluster():
    random = np.random.default_rng(2)
    angles = random.uniform(0, 2 * np.pi, size=600)
    X = np.c_[np.cos(angles), np.sin(angles)] * (1 + 0.1 * random.normal(size=600))[:, None]
    certificate = examined(unveil.GaussianMixture(7, random_state=0), X)
    assert set(certificate.clusters) == {0}
    assert certificate["clusters"].kind == "one_mode"


def test_a_thin_background_does_not_join_groups():
    X = np.concatenate([blobs(3, [[0, 0], [9, 0], [0, 9]]), np.random.default_rng(4).uniform(-4, 13, size=(40, 2))])
    certificate = examined(unveil.GaussianMixture(4, random_state=0), X)
    assert len(set(certificate.clusters)) == 3


def test_words_and_numbers_together():
    random = np.random.default_rng(5)
    label = np.repeat([0, 1], 150)
    words = {name: np.where(random.random(300) < np.where(label, 0.9, 0.1), "a", "b") for name in "pqrs"}
    table = pd.DataFrame({**words, "x": random.normal(size=300) + 4 * label, "count": random.poisson(3 + 5 * label)})
    certificate = examined(unveil.MixedMixture(2, random_state=0), table)
    assert certificate.verdicts["real"] == "yes"
    noise = table.apply(lambda column: random.permutation(column))
    assert examined(unveil.MixedMixture(2, random_state=0), noise).verdicts["real"] in ("no", "doubtful")


def test_missing_cells_and_weights():
    X = blobs(6, [[0, 0], [9, 0]])
    holes = X.copy()
    holes[np.random.default_rng(7).random(X.shape) < 0.1] = np.nan
    assert len(set(examined(unveil.GaussianMixture(2, random_state=0), holes).clusters)) == 2
    weights = np.where(X[:, 0] > 4.5, 0.0, 1.0)
    model = unveil.GaussianMixture(2, random_state=0).fit(X, sample_weight=weights)
    assert set(unveil.examine(model, X, sample_weight=weights).clusters) == {0}


def test_examining_changes_nothing_and_is_the_same_again():
    X = blobs(8, [[0, 0], [5, 0]])
    model = unveil.GaussianMixture(2, random_state=0).fit(X)
    before = {name: np.array(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    first = unveil.examine(model, X)
    assert first.to_dict() == unveil.examine(model, X).to_dict()
    assert all(np.array_equal(value, getattr(model, name)) for name, value in before.items())


def test_one_component_has_no_groups_to_examine():
    certificate = examined(unveil.GaussianMixture(1), blobs(9, [[0, 0]]))
    assert certificate.verdicts["real"] == "not examined"
    assert certificate.clusters == (0,)


def test_what_is_no_model_of_unveil():
    X = blobs(10, [[0, 0]])
    with pytest.raises(
        TypeError, match=r"must be a fitted estimator of unveil .*GaussianMixture.*; got GaussianMixture"
    ):
        unveil.examine(TheirMixture(1).fit(X), X)
    with pytest.raises(NotFittedError):
        unveil.examine(unveil.GaussianMixture(1), X)


def test_rounded_columns_are_evened_and_repetitions_left_out():
    random = np.random.default_rng(11)
    rounded = random.integers(0, 4, size=(300, 2)).astype(float)
    even, chosen = even_rows(rounded, None, np.arange(2), random)
    assert len(even) == 300
    assert np.abs(even - rounded[chosen]).max() <= 0.5
    assert len(np.unique(even[:, 0])) == 300
    twice = np.repeat(random.normal(size=(60, 2)), 3, axis=0)
    assert np.array_equal(even_rows(twice, None, np.arange(2), random)[0], twice[::3])


def test_hills_are_where_the_density_is_highest():
    means = np.array([[0.0, 0.0], [0.5, 0.0], [6.0, 0.0]])
    ellipses = Ellipses(np.arange(2), means, np.array([np.eye(2), 25 * np.eye(2), np.eye(2)]))
    found = hills(np.array([0.5, 0.2, 0.3]), ellipses)
    assert found.homes.tolist() == [0, 0, 2]
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81)), axis=-1).reshape(-1, 2)
    away = grid[:, None] - means
    logs = np.log([0.5, 0.2 / 25, 0.3]) - 0.5 * np.array([1, 1 / 25, 1]) * (away**2).sum(axis=2)
    assert found.heights[0] == pytest.approx(np.logaddexp.reduce(logs, axis=1).max(), abs=1e-3)


def test_groups_do_not_depend_on_the_order_of_pairs_that_are_far_apart():
    far = Valley(0.0, 1e-9)
    links = {(a, b): far for a in range(4) for b in range(a + 1, 4)}
    assert sorted(linked(links, np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4))) == [[0], [1], [2], [3]]
    links[0, 3] = Valley(1.0, 1.0)
    assert sorted(map(sorted, linked(links, np.ones(4), np.arange(4)))) == [[0, 3], [1], [2]]
