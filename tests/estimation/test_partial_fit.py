"""`partial_fit`: a stream ends near the fit of all of it, resumes, goes on from a fit, and survives a file."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import unveil
from unveil import BernoulliMixture, GaussianMixture, KMeans
from unveil.core.result import Status
from unveil.schedules import Stepwise
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
CENTRES = np.array([[0.0, 0.0], [15.0, 0.0], [0.0, 15.0]])


def table(n_rows: int = 6000) -> Floats:
    random = np.random.default_rng(6)
    return CENTRES[random.choice(3, n_rows, p=[0.5, 0.3, 0.2])] + random.normal(size=(n_rows, 2))


def fed(model: Any, X: Floats, size: int = 500) -> Any:
    for first in range(0, len(X), size):
        model.partial_fit(X[first : first + size])
    return model


ESTIMATORS = {
    "kmeans": lambda: KMeans(3, random_state=0),
    "full": lambda: GaussianMixture(3, random_state=0),
    "tied": lambda: GaussianMixture(3, random_state=0, covariance_type="tied"),
    "diag": lambda: GaussianMixture(3, random_state=0, covariance_type="diag"),
    "spherical": lambda: GaussianMixture(3, random_state=0, covariance_type="spherical"),
    "bernoulli": lambda: BernoulliMixture(3, random_state=0, binarize=5.0),
}
by_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def centres(model: Any) -> Floats:
    found: Floats = model.cluster_centers_ if hasattr(model, "cluster_centers_") else model.means_
    return found[np.argsort(found @ [1.0, 0.37])]


@by_estimator
def test_a_stream_ends_near_the_fit_of_all_its_rows(make: Any) -> None:
    X = table()
    stream, whole = fed(make(), X), make().fit(X)
    np.testing.assert_allclose(centres(stream), centres(whole), atol=0.15)
    assert stream.score(X) == pytest.approx(whole.score(X), rel=0.01)
    assert stream.n_iter_ == 12
    assert not stream.converged_
    assert stream.history_.status is Status.STREAMING
    assert "fed batch by batch, 12 so far" in str(stream.certificate_)
    assert stream.certificate_.ok


@by_estimator
def test_components_keep_their_numbers_along_a_stream(make: Any) -> None:
    X = table()
    model = make()
    model.partial_fit(X[:500])
    before = model.predict(X)
    fed(model, X[500:3000])
    assert np.mean(model.predict(X) == before) > 0.99


@by_estimator
def test_a_pickled_or_saved_stream_resumes_to_the_bit(make: Any, tmp_path: Path) -> None:
    X = table()
    model = fed(make(), X[:2000])
    model.save(tmp_path / "model.unveil")
    copies = [pickle.loads(pickle.dumps(model)), unveil.load(tmp_path / "model.unveil")]
    fed(model, X[2000:3000])
    for copy in copies:
        fed(copy, X[2000:3000])
        assert centres(copy).tobytes() == centres(model).tobytes()
        assert copy.n_iter_ == model.n_iter_ == 6


@by_estimator
def test_a_stream_goes_on_from_a_fit(make: Any) -> None:
    X = table()
    model = make().fit(X[:5000])
    before = centres(model)
    model.partial_fit(X[5000:])
    np.testing.assert_allclose(centres(model), before, atol=0.2)
    assert centres(model).tobytes() != before.tobytes()
    assert model.history_.status is Status.STREAMING


@by_estimator
def test_a_fit_forgets_the_stream(make: Any) -> None:
    X = table()
    used = make().partial_fit(X[:300] + 100.0).fit(X)
    assert centres(used).tobytes() == centres(make().fit(X)).tobytes()


def test_the_bound_of_each_batch_is_per_row_of_that_batch() -> None:
    X = table()
    model = GaussianMixture(3, random_state=0).partial_fit(X[:4000])
    first = model.lower_bounds_[0]
    model.partial_fit(X[4000:4100])
    assert model.lower_bounds_[0] == first
    assert model.lower_bounds_[1] == pytest.approx(first, abs=0.5)
    assert model.lower_bound_ == model.lower_bounds_[1]


def test_weights_equal_repetition_within_a_batch() -> None:
    X, times = table(400), np.random.default_rng(0).integers(0, 3, 400)
    weighted, repeated = (GaussianMixture(3, random_state=0).partial_fit(table(900)) for _ in range(2))
    weighted.partial_fit(X, sample_weight=times)
    repeated.partial_fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-9, atol=1e-9)


def test_a_faster_decay_follows_a_drift_sooner() -> None:
    drift = [table(500) + shift for shift in np.linspace(0, 4, 30)]
    slow, fast = (KMeans(3, random_state=0, schedule=Stepwise(decay=decay)) for decay in (1.0, 0.55))
    for batch in drift:
        slow.partial_fit(batch)
        fast.partial_fit(batch)
    target = np.sort((CENTRES + 4.0)[:, 0])
    errors = [np.abs(np.sort(model.cluster_centers_[:, 0]) - target).max() for model in (slow, fast)]
    assert errors[1] < errors[0]


def test_narrow_groups_keep_their_digits_in_a_stream() -> None:
    random, ratio = np.random.default_rng(0), 1e5
    X = (CENTRES / 15)[random.integers(3, size=3000)] + random.normal(size=(3000, 2)) / ratio
    stream = fed(GaussianMixture(3, random_state=0, reg_covar=0.0), X)
    whole = GaussianMixture(3, random_state=0, reg_covar=0.0).fit(X)
    assert stream.score(X) == pytest.approx(whole.score(X), rel=1e-2)
    assert np.all(stream.covariances_[:, 0, 0] * ratio**2 > 0.5)


@by_estimator
def test_what_a_stream_refuses(make: Any) -> None:
    with pytest.raises(ValueError, match=r"n_samples ?(=|>=)"):
        make().partial_fit(table(2))
    model = make().partial_fit(table(100))
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2 features as input"):
        model.partial_fit(table(100)[:, :1])
    with pytest.raises(ValueError, match="must have a positive entry, got zeros only"):
        model.partial_fit(table(100), sample_weight=np.zeros(100))


@by_estimator
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_batch_that_is_refused_leaves_the_stream_as_it_was(make: Any) -> None:
    bad = table(17_000)
    bad[16_999, 1] = np.inf
    model = make().partial_fit(table(1000))
    before = centres(model)
    with pytest.raises(ValueError, match="infinity: row 16999, column 1"):
        model.partial_fit(ArraySource(bad))
    assert centres(model).tobytes() == before.tobytes()
    fresh = make()
    with pytest.raises(ValueError, match="infinity: row 16999, column 1"):
        fresh.partial_fit(ArraySource(bad))
    fresh.partial_fit(table(1000))
    assert centres(fresh).tobytes() == before.tobytes()
