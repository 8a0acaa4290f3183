"""K-means: scikit-learn's `KMeans` with streams, engines, pruning and a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from unveil.core.fit import Parts, best_of, fit
from unveil.core.protocols import Block, Source
from unveil.estimators.base import Iterative, engine_for, seed_of
from unveil.estimators.persistence import Savable
from unveil.estimators.registry import EXPECTATIONS, SCHEDULES, SEEDINGS, lookup, resolve
from unveil.estimators.streaming import Stream, feed, resumable
from unveil.estimators.table import as_source, finite_rows, frame_of, sample_of
from unveil.expectations import Hard
from unveil.kernels.blas import single_threaded_blas
from unveil.models import kmeans as model
from unveil.models.assignment import Plain, Pruned

Floats = NDArray[np.float64]
ALGORITHMS = {"plain": Plain, "lloyd": Plain, "pruned": Pruned, "elkan": Pruned}


@dataclass(frozen=True)
class Labels:
    """Nearest centre and squared distance of each row of a block, as engines take it."""

    plan: Any

    def __call__(self, block: Block) -> tuple[NDArray[np.int32], Floats]:
        """Labels and squared distances."""
        labels = model.nearest(self.plan, finite_rows(block))
        return labels, model.squared_distances_to(self.plan, block.rows, labels)


@dataclass(frozen=True)
class Distances:
    """Distance of each row of a block to each centre."""

    plan: Any

    def __call__(self, block: Block) -> NDArray[Any]:
        """(rows, clusters), in the precision of the rows."""
        distances = np.sqrt(model.squared_distances(self.plan, finite_rows(block)))
        return distances.astype(block.rows.dtype, copy=False)


class KMeans(Savable, Iterative, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means clustering.

    Parameters and attributes are those of scikit-learn's class of the same name; what is listed here is new.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable, default="k-means++"
        Where to start. Of large tables a fixed sample of rows is drawn from.
    n_init, max_iter, tol, verbose, random_state, copy_x
        As in scikit-learn.
    algorithm : {"auto", "plain", "pruned", "lloyd", "elkan"}, default="auto"
        "plain" looks at every centre for every row, "pruned" leaves out those that the triangle inequality rules out;
        both find the same clusters. "lloyd" and "elkan" are scikit-learn's words for the two.
    engine : {"auto", "threads", "dask"} or engine, default="auto"
        Where the work runs; it changes nothing but the time.
    schedule : {"batch", "stepwise"} or schedule, default="batch"
        When the centres move: after every pass, or after every mini-batch.
    expectation : {"hard"}, default="hard"
        K-means assigns each row to one cluster; for soft assignment take ``GaussianMixture``.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        As in scikit-learn. Clusters come in order of falling size, or as given by `init`.
    converged_ : bool
        Whether assignments (or, to within `tol`, centres) stopped changing.
    history_, certificate_
        The cost pass by pass (as the free energy, which is its negative), and what the fit was checked for.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import KMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> model.inertia_
    16.0
    >>> model.predict([[0, 0], [12, 3]]).tolist() in ([0, 1], [1, 0])
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(SEEDINGS)), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"auto", *ALGORITHMS})],
        "engine": [StrOptions({"auto", "threads", "dask"}), HasMethods("map_reduce")],
        "schedule": [StrOptions(set(SCHEDULES)), HasMethods("sweep")],
        "expectation": [StrOptions({"hard"}), HasMethods("responsibilities")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "auto",
        engine: Any = "auto",
        schedule: Any = "batch",
        expectation: Any = "hard",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Find the clusters.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._check()
        with single_threaded_blas():
            source = as_source(self, X, sample_weight, reset=True)
            self._check_size(source)
            self.random_seed_ = seed_of(self.random_state)
            shift = frame_of(source)
            sample, weights = sample_of(source, self.random_seed_, self.n_clusters)
            parts = self._parts(shift, source, self.tol * float(np.mean(np.var(sample, axis=0, dtype=np.float64))))
            begin = self._starts(sample, weights, shift)
            outcome = best_of(partial(fit, parts, model.Centres(centres)) for centres in begin)
            counts = outcome.statistics["counts"] if outcome.history else np.zeros(self.n_clusters)
            named = isinstance(self.init, str)
            self._adopt(
                resumable(outcome, shift, np.argsort(-counts, kind="stable") if named else np.arange(len(counts)))
            )
            self.labels_, self.inertia_ = self._assign(source)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Learn from one more batch of a stream, by stepwise updates of the centres.

        The first batch chooses the start and so needs at least `n_clusters` rows.
        """
        self._check()
        fresh = not hasattr(self, "_stream")
        with single_threaded_blas():
            source = as_source(self, X, sample_weight, reset=fresh)
            if fresh:
                self._check_size(source)
                self.random_seed_ = seed_of(self.random_state)
                shift = frame_of(source)
                sample, weights = sample_of(source, self.random_seed_, self.n_clusters)
                start = model.Centres(next(self._starts(sample, weights, shift)))
                self._stream = Stream(shift, start, np.arange(self.n_clusters))
            self._adopt(feed(self._stream, self._parts(self._stream.shift, source, 0.0)))
            self.labels_, self.inertia_ = self._assign(source)
        return self

    def _check(self) -> None:
        self._validate_params()
        if not isinstance(resolve("expectation", self.expectation, EXPECTATIONS, "responsibilities"), Hard):
            reason = "K-means assigns every row to one cluster"
            raise ValueError(f"expectation must be 'hard', got {self.expectation!r}: {reason}; GaussianMixture is soft")

    def _check_size(self, source: Source) -> None:
        if source.n_rows < self.n_clusters:
            raise ValueError(f"n_samples={source.n_rows} should be >= n_clusters={self.n_clusters}.")

    def _parts(self, shift: Floats, source: Source, tol: float) -> Parts:
        if self.algorithm == "auto":
            assignment = model.choose(source.n_rows, source.n_columns, self.n_clusters)
        else:
            assignment = ALGORITHMS[self.algorithm]()
        return Parts(
            model.KMeans(self.n_clusters, shift, assignment),
            source,
            Hard(),
            resolve("schedule", self.schedule, SCHEDULES, "sweep"),
            engine_for(self.engine, source),
            model.AssignmentsFixed(tol),
            self.max_iter,
            self.random_seed_,
            self._callbacks_for(source),
        )

    def _starts(self, sample: NDArray[Any], weights: Floats | None, shift: Floats) -> Iterator[Floats]:
        """First centres in the frame, one set per start."""
        if isinstance(self.init, str):
            seeding = lookup(SEEDINGS[self.init])()
            rows = sample - shift
            auto = 1 if self.init == "k-means++" else 10
            for seed in np.random.SeedSequence(self.random_seed_).generate_state(self._n_starts(auto)):
                yield rows[seeding(rows, weights, self.n_clusters, np.random.default_rng(int(seed)))]
        elif callable(self.init):
            random = check_random_state(self.random_seed_)
            for _ in range(self._n_starts(10)):
                yield self._given(self.init(sample, self.n_clusters, random_state=random), shift)
        else:
            yield self._given(self.init, shift)

    def _n_starts(self, auto: int) -> int:
        return auto if isinstance(self.n_init, str) else int(self.n_init)

    def _given(self, centres: Any, shift: Floats) -> Floats:
        centres = check_array(centres, dtype=np.float64, input_name="init")
        if centres.shape != (self.n_clusters, len(shift)):
            wanted = (self.n_clusters, len(shift))
            raise ValueError(f"init must have shape (n_clusters, n_features) = {wanted}, got {centres.shape}")
        return np.ascontiguousarray(centres - shift)

    def _adopt(self, stream: Stream) -> None:
        """Set the fitted attributes, but for those that take a look at every row."""
        self._stream = stream
        self.cluster_centers_ = (stream.params.centres + stream.shift)[stream.order]
        self._report(stream.outcome, None)

    # -- use -----------------------------------------------------------------------------------------------------------

    def _plan(self) -> Any:
        """The fitted centres as the kernels want them, in a frame in their middle."""
        centres = np.asarray(self.cluster_centers_, dtype=np.float64)
        frame = model.KMeans(len(centres), centres.mean(axis=0))
        return frame.prepare(frame.start(centres))

    def _assign(self, source: Source) -> tuple[NDArray[np.int32], float]:
        """Labels of all rows and their cost, summed block by block in order."""
        engine = engine_for(self.engine, source)
        weights = (block.weights for block in source.read()) if _weighted(source) else None
        labels, inertia = [], 0.0
        for here, squares in engine.map(Labels(self._plan()), source):
            labels.append(here)
            inertia += float(squares.sum() if weights is None else next(weights) @ squares)
        return np.concatenate(labels), inertia

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest cluster of each row."""
        check_is_fitted(self)
        with single_threaded_blas():
            return self._assign(as_source(self, X, reset=False))[0]

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, then the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X: Any) -> NDArray[Any]:
        """Distance of each row to each centre."""
        check_is_fitted(self)
        source = as_source(self, X, reset=False)
        with single_threaded_blas():
            return np.concatenate(list(engine_for(self.engine, source).map(Distances(self._plan()), source)))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows, so that more is better."""
        check_is_fitted(self)
        with single_threaded_blas():
            return -self._assign(as_source(self, X, sample_weight, reset=False))[1]

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _weighted(source: Source) -> bool:
    """Whether the rows carry weights."""
    return next(iter(source.read([0]))).weights is not None
