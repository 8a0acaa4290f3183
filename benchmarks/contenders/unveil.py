"""unveil itself, with its defaults: threads on all cores, float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders.interface import Arrays, Run
from benchmarks.tasks.components import Sparse, Wide
from benchmarks.tasks.sources import REACHED
from benchmarks.tasks.trees import notation, spelled
from unveil import (
    ICA,
    PCA,
    PCFG,
    BernoulliMixture,
    CategoricalHMM,
    GaussianHMM,
    GaussianMixture,
    KernelKMeans,
    KMeans,
    KMedoids,
    LinearDiscriminantAnalysis,
    PrincipalCurve,
    ProbabilisticPCA,
)
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.engines import Threads
from unveil.grammar import read_grammar
from unveil.numerics.blas import single_threaded_blas


def mixture(arrays: Arrays) -> Run:
    """GaussianMixture."""
    return _gaussian(arrays, arrays["rows"], "full", np.linalg.inv(arrays["covariances"]))


def diagonal(arrays: Arrays) -> Run:
    """GaussianMixture with covariance_type="diag"."""
    return _gaussian(arrays, arrays["rows"], "diag", 1.0 / arrays["covariances"])


def missing(arrays: Arrays, rows: str = "holes") -> Run:
    """GaussianMixture of the rows with holes, or of the complete ones."""
    return _gaussian(arrays, arrays[rows], "full", np.linalg.inv(arrays["covariances"]))


def _gaussian(arrays: Arrays, rows: NDArray[Any], structure: str, precisions: NDArray[Any]) -> Run:
    """GaussianMixture from the common start."""
    start = {"weights_init": arrays["weights"], "means_init": arrays["means"], "precisions_init": precisions}
    fixed = {"covariance_type": structure, "tol": 0.0, "reg_covar": 0.0, **start}

    def run(steps: int) -> Arrays:
        model = GaussianMixture(len(precisions), max_iter=steps, **fixed).fit(rows)
        return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}

    return run


def bernoulli(arrays: Arrays) -> Run:
    """BernoulliMixture from responsibilities, whose M step is where the others start."""
    shares = arrays["responsibilities"]
    fixed = {"binarize": None, "tol": 0.0, "responsibilities_init": shares}

    def run(steps: int) -> Arrays:
        model = BernoulliMixture(shares.shape[1], max_iter=steps, **fixed).fit(arrays["rows"])
        return {"weights": model.weights_, "probabilities": model.probabilities_}

    return run


def kmeans(arrays: Arrays) -> Run:
    """KMeans, which picks its algorithm itself; empty clusters are relocated, as by the others."""
    centres = arrays["centres"]
    fixed = {"init": centres, "n_init": 1, "tol": 0.0, "empty_clusters": "relocate"}

    def run(steps: int) -> Arrays:
        model = KMeans(len(centres), max_iter=steps, **fixed).fit(arrays["rows"])
        return {"centres": model.cluster_centers_, "passes": np.array(model.n_iter_)}

    return run


def seeding(arrays: Arrays) -> Run:
    """The start that KMeans takes by default, as it calls it: on the engine's threads, with BLAS held to one."""
    rows, k, start, share = arrays["rows"], int(arrays["n_clusters"]), PlusPlus(), Threads().share

    def run(steps: int) -> Arrays:
        with single_threaded_blas():
            seeds = [start(rows, None, k, np.random.default_rng(seed), share=share) for seed in range(steps)]
        return {"seeds": np.array(seeds)}

    return run


def medoids(arrays: Arrays) -> Run:
    """KMedoids of a precomputed matrix."""
    distances, start = arrays["distances"], arrays["medoids"]
    fixed = {"metric": "precomputed", "init": start, "n_init": 1}

    def run(steps: int) -> Arrays:
        model = KMedoids(len(start), max_iter=steps, **fixed).fit(distances)
        return {"medoids": model.medoid_indices_, "passes": np.array(model.n_iter_)}

    return run


def kernel(arrays: Arrays) -> Run:
    """KernelKMeans with kernel="rbf" from the common labels."""
    fixed = {"kernel": "rbf", "gamma": float(arrays["gamma"]), "n_init": 1, "init": arrays["labels"], "tol": 0.0}

    def run(steps: int) -> Arrays:
        model = KernelKMeans(int(arrays["n_clusters"]), max_iter=steps, **fixed).fit(arrays["rows"])
        return {"labels": model.labels_, "passes": np.array(model.n_iter_)}

    return run


def pca(arrays: Arrays) -> Run:
    """PCA, which picks its solver itself."""

    def run(steps: int) -> Arrays:
        model = PCA().fit(arrays["rows"])
        return {"variances": model.explained_variance_, "components": model.components_}

    return run


def wide(arrays: Arrays) -> Run:
    """PCA with few components, which picks its solver itself."""
    return _few(arrays, Wide.table(arrays))


