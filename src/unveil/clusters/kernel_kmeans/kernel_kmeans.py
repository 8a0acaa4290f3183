"""Kernel K-means: clusters around means in a feature space, so that they may have any shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import kernel_metrics
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.certificate import Finding
from unveil.clusters.kernel_kmeans import model
from unveil.clusters.kernel_kmeans import nystroem as landmarks
from unveil.clusters.kernel_kmeans.gram import ComputedGram, FunctionKernel, Gram, HeldGram, Kernel, given, hold, named
from unveil.clusters.kmeans.kmeans import KMeans
from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, Declaration, OrNone, at_least_zero, clear_of_zero, counts, numbers
from unveil.core.loop import best_of
from unveil.core.protocols import Engine, Source
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.engines.threads import Threads
from unveil.estimation.base import Estimator, engine_for, seed_of
from unveil.estimation.declarations import sums
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import as_source, frame_of, sample_of
from unveil.estimation.task import fit_task
from unveil.estimation.units import odd_square, refuse_units
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.array import ArraySource
from unveil.storage.atomic import PathLike

LANDMARKS, LANDMARKS_PER_CLUSTER = 300, 10  # that are taken at least, and for each cluster
STARTS = {"k-means++": model.plus_plus, "random": model.random_rows}
EXACT = ("X_fit_", "diagonal_", "fit_weights_", "cluster_weights_", "cluster_norms_")
EMBEDDED = ("landmarks_", "whitening_", "cluster_centers_")


class KernelSizes(NamedTuple):
    """Up to which sizes work is exact and in memory."""

    held_bytes: int = 1 << 30  # a kernel matrix of up to this size is kept in memory
    exact_rows: int = 60_000  # more than this are embedded by landmarks, unless method="exact"
    landmark_rows: int = 8192  # that landmarks are drawn from


class KernelKMeans(Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Kernel K-means clustering.

    K-means between points that are known by their inner products k(x, y) alone: with a Gaussian kernel, clusters may
    lie around each other or be bent. Batch passes are followed by single moves until neither lowers the cost.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise`` ("rbf", "polynomial" or "poly", "cosine", "linear", "laplacian",
        "sigmoid" ...), "precomputed" (X is then the matrix of all k(x, y)), or a function of two rows. One that is not
        positive semidefinite is taken, but has no feature space; the cost then falls by single moves.
    gamma : float, "scale" or None, default=None
        Of the kernels that have one. None is 1 / n_features, "scale" 1 / (n_features * variance of all cells).
    degree, coef0 : float, default=3 and 1
        Of the kernels that have them.
    kernel_params : dict, optional
        More arguments of the kernel.
    init : {"k-means++", "random"} or array of shape (n_samples,), default="k-means++"
        Rows far from each other in feature space, any rows, or the labels to begin with.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto" is 1 for "k-means++" and 10 for "random".
    max_iter : int, default=300
    tol : float, default=0
        Stop when a pass lowers the cost by no more than this share; by default, when no row changes its cluster.
    method : {"auto", "exact", "nystroem"}, default="auto"
        "exact" keeps the kernel matrix in memory if it takes at most a gigabyte (11,585 rows, or 16,384 of float32),
        and else computes it again for every pass, tile by tile. "nystroem" projects all rows onto the span of some
        landmarks and clusters them there by `KMeans`. "auto" is exact up to 60,000 rows.
    n_landmarks : int, optional
        By default 300, or 10 a cluster if that is more.
    random_state, verbose
        As in scikit-learn.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where the work runs; it changes nothing but the time. Exact passes run on threads of this process.

    Attributes
    ----------
    labels_ : array of shape (n_samples,), int32
        Clusters come in order of falling size, or as given by `init`.
    inertia_ : float
        The cost: weighted sum of squared distances to the means in feature space. By landmarks, the means are their
        projections, which makes it an upper bound.
    n_iter_, converged_, history_, certificate_
        Passes, how they ended, the cost pass by pass (as the free energy, which is its negative), and what the fit
        was checked for.
    X_fit_, fit_weights_, cluster_weights_, cluster_norms_
        What means are made of, if exact: rows (None if precomputed), their weights, those of the clusters, and the
        squared norms of the means.
    landmarks_, whitening_, cluster_centers_
        What takes their place by landmarks; the centres are points of the embedding.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import KernelKMeans
    >>> angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> model = KernelKMeans(2, gamma=3.0, n_init=10, random_state=0).fit(np.vstack([0.2 * ring, 3 * ring[::3]]))
    >>> np.bincount(model.labels_[:60]).tolist()
    [60]
    """

    _card_from = "unveil.clusters.shown:card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({*kernel_metrics(), "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale"}), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions({"auto", "exact", "nystroem"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "engine": ENGINE_TAKEN,
    }

    _sizes: ClassVar[KernelSizes] = KernelSizes()

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        method: str = "auto",
        n_landmarks: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        engine: Any = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.method = method
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.verbose = verbose
        self.engine = engine

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d, embedded = self.n_features_in_, hasattr(self, "landmarks_")
        yield from self._declares_means(d, embedded)
        yield "labels_", counts(None if embedded else "rows", below=self._n_fitted)
        yield "inertia_", at_least_zero(high=FINITE)
        if not self._is_precomputed:
            yield "gamma_", at_least_zero()
            yield "shift_", numbers(d)

    def _declares_means(self, d: int, embedded: bool) -> Declaration:
        """What means are made of."""
        if embedded:
            yield "landmarks_", numbers("landmarks", d, bytes=(4, 8))
            yield "whitening_", numbers("dimensions", "landmarks")
            yield "cluster_centers_", numbers("clusters", "dimensions")
            return
        given = self._is_precomputed
        yield "X_fit_", OrNone(numbers("rows", d, bytes=(4, 8))) if given else numbers("rows", d, bytes=(4, 8))
        yield "fit_weights_", at_least_zero("rows")
        yield "cluster_weights_", at_least_zero("clusters", laws=(clear_of_zero,))
        yield "cluster_norms_", sums(len(self.cluster_weights_))
        if given:
            yield "diagonal_", sums("rows", bytes=(4, 8))

    def _make_ready(self) -> None:
        """The kernel of a row with itself."""
        rows = getattr(self, "landmarks_", getattr(self, "X_fit_", None))
        if rows is not None:
            points = np.asarray(rows[:1] - self.shift_, dtype=np.float64)
            if not np.all(np.isfinite(self._kernel()(points, points))):
                raise ValueError("the kernel must be finite")

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features); (n_samples, n_samples) if precomputed
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._validate_params()
        with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
            source = as_source(self, X, sample_weight, reset=True)
            if source.n_rows < self.n_clusters:
                raise ValueError(f"n_samples={source.n_rows} should be >= n_clusters={self.n_clusters}.")
            for name in (*EXACT, *EMBEDDED):  # of another fit, by another method
                self.__dict__.pop(name, None)
            self.random_seed_ = seed_of(self.random_state)
            if self._approximates(source.n_rows):
                self._fit_landmarks(source)
            else:
                self._fit_exact(source)
        return self

    def _approximates(self, n_rows: int) -> bool:
        """Whether landmarks are used; they cannot be where the kernel is known between the rows alone."""
        if self._is_precomputed:
            if self.method == "nystroem":
                raise ValueError("method='nystroem' needs a kernel to compute; kernel='precomputed' goes with 'exact'")
            return False
        return self.method == "nystroem" or (self.method == "auto" and n_rows > self._sizes.exact_rows)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _fit_exact(self, source: Source) -> None:
        rows, weights, engine = _gathered(source), landmarks.weights_of(source), self._threads(source)
        gram = self._gram_of(source, rows, engine)
        problem = model.FeatureProblem(
            gram, np.ones(len(rows)) if weights is None else weights, self.n_clusters, engine
        )
        run = partial(model.climb, max_iter=self.max_iter, tol=self.tol, callbacks=self._callbacks_for(source))
        outcome = best_of(partial(run, problem, labels) for labels in self._starts(gram, problem.weights))
        self._adopt(outcome.params, problem)
        self._conclude(outcome)

    def _threads(self, source: Source) -> Engine:
        """The engine, if it shares this process's memory; else threads."""
        engine = engine_for(self.engine, source)
        return engine if isinstance(engine, Threads) else Threads()

    def _gram_of(self, source: Source, rows: NDArray[Any], engine: Engine) -> Gram:
        """Inner products of the rows: given, or kept in memory where they fit, or computed when needed."""
        if self._is_precomputed:
            gram = given(rows)
            self.X_fit_: Any = None
            self.diagonal_ = gram.diagonal
            return gram
        self.X_fit_ = rows
        inner = self._set_kernel(source, rows)
        points = np.ascontiguousarray(rows - self.shift_, dtype=np.float64)
        if len(rows) ** 2 * rows.dtype.itemsize <= self._sizes.held_bytes:
            return hold(inner, points, rows.dtype, engine)
        return ComputedGram(inner, points, points, rows.dtype)

    def _set_kernel(self, source: Source, rows: NDArray[Any]) -> Kernel:
        """Settle what the kernel takes from the data."""
        if self.gamma is None:
            self.gamma_ = 1.0 / source.n_columns
        elif isinstance(self.gamma, str):
            with np.errstate(over="ignore", invalid="ignore"):
                variance = float(np.var(rows, dtype=np.float64))
            if odd_square(variance):
                refuse_units(source)
            self.gamma_ = 1.0 / (source.n_columns * variance) if variance > 0 else 1.0
        else:
            self.gamma_ = float(self.gamma)
        inner = self._kernel()
        self.shift_ = frame_of(source) if inner.invariant else np.zeros(source.n_columns)
        return inner

    def _kernel(self) -> Kernel:
        """The kernel that the parameters describe."""
        extra = dict(self.kernel_params or {})
        if callable(self.kernel):
            return FunctionKernel(self.kernel, extra)
        return named(self.kernel, {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}, extra)

    def _starts(self, gram: Gram, weights: Floats) -> Iterator[NDArray[np.intp]]:
        """First labels, one set per start."""
        if not isinstance(self.init, str):
            yield model.labelled(self.init, gram.shape[0], self.n_clusters)
            return
        auto = 1 if self.init == "k-means++" else 10
        count = auto if isinstance(self.n_init, str) else int(self.n_init)
        for seed in np.random.SeedSequence(self.random_seed_).generate_state(count):
            seeds = STARTS[self.init](gram, weights, self.n_clusters, np.random.default_rng(int(seed)))
            yield model.around(gram, seeds)

    def _adopt(self, clusters: model.FeatureClusters, problem: model.FeatureProblem) -> None:
        """Set what is known of the clusters."""
        counts, norms = clusters.means
        named = isinstance(self.init, str)
        order = np.argsort(-counts, kind="stable") if named else np.arange(self.n_clusters)
        self.labels_ = np.argsort(order)[clusters.labels].astype(np.int32)
        self.inertia_ = clusters.cost
        self.fit_weights_ = problem.weights
        self.cluster_weights_, self.cluster_norms_ = counts[order], norms[order]

    def _conclude(self, outcome: Fit, *more: Finding) -> None:
        """Write the certificate, with what is peculiar to kernels."""
        empty = self.n_clusters - len(np.unique(self.labels_))
        if empty and not outcome.history.events.get("empty"):
            why = f"X has fewer distinct rows than n_clusters={self.n_clusters}, or the kernel takes them for the same"
            message, remedy = f"{empty} of {self.n_clusters} clusters have no rows: {why}", "ask for fewer clusters"
            more = (*more, Finding("empty", "warning", message, float(empty), kind="point", remedy=remedy))
        counts = None if empty else np.bincount(self.labels_, minlength=self.n_clusters)
        self._report(outcome, counts, depth=5, more=more)

    def _fit_landmarks(self, source: Source) -> None:
        sample, weights = sample_of(source, self.random_seed_, self.n_clusters, self._sizes.landmark_rows)
        inner = self._set_kernel(source, sample)
        default = max(LANDMARKS, LANDMARKS_PER_CLUSTER * self.n_clusters)
        count = default if self.n_landmarks is None else int(self.n_landmarks)
        embedding = landmarks.choose(inner, self.shift_, sample, weights, count, self.random_seed_)
        self.landmarks_, self.whitening_ = embedding.landmarks, embedding.whitening
        same = {name: getattr(self, name) for name in ("n_init", "max_iter", "tol", "verbose", "engine")}
        plain = KMeans(self.n_clusters, random_state=self.random_seed_, **same)
        with landmarks.embedded(embedding, source, engine_for(self.engine, source)) as (points, left):
            landmarks.cluster(plain, points, self.init)
        self.labels_, self.inertia_ = plain.labels_, plain.inertia_ + left
        self.cluster_centers_ = plain.cluster_centers_
        share = left / self.inertia_ if self.inertia_ > 0 else 0.0
        words = f"the kernel was approximated by {len(self.landmarks_)} landmarks; {share:.2%} of the cost is off them"
        outcome = Fit(None, Statistics(), landmarks.lowered(plain.history_, left))
        self._conclude(outcome, Finding("approximation", "note", words, share))

    # -- use -----------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest cluster of each row; of each row of kernels (m, n_fitted) with the fitted rows if precomputed."""
        check_is_fitted(self)
        with single_threaded_blas():
            squares, diagonal = self._squares(as_source(self, X, reset=False), self._new_gram)
            return self._means().nearest(squares, diagonal).astype(np.int32)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, then the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X: Any) -> NDArray[Any]:
        """Distance of each row to each mean in feature space; infinite where a cluster has no rows."""
        check_is_fitted(self)
        with single_threaded_blas():
            source = as_source(self, X, reset=False)
            squares, _ = self._squares(source, self._new_norms)
            return np.ascontiguousarray(np.sqrt(np.maximum(squares, 0.0)).T, dtype=source.dtype)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the distance of each row to each mean in feature space."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows, so that more is better."""
        check_is_fitted(self)
        with single_threaded_blas():
            source = as_source(self, X, sample_weight, reset=False)
            nearest = self._squares(source, self._new_norms)[0].min(axis=0)
            weights = landmarks.weights_of(source)
            return -float(nearest.sum() if weights is None else weights @ nearest)

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator to a file that `unveil.load` reads; not if its kernel is a function.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all, in place of one that may be there.
        """
        if callable(self.kernel):
            name = getattr(self.kernel, "__name__", type(self.kernel).__name__)
            raise TypeError(f"kernel is the function {name}, which a model file cannot hold; pickle may do")
        super().save(path)

    def _means(self) -> model.FeatureMeans:
        """The means of the clusters, in feature space or in the embedding."""
        if hasattr(self, "landmarks_"):
            return model.FeatureMeans(np.ones(self._n_fitted), np.einsum("ij,ij->i", *[self.cluster_centers_] * 2))
        return model.FeatureMeans(self.cluster_weights_, self.cluster_norms_)

    def _squares(self, source: Source, gram_of: Callable[[NDArray[Any]], Gram]) -> tuple[Floats, Floats]:
        """Squared distances (k, m) of new rows to the means, and the k(x, x) of each."""
        if hasattr(self, "landmarks_"):
            embedding = landmarks.LandmarkMap(self._kernel(), self.shift_, self.landmarks_, self.whitening_)
            products, diagonal = embedding.products(self.cluster_centers_, source, engine_for(self.engine, source))
        else:
            gram = gram_of(_gathered(source))
            problem = model.FeatureProblem(gram, self.fit_weights_, self._n_fitted, self._threads(source))
            products, diagonal = problem.sums(self.labels_.astype(np.intp)), gram.diagonal
        return self._means().squares(products, diagonal), diagonal

    def _new_gram(self, rows: NDArray[Any]) -> Gram:
        """Inner products of the fitted rows with new ones; those of the new ones with themselves may be missing."""
        if self._is_precomputed:
            return HeldGram(np.ascontiguousarray(rows.T), np.zeros(len(rows)))
        points, others = (np.asarray(part - self.shift_, dtype=np.float64) for part in (self.X_fit_, rows))
        return ComputedGram(self._kernel(), points, others, rows.dtype)

    def _new_norms(self, rows: NDArray[Any]) -> Gram:
        """The same, with none missing: of a given matrix, that means that it is the fitted one."""
        gram = self._new_gram(rows)
        if not isinstance(gram, HeldGram):
            return gram
        if gram.shape != (len(self.labels_),) * 2 or not np.array_equal(np.diagonal(rows), self.diagonal_):
            raise ValueError("kernel='precomputed' knows k(x, x) of the fitted rows alone, and distances of no others")
        return HeldGram(gram.matrix, self.diagonal_)

    @property
    def _n_fitted(self) -> int:
        """Clusters that were fitted, whatever was asked for since."""
        return len(self.cluster_centers_ if hasattr(self, "landmarks_") else self.cluster_weights_)

    @property
    def _n_features_out(self) -> int:
        return self._n_fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def _gathered(source: Source) -> NDArray[Any]:
    """All rows, in memory."""
    return source.rows if isinstance(source, ArraySource) else np.concatenate([block.rows for block in source.read()])
