"""Linear discriminant analysis: classes with a shared covariance, told apart by Bayes' rule, and the best view of them.

One streamed pass gathers the scatter within and between the classes (`projections/discriminant/scatter.py`); the rest
is linear algebra on matrices of columns by columns (`separation.py`), whatever the number of rows.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unveil.core.arrays import Floats
from unveil.core.declared import (
    AllOf,
    Declaration,
    LabelsOf,
    MayLack,
    OrNone,
    RecordOf,
    Tried,
    at_least_zero,
    bounds,
    numbers,
    semidefinite,
)
from unveil.core.declared import shares as in_shares
from unveil.core.protocols import Source
from unveil.estimation.base import engine_for
from unveil.estimation.declarations import sums
from unveil.estimation.engine_words import ENGINE_TAKEN
from unveil.estimation.input import refuse_nonfinite, rows_in
from unveil.estimation.scaffold import set_or_forget
from unveil.estimation.task import fit_task
from unveil.estimation.units import odd_square, refuse_units
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.affine import project
from unveil.projections.discriminant.answers import (
    ClassScores,
    Finish,
    likeliest,
    log_shares,
    margin,
    shares,
)
from unveil.projections.discriminant.certificate import certify
from unveil.projections.discriminant.scatter import ClassScatter, gather, seen_along
from unveil.projections.discriminant.separation import (
    SOLVERS,
    DiscriminantRule,
    Look,
    SeparationProblem,
    evidence,
    lacking,
    priors_of,
    signals_of,
)
from unveil.projections.discriminant.shrinkage import Covariances, Empirical, Foreign, by_ledoit_wolf, shrunk
from unveil.projections.projection import Projection
from unveil.sources.files import labelled


class LinearDiscriminantAnalysis(ClassifierMixin, Projection):
    """Linear discriminant analysis.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        As in scikit-learn. "svd" leaves out directions without variance; "lsqr" takes the solution of smallest norm,
        and finds no directions to transform to; "eigen" needs a covariance of full rank. All start from the same
        scatter matrices, so all take one pass.
    shrinkage : "auto", float or None, default=None
        Pull of the covariance towards a sphere, from 0 to 1; "auto" is that of Ledoit and Wolf, for each class in
        columns of unit variance, and takes one more pass. Not for "svd".
    priors : array-like of shape (n_classes,), optional
        Probabilities of the classes; by default their shares of the weight.
    n_components : int, optional
        Directions that `transform` keeps; by default min(n_classes - 1, n_features).
    store_covariance : bool, default=False
        Whether "svd" sets `covariance_`; the others always do.
    tol : float, default=1e-4
        Standard deviation, in columns of unit variance within the classes, up to which "svd" takes a direction for
        none; and the share of the strongest signal up to which a direction is left out.
    covariance_estimator : estimator with ``fit`` and ``covariance_``, optional
        Fitted to the rows of each class, in place of `shrinkage`. Not for "svd"; rows must be in memory.
    covariance_type : {"shared", "spherical"}, default="shared"
        Whether the covariance that the classes share is any, or a multiple of the identity.
    unbiased : bool, default=False
        Divide the scatter within classes by the number of rows less that of classes, as R's MASS does, rather than by
        that of rows, as scikit-learn does (before 1.9.1 its "svd" took the former).
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where the passes run.

    Attributes
    ----------
    classes_, priors_, means_, xbar_, coef_, intercept_, covariance_, scalings_, explained_variance_ratio_
        As in scikit-learn, where that solver has them there; `xbar_` is always set.
    class_count_ : ndarray of shape (n_classes,)
        Weight of each class.
    within_scatter_, between_scatter_, total_scatter_ : ndarray of shape (n_features, n_features)
        Sums of weighted products about class means, of class means about the mean, and of all rows about it.
    signal_to_noise_ : ndarray of shape (n_components,)
        Variance of the class means along each direction over the variance within classes.
    bayes_factor_ : ndarray of shape (n_components,)
        Natural logarithm of the Bayes factor of classes against none along each direction, at the means found.
    evidence_ : float
        Natural logarithm of the Bayes factor of classes against none, means and covariance integrated out; negative
        where the labels explain nothing.
    certificate_ : Certificate
        Whether there were rows enough, and whether columns depend on each other within classes.
    discriminant_coef_, discriminant_intercept_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        The rule about `xbar_`, one function a class: what predictions are made from, since it keeps its digits where
        `coef_` and `intercept_` cancel.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import LinearDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = LinearDiscriminantAnalysis().fit(X, ["left", "left", "left", "right", "right", "right"])
    >>> model.predict([[-0.8, -1]]).tolist()
    ['left']
    >>> model.signal_to_noise_.round(3).tolist()
    [8.0]
    """

    _card_from = "unveil.projections.shown:discriminant_card"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
        "covariance_type": [StrOptions({"shared", "spherical"})],
        "unbiased": ["boolean"],
        "engine": ENGINE_TAKEN,
    }
    _resumed_from = ("_scatter",)

    covariance_: Floats
    scalings_: Floats
    explained_variance_ratio_: Floats

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        *,
        covariance_type: str = "shared",
        unbiased: bool = False,
        engine: Any = "auto",
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.covariance_type = covariance_type
        self.unbiased = unbiased
        self.engine = engine

    def _declares(self) -> Declaration:
        yield from super()._declares()
        d = self.n_features_in_
        yield "classes_", LabelsOf("classes")
        k = len(self.classes_)
        yield "class_count_", at_least_zero(k)
        for name in ("within_scatter_", "between_scatter_", "total_scatter_"):
            yield name, sums(d, d, laws=(semidefinite,))
        told = {"weights": at_least_zero(k), "rows": at_least_zero(k), "frame": numbers(d), "centres": numbers(k, d)}
        scatter = {"within": sums(d, d, laws=(semidefinite,)), "apart": OrNone(sums(k, d, d, laws=(semidefinite,)))}
        yield "_scatter", RecordOf(dict, {**told, **scatter})
        yield from self._declares_rule(k, d)

    def _make_ready(self) -> None:
        self._check_parameters()

    def _declares_rule(self, k: int, d: int) -> Declaration:
        """What there is once there were rows enough to tell classes apart."""
        told = any(hasattr(self, name) for name in ("coef_", "discriminant_coef_", "scalings_"))  # set last
        held = (lambda one: one) if told else MayLack
        lines = 1 if k == 2 else k
        yield "priors_", held(in_shares(k))
        yield "means_", held(numbers(k, d, gaps=True))
        yield "xbar_", held(numbers(d))
        yield "discriminant_coef_", held(numbers(k, d))
        yield "discriminant_intercept_", held(AllOf((bounds(k), Tried(_leaves_one))))
        yield "coef_", held(numbers(lines, d))
        yield "intercept_", held(bounds(lines, gaps=True))
        yield "evidence_", held(bounds(gaps=True))
        yield "covariance_", MayLack(sums(d, d, laws=(semidefinite,)))
        both = any(hasattr(self, name) for name in ("scalings_", "explained_variance_ratio_"))
        directions = {"scalings_": numbers(d, None), "explained_variance_ratio_": bounds(None, gaps=True)}
        yield from ((name, one if both else MayLack(one)) for name, one in directions.items())
        for name in ("signal_to_noise_", "bayes_factor_"):
            yield name, held(bounds(None, gaps=True))

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearDiscriminantAnalysis:
        """Find the rule and the directions.

        Parameters
        ----------
        X : array, frame, scan or Dask array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or str
            Labels: whole numbers or words. With a scan it may name a column, which is then none of the features.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        self._check_parameters()
        with single_threaded_blas(), fit_task(self, X=X, y=y, sample_weight=sample_weight):
            X, labels = self._labels(X, y)
            source = self._labelled(X, labels.codes, sample_weight, reset=True, min_rows=2)
            self.classes_ = labels.classes
            scatter = self._gathered(source, labels.codes)
            self.classes_ = self.classes_[scatter.rows > 0]  # a class of weight 0 is no class
            look = partial(seen_along, engine_for(self.engine, source), source, scatter)
            self._solve(scatter.of_seen(), self._covariances(source, labels.codes, scatter), look)
            self._adopt(scatter.of_seen())
        certify(self, scatter.of_seen())
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> LinearDiscriminantAnalysis:
        """Learn from more rows: the same as one fit to all of them, up to rounding.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            All labels that may ever come; needed in the first call. A class has probability 0 until it has rows. There
            is nothing to predict from until there are more rows than classes, or with solver "eigen" than columns too.
        """
        self._check_parameters()
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ValueError(
                "partial_fit takes neither shrinkage='auto' nor covariance_estimator: they look at rows twice"
            )
        fresh = not hasattr(self, "_scatter")
        with single_threaded_blas():
            X, labels = self._labels(X, y)
            known = labelled.known_classes(classes, None if fresh else self.classes_)
            codes = labelled.place(labels, known)
            source = self._labelled(X, codes, sample_weight, reset=fresh, min_rows=1)
            self.classes_ = known
            batch = self._gathered(source, codes)
            scatter = batch if fresh else self._merged(batch)
            if lacking(scatter, self.unbiased) is None:
                with suppress(LinAlgError):  # the rows so far do not span all columns: more may
                    self._solve(scatter, Empirical(float(self.shrinkage or 0.0)))
            self._adopt(scatter)
        return self

    def _check_parameters(self) -> None:
        """What scikit-learn's class refuses, and what goes together with a sphere only in name."""
        self._validate_params()
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver; take solver='lsqr' or 'eigen'.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance_estimator is not supported with solver='svd'; take 'lsqr' or 'eigen'")
        if self.covariance_estimator is not None and self.shrinkage is not None and self.shrinkage != 0:
            raise ValueError("covariance_estimator and shrinkage are both set; only one of them can be")
        if self.covariance_type == "spherical" and not (self.shrinkage is None and self.covariance_estimator is None):
            raise ValueError("covariance_type='spherical' leaves nothing to shrinkage or a covariance_estimator")

    def _labels(self, X: Any, y: Any) -> tuple[Any, labelled.Labels]:
        """The table without labels, and the labels."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if isinstance(y, str):
            return labelled.without_column(X, y), labelled.column_labels(X, y)
        return X, labelled.encode(labelled.labels_in(y))

    def _labelled(self, X: Any, codes: Any, sample_weight: Any, *, reset: bool, min_rows: int) -> labelled.Labelled:
        """Checked rows with labels. Whether cells are finite, the sums will tell."""
        source = rows_in(self, X, sample_weight, reset=reset, min_rows=min_rows, finite=False)
        return labelled.Labelled(source, codes)

    def _gathered(self, source: Source, codes: NDArray[Any]) -> ClassScatter:
        """The first pass. Classes are kept apart where their covariances are not weighed by their rows."""
        covariance = self.solver != "svd" or self.store_covariance
        apart = self.shrinkage == "auto" or (self.priors is not None and covariance)
        scatter = gather(engine_for(self.engine, source), source, codes, len(self.classes_), apart)
        if not (np.all(np.isfinite(scatter.within)) and np.all(np.isfinite(scatter.centres))):
            refuse_nonfinite(source)
            refuse_units(source, small=False)
            raise ValueError("X holds numbers so large that their squares overflow: scale its columns")
        if odd_square(float(scatter.within.max(initial=0.0))):
            refuse_units(source)
        if not scatter.weight > 0:
            raise ValueError("X has no row of positive weight")
        return scatter

    def _covariances(self, source: Source, codes: NDArray[Any], scatter: ClassScatter) -> Covariances:
        """How covariances are taken, with a second look at the rows where that needs one."""
        if self.covariance_estimator is not None:
            rows = getattr(source.source, "rows", None)  # type: ignore[attr-defined]
            if rows is None:
                raise ValueError("covariance_estimator needs rows in memory, without weights")
            return Foreign(self.covariance_estimator, rows, codes)
        if self.shrinkage == "auto":
            return by_ledoit_wolf(engine_for(self.engine, source), source, scatter).of(scatter.rows > 0)
        return Empirical(float(self.shrinkage or 0.0))

    def _adopt(self, scatter: ClassScatter) -> None:
        """Keep the scatter, for `partial_fit` and for people."""
        self._scatter = scatter._asdict()
        self.class_count_ = scatter.weights
        self.within_scatter_ = scatter.within
        self.between_scatter_ = scatter.between
        self.total_scatter_ = scatter.within + self.between_scatter_

    def _merged(self, batch: ClassScatter) -> ClassScatter:
        """The batch with all that came before."""
        before = ClassScatter(**self._scatter)
        if batch.apart is not None and before.apart is None:
            raise ValueError("solver, priors or store_covariance were changed since partial_fit began: call fit anew")
        return before.merged(batch)

    # -- solving -------------------------------------------------------------------------------------------------------

    def _solve(self, scatter: ClassScatter, covariances: Covariances, look: Look | None = None) -> None:
        """Set what follows from the scatter; `look` has another look at the rows, if they are there."""
        count = self._count(scatter)
        problem = lacking(scatter, self.unbiased, self.covariance_estimator is None)
        if problem is not None:
            raise ValueError(problem)
        self.priors_ = priors_of(scatter, self.priors)
        self.means_ = np.where(scatter.rows[:, None] > 0, scatter.frame + scatter.centres, np.nan)
        self.xbar_ = scatter.frame + self.priors_ @ scatter.centres
        ways = scatter.centres - (self.xbar_ - scatter.frame)  # exact far from zero, where means_ - xbar_ is not
        rule = self._rule(scatter, covariances, ways, look)
        ratio = None if rule.ratio is None else rule.ratio[:count]
        given = {"covariance_": rule.covariance, "scalings_": rule.directions, "explained_variance_ratio_": ratio}
        set_or_forget(self, given)
        self._set_rule(rule, ways)
        signals = signals_of(scatter, rule.discriminants)[:count]
        self.signal_to_noise_, self.bayes_factor_ = signals / scatter.weight, signals / 2
        self.evidence_ = evidence(scatter, self.covariance_type == "spherical")

    def _count(self, scatter: ClassScatter) -> int:
        """Directions to keep."""
        most = min(len(scatter.rows) - 1, len(scatter.frame))
        if self.n_components is None:
            return most
        if self.n_components > most:
            allowed = f"min(n_features, n_classes - 1) = {most}"
            raise ValueError(f"n_components cannot be larger than {allowed}, got {self.n_components}")
        return self.n_components

    def _rule(
        self, scatter: ClassScatter, covariances: Covariances, ways: Floats, look: Look | None
    ) -> DiscriminantRule:
        """By the solver that was asked for."""
        sphere = float(self.covariance_type == "spherical")
        scale = scatter.weight / (scatter.weight - scatter.seen) if self.unbiased else 1.0
        problem = SeparationProblem(scatter, covariances, self.priors_, self.xbar_, ways, scale, sphere, self.tol, look)
        rule = SOLVERS[self.solver](problem)
        if rule.covariance is None and self.store_covariance:
            rule = rule._replace(covariance=scale * shrunk(covariances.within(scatter, self.priors_), sphere))
        return rule

    def _set_rule(self, rule: DiscriminantRule, ways: Floats) -> None:
        """The rule about `xbar_`, and about zero as scikit-learn has it."""
        with np.errstate(divide="ignore"):  # a class of prior 0 is never taken
            logs = np.log(self.priors_)
        halves = 0.5 * np.sum(ways * rule.discriminants, axis=1)
        self.discriminant_coef_, self.discriminant_intercept_ = rule.discriminants, logs - halves
        coef = rule.discriminants + rule.pull
        means = self.xbar_ + ways
        level = self.xbar_ @ coef.T + halves if self.solver == "svd" else 0.5 * np.sum(means * coef, axis=1)
        intercept = logs - level
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    # -- what is said of rows ------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Log-probabilities of the classes up to a term that they share; of two classes, the difference.

        The shared term is scikit-learn's: none with solver "svd", else that of coefficients about zero.
        """
        if len(getattr(self, "classes_", ())) < 3:
            return self._judged(X, margin)
        check_is_fitted(self, "coef_")
        shared = 0.5 * self.xbar_ @ (self.coef_[0] - self.discriminant_coef_[0])
        scores = ClassScores(self.xbar_, self.coef_.T, self.discriminant_intercept_ + shared)
        return self._filled(partial(scores.fill, None), self._rows(X), len(scores.offset))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        best = self._judged(X, likeliest, dtype=np.intp)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, row by row."""
        return self._judged(X, shares, len(getattr(self, "discriminant_intercept_", ())))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of each class, exact also where that is tiny."""
        return self._judged(X, log_shares, len(getattr(self, "discriminant_intercept_", ())))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted; `y` as in `fit`."""
        X, labels = self._labels(X, y)
        return float(accuracy_score(labels.classes[labels.codes], self.predict(X), sample_weight=sample_weight))

    def transform(self, X: Any) -> NDArray[Any]:
        """Coordinates of the rows along the directions of greatest separation."""
        lacking = "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
        if self.solver == "lsqr":
            raise NotImplementedError(lacking)
        check_is_fitted(self, "coef_")
        if not hasattr(self, "scalings_"):
            raise NotImplementedError(lacking)
        basis, source = self.scalings_[:, : self._n_features_out], self._rows(X)
        fill = partial(project, self.xbar_, basis)
        if self.solver != "svd":  # coordinates about zero there
            fill = partial(ClassScores(self.xbar_, basis, self.xbar_ @ basis).fill, None)
        return self._filled(fill, source, basis.shape[1], dtype=source.dtype)

    def _judged(self, X: Any, finish: Finish, *width: int, dtype: Any = np.float64) -> NDArray[Any]:
        """A function of the values of the discriminant functions about `xbar_`."""
        check_is_fitted(self, "coef_")
        scores = ClassScores(self.xbar_, self.discriminant_coef_.T, self.discriminant_intercept_)
        return self._filled(partial(scores.fill, finish), self._rows(X), *width, dtype=dtype)

    def _rows(self, X: Any) -> Source:
        """Rows to be judged. Whether cells are finite, the scores will tell."""
        return rows_in(self, X, reset=False, finite=False)

    @property
    def _n_features_out(self) -> int:
        if not hasattr(self, "scalings_"):
            return len(self.signal_to_noise_)
        return int(min(len(self.explained_variance_ratio_), self.scalings_.shape[1]))


def _leaves_one(intercepts: Floats) -> None:
    """Refuse a rule by which no class is possible."""
    if not np.isfinite(intercepts).any() or np.any(intercepts == np.inf):
        raise ValueError("there must be a class that is possible, and none that is certain")