def sparse(arrays: Arrays) -> Run:
    """PCA of compressed rows."""
    return _few(arrays, Sparse.table(arrays))


def _few(arrays: Arrays, table: Any) -> Run:
    count = int(arrays["n_components"])

    def run(steps: int) -> Arrays:
        return {"components": PCA(count, random_state=0).fit(table).components_}

    return run


def discriminant(arrays: Arrays) -> Run:
    """LinearDiscriminantAnalysis."""

    def run(steps: int) -> Arrays:
        model = LinearDiscriminantAnalysis().fit(arrays["rows"], arrays["labels"])
        return {"coefficients": model.coef_, "intercepts": model.intercept_}

    return run


def curve(arrays: Arrays) -> Run:
    """PrincipalCurve with the settings of R's princurve."""

    def run(steps: int) -> Arrays:
        model = PrincipalCurve(stretch=2, tol=1e-3, max_iter=10).fit(arrays["rows"])
        projected = model.inverse_transform(model.coordinates_[:, None])
        return {"projected": projected, "passes": np.array(model.n_iter_)}

    return run


def sources(arrays: Arrays) -> Run:
    """ICA with its default solver."""

    def run(steps: int) -> Arrays:
        model = ICA(tol=REACHED, max_iter=400, random_state=0).fit(arrays["rows"])
        return {"unmixing": model.components_, "passes": np.array(model.n_iter_)}

    return run


def factors(arrays: Arrays) -> Run:
    """ProbabilisticPCA, with a tolerance like those of the others."""

    def run(steps: int) -> Arrays:
        model = ProbabilisticPCA(int(arrays["n_components"]), tol=1e-4).fit(arrays["rows"])
        excess = np.sqrt(model.explained_variance_ - model.noise_variance_)
        noise = np.array(model.noise_variance_)
        return {"loadings": model.components_.T * excess, "mean": model.mean_, "noise": noise}

    return run


def gaussian_chain(arrays: Arrays) -> Run:
    """GaussianHMM with full covariances."""

    def run(steps: int) -> Arrays:
        model = _gaussian_chain(arrays, steps).fit(arrays["rows"], arrays["lengths"])
        common = {"start": model.startprob_, "transition": model.transmat_}
        return {**common, "means": model.means_, "covariances": model.covars_}

    return run


def categorical_chain(arrays: Arrays) -> Run:
    """CategoricalHMM."""

    def run(steps: int) -> Arrays:
        model = _categorical_chain(arrays, steps).fit(arrays["rows"], arrays["lengths"])
        return {"start": model.startprob_, "transition": model.transmat_, "emissions": model.emissionprob_}

    return run


def gaussian_chain_decoding(arrays: Arrays) -> Run:
    """decode by Viterbi."""
    model = _gaussian_chain(arrays, 1)
    model.means_, model.covars_ = arrays["means"], arrays["covariances"]
    return _decoding(model, arrays)


def categorical_chain_decoding(arrays: Arrays) -> Run:
    """decode by Viterbi."""
    model = _categorical_chain(arrays, 1)
    model.emissionprob_ = arrays["emissions"]
    return _decoding(model, arrays)


def inside_outside(arrays: Arrays) -> Run:
    """PCFG, one pass."""
    grammar, sentences = read_grammar(notation(arrays)), spelled(arrays)

    def run(steps: int) -> Arrays:
        model = PCFG(grammar, tol=0.0, max_iter=steps).fit(sentences)
        return {"binary": model.probabilities_[: len(arrays["binary"])]}

    return run


def parsing(arrays: Arrays) -> Run:
    """The best trees, built as objects."""
    model, sentences = PCFG(), [sentence.split() for sentence in arrays["sentences"].tolist()]
    model.grammar_ = read_grammar(str(arrays["grammar"]))
    return lambda steps: {"log_probabilities": np.array([best.log_probability for best in model.parse(sentences)])}


def _decoding(model: Any, arrays: Arrays) -> Run:
    model.startprob_, model.transmat_ = arrays["start"], arrays["transition"]
    return lambda steps: {"states": model.decode(arrays["rows"], arrays["lengths"])[1]}


def _gaussian_chain(arrays: Arrays, steps: int) -> Any:
    start = {"means_init": arrays["means"], "covars_init": arrays["covariances"], "reg_covar": 0.0}
    return GaussianHMM(len(arrays["start"]), **start, **_chain(arrays, steps))


def _categorical_chain(arrays: Arrays, steps: int) -> Any:
    return CategoricalHMM(len(arrays["start"]), emissionprob_init=arrays["emissions"], **_chain(arrays, steps))


def _chain(arrays: Arrays, steps: int) -> dict[str, Any]:
    start = {"startprob_init": arrays["start"], "transmat_init": arrays["transition"]}
    return {"max_iter": steps, "tol": 0.0, **start}
