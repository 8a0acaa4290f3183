"""Probabilistic PCA: components, and equal noise in every direction (Tipping & Bishop 1999).

    x = mean + W z + noise,    z ~ N(0, I),    noise ~ N(0, v I)

A density, so that rows can be scored, drawn, compared by BIC and completed where cells are missing. For complete rows
the answer is closed and takes one pass; see `unveil.projections.factors.model`.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils._param_validation import Interval, StrOptions

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, Declaration, at_least_zero, chances
from unveil.projections.factors.estimator import FactorEstimator, SeenCells
from unveil.projections.factors.model import FactorParams, NoiseModel, Shared
from unveil.projections.pca.routes import minka_dimension


class ProbabilisticPCA(FactorEstimator):
    """Principal component analysis as a density, with missing cells and a choice of dimension.

    Parameters
    ----------
    n_components : int, "bic", "mle" or None, default=None
        Number of components, fewer than there are features: noise needs a direction of its own. "bic" takes the
        number of lowest Bayesian information criterion, 0 among them; where cells are missing, numbers are tried from
        0 on until three in a row did worse. "mle" is Minka's choice, for complete rows. None takes as many as leave one
        direction of variance to the noise.
    tol : float, default=1e-8
        EM stops when the mean log-likelihood per row changes by less.
    max_iter : int, default=1000
        Most passes of EM.
    schedule : {"auto", "batch", "squarem", "incremental", "stepwise"} or schedule, default="auto"
        "auto" is the closed form for complete rows and squarem where cells are missing. Any other runs EM.
        Those that follow a gradient are refused: the model has no chart of its parameters.
    engine : {"auto", "threads", "dask"}, engine, Dask client or address, default="auto"
        Where passes run.
    random_state : int, RandomState or None, default=None
        For `sample`; nothing in a fit is random.
    verbose : int, default=0
        Log every pass of EM.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal directions by falling variance, the largest entry of each positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        Variance along each, of greatest likelihood (the sum of squares over n), and its share of all.
    noise_variance_ : float
        Variance in every other direction: the mean of the eigenvalues that are discarded.
    mean_ : ndarray of shape (n_features,)
    n_components_, n_features_in_, feature_names_in_
    converged_, n_iter_, history_, certificate_
        How the fit went; the closed form counts as one pass.

    Notes
    -----
    Where rows lie in `n_components` dimensions or fewer, the likelihood has no bound. The noise variance is held at a
    billionth of the mean variance of the columns or more, and the certificate warns where that is felt.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import ProbabilisticPCA
    >>> X = np.array([[0.0, 0.1, 1.0], [1.0, 0.9, 1.2], [2.0, 2.1, 0.9], [3.0, np.nan, 1.1], [4.0, 4.1, 1.0]])
    >>> model = ProbabilisticPCA(1).fit(X)
    >>> float(model.impute(X)[3, 1].round(1))
    3.1
    >>> model.transform([[2.0, np.nan, np.nan]]).round(1).tolist()
    [[0.0]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  scikit-learn's own convention
        "n_components": [Interval(Integral, 0, None, closed="left"), StrOptions({"bic", "mle"}), None],
        **FactorEstimator._parameter_constraints,
    }
    _noise: ClassVar[NoiseModel] = Shared()

    def __init__(
        self,
        n_components: Any = None,
        *,
        tol: float = 1e-8,
        max_iter: int = 1000,
        schedule: Any = "auto",
        engine: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.schedule = schedule
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def _named(self, seen: SeenCells) -> int:
        """Minka's choice."""
        if not seen.complete:
            raise ValueError("n_components='mle' is for complete rows, and X has missing cells; 'bic' takes them")
        weight, matrix = seen.given.weight, seen.given.matrix
        if weight < len(matrix):
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        values = np.maximum(linalg.eigvalsh(matrix)[::-1], 0.0) * (weight / max(weight - 1.0, 1.0))
        return min(minka_dimension(values, weight), len(matrix) - 1)

    def _declares(self) -> Declaration:
        yield from super()._declares()
        q = self.n_components_
        yield "explained_variance_", at_least_zero(q, high=FINITE)
        yield "explained_variance_ratio_", chances(q)

    def _noise_shape(self, n_columns: int) -> tuple[int, ...]:
        return ()

    def _set_attributes(self, params: FactorParams) -> None:
        variances = np.sum(params.loadings**2, axis=0)
        directions = linalg.qr(params.loadings, mode="economic")[0] if params.loadings.size else params.loadings
        # canonical columns are orthogonal, so this turns none of them; it gives a direction to those of no length
        signs = np.where(np.sum(directions * params.loadings, axis=0) < 0, -1.0, 1.0)
        self.components_ = np.ascontiguousarray((directions * signs).T)
        self.noise_variance_ = float(params.noise[0])
        self.explained_variance_ = variances + self.noise_variance_
        total = float(variances.sum()) + len(params.noise) * self.noise_variance_
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.mean_ = params.mean

    def _shown(self) -> tuple[Floats, Floats]:
        sizes = np.sqrt(np.maximum(self.explained_variance_ - self.noise_variance_, 0.0))
        return self.components_.T * sizes, np.full(len(self.mean_), self.noise_variance_)

    def _floor_finding(self, columns: NDArray[np.intp]) -> Finding:
        plural = "" if self.n_components_ == 1 else "s"
        why = f"the rows lie in {self.n_components_} dimension{plural} or fewer, but for a billionth of their variance"
        message = f"the noise variance is held at {self.noise_variance_:.2g}, its floor: {why}"
        remedy = "ask for fewer components"
        return Finding("noise", "warning", message, self.noise_variance_, kind="floor", remedy=remedy)
