"""Cases of mixtures: every family with every schedule and expectation, starts, priors, holes, batches and merging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import unveil
from tools.bits import data
from tools.bits.case import STRUCTURES, Case, Parts, feed, fit, grid
from tools.bits.use import briefly, in_full
from unveil.expectations import Annealed, Sampled, Sparse
from unveil.families import Compound, Exponential, Gaussian, Poisson, Student
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem, Stepwise

STARTS = ("auto", "kmeans", "whitened", "hierarchical", "k-means++", "random_from_data", "furthest", "random")
PARTS: dict[str, dict[str, Any]] = {
    "Incremental(40)": {"schedule": Incremental(40)},
    "Stepwise(0.8, 50)": {"schedule": Stepwise(0.8, 50)},
    "Gradient(3)": {"schedule": Gradient(3)},
    "LBFGS(3)": {"schedule": LBFGS(3)},
    "Squarem(Batch)": {"schedule": Squarem(Batch())},
    "Squarem(Incremental)": {"schedule": Squarem(Incremental(40))},
    "Sampled(2, 1)": {"expectation": Sampled(2, 1.0)},
    "Sparse(1, 2)": {"expectation": Sparse(1, 2)},
    "Annealed(0.3, 4)": {"expectation": Annealed(0.3, 4)},
}


class Kind(NamedTuple):
    """A mixture and the tables that it is for."""

    name: str
    X: Any
    holes: Any
    priors: dict[str, dict[str, Any]] = {}  # noqa: RUF012  never written to

    def make(self, count: int = 3, **options: Any) -> Any:
        """One that is quick to fit."""
        given = {"random_state": 0, "max_iter": 8, "init_params": "kmeans", **options}
        return getattr(unveil, self.name)(count, **given)


NORMAL = {"mean_precision_prior": 0.5, "degrees_of_freedom_prior": 7.0, "covariance_prior": np.eye(4)}
KINDS = (
    Kind("GaussianMixture", data.ROWS, data.HOLES, {"normal": NORMAL, "mean": {"mean_prior": np.zeros(4)}}),
    Kind("StudentMixture", data.ROWS, data.HOLES, {"fixed": {"degrees_of_freedom": 4.0}}),
    Kind("BernoulliMixture", data.BITS, data.with_holes(data.BITS), {"beta": {"probability_prior": (1.5, 2.0)}}),
    Kind("PoissonMixture", data.COUNTS, data.with_holes(data.COUNTS), {"gamma": {"rate_prior": (2.0, 0.5)}}),
    Kind("CategoricalMixture", data.WORDS, data.with_holes(data.WORDS), {"dirichlet": {"concentration_prior": 1.5}}),
    Kind("MixedMixture", data.FRAME, data.HOLED),
)


def cases() -> Iterator[Case]:
    """All of them."""
    for kind in KINDS:
        yield from _of(kind)
    yield from _structures()
    yield from _gaussian()
    yield from _others()


def _cut(X: Any, rows: slice) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _of(kind: Kind) -> Iterator[Case]:
    """What all mixtures have."""
    X, make = kind.X, kind.make
    yield from grid(make, X)
    yield from grid(make, kind.holes, "/holes", use=briefly)
    yield from grid(make, X, "/weights", use=briefly, sample_weight=data.WEIGHTS)
    for word, parts in PARTS.items():
        yield fit(f"part={word}", make(**parts), X, use=briefly)
    for word in STARTS:
        for n_init in (1, 2):
            yield fit(f"init_params={word},n_init={n_init}", make(init_params=word, n_init=n_init), X, use=briefly)
    for word in ("reseed", "keep", "error"):
        for init in ("random", "k-means++"):
            model = make(12, init_params=init, empty_components=word, expectation="hard")
            yield fit(f"empty_components={word},init={init}", model, X, use=briefly)
    yield fit("to the end", make(init_params="auto", max_iter=300), X)
    yield fit("holes", make(init_params="auto", max_iter=30), kind.holes)
    yield fit("start", make(responsibilities_init=data.START), X)
    yield fit("one", make(1), X)
    yield fit("concentration", make(weight_concentration_prior=2.0), X)
    for word, prior in kind.priors.items():
        yield from (fit(f"prior={word}", make(**prior), X), fit(f"prior={word}/holes", make(**prior), kind.holes))
        yield from grid(lambda prior=prior, **parts: make(**prior, **parts), X, f"/prior={word}", use=briefly)
    halves = [_cut(X, slice(0, 110)), _cut(X, slice(60, 150))]
    yield feed("partial_fit", make(), halves)
    yield feed("partial_fit/stepwise", make(schedule=Stepwise(0.9, 30)), halves)
    yield Case(f"{kind.name}/go on", lambda: _go_on(kind))
    yield Case(f"{kind.name}/merge", lambda: _merged(kind))


def _go_on(kind: Kind) -> Parts:
    """Fitted twice, by batches after a fit, and standard errors."""
    model = kind.make(max_iter=3, warm_start=True)
    yield "fit", lambda: model.fit(kind.X)
    yield "fit again", lambda: model.fit(kind.X)
    yield "fit_predict", lambda: model.fit_predict(kind.X)
    yield "batch", lambda: model.partial_fit(_cut(kind.X, slice(0, 100)))
    fitted = kind.make(2)
    yield "fit two", lambda: fitted.fit(kind.X)
    yield "standard_errors", lambda: fitted.standard_errors(kind.X, n_bootstrap=3, random_state=0)
    for name in ("score", "aic", "bic", "icl"):
        yield f"{name} with weights", partial(getattr(fitted, name), kind.X, sample_weight=data.WEIGHTS)


def _merged(kind: Kind) -> Parts:
    one, other = kind.make(), kind.make(random_state=1)
    halves = [_cut(kind.X, slice(0, 110)), _cut(kind.X, slice(60, 150))]
    yield "fit one", lambda: one.fit(halves[0])
    yield "fit other", lambda: other.fit(halves[1])
    yield "fit both", lambda: unveil.merge(one, other)
    yield from in_full(unveil.merge(one, other), kind.X)
    streamed = kind.make().partial_fit(halves[0])
    yield "fit a stream", lambda: unveil.merge(streamed, other)


def _structures() -> Iterator[Case]:
    """Every structure of covariances on every kind of table."""
    for word in STRUCTURES:
        for cls in (unveil.GaussianMixture, unveil.StudentMixture):
            options = {"covariance_type": word, "random_state": 0, "init_params": "kmeans", "max_iter": 6}
            yield fit(f"{word}/rows", cls(3, **options), data.ROWS)
            yield fit(f"{word}/middle", cls(8, **options), data.MIDDLE, use=briefly)
            yield fit(f"{word}/wide", cls(2, **options), data.WIDE, use=briefly)
            yield fit(f"{word}/single", cls(3, **options), data.SINGLE, use=briefly)
            yield fit(f"{word}/column", cls(2, **options), data.ROWS[:, :1], use=briefly)
            yield fit(f"{word}/holes", cls(3, **options), data.HOLES, use=briefly)
            yield fit(f"{word}/weights", cls(3, **options), data.ROWS, use=briefly, sample_weight=data.WEIGHTS)
            for schedule in ("gradient", "lbfgs", "squarem", "stepwise"):
                yield fit(f"{word}/schedule={schedule}", cls(3, schedule=schedule, **options), data.ROWS, use=briefly)
            yield feed(f"{word}/partial_fit", cls(3, **options), [data.ROWS[:110], data.ROWS[60:]], use=briefly)
        model = unveil.GaussianMixture(3, **NORMAL, **options)
        yield fit(f"{word}/prior", model, data.ROWS, use=briefly)
        yield fit(f"{word}/mixed", unveil.MixedMixture(2, **options), data.FRAME, use=briefly)
        yield Case(f"GaussianMixture/{word}/merge", partial(_merged_structure, word))


def _merged_structure(word: str) -> Parts:
    halves = (data.ROWS[:110], data.ROWS[60:])
    one, other = (
        unveil.GaussianMixture(3, covariance_type=word, random_state=0, init_params="kmeans").fit(half)
        for half in halves
    )
    yield "fit", lambda: unveil.merge(one, other)


def _gaussian() -> Iterator[Case]:
    """What only mixtures of Gaussians have."""
    first = data.ROWS[[0, 60, 120]]
    make: Callable[..., Any] = unveil.GaussianMixture
    yield fit("means_init", make(3, means_init=first, random_state=0), data.ROWS)
    given = {"weights_init": [0.5, 0.3, 0.2], "means_init": first, "precisions_init": np.tile(np.eye(4), (3, 1, 1))}
    yield fit("all_init", make(3, **given), data.ROWS)
    yield fit("reg_covar=0.1", make(3, reg_covar=0.1, random_state=0), data.ROWS)
    yield fit("tol=0", make(2, tol=0.0, max_iter=20, random_state=0), data.ROWS)
    yield fit("many", make(10, random_state=0, max_iter=20), data.MIDDLE, on=data.MIDDLE[:50])
    yield fit("wide", make(3, random_state=0, max_iter=5), data.WIDE, on=data.WIDE[:50])
    model = make(4, init_params="hierarchical", random_state=0)
    yield fit("hierarchical", model, data.MIDDLE[:700], on=data.MIDDLE[:50])
    yield fit("twins", make(3, random_state=0), data.TWINS)
    yield fit("sparse", make(2, random_state=0), data.SPARSE)


def _others() -> Iterator[Case]:
    """What only some of the others have."""
    yield fit("binarize=1", unveil.BernoulliMixture(2, binarize=1.0, random_state=0), data.ROWS)
    yield fit("binarize=None", unveil.BernoulliMixture(2, binarize=None, random_state=0), data.BITS)
    yield fit("sparse", unveil.BernoulliMixture(2, random_state=0), data.SPARSE, use=briefly)
    yield fit("numbers", unveil.CategoricalMixture(2, random_state=0), data.COUNTS)
    new = data.WORDS.copy()
    new[4, 1] = "never seen"
    for word in ("missing", "error"):
        model = unveil.CategoricalMixture(2, random_state=0, handle_unknown=word)
        yield fit(f"handle_unknown={word}", model, data.WORDS, on=new)
    families: dict[str, Any] = {
        "words": {"visits": "number", 3: "category"},
        "groups": [("number", ["height"]), ("number", "weight")],
        "waiting time": {"visits": Exponential()},
        "student": [(Student(), ["height", "weight"])],
        "compound": {"visits": Compound(Poisson(), 2)},
        "gaussian": [(Gaussian(), ["height", "weight", "visits"])],
    }
    for word, value in families.items():
        model = unveil.MixedMixture(2, families=value, random_state=0, init_params="kmeans", max_iter=8)
        yield fit(f"families={word}", model, data.FRAME)
        yield from grid(
            lambda value=value, **parts: unveil.MixedMixture(
                2, families=value, random_state=0, init_params="kmeans", max_iter=5, **parts
            ),
            data.FRAME,
            f"/families={word}",
            use=briefly,
        )
    yield fit("families=own", unveil.MixedMixture(2, families=Poisson(), random_state=0), data.COUNTS)
    yield fit("covariance_type=diag", unveil.MixedMixture(2, covariance_type="diag", random_state=0), data.HOLED)
