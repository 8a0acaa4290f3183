"""K-means: scikit-learn's `KMeans` with streams, engines, pruning, policies for empty clusters and a certificate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from unveil.clusters.assignment.assign import Assignment
from unveil.clusters.assignment.choice import MEMORY_BYTES, choose
from unveil.clusters.assignment.direct import is_direct
from unveil.clusters.assignment.kd_tree import KDTree
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.clusters.kmeans import model
from unveil.clusters.kmeans.empty import POLICIES, around, kept, remaining
from unveil.clusters.kmeans.geometry import METRICS, MISSING, RowGeometry, geometry_of, is_lone
from unveil.clusters.kmeans.prediction import Assigned, CentredClusters
from unveil.clusters.kmeans.restarts import HARTIGAN_WORK, FramedTable, RestartClimb
from unveil.clusters.kmeans.short_runs import SEEDINGS
from unveil.clusters.kmeans.starts import STARTS, StartGround, at_hand, in_units, is_refined, starts, times_of
from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, LARGEST, Declaration, Declared, RecordOf, at_least_zero, counts, numbers
from unveil.core.loop import Parts
from unveil.core.memory import memo_room
from unveil.core.protocols import Source
from unveil.core.result import Fit
from unveil.estimation.base import Estimator, engine_for, seed_of
from unveil.estimation.declarations import SEED, StreamOf, statistics, sums
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.registry import EXPECTATIONS, SCHEDULES, resolve
from unveil.estimation.scaffold import Stream, feed, resumable
from unveil.estimation.shapes import Shapes
from unveil.estimation.task import fit_task
from unveil.estimation.units import LENGTHS, UnitsError, learn_in_other_units, odd_square, refuse_units
from unveil.expectations import Hard
from unveil.numerics.blas import single_threaded_blas
from unveil.schedules.batch import Batch

ALGORITHMS: dict[str, Callable[[], Assignment]] = {
    "plain": Plain,
    "lloyd": Plain,
    "hamerly": Hamerly,
    "yinyang": Pruned,
    "pruned": Pruned,
    "elkan": Elkan,
    "kd-tree": KDTree,
}


class KMeans(Estimator, CentredClusters, BaseEstimator):
    """K-means clustering.

    Every parameter and attribute of scikit-learn's class of the same name is here with the same meaning. What is
    listed is new, or says more.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at most the number of rows.
    init : word, array of shape (n_clusters, n_features) or callable, default="k-means++"
        Where to start. "k-means++" draws rows far from each other, the best of several candidates at each step;
        "plain-k-means++" looks at one candidate; "furthest-first" takes the row furthest from those it has, after a
        first one at random; "random" draws different rows; "k-means||" finds far rows by passes over all the data, for
        streams and clusters. All but the last draw from a sample of 65,536 rows (or 64 for each cluster, if that is
        more) where there are more; so is what a callable is shown.
    n_init : "auto" or int, default="auto"
        Starts, of which the best is kept: 10 for "random" and callables, else 1 with "auto". That one is, for
        "k-means++" and dense rows under the Euclidean metric, the best of eight short runs on a few of the rows, which
        costs little and misses hardly a group. With 1 it is one seeding, as in scikit-learn. Several starts by a word
        are polished: where passes end, rows are moved one by one as long as that lowers the cost, which is then as a
        rule the lowest there is. So it is with the batch schedule and the Euclidean metric for dense tables of at most
        16,777,216 cells times clusters. A single climb is Lloyd's.
    max_iter, verbose, random_state
        As in scikit-learn.
    tol : float, default=1e-4
        Stop when the sum of squared shifts of the centres is at most this share of the mean variance of the columns.
        With 0, when no row changes its cluster, which always ends the fit.
    copy_x : bool, default=True
        Accepted for the sake of scikit-learn's signature: `X` is never written to, and not copied either.
    algorithm : word, default="auto"
        How nearest centres are found. All words give the same clusters, to the last bit; "auto" chooses by the shape of
        the table (`unveil.clusters.assignment.choice`). "plain" looks at every centre for every row: for few clusters
        in many columns, or where memory is short. "hamerly" leaves out rows that one bound vouches for: for few columns
        and clusters. "yinyang" has a bound for each group of centres: for many columns and clusters. "elkan" has one
        for every centre: for many columns and not too many clusters, if memory allows. "kd-tree" rules out centres for
        whole boxes of rows: for up to about four columns. "lloyd" is another word for "plain", "pruned" for "yinyang".
        Sparse rows and those with missing cells have one way, whatever the word.
    empty_clusters : {"keep", "relocate", "drop", "error"}, default="keep"
        What becomes of a cluster that loses all its rows. It stays where it is, and rows may come back; or it moves to
        the row furthest from its own centre, as in scikit-learn; or it stays, and is left out of the result if it is
        empty in the end, so that fewer than `n_clusters` come out; or it is an error. `partial_fit` does not relocate
        or drop. The certificate counts what was done.
    metric : {"euclidean", "cosine"}, default="euclidean"
        What is near. With "cosine" only directions count (spherical K-means): rows are scaled to length one, centres
        too, and the cost is the sum of one minus the cosine.
    missing : {"error", "partial"}, default="error"
        What NaN means: an error, or a cell that is missing. Distances are then those of the cells that are there,
        scaled up to all columns, and centres are means of them.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where the work runs; it changes nothing but the time.
    schedule : {"batch", "stepwise"} or schedule, default="batch"
        When the centres move: after every pass, or after every mini-batch.
    expectation : {"hard"}, default="hard"
        K-means assigns each row to one cluster; for soft assignment take ``GaussianMixture``.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        In order of falling size, or as given by an array or callable `init`. Always float64.
    labels_, inertia_ : array of shape (n_samples,), float
        Cluster of each row, and the cost, both at `cluster_centers_`; a row between two centres goes to the first.
        Labels of the rows of a Dask collection that is more than one partition are a Dask array.
    n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
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

    _card_from = "unveil.clusters.shown:card"
    _shows_streams = True
    _own_parts = {"Centres": model.Centres}  # noqa: RUF012  read only
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(STARTS)), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"auto", *ALGORITHMS})],
        "empty_clusters": [StrOptions(set(POLICIES))],
        "metric": [StrOptions(set(METRICS))],
        "missing": [StrOptions(set(MISSING))],
        "engine": ENGINE_TAKEN,
        "schedule": [StrOptions(set(SCHEDULES)), HasMethods("sweep")],
        "expectation": [StrOptions({"hard"}), HasMethods("responsibilities")],
    }

    _hartigan_work: ClassVar[int] = HARTIGAN_WORK

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
        empty_clusters: str = "keep",
        metric: str = "euclidean",
        missing: str = "error",
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
        self.empty_clusters = empty_clusters
        self.metric = metric
        self.missing = missing
        self.engine = engine
        self.schedule = schedule
        self.expectation = expectation

    def _declares(self) -> Declaration:
        yield from super()._declares()
        most = LARGEST if self.metric == "cosine" else FINITE  # lengths are sums of squares
        yield "cluster_centers_", numbers("clusters", "columns", low=-most, high=most)
        k, d = self.cluster_centers_.shape
        yield "labels_", counts(None, below=k)
        yield "inertia_", at_least_zero(high=np.inf)
        if hasattr(self, "_stream"):
            yield "random_seed_", SEED  # batches draw from it
            params = RecordOf(model.Centres, {"centres": numbers(k, d, low=-FINITE, high=FINITE)})
            yield "_stream", StreamOf(params, self._told(k, d), d, k).declared()

    def _told(self, k: int, d: int) -> Declared:
        """Statistics of a stream."""
        scalars = {name: at_least_zero(high=FINITE) for name in ("inertia", "changed")}
        most = LARGEST if self.metric == "cosine" else FINITE
        cells = {"shares": sums(k, d, low=0.0)} if self._takes_missing else {}
        return statistics(**scalars, counts=sums(k, low=0.0), sums=sums(k, d, low=-most, high=most), **cells)

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Find the clusters.

        Parameters
        ----------
        X : array, sparse matrix, frame, scan or Dask array of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._check()
        source = at_hand(self._source(X, sample_weight, reset=True))
        try:
            blas = nullcontext() if self._at_once(source) else single_threaded_blas()
            with blas, fit_task(self, X=X, sample_weight=sample_weight):
                ground = self._ground(source)
                if self.tol > 0 and odd_square(ground.variance):
                    refuse_units(source, limits=LENGTHS)
                tol = self.tol * ground.variance if self.tol > 0 else 0.0  # which spares a pass
                parts = self._parts(ground.shift, source, self.n_clusters, tol)
                table, policy = self._table(ground, parts), POLICIES[self.empty_clusters]
                if policy.relocated:
                    parts = replace(parts, schedule=around(policy, parts.schedule, parts.engine))
                climb = RestartClimb(parts, table)
                begin = (ground.geometry.begin(one, ground.shift) for one in starts(self.init, self.n_init, ground))
                alone = times_of(self.init, self.n_init) == 1
                self._settle(climb.only(next(begin)) if alone else climb.best(begin), ground, source)
        except UnitsError as error:
            init = in_units(self.init, error.exponent)
            learn_in_other_units(self, error, {"cluster_centers_": 1, "inertia_": 2}, {"init": init})
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Learn from one more batch of a stream, by stepwise updates of the centres.

        The first batch chooses the start and so needs at least `n_clusters` rows.
        """
        self._check()
        fresh = not hasattr(self, "_stream")
        with single_threaded_blas():
            source = self._source(X, sample_weight, reset=fresh)
            stream = self._begin(source) if fresh else self._stream
            parts = self._parts(stream.shift, source, len(stream.params.centres), 0.0)
            self._set_attributes(feed(stream, parts))
            found = self._assign(source)
            if not np.isfinite(found.inertia):
                refuse_units(source, small=False, limits=LENGTHS)
            self._tell(self._stream.outcome, found, None)
        return self

    def _begin(self, source: Source) -> Stream:
        """A stream whose first batch is `source`."""
        ground = self._ground(source)
        start = ground.geometry.begin(next(starts(self.init, 1, ground)), ground.shift)
        return Stream(ground.shift, start, np.arange(self.n_clusters))

    def _settle(self, outcome: Fit, ground: StartGround, source: Source) -> None:
        """Put the clusters in order, leave out what the policy for empty ones does not keep, and tell."""
        self._set_attributes(resumable(outcome, ground.shift, self._order(outcome)))
        found = self._assign(source)
        if odd_square(found.inertia):
            refuse_units(source, limits=LENGTHS)
        stay = kept(POLICIES[self.empty_clusters], found.counts)
        if not stay.all():
            outcome = remaining(outcome, stay[np.argsort(self._stream.order)])
            self._set_attributes(resumable(outcome, ground.shift, self._order(outcome)))
            found = self._assign(source)
        tried = SEEDINGS if is_refined(self.init, self.n_init) and ground.refined is not None else 0
        empty = int(np.count_nonzero(found.counts <= 0))
        for event, count in (("tried", tried), ("dropped", len(stay) - len(found.counts)), ("left_empty", empty)):
            outcome = outcome.noting(event, count) if count else outcome
        self._tell(outcome, found, found.counts)

    def _order(self, outcome: Fit) -> NDArray[np.intp]:
        """Clusters by falling size, or as the user gave them."""
        n_clusters = len(outcome.params.centres)
        if not isinstance(self.init, str) or not outcome.history:
            return np.arange(n_clusters)
        return np.argsort(-outcome.statistics["counts"], kind="stable")

    def _set_attributes(self, stream: Stream) -> None:
        self._stream = stream
        self.cluster_centers_ = (stream.params.centres + stream.shift)[stream.order]

    def _shapes(self) -> Shapes:
        k, d = self.cluster_centers_.shape
        return Shapes(np.arange(d), np.full(k, 1.0 / k), self.cluster_centers_)

    def _tell(self, outcome: Fit, found: Assigned, counts: Floats | None) -> None:
        self.labels_, self.inertia_ = found.labels, found.inertia
        self._report(outcome, counts, depth=5 if counts is not None else 4)

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self._validate_params()
        if not isinstance(resolve("expectation", self.expectation, EXPECTATIONS, "responsibilities"), Hard):
            reason = "K-means assigns every row to one cluster"
            raise ValueError(f"expectation must be 'hard', got {self.expectation!r}: {reason}; GaussianMixture is soft")

    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        return self._geometry(X).source(self, X, sample_weight, reset=reset)

    def _ground(self, source: Source) -> StartGround:
        """What starts are drawn from, with a new seed."""
        if source.n_rows < self.n_clusters:
            raise ValueError(f"n_samples={source.n_rows} should be >= n_clusters={self.n_clusters}.")
        self.random_seed_ = seed_of(self.random_state)
        engine = engine_for(self.engine, source)
        return StartGround(self._geometry(source), source, engine, self.random_seed_, self.n_clusters)

    def _table(self, ground: StartGround, parts: Parts) -> FramedTable | None:
        """The rows, if they are to be moved one by one between restarts."""
        if not isinstance(self.init, str) or times_of(self.init, self.n_init) == 1:
            return None
        source, suits = ground.source, ground.geometry.single_moves and isinstance(parts.schedule, Batch)
        if not suits or source.n_rows * source.n_columns * self.n_clusters > self._hartigan_work:
            return None
        return FramedTable.of(source, ground.shift)

    def _at_once(self, source: Source) -> bool:
        """Whether rows are so few that BLAS is not asked for anything."""
        direct = is_direct(source.n_rows, source.n_columns, self.n_clusters)
        return direct and self.algorithm == "auto" and is_lone(source)

    def _parts(self, shift: Floats, source: Source, n_clusters: int, tol: float) -> Parts:
        if self.algorithm == "auto":
            brief = is_refined(self.init, self.n_init)
            room = min(memo_room(not getattr(source, "random_access", False)), MEMORY_BYTES)
            assignment = choose(source.n_rows, source.n_columns, n_clusters, brief, room)
        else:
            assignment = ALGORITHMS[self.algorithm]()
        geometry = self._geometry(source)
        assignment = geometry.ready(assignment, source, shift)
        return Parts(
            geometry.model(n_clusters, shift, assignment, POLICIES[self.empty_clusters]),
            source,
            Hard(),
            resolve("schedule", self.schedule, SCHEDULES, "sweep"),
            engine_for(self.engine, source),
            model.AssignmentsFixed(tol),
            self.max_iter,
            self.random_seed_,
            self._callbacks_for(source),
        )

    def _geometry(self, X: Any) -> RowGeometry:
        return geometry_of(X, self.metric, self.missing)

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        return self.missing in MISSING and MISSING[self.missing].missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing
        return tags
