"""Values of model files against the declarations of their classes: on purpose, so with a digest that is right."""

from pathlib import Path

import numpy as np
import pytest

import unveil
from unveil.storage.file import ModelFileError, read, write

MODELS = Path(__file__).parents[1] / "data" / "models" / "0.1-format-2"
random = np.random.default_rng(0)
ROWS = random.normal(size=(60, 3)) + 4.0 * np.eye(3)[np.arange(60) % 3]
FLAT = np.column_stack([ROWS[:, 0], np.full(60, 5.0), ROWS[:, 2]])
LABELS = np.arange(60) % 3
PAIRS = np.repeat(ROWS[:2], 10, axis=0)
AHA = "S -> S S [0.25] | 'ha' [0.75]"


def by_hand():
    model = unveil.GaussianHMM(2, covariance_type="diag")
    model.startprob_, model.transmat_ = [0.5, 0.5], [[1, 0], [0.2, 0.8]]
    model.means_, model.covariances_ = [[0, 0], [3, 3]], np.ones((2, 2))
    return model


def gaussians(**options):
    return unveil.GaussianMixture(2, random_state=0, **options)


FITS = {
    "float32": lambda: gaussians().fit(ROWS.astype(np.float32)),
    "one column": lambda: gaussians().fit(ROWS[:, :1]),
    "one component": lambda: unveil.StudentMixture(1).fit(ROWS),
    "a column without variance": lambda: gaussians(reg_covar=0, covariance_type="diag").fit(FLAT),
    "weights of zero": lambda: gaussians().fit(ROWS, sample_weight=LABELS > 0),
    "no pass": lambda: gaussians(max_iter=0).fit(ROWS),
    "other sizes asked for since": lambda: gaussians().fit(ROWS).set_params(n_components=7),
    "nothing but ones": lambda: unveil.BernoulliMixture(2, random_state=0).fit(np.ones((20, 2))),
    "nothing but zeros": lambda: unveil.PoissonMixture(2, random_state=0).fit(np.zeros((20, 2))),
    "empty clusters": lambda: unveil.KMeans(5, random_state=0).fit(PAIRS),
    "dropped clusters": lambda: unveil.KMeans(5, random_state=0, empty_clusters="drop").fit(PAIRS),
    "huge": lambda: unveil.KMeans(3, random_state=0).fit(1e140 * ROWS),
    "kernels of float32": lambda: unveil.KernelKMeans(3, random_state=0).fit(ROWS.astype(np.float32)),
    "given kernels": lambda: unveil.KernelKMeans(3, kernel="precomputed", random_state=0).fit(ROWS @ ROWS.T),
    "medoids on a point": lambda: unveil.KMedoids(3, random_state=0).fit(np.ones((10, 2))),
    "powers": lambda: unveil.KMedoids(2, metric="minkowski", metric_params={"p": 3}, random_state=0).fit(ROWS),
    "no components": lambda: unveil.PCA(0).fit(ROWS),
    "rows that are equal": lambda: unveil.PCA().fit(np.ones((9, 3))),
    "fewer rows than columns": lambda: unveil.PCA(3).partial_fit(ROWS[:2]),
    "no factors": lambda: unveil.ProbabilisticPCA(0).fit(ROWS),
    "noise at its floor": lambda: unveil.FactorAnalysis(1).fit(FLAT),
    "too few rows": lambda: unveil.LinearDiscriminantAnalysis().partial_fit(ROWS[:2], [0, 1], classes=[0, 1, 2]),
    "rows that do not span all columns": lambda: unveil.LinearDiscriminantAnalysis(solver="eigen").partial_fit(
        FLAT[:9], LABELS[:9], classes=[0, 1, 2]
    ),
    "a class without rows": lambda: unveil.LinearDiscriminantAnalysis().partial_fit(
        ROWS[LABELS < 2], LABELS[LABELS < 2], classes=[0, 1, 2]
    ),
    "a curve that is a point": lambda: unveil.PrincipalCurve().fit(np.ones((9, 2))),
    "states that are not left": lambda: unveil.GaussianHMM(2, transitions="left-right", random_state=0).fit(ROWS),
    "no pass of a chain": lambda: unveil.GaussianHMM(2, random_state=0, max_iter=0).fit(ROWS),
    "fixed states": lambda: unveil.GaussianHMM(
        2, random_state=0, fixed={"transmat": True}, transmat_init=[[1, 0], [0, 1]]
    ).fit(ROWS),
    "a chain set by hand": by_hand,
    "a grammar that was not fitted": lambda: unveil.PCFG.from_grammar(AHA),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_what_a_fit_leaves_behind_can_be_kept(name, tmp_path):
    path = tmp_path / "model.unveil"
    FITS[name]().save(path)
    unveil.load(path)


def changed(name, place, change, path):
    """A file of `tests/data/models` with an array or a value of its header changed, and a digest that is right."""
    header, arrays = read(MODELS / f"{name}.unveil")
    if place in arrays:
        arrays[place] = change(arrays[place].copy())
    else:
        section, _, key = place.partition(".")
        header[section][key] = change(header[section].get(key))
    write(path, header, arrays)
    return path


def put(value, *place):
    """A change of an array: another value at a place."""

    def change(array):
        array[place] = value
        return array

    return change


def given(value):
    """A change: another value for all of it."""
    return lambda before: value


CHANGES = [
    ("KernelKMeans", "labels_", put(1 << 20, 5), "labels_ must hold numbers from 0 to 2"),
    ("KernelKMeans", "labels_", put(-1, 5), "labels_ must hold numbers from 0 to 2"),
    ("KernelKMeans", "fit_weights_", lambda array: array[:-1], "fit_weights_ must have shape"),
    ("KernelKMeans-nystroem", "whitening_", lambda array: array[:, :-1], "whitening_ must have shape"),
    ("KMedoids", "medoid_indices_", put(60, 0), "medoid_indices_ must hold numbers from 0 to 59"),
    ("KMedoids", "metric_params_.VI", np.negative, "positive semidefinite"),
    ("KMeans", "cluster_centers_", put(np.nan, 0, 0), "cluster_centers_ must not hold NaN"),
    ("KMeans", "cluster_centers_", lambda array: array[:-1], "labels_ must hold numbers from 0 to 1, got 2"),
    ("KMeans", "labels_", put(3, 0), "labels_ must hold numbers from 0 to 2"),
    ("KMeans", "_stream.running.statistics.counts", np.negative, "counts must hold numbers from 0"),
    ("KMeans", "_stream.running.statistics.sums", lambda array: array[:, :-1], "sums must have shape"),
    ("KMeans", "_stream.order", put(0, slice(None)), "order must hold no value twice"),
    ("GaussianMixture", "weights_", np.negative, "weights_ must hold numbers from 0"),
    ("GaussianMixture", "weights_", lambda array: 2 * array, "weights_ must sum to 1"),
    ("GaussianMixture", "covariances_", put(9.0, 0, 0, 1), "covariances_ must be symmetric"),
    ("GaussianMixture", "covariances_", np.negative, "covariances_ must be positive definite"),
    ("GaussianMixture", "_stream.running.statistics.moments", np.negative, "must have weights from 0"),
    ("GaussianMixture", "parameters.covariance_type", given("diag"), "covariances_ must have shape"),
    ("GaussianMixture", "parameters.n_components", given(0), "n_components"),
    ("GaussianMixture", "attributes.weights_", given("x"), "weights_ must hold floats, got 'x'"),
    ("GaussianMixture", "attributes.other_", given(1), "other_ is not declared"),
    ("StudentMixture", "degrees_of_freedom_", np.negative, "degrees_of_freedom_ must hold numbers"),
    ("BernoulliMixture", "probabilities_", lambda array: array + 1, "probabilities_ must hold numbers from 0 to 1"),
    ("PoissonMixture", "rates_", np.negative, "rates_ must hold numbers from 0"),
    ("CategoricalMixture", "probabilities_.0", lambda array: array[:, :-1], "shape"),
    ("MixedMixture", "attributes.kinds_", given(["number"] * 6), "kinds_|parts|params_"),
    ("MixedMixture", "params_.parts.0.means", put(np.inf, 0, 0), "means must hold numbers"),
    ("GaussianHMM", "transmat_", lambda array: array.T * 0.7, "transmat_ must sum to 1"),
    ("GaussianHMM", "startprob_", lambda array: array[:-1] / array[:-1].sum(), "shape"),
    ("CategoricalHMM", "emissionprob_", np.negative, "non-negative"),
    ("PCA", "components_", lambda array: array[:, :-1], "components_ must have shape"),
    ("PCA", "_moments.scatter", np.negative, "scatter must be positive semidefinite"),
    ("PCA-weighted", "scale_", put(0.0, 0), "scale_ must hold numbers from"),
    ("ProbabilisticPCA", "attributes.noise_variance_", given(-1.0), "noise_variance_ must hold numbers"),
    ("FactorAnalysis", "_moments.products", np.negative, "_moments cannot be"),
    ("LinearDiscriminantAnalysis", "_scatter.within", np.negative, "positive semidefinite"),
    ("ICA", "mixing_", lambda array: array[:, :-1], "mixing_ must have shape"),
    ("PrincipalCurve", "positions_", lambda array: array[::-1].copy(), "positions_ must never fall"),
    ("GenerativeTopographicMap", "lattice_", put(0.3, 0, 0), "lattice_ must be the points of a lattice"),
    ("GenerativeTopographicMap", "attributes.basis_shape_", given({"tuple": [1 << 30, 9]}), "basis_ must have shape"),
    ("PCFG", "counts_", lambda array: array[:-1], "counts_ must have shape"),
    ("PCFG", "grammar_.probabilities", np.negative, "probabilities must be numbers of at least 0"),
]


@pytest.mark.parametrize(("name", "place", "change", "match"), CHANGES)
def test_what_no_fit_leaves_behind_is_refused(name, place, change, match, tmp_path):
    path = changed(name, place, change, tmp_path / "model.unveil")
    with pytest.raises(ModelFileError, match=match) as caught:
        unveil.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("means_", [[0, 0], [np.nan, 3]], "means_ must not hold NaN"),
        ("transmat_", [[0.5, 0.6], [0.2, 0.8]], "transmat_ must sum to 1"),
        ("extra_", 3, "extra_ is not declared"),
        ("algorithm", "best", "algorithm"),
    ],
)
def test_what_would_not_open_is_not_saved(name, value, match, tmp_path):
    model, path = by_hand(), tmp_path / "model.unveil"
    setattr(model, name, value)
    with pytest.raises(ValueError, match=f"GaussianHMM cannot be saved, since its file would not open: .*{match}"):
        model.save(path)
    assert not path.exists()


def test_kernels_go_by_the_clusters_that_were_fitted():
    model = unveil.KernelKMeans(3, random_state=0).fit(ROWS)
    before = model.predict(ROWS)
    np.testing.assert_array_equal(model.set_params(n_clusters=1).predict(ROWS), before)
    assert model.transform(ROWS).shape == (60, 3)
