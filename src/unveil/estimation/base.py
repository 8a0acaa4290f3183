"""What all estimators share: a file, an engine, a seed, callbacks, and telling the user how the fit went."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from unveil.certificate import Finding, FitWarning, NotConvergedWarning, examine
from unveil.core.checkpoint import drawn
from unveil.core.declared import Declaration
from unveil.core.loop import Callback, watchers
from unveil.core.protocols import Engine, Source
from unveil.core.result import Fit, State, Status
from unveil.engines.cluster.client import is_client
from unveil.engines.dask import Dask
from unveil.estimation.arguments import validate
from unveil.estimation.declarations import common
from unveil.estimation.degenerate import degenerate_findings
from unveil.estimation.engine_words import is_address
from unveil.estimation.input import FiniteGuard
from unveil.estimation.lazy import answer_lazily
from unveil.estimation.persistence import write_estimator
from unveil.estimation.registry import ENGINES, resolve
from unveil.sources.dask import DaskSource
from unveil.sources.mapped import Mapped
from unveil.sources.sequences import Sequences
from unveil.storage.atomic import PathLike

if TYPE_CHECKING:
    from unveil.estimation.scaffold import Stream
    from unveil.estimation.shapes import Shapes

logger = logging.getLogger("unveil")

LaterFigures = Callable[[], Mapping[str, float]]  # figures of a fit that are computed when somebody looks


def engine_for(engine: Any, source: Source) -> Engine:
    """The engine that `engine` names; "auto" is threads, or Dask for data that lives on a cluster."""
    if isinstance(engine, str) and engine == "auto":
        engine = "dask" if on_cluster(source) else "threads"
    if is_client(engine) or is_address(engine):
        return Dask(engine)
    if isinstance(engine, str) and engine not in ENGINES:
        words = ", ".join(map(repr, ("auto", *ENGINES)))
        raise ValueError(f"engine must be one of {words}, the address of a Dask scheduler or an object, got {engine!r}")
    resolved: Engine = resolve("engine", engine, ENGINES, "map_reduce")
    return resolved


def on_cluster(source: Any) -> bool:
    """Whether the rows, under whatever is laid over them, are a Dask collection of a cluster that is there."""
    while isinstance(source, Mapped | Sequences):
        source = source.source
    if not isinstance(source, DaskSource):
        return False
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        return False
    return True


def seed_of(random_state: Any) -> int:
    """A seed drawn from what scikit-learn calls a random state."""
    if type(random_state) is int:
        return _seed_of_number(random_state)
    return drawn(lambda: int(check_random_state(random_state).randint(np.iinfo(np.int32).max)))


@lru_cache(maxsize=1024)
def _seed_of_number(number: int) -> int:
    """The same for a number, which always gives the same seed; a generator takes longer to make than a small fit."""
    return int(check_random_state(number).randint(np.iinfo(np.int32).max))


class Announcer:
    """A callback that logs every `interval`-th pass, and of which start it is where several run side by side."""

    def __init__(self, name: str, interval: int) -> None:
        self.name, self.interval = name, interval
        self.starts: dict[int, int] = {}  # from the numbers of climbs, in the order of their starts

    def __call__(self, state: State) -> None:
        """Log one line."""
        start = self.starts.setdefault(state.climb, len(self.starts) + 1)
        if state.iteration % self.interval == 0:
            per_row = state.record.free_energy / float(state.statistics["weight"])
            which = f"start {start}, " if len(self.starts) > 1 else ""
            logger.info("%s: %spass %d, free energy per row %.8g", self.name, which, state.iteration, per_row)


class Estimator:
    """What all estimators of unveil have besides scikit-learn's: a file, callbacks, and a word on how the fit went."""

    verbose: int
    random_state: Any
    n_features_in_: int  # columns at the fit; a grammar has none
    _takes_missing: bool = False  # may cells be NaN?
    _resumed_from: ClassVar[tuple[str, ...]] = ("_stream",)
    """Private attributes that are saved too, where they are there, since ``partial_fit`` goes on from them."""
    _own_parts: ClassVar[dict[str, type]] = {}
    """Classes of its own subject that its parameters and attributes may be of, by what files call them."""
    _card_from: ClassVar[str] = ""  # module:function of its own subject that tells a notebook what was found
    _shows_streams: ClassVar[bool] = False  # does `_set_attributes` take a stream, and set all that its parameters say?
    _stream: Stream  # where `partial_fit` goes on; set by every fit that can go on
    _row_by_row: ClassVar[bool] = True  # does it say something of each row by itself? A chain does not

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._row_by_row:
            answer_lazily(cls)

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator to a file that `unveil.load` reads.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all, in place of one that may be there.
        """
        self._check_storable()
        write_estimator(self, path)

    def _validate_params(self) -> None:
        """Scikit-learn's hook, without a second look at what was found valid before."""
        validate(self)

    def _declares(self) -> Declaration:
        """What its fitted attributes must be in a file; a generator may rely on what it has declared before."""
        return common(self)

    def _make_ready(self) -> None:
        """Raise what the use of attributes that are as declared may still raise, whatever the rows."""

    def _check_storable(self) -> None:
        """Raise a TypeError where a model file could not hold what it was given."""

    def _callbacks_for(self, source: Source, interval: int = 1) -> tuple[Callback, ...]:
        """The guard against NaN, those who watch the fits of this thread, and the log if asked for."""
        callbacks: tuple[Callback, ...] = (FiniteGuard(source, self._takes_missing), *watchers())
        if not self.verbose:
            return callbacks
        if logger.getEffectiveLevel() > logging.INFO:
            logger.setLevel(logging.INFO)
        if not logging.getLogger().handlers and not logger.handlers:
            logger.addHandler(logging.StreamHandler())
        return (*callbacks, Announcer(type(self).__name__, interval))

    def _shapes(self) -> Shapes | None:
        """Where its groups lie, and how wide they are; None where it has none, or none that have a place."""
        return None

    def _repr_html_inner(self) -> str:
        """What a notebook shows: scikit-learn's own before the fit, key results and the verdicts after it."""
        from unveil.estimation.html.page import html_of

        return html_of(self) or super()._repr_html_inner()  # type: ignore[misc,no-any-return]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def _excuse(self) -> str | None:
        """Why the free energy of this fit may fall, if there is a reason."""
        return None

    def _report(
        self,
        outcome: Fit,
        counts: Any,
        figures: Mapping[str, float] | None = None,
        later: LaterFigures | None = None,
        depth: int = 4,
        more: Iterable[Finding] = (),
    ) -> None:
        """Set what every iterative estimator has, and warn where the fit is not sound; see `warn_of` for `depth`.

        `more` is what this kind of model was checked for besides.
        """
        self.history_ = outcome.history
        self.converged_ = outcome.status is Status.CONVERGED
        self.n_iter_ = len(outcome.history)
        found = (*self._component_findings(outcome.status, counts, figures), *more)
        self.certificate_ = examine(outcome.history, counts, self._excuse(), figures, later, found)
        warn_of(self, self.certificate_.at_once, depth)

    def _component_findings(self, status: Status, counts: Any, figures: Mapping[str, float] | None) -> list[Finding]:
        """What speaks against components of a family; one batch of a stream does not tell how many rows they have."""
        if not hasattr(self, "_emission") or status is Status.STREAMING or figures is None or counts is None:
            return []
        return list(degenerate_findings(self, counts, figures))


def warn_of(estimator: Any, findings: Iterable[Finding], depth: int = 3) -> None:
    """One warning, of the first finding that says that a fit is not sound, with what to try.

    `depth` counts the calls between the user and whoever calls this.
    """
    for finding in findings:
        if finding.severity == "warning" and finding.question == "sound":
            kind = NotConvergedWarning if finding.name == "converged" else FitWarning
            warnings.warn(f"{type(estimator).__name__}: {finding.words}", kind, stacklevel=depth + 1)
            return
