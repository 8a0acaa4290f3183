"""Cases of hidden Markov models: every schedule and expectation, masks, ties, priors, holes, weights and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import unveil
from tools.bits import data
from tools.bits.case import STRUCTURES, Case, Parts, fit, grid
from tools.bits.use import CHAINS, of_chains
from unveil.families import Bernoulli, Compound, Poisson, Student

STARTS = ("auto", "mixture", "kmeans", "k-means++", "random_from_data", "runs", "random", "progress")
LENGTHS, SEQUENCES = data.LENGTHS, data.SEQUENCE_WEIGHTS
BAND = np.abs(np.subtract.outer(range(3), range(3))) <= 1
BEGIN = np.array([0.5, 0.3, 0.2])
STEPS = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
CENTRES = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
HELD = np.array([[True, False], [False, False], [False, True]])
LEAVING = np.where(np.eye(3, dtype=bool), 0, 1)


class Kind(NamedTuple):
    """A chain and the steps that it is for."""

    name: str
    X: Any
    holes: Any
    options: dict[str, dict[str, Any]]

    def make(self, count: int = 3, **options: Any) -> Any:
        """One that is quick to fit."""
        given = {"random_state": 0, "max_iter": 6, "init_params": "kmeans", "n_init": 1, **options}
        return getattr(unveil, self.name)(count, **given)


NORMAL: dict[str, Any] = {"mean_precision_prior": 0.5, "degrees_of_freedom_prior": 5.0, "covariance_prior": np.eye(2)}
COVARS = {"means_init": CENTRES, "covars_init": np.tile(np.eye(2), (3, 1, 1))}
GAUSSIAN: dict[str, dict[str, Any]] = {
    "prior=normal": NORMAL,
    "init": {"startprob_init": BEGIN, "transmat_init": STEPS, **COVARS},
    "fixed=means": {**COVARS, "fixed": {"means": True}},
    "fixed=some": {**COVARS, "fixed": {"means": HELD, "covars": [False, True, False]}},
    "tied=means": {"tied": {"means": np.array([[0, -1], [-1, -1], [0, -1]])}},
    "tied=covars": {"tied": {"covars": [0, 0, -1]}},
    "tied=covars,diag": {"tied": {"covars": [0, -1, 0]}, "covariance_type": "diag"},
    "n_mix=2": {"n_mix": 2},
    "n_mix=2,prior": {"n_mix": 2, **NORMAL},
    "n_mix=2,tied": {"n_mix": 2, "covariance_type": "tied"},
    "n_mix=2,weights": {"n_mix": 2, "weights_init": [[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]},
    "reg_covar": {"reg_covar": 0.1},
}
SHARES = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]])
CATEGORICAL: dict[str, dict[str, Any]] = {
    "prior=dirichlet": {"emissionprob_prior": 1.5},
    "init": {"startprob_init": BEGIN, "transmat_init": STEPS, "emissionprob_init": SHARES},
    "fixed=emissionprob": {"emissionprob_init": SHARES, "fixed": {"emissionprob": [True, False, False]}},
    "tied=emissionprob": {"tied": {"emissionprob": [0, 0, -1]}},
    "n_features=6": {"n_features": 6},
}
POISSON: dict[str, dict[str, Any]] = {
    "prior=gamma": {"rate_prior": (2.0, 0.5)},
    "init": {"lambdas_init": [[1.0, 6.0], [9.0, 2.0], [4.0, 15.0]], "transmat_init": STEPS},
    "fixed=lambdas": {"lambdas_init": [[1.0, 6.0], [9.0, 2.0], [4.0, 15.0]], "fixed": {"lambdas": HELD}},
    "tied=lambdas": {"tied": {"lambdas": np.array([[0, -1], [-1, -1], [0, -1]])}},
}
MIXED: dict[str, dict[str, Any]] = {
    "families=student": {"families": {"level": Student()}},
    "families=compound": {"families": {"visits": Compound(Poisson(), 2)}},
    "families=bernoulli": {"families": {"open": Bernoulli(), "visits": "number"}},
    "families=words": {"families": {"visits": "category", "level": "number"}, "covariance_type": "diag"},
}
KINDS = (
    Kind("GaussianHMM", data.NUMBERS, data.NUMBERS_HOLES, GAUSSIAN),
    Kind("CategoricalHMM", data.SYMBOLS, data.with_holes(data.SYMBOLS.astype(float)), CATEGORICAL),
    Kind("PoissonHMM", data.VISITS, data.with_holes(data.VISITS), POISSON),
    Kind("MixedHMM", data.DIARY, data.DIARY_HOLES, MIXED),
)
CHAIN: dict[str, dict[str, Any]] = {
    "left-right": {"transitions": "left-right"},
    "banded": {"transitions": ("banded", 1)},
    "mask": {"transitions": BAND},
    "fixed=chain": {"startprob_init": BEGIN, "transmat_init": STEPS, "fixed": {"startprob": True, "transmat": True}},
    "fixed=row": {"transmat_init": STEPS, "fixed": {"transmat": [True, False, False]}},
    "tied=transmat": {"tied": {"transmat": LEAVING}},
    "prior=chain": {"startprob_prior": 1.5, "transmat_prior": 2.0},
    "prior=sticky": {"transmat_prior": np.eye(3) * 5 + 1},
    "algorithm=map": {"algorithm": "map"},
    "n_init=3": {"n_init": 3, "init_params": "auto"},
}


def cases() -> Iterator[Case]:
    """All of them."""
    for kind in KINDS:
        yield from _of(kind)
    yield from _gaussian()
    yield from _symbols()
    yield from _by_hand()


def brief(model: Any, X: Any, **given: Any) -> Parts:
    """Paths and what they are worth."""
    for name in ("predict", "predict_proba", "score"):
        yield name, partial(CHAINS[name], model, X, **given)


def _of(kind: Kind) -> Iterator[Case]:
    """What all chains have."""
    X, holes, make = kind.X, kind.holes, kind.make
    yield from grid(make, X, use=brief, lengths=LENGTHS)
    yield from grid(make, holes, "/holes", use=brief, lengths=LENGTHS)
    for label, options in {**CHAIN, **kind.options}.items():
        yield fit(label, make(**options), X, use=of_chains, lengths=LENGTHS)
        yield fit(f"{label}/holes", make(**options), holes, use=brief, lengths=LENGTHS)
        for schedule in ("gradient", "lbfgs", "squarem", "stepwise"):
            yield fit(f"{label}/schedule={schedule}", make(**options, schedule=schedule), X, use=brief, lengths=LENGTHS)
        for word in ("hard", "sampled", "sparse"):
            yield fit(f"{label}/expectation={word}", make(**options, expectation=word), X, use=brief, lengths=LENGTHS)
    for word in STARTS:
        yield fit(f"init_params={word}", make(init_params=word), X, use=brief, lengths=LENGTHS)
    weights = {"sample_weight": data.STEP_WEIGHTS, "sequence_weight": SEQUENCES}
    for name, value in weights.items():
        yield fit(f"{name}", make(), X, use=brief, lengths=LENGTHS, **{name: value})
    yield fit("weights", make(), holes, use=of_chains, lengths=LENGTHS, **weights)
    yield from grid(make, X, "/weights", use=brief, lengths=LENGTHS, **weights)
    yield fit("one", make(1), X, use=of_chains)
    yield fit("default", getattr(unveil, kind.name)(2, random_state=0, max_iter=20), X, use=of_chains)
    yield fit("holes", make(), holes, use=of_chains, lengths=LENGTHS)
    if not hasattr(X, "iloc"):
        bounds = np.cumsum(LENGTHS)[:-1]
        yield fit("list", make(), np.split(X, bounds), use=brief)
    yield Case(f"{kind.name}/go on", lambda: _go_on(kind))


def _go_on(kind: Kind) -> Parts:
    """Fitted twice, and by batches."""
    model = kind.make(max_iter=3, warm_start=True)
    yield "fit", lambda: model.fit(kind.X, lengths=LENGTHS)
    yield "fit again", lambda: model.fit(kind.X, lengths=LENGTHS)
    yield "batch", lambda: model.partial_fit(kind.X[:90])
    stream = kind.make()
    yield "batch 1", lambda: stream.partial_fit(kind.X, lengths=LENGTHS)
    yield "batch 2", lambda: stream.partial_fit(kind.X[:91], lengths=LENGTHS[:2], sequence_weight=[2.0, 1.0])
    yield from of_chains(stream, kind.X, lengths=LENGTHS)
    weights = {"sample_weight": data.STEP_WEIGHTS, "sequence_weight": SEQUENCES}
    for name in ("score", "aic", "bic"):
        yield f"{name} with weights", partial(getattr(stream, name), kind.X, lengths=LENGTHS, **weights)
    yield "steps on", lambda: stream.sample(5, random_state=2, currstate=1)


def _gaussian() -> Iterator[Case]:
    """Structures of covariances, with one Gaussian or two in a state."""
    for word in STRUCTURES:
        for n_mix in (1, 2):
            model = KINDS[0].make(covariance_type=word, n_mix=n_mix)
            yield fit(f"{word},n_mix={n_mix}", model, data.NUMBERS, use=of_chains, lengths=LENGTHS)
            model = KINDS[0].make(covariance_type=word, n_mix=n_mix)
            yield fit(f"{word},n_mix={n_mix}/holes", model, data.NUMBERS_HOLES, use=brief, lengths=LENGTHS)
        model = KINDS[0].make(covariance_type=word, schedule="lbfgs")
        yield fit(f"{word}/schedule=lbfgs", model, data.NUMBERS, use=brief, lengths=LENGTHS)
        model = KINDS[0].make(covariance_type=word, **NORMAL)
        yield fit(f"{word}/prior", model, data.NUMBERS, use=brief, lengths=LENGTHS)


def _symbols() -> Iterator[Case]:
    """Words, several columns, and unknown ones."""
    yield fit("letters", KINDS[1].make(), data.LETTERS, use=of_chains, lengths=LENGTHS)
    holes = data.with_holes(data.LETTERS)
    yield fit("letters/holes", KINDS[1].make(), holes, use=of_chains, lengths=LENGTHS)
    new = data.LETTERS.copy()
    new[5, 0] = "never seen"
    for word in ("missing", "error"):
        yield fit(f"handle_unknown={word}", KINDS[1].make(handle_unknown=word), data.LETTERS, on=new, use=brief)


def _tried_by_hand(make: Callable[[], Any], X: Any) -> Parts:
    yield from of_chains(make(), X, lengths=LENGTHS)


def _by_hand() -> Iterator[Case]:
    """Attributes that are set, and nothing fitted."""

    def gaussian() -> Any:
        model = unveil.GaussianHMM(3, random_state=0)
        model.startprob_, model.transmat_, model.means_ = BEGIN, STEPS, CENTRES
        model.covars_ = np.tile(np.eye(2), (3, 1, 1))
        return model

    def categorical() -> Any:
        model = unveil.CategoricalHMM(3, random_state=0)
        model.startprob_, model.transmat_, model.emissionprob_ = BEGIN, STEPS, SHARES
        return model

    def poisson() -> Any:
        model = unveil.PoissonHMM(3, random_state=0)
        model.startprob_, model.transmat_, model.lambdas_ = BEGIN, STEPS, np.array([[1.0, 6], [9, 2], [4, 15]])
        return model

    for make, X in ((gaussian, data.NUMBERS), (categorical, data.SYMBOLS), (poisson, data.VISITS)):
        name = type(make()).__name__
        yield Case(f"{name}/by hand", partial(_tried_by_hand, make, X))
