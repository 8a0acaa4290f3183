"""Factor analysis: a few hidden factors, and noise of its own in every column.

    x = mean + W z + noise,    z ~ N(0, I),    noise_j ~ N(0, v_j)

The likelihood does not see a rotation of the factors: they come out with W' V^-1 W diagonal and falling, the form of
Lawley and Joreskog, or rotated so that each has few large loadings (Kaiser, The varimax criterion, 1958).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.projections.factors.estimator import FactorEstimator
from unveil.projections.factors.missing import CompletedRows, Hidden
from unveil.projections.factors.model import FactorParams, NoiseModel, PerColumn, identified, signed

ROTATIONS = {"quartimax": 0.0, "varimax": 1.0}
"""How much the spread of loadings within a factor counts, against that within a row alone."""
MOST_TURNS, TURN_TOL = 1000, 1e-12  # most steps of a rotation, and the gain of its criterion at which it is settled


class FactorAnalysis(FactorEstimator):
    """Factor analysis by maximum likelihood, with missing cells.

    Parameters
    ----------
    n_components : int, "bic" or None, default=None
        Number of factors. "bic" takes the number of lowest Bayesian information criterion, 0 among them; where cells
        are missing, numbers are tried from 0 on until three in a row did worse. None takes as many as a
        covariance can tell apart: the greatest q with (d - q)^2 >= d + q, but one at least if there are two columns.
    tol : float, default=1e-8
        The search stops when the mean log-likelihood per row changes by less.
    copy : bool, default=True
        Kept for scikit-learn's sake: rows are never written to, so both values mean the same.
    max_iter : int, default=1000
        Most steps of the search, or passes of EM.
    noise_variance_init : array-like of shape (n_features,), optional
        Noise that the search starts from, and once more with what has all but vanished lifted; noise above the
        variance of its column counts as that. By default there are two starts: Joreskog's, and half of each variance.
        Where cells are missing, the search in the moments of those that are there gives EM its start.
    rotation : {"varimax", "quartimax"} or None, default=None
        Rotation of the factors.
    schedule : {"auto", "batch", "squarem", "incremental", "stepwise"} or schedule, default="auto"
        "auto" reads complete rows once and searches in their covariance; where cells are missing, it does so in the
        covariance to be expected, again and again with leaps between (squarem), or if very few are there, takes the
        scores for what is hidden, as any other does. Those that follow a gradient are refused: the model has no
        chart of its parameters.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where passes run.
    random_state : int, RandomState or None, default=None
        For `sample`; nothing in a fit is random.
    verbose : int, default=0
        Log every pass of EM.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Loadings of the factors, W', the strongest first, the largest entry of each positive.
    noise_variance_ : ndarray of shape (n_features,)
        Noise of each column. Where the likelihood rises as one vanishes (a Heywood case), it is held at a billionth
        of the column's variance, and the certificate says so.
    mean_ : ndarray of shape (n_features,)
    loglike_ : list of float
        Log-likelihood at each step.
    n_components_, n_features_in_, feature_names_in_
    converged_, n_iter_, history_, certificate_
        How the fit went.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import FactorAnalysis
    >>> hidden = np.random.default_rng(0).normal(size=(500, 1))
    >>> X = hidden * [2.0, 1.0, 1.0] + np.random.default_rng(1).normal(size=(500, 3)) * [1.0, 0.5, 2.0]
    >>> FactorAnalysis(1).fit(X).noise_variance_.round(1).tolist()
    [0.7, 0.3, 4.3]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 0, None, closed="left"), StrOptions({"bic"}), None],
        "copy": ["boolean"],
        "noise_variance_init": ["array-like", None],
        "rotation": [StrOptions(set(ROTATIONS)), None],
        **FactorEstimator._parameter_constraints,
    }
    _noise: ClassVar[NoiseModel] = PerColumn()
    _hidden: ClassVar[type[Hidden]] = CompletedRows

    def __init__(
        self,
        n_components: Any = None,
        *,
        tol: float = 1e-8,
        copy: bool = True,
        max_iter: int = 1000,
        noise_variance_init: Any = None,
        rotation: str | None = None,
        schedule: Any = "auto",
        engine: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.copy = copy
        self.max_iter = max_iter
        self.noise_variance_init = noise_variance_init
        self.rotation = rotation
        self.schedule = schedule
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    @property
    def loglike_(self) -> list[float]:
        """Log-likelihood at each step."""
        return [float(value) for value in self.history_.log_likelihood]

    def _start(self, n_columns: int) -> Floats | None:
        if self.noise_variance_init is None:
            return None
        start: Floats = check_array(
            self.noise_variance_init, dtype=np.float64, ensure_2d=False, input_name="noise_variance_init"
        )
        if start.shape != (n_columns,) or np.any(start <= 0):
            got = f"an array of shape {start.shape}"
            raise ValueError(f"noise_variance_init must hold {n_columns} positive numbers, one a column, got {got}")
        return start

    def _set_attributes(self, params: FactorParams) -> None:
        loadings = params.loadings
        if self.rotation is not None and loadings.shape[1] > 1:
            loadings = rotated(loadings, ROTATIONS[self.rotation])
        self.components_ = np.ascontiguousarray(loadings.T)
        self.noise_variance_, self.mean_ = params.noise, params.mean

    def _shown(self) -> tuple[Floats, Floats]:
        return np.ascontiguousarray(self.components_.T), self.noise_variance_

    def _findings(self, columns: NDArray[np.intp]) -> list[Finding]:
        most = identified(len(self.mean_))
        if self.n_components_ <= most:
            return super()._findings(columns)
        message = f"{len(self.mean_)} columns can tell {most} factors apart, and {self.n_components_} were asked for"
        return [*super()._findings(columns), _unidentified(message, most)]

    def _floor_finding(self, columns: NDArray[np.intp]) -> Finding:
        names = getattr(self, "feature_names_in_", None)
        said = ", ".join(str(j) if names is None else repr(names[j]) for j in columns[:5])
        said += ", ..." if len(columns) > 5 else ""
        message = f"the noise of column {said} is held at its floor (a Heywood case): factors explain all of it"
        remedy = "ask for fewer factors, or leave the column out"
        return Finding("noise", "doubt", message, float(len(columns)), kind="floor", remedy=remedy)


def _unidentified(message: str, most: int) -> Finding:
    """More factors than the covariances of so many columns determine."""
    return Finding("identified", "doubt", message, float(most), kind="identified", remedy="ask for fewer factors")


def rotated(loadings: Floats, spread: float) -> Floats:
    """Loadings turned to the greatest sum of fourth powers, less `spread` times that of squared column means.

    Each step is a polar decomposition of the criterion's slope. Factors come out by falling sum of squares.
    """
    turn, before = np.eye(loadings.shape[1]), 0.0
    for _ in range(MOST_TURNS):
        turned = loadings @ turn
        slope = loadings.T @ (turned**3 - spread * turned * np.mean(turned**2, axis=0))
        left, sizes, right = linalg.svd(slope)
        turn = left @ right
        if sizes.sum() <= before * (1.0 + TURN_TOL):
            break
        before = float(sizes.sum())
    turned = loadings @ turn
    order = np.argsort(-np.sum(turned**2, axis=0), kind="stable")
    return signed(turned[:, order])
