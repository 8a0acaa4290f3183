"""A forecast: for each of the next steps, probabilities of the states and the mixture of observations they weigh.

With f the probabilities of the last state given all that was seen, A the transitions and p(x | k) the emissions,

    p(s_T+h | x_1 ... x_T) = f A^h        p(x_T+h | x_1 ... x_T) = sum_k p(s_T+h = k | x_1 ... x_T) p(x | k)

so what is to be expected h steps ahead is a mixture with the components of the model, and everything that a mixture
knows (moments, quantiles, densities, draws, marginals, conditionals) holds of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils import check_array, check_random_state

from unveil.chains.fitted.as_mixture import StateEmissions
from unveil.chains.fitted.belief import Belief, belief_of
from unveil.chains.fitted.block_functions import LastStates
from unveil.chains.fitted.chain import FittedChain, whole_number
from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.sources.sequences import Sequences

QUANTILE_HALVINGS = 1100  # enough to get from any two numbers to neighbours: doublings of a width, then digits


@dataclass(frozen=True, eq=False)
class Forecast:
    """Distributions of the next steps of a sequence, made by ``forecast`` of a fitted hidden Markov model.

    Attributes
    ----------
    probabilities : array of shape (h, n_components)
        Of the states 1 to h steps ahead.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import GaussianHMM
    >>> X = np.array([[0.0], [0.1], [-0.1], [5.0], [5.1], [4.9], [0.0], [-0.1], [0.2], [5.0], [5.2], [4.8]])
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> ahead = model.forecast(X, 3)
    >>> ahead.probabilities.shape, ahead.mean.shape, ahead.quantiles([0.1, 0.5, 0.9]).shape
    ((3, 2), (3, 1), (3, 3, 1))
    >>> type(ahead.mixture(1)).__name__
    'GaussianMixture'
    """

    probabilities: Floats
    transition: Floats
    components: StateEmissions

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def mean(self) -> Floats:
        """Expected observation of each step, (h, n_features); NaN for categories, which have none."""
        return self.probabilities @ self._means() + self.components.shift

    @property
    def covariance(self) -> Floats:
        """Covariance of the observation of each step, (h, n_features, n_features): within states and between them."""
        away = self._means()[None] - (self.probabilities @ self._means())[:, None]
        between = np.einsum("hk,hki,hkj->hij", self.probabilities, away, away)
        within = self.components.family.covariances(self.components.params)
        found: Floats = np.einsum("hk,kij->hij", self.probabilities, within) + between
        return found

    def quantiles(self, q: ArrayLike) -> Floats:
        """Quantiles of every column of each step: the least value that is not exceeded with probability `q`.

        Parameters
        ----------
        q : float or array-like of floats
            Between 0 and 1, both excluded.

        Returns
        -------
        array of shape (h, n_features), or (h, len(q), n_features)
        """
        levels = _shares("q", q, 1)
        columns = [
            self._column_quantiles(column, np.atleast_1d(levels)) for column in range(len(self.components.shift))
        ]
        found = np.stack(columns, axis=2) + self.components.shift
        return found if levels.ndim else found[:, 0]

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Lower and upper ends, (h, n_features) each, between which an observation falls with probability `level`."""
        inside = float(_shares("level", level, 0))
        ends = self.quantiles([0.5 * (1 - inside), 0.5 * (1 + inside)])
        return ends[:, 0], ends[:, 1]

    def log_density(self, x: ArrayLike, step: int | None = None) -> Floats:
        """Log-density of observations.

        Parameters
        ----------
        x : array-like of shape (n, n_features)
            Observations, in numbers (codes for categories); cells that are NaN are left out, where the family can.
        step : int, optional
            The step ahead, from 1, at which all of them are. By default there are h, one for each step.

        Returns
        -------
        array of shape (n,)
        """
        rows = check_array(_as_numbers(x), dtype=np.float64, ensure_all_finite="allow-nan", input_name="x")
        if rows.shape[1] != len(self.components.shift):
            raise ValueError(f"x must have {len(self.components.shift)} columns, got {rows.shape[1]}")
        if step is None and len(rows) != len(self):
            raise ValueError(
                f"x must have a row for each of {len(self)} steps, or step say which; got {len(rows)} rows"
            )
        weights = self.probabilities if step is None else self._at(step)[None]
        model, params = self._mixture(np.ones(self.probabilities.shape[1]))
        joint = model.log_joint(model.prepare(model.recentre(params)), Block(0, 0, rows))
        with np.errstate(divide="ignore"):
            found: Floats = logsumexp(joint + np.log(weights), axis=1)
        return found

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[np.int64]]:
        """Futures drawn as a whole: steps follow from each other.

        Returns
        -------
        X : array of shape (n_samples, h, n_features)
        states : array of shape (n_samples, h)
        """
        from unveil.chains.kernels.paths import draw_paths

        count, h = whole_number("n_samples", n_samples, 1), len(self)
        random = check_random_state(random_state)
        states = np.empty((h, count), dtype=np.int64)
        uniforms = random.random_sample((h, count))
        silent = np.zeros((h, self.probabilities.shape[1]))
        lengths = np.array([h], dtype=np.intp)
        draw_paths(silent, lengths, np.ascontiguousarray(self.probabilities[0]), self.transition, uniforms, states)
        rows = self.components.draw(states.T.ravel(), random)
        return rows.reshape(count, h, -1), np.ascontiguousarray(states.T)

    def mixture(self, step: int = 1) -> Any:
        """The distribution of the observation `step` steps ahead as one of unveil's mixtures, fitted.

        Its components are the states of the model, in order, and its weights their probabilities. Where a state is
        itself a mixture, each of its parts is a component.
        """
        return self.components.mixture(self._at(step))

    def _at(self, step: int) -> Floats:
        """Probabilities of the states at a step ahead."""
        if whole_number("step", step, 1) > len(self):
            raise ValueError(f"step must be from 1 to {len(self)}, the steps of this forecast, got {step}")
        found: Floats = self.probabilities[int(step) - 1]
        return found

    def _means(self) -> Floats:
        return self.components.family.means(self.components.params)

    def _mixture(self, weights: Floats) -> tuple[Mixture, MixtureParams]:
        family, params, shift = self.components.family, self.components.params, self.components.shift
        return Mixture(family, len(weights), shift), MixtureParams(weights, params)

    def _column_quantiles(self, column: int, levels: Floats) -> Floats:
        """Quantiles of a column, in the frame, (h, levels), by halving: least x with P(X <= x) at least the level."""
        wanted = np.broadcast_to(levels, (len(self), len(levels)))
        inside = np.broadcast_to((self.probabilities @ self._means())[:, column, None], wanted.shape)
        low, high = self._bracket(column, wanted, inside)
        for _ in range(QUANTILE_HALVINGS):
            middle = low + 0.5 * (high - low)
            if np.all((middle <= low) | (middle >= high)):
                break
            below = self._below(column, middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.ceil(low) if self.components.family.is_lattice(column) else high

    def _bracket(self, column: int, wanted: Floats, inside: Floats) -> tuple[Floats, Floats]:
        """Values below and not below the quantiles, found by going twice as far again and again."""
        low, high, width = inside - 1.0, inside + 1.0, 1.0
        for _ in range(QUANTILE_HALVINGS):
            under, over = self._below(column, low) < wanted, self._below(column, high) >= wanted
            if under.all() and over.all():
                break
            width *= 2.0
            low, high = np.where(under, low, inside - width), np.where(over, high, inside + width)
        return low, high

    def _below(self, column: int, x: Floats) -> Floats:
        """P(X <= x) in each step's own mixture, (h, levels)."""
        family, params = self.components.family, self.components.params
        parts = family.distribution(params, column, x.ravel()).reshape(-1, *x.shape)
        found: Floats = np.einsum("hk,khl->hl", self.probabilities, parts)
        return found


def forecast(chain: FittedChain, seen: Sequences | Belief, h: int) -> list[Forecast]:
    """What is to be expected in the `h` steps after each sequence, or after a belief."""
    whole_number("h", h, 1)
    if isinstance(seen, Belief):
        last = belief_of("X", seen, chain.model.n_components, chain.name).probabilities[None]
    else:
        last = np.concatenate(list(chain.each(seen, LastStates)))
    transition = chain.plan.transition
    return [Forecast(one, transition, chain.emissions) for one in _ahead(last, transition, int(h))]


def _ahead(last: Floats, transition: Floats, h: int) -> Floats:
    """Probabilities of the states of the next `h` steps of each sequence, (sequences, h, states)."""
    found = np.empty((len(last), h, len(transition)))
    for number in range(h):
        last = found[:, number] = last @ transition
    return found


def _shares(argument: str, given: Any, most: int) -> Floats:
    """Numbers between 0 and 1, in at most so many dimensions."""
    taken = f"{'a number' if most == 0 else 'one or more numbers'} between 0 and 1, both excluded"
    try:
        levels = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{argument} must be {taken}, got {given!r}") from None
    if levels.ndim > most or not levels.size or not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"{argument} must be {taken}, got {given!r}")
    return levels


def _as_numbers(x: Any) -> Any:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"x must be numbers, codes where columns are categories, got {x!r}") from None
