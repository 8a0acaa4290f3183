"""K-medoids: clusters around rows of the table, under any dissimilarity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import _VALID_METRICS
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.certificate import Finding
from unveil.clusters.medoids.clara import Clara, SampleSizes
from unveil.clusters.medoids.dissimilarity import learned, metric_of
from unveil.clusters.medoids.input import GivenMatrix, Measured, MedoidColumns, Pairs, concurrently, nearest_in, toward
from unveil.clusters.medoids.search import MedoidSearch, counted, kicks_for
from unveil.clusters.medoids.starts import Medoids, Start, build, greedy, plus_plus, random_rows
from unveil.core.checkpoint import noted_each
from unveil.core.declared import (
    FINITE,
    AllOf,
    Declaration,
    MayLack,
    OrNone,
    RecordOf,
    Tried,
    at_least_zero,
    by_hand,
    counts,
    distinct,
    not_negative,
    numbers,
    semidefinite,
)
from unveil.core.loop import best_of
from unveil.core.protocols import Block, Engine, Source
from unveil.core.result import Fit, State
from unveil.estimation.base import Estimator, engine_for, seed_of
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import as_source, sample_of
from unveil.estimation.task import fit_task
from unveil.estimation.units import LENGTHS, UnitsError, learn_in_other_units, odd_length, refuse_units
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.rows import take
from unveil.storage.atomic import PathLike

STARTS: dict[str, Start] = {
    "greedy": greedy,
    "lab": greedy,
    "build": build,
    "k-medoids++": plus_plus,
    "random": random_rows,
}
AUTO_STARTS = 4  # at most, with n_init="auto": where groups are told apart, the second ends where the first did
SAMPLES = 5  # of method="clara", as Kaufman and Rousseeuw have it


EUCLIDEAN = ("euclidean", "l2")
SQUARING = (*EUCLIDEAN, "sqeuclidean", "nan_euclidean", "minkowski", "seuclidean", "mahalanobis")
"""Metrics that square differences."""


class KMedoids(Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-medoids clustering by FasterPAM.

    K rows, the medoids, stand for all; the total dissimilarity of the rows to their nearest medoid is least. Any
    dissimilarity will do, so there need not be means, nor even columns.

    Parameters
    ----------
    n_clusters : int, default=8
    metric : str or callable, default="euclidean"
        A metric of scikit-learn's ``pairwise_distances``, a symmetric function of two rows, or "precomputed": X is then
        a square matrix, whose entry (i, j) is the dissimilarity of row i to row j as its medoid. It need not be
        symmetric, but finite and not negative.
    metric_params : dict or None, default=None
        Arguments of the metric. Variances ("seuclidean") and covariance ("mahalanobis") come from X if not given.
    init : {"greedy", "lab", "build", "k-medoids++", "random"} or array of shape (n_clusters,), default="greedy"
        First medoids: the best of a few rows at each step ("lab" is another word for it), the best of all rows, rows
        drawn far from each other, any rows, or the row numbers given. "greedy" costs next to nothing and leads to the
        best optima more often than "random" does; "build" takes longer than the search itself.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept; samples of ``method="clara"``. Where several are asked for, each
        goes on from perturbations of the optimum it found, up to 100 times as long as the table is small: with 10, a
        small table is searched as thoroughly as seconds allow. "auto" is as many plain starts as it takes for two to
        end at the same loss, 4 at most; 5 samples; given medoids are one start.
    max_iter : int, default=300
        Rounds over all rows that one descent may take.
    method : {"auto", "fasterpam", "clara"}, default="auto"
        "fasterpam" makes the matrix of all pairs, "clara" searches on samples and never holds more than a sample's.
        "auto" takes the former up to a gigabyte (11,585 rows of float64, 16,384 of float32) or if X is a matrix of
        dissimilarities anyway.
    verbose : int, default=0
    random_state : int, RandomState or None, default=None
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where the work runs; it changes nothing but the time.

    Attributes
    ----------
    medoid_indices_ : array of shape (n_clusters,)
        Row numbers of the medoids, in order of falling cluster size, or as given by `init`.
    cluster_centers_ : array of shape (n_clusters, n_features) or None
        The medoids; None if X was a matrix of dissimilarities.
    labels_ : array of shape (n_samples,)
        Nearest medoid of each row, the first of equals.
    inertia_ : float
        Total dissimilarity of the rows to their medoids, weights included.
    metric_params_ : dict
        Arguments of the metric, with what it took from X.
    n_iter_, converged_, history_, certificate_
        Rounds on the way to the best (samples of "clara"), whether no swap lowers the loss any more, the loss round by
        round (as the free energy, which is its negative), and what the fit was checked for.

    References
    ----------
    Schubert and Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of the PAM, CLARA, and
    CLARANS algorithms", 2021. Kaufman and Rousseeuw, "Finding groups in data", 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import KMedoids
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMedoids(2, metric="manhattan", random_state=0).fit(X)
    >>> sorted(model.medoid_indices_.tolist()), model.inertia_
    ([0, 3], 8.0)
    >>> model.predict(X[model.medoid_indices_]).tolist()
    [0, 1]
    """

    _card_from = "unveil.clusters.shown:card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions({"precomputed", *_VALID_METRICS}), callable],
        "metric_params": [dict, None],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"auto", "fasterpam", "clara"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "engine": ENGINE_TAKEN,
    }

    _sizes: ClassVar[SampleSizes] = SampleSizes()

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "greedy",
        n_init: Any = "auto",
        max_iter: int = 300,
        method: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        engine: Any = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.method = method
        self.verbose = verbose
        self.random_state = random_state
        self.engine = engine

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "medoid_indices_", counts("clusters")
        k = len(self.medoid_indices_)
        yield "labels_", counts("rows", below=max(k, 1))
        below = min(len(self.labels_), d) if self._precomputed else len(self.labels_)
        yield "medoid_indices_", counts(k, below=max(below, 1), laws=(distinct,))
        yield "inertia_", at_least_zero(high=FINITE)
        rows = numbers(k, d, bytes=(4, 8), gaps=self._missing)
        yield "cluster_centers_", OrNone(rows) if self._precomputed else rows
        laws = {"VI": (semidefinite,), "V": (not_negative,), "w": (not_negative,), "p": (not_negative,)}
        params = {name: MayLack(by_hand(laws=law)) for name, law in laws.items()}
        yield "metric_params_", AllOf((RecordOf(dict, params), Tried(self._try_metric)))

    def _try_metric(self, params: dict[str, Any]) -> None:
        """Measure from medoid to medoid."""
        if not self._precomputed:
            rows: Any = self.cluster_centers_
            found = toward(metric_of(self.metric, params), rows, self._missing, Block(0, 0, rows))
            if not np.all(np.isfinite(found)):
                raise ValueError("dissimilarities must be finite")

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Find the medoids.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features), or (n_samples, n_samples)
            The rows, or their dissimilarities if ``metric="precomputed"``.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._validate_params()
        with single_threaded_blas(), fit_task(self, X=X, sample_weight=sample_weight):
            source = as_source(self, X, sample_weight, reset=True, missing=self._missing)
            if source.n_rows < self.n_clusters:
                raise ValueError(f"n_samples={source.n_rows} should be >= n_clusters={self.n_clusters}.")
            self.random_seed_ = seed_of(self.random_state)
            engine = engine_for(self.engine, source)
            pairs = self._pairs(source, engine)
            search = self._sampled if self._in_samples(source) else self._whole
            try:
                self._adopt(pairs, search(pairs, source, engine))
            except UnitsError as error:
                if self.metric not in EUCLIDEAN:
                    raise
                learn_in_other_units(self, error, {"inertia_": 1, "cluster_centers_": 1})
                return self
            self.cluster_centers_ = None if self._precomputed else take(source, self.medoid_indices_)
        return self

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _missing(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    def _pairs(self, source: Source, engine: Engine) -> Pairs:
        """Dissimilarities between the rows."""
        self.metric_params_: dict[str, Any] = {}
        if self._precomputed:
            return GivenMatrix(source)
        self.metric_params_ = learned(
            self.metric, self.metric_params, lambda: sample_of(source, self.random_seed_, self.n_clusters)[0]
        )
        return Measured(source, metric_of(self.metric, self.metric_params_), engine, self._missing)

    def _in_samples(self, source: Source) -> bool:
        """Whether to search on samples."""
        fits = source.n_rows**2 * source.dtype.itemsize <= self._sizes.matrix_bytes or self._precomputed
        return self.method == "clara" or (self.method == "auto" and not fits)

    def _whole(self, pairs: Pairs, source: Source, engine: Engine) -> Fit:
        """The best of all starts, by the matrix of all pairs."""
        given, rows = self._given_medoids(source.n_rows), np.arange(source.n_rows)
        able = rows if given is not None else counted(rows, pairs.weights, self.n_clusters)
        matrix = pairs.all() if len(able) == len(rows) else pairs.among(able)
        search = MedoidSearch(matrix, pairs.weights[able], self.max_iter)
        if given is not None:
            return best_of(self._told(source, iter([search.descend(given)])))
        count, start = self._n_starts(AUTO_STARTS), STARTS[self.init]
        seeds = np.random.SeedSequence(self.random_seed_).generate_state(count).tolist()
        if isinstance(self.n_init, str):
            fits = search.agreed(start, self.n_clusters, seeds)
        else:
            kicks = kicks_for(len(able), count)
            tasks = [partial(search.restart, start, self.n_clusters, seed, kicks) for seed in seeds]
            inputs = [(*search.inputs, start, self.n_clusters, seed, kicks) for seed in seeds]
            fits = noted_each("restart of medoids", inputs, tasks, partial(concurrently, engine))
        best = best_of(self._told(source, fits))
        order = search.by_size(best.params)  # or labels would have to be found twice
        return replace(best, params=able[best.params[order]])

    def _sampled(self, pairs: Pairs, source: Source, engine: Engine) -> Fit:
        """The best of all samples."""
        given = self._given_medoids(source.n_rows)
        start = STARTS["greedy" if given is not None else self.init]
        clara = Clara(pairs, start, self.max_iter, self._sizes)
        samples = clara.samples(self.n_clusters, self._n_starts(SAMPLES), self.random_seed_, given)
        *_, best = self._told(source, samples)
        *_, best = (best, *self._told(source, clara.refined(best(), self.random_seed_)))
        return best()

    def _n_starts(self, auto: int) -> int:
        return auto if isinstance(self.n_init, str) else int(self.n_init)

    def _given_medoids(self, n_rows: int) -> Medoids | None:
        """The row numbers that `init` gives, if it does."""
        if isinstance(self.init, str):
            return None
        given = np.asarray(self.init)
        if given.shape != (self.n_clusters,) or given.dtype.kind not in "iu":
            got = f"{given.dtype} of shape {given.shape}"
            raise ValueError(f"init must be a word or {self.n_clusters} row numbers, one a cluster, got {got}")
        if given.min() < 0 or given.max() >= n_rows or len(np.unique(given)) < len(given):
            shown = np.array2string(given, threshold=10)
            raise ValueError(f"init must be different row numbers from 0 to {n_rows - 1}, got {shown}")
        return given.astype(np.int64)

    def _told(self, source: Source, fits: Iterator[Fit]) -> Iterator[Any]:
        """The fits, as `best_of` takes them, each of which the callbacks are shown."""
        callbacks = self._callbacks_for(source)
        for number, found in enumerate(fits, 1):
            for callback in callbacks:
                callback(State(number, found.params, found.statistics, found.history[-1]))
            yield lambda found=found: found

    def _adopt(self, pairs: Pairs, outcome: Fit) -> None:
        """Set the fitted attributes."""
        medoids: Medoids = outcome.params
        labels, loss = pairs.nearest(medoids)
        if isinstance(self.metric, str) and self.metric in SQUARING and odd_length(loss):
            refuse_units(pairs.source, limits=LENGTHS)
        counts = np.bincount(labels, pairs.weights, self.n_clusters)
        if isinstance(self.init, str):
            order = np.argsort(-counts, kind="stable")
            if np.any(order[1:] < order[:-1]):
                medoids, counts = medoids[order], counts[order]
                labels, loss = pairs.nearest(medoids)  # anew, since the order decides between equals
        self.medoid_indices_, self.labels_, self.inertia_ = medoids, labels, loss
        self._report(outcome, counts, more=self._distinct(len(np.unique(labels))))

    def _distinct(self, occupied: int) -> list[Finding]:
        """Tell of medoids that coincide, which are not left where there are enough rows that differ."""
        if occupied == self.n_clusters:
            return []
        message = (
            f"fewer than n_clusters={self.n_clusters} rows of positive weight differ: {occupied} clusters have rows"
        )
        return [Finding("distinct", "warning", message, float(occupied), kind="point", remedy="ask for fewer clusters")]

    # -- use -----------------------------------------------------------------------------------------------------------

    def _toward(self, X: Any, sample_weight: Any = None) -> tuple[Source, Engine, Any]:
        """New rows, the engine, and what gives the dissimilarities of a block of them to the medoids."""
        check_is_fitted(self)
        source = as_source(self, X, sample_weight, reset=False, missing=self._missing)
        metric = (
            MedoidColumns(self.medoid_indices_) if self._precomputed else metric_of(self.metric, self.metric_params_)
        )
        return source, engine_for(self.engine, source), partial(toward, metric, self.cluster_centers_, self._missing)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest medoid of each row.

        If ``metric="precomputed"``, X holds the dissimilarities of new rows to all the rows of the fit, one a column.
        """
        with single_threaded_blas():
            return nearest_in(*self._toward(X))[0]

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, then the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X: Any) -> NDArray[Any]:
        """Dissimilarity of each row to each medoid."""
        with single_threaded_blas():
            source, engine, measure = self._toward(X)
            return np.concatenate(list(engine.map(measure, source)))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the dissimilarity of each row to each medoid."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the total dissimilarity of the rows to their medoids, so that more is better."""
        with single_threaded_blas():
            return -nearest_in(*self._toward(X, sample_weight))[1]

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator to a file that `unveil.load` reads; not with a function as its metric."""
        if callable(self.metric):
            name = getattr(self.metric, "__name__", type(self.metric).__name__)
            raise TypeError(f"metric is the function {name}, which a model file cannot hold; pickle may do")
        super().save(path)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.allow_nan = self._missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
