"""What a fit leaves behind: parameters, the path it took, how it ended, and what had to be mended on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.declared import Declared, DictionaryOf, ListOf, RecordOf, at_least_zero, bounds, counts, truth
from unveil.core.snapshots import Snapshot
from unveil.core.statistics import Statistics


class Status(Enum):
    """How a fit ended."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at the limit of iterations"
    INTERRUPTED = "interrupted; the best so far is kept"
    STREAMING = "fed batch by batch"


class Record(NamedTuple):
    """One pass over the data. Likelihoods are sums over rows, at the parameters that entered the pass."""

    log_likelihood: float
    free_energy: float
    objective: float  # free energy plus log-prior: what the loop climbs
    weight: float  # sum of the weights of the rows
    seconds: float  # since the fit began

    @property
    def gap(self) -> float:
        """log-likelihood - free energy = KL(q || posterior): what the choice of q gives away."""
        return self.log_likelihood - self.free_energy


@dataclass(frozen=True)
class History(Sequence[Record]):
    """The path that a fit took: a record per pass, columns as arrays, and how it ended."""

    records: tuple[Record, ...] = ()
    events: Mapping[str, int] = field(default_factory=dict)  # what had to be mended, and how often
    status: Status = Status.MAX_ITER
    monotone: bool = True  # did the schedule promise that the objective never falls?
    restarts: tuple[float, ...] = ()  # final objective of every start, the best among them
    passes: int = 0  # over all rows: more than there are records where a step was taken back
    snapshots: tuple[Snapshot, ...] = field(default=(), compare=False, repr=False)  # see `unveil.snapshots`

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def column(self, name: str) -> NDArray[np.float64]:
        """One column, ``history.column("free_energy")``."""
        return np.array([getattr(record, name) for record in self.records], dtype=np.float64)

    @property
    def heights(self) -> list[float]:
        """Objective at each pass."""
        return [record.objective for record in self.records]

    @property
    def weight(self) -> NDArray[np.float64]:
        """Sum of the weights of the rows, at each pass."""
        return self.column("weight")

    @property
    def log_likelihood(self) -> NDArray[np.float64]:
        """Log-likelihood at each pass."""
        return self.column("log_likelihood")

    @property
    def free_energy(self) -> NDArray[np.float64]:
        """Free energy at each pass."""
        return self.column("free_energy")

    @property
    def gap(self) -> NDArray[np.float64]:
        """Log-likelihood minus free energy at each pass."""
        return self.column("gap")

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds since the fit began, at each pass."""
        return self.column("seconds")

    def largest_fall(self) -> float:
        """The largest fall of the objective from one pass to the next; 0 where it never fell."""
        heights = self.column("objective")
        steps = np.diff(heights[heights > -np.inf])  # whoever starts from the impossible can only rise
        return float(max(-steps.min(initial=0.0), 0.0))

    @classmethod
    def declared(cls) -> Declared:
        """What one from a file must be."""
        columns = {name: bounds(None) for name in ("log_likelihood", "free_energy")}
        sizes = {"weight": at_least_zero(None), "seconds": at_least_zero(None)}
        heights, restarts = ListOf(bounds()), ListOf(bounds(), tuple)
        rest = {"events": DictionaryOf(counts()), "monotone": truth(), "passes": counts()}
        return RecordOf(cls, {**columns, **sizes, "heights": heights, "restarts": restarts, **rest})

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for a file."""
        columns = {name: self.column(name).tolist() for name in Record._fields}
        plain = {
            "events": dict(self.events),
            "status": self.status.name,
            "monotone": self.monotone,
            "passes": self.passes,
        }
        return {"columns": columns, "restarts": list(self.restarts), **plain}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> History:
        """The history that `to_dict` wrote down."""
        columns = [plain["columns"][name] for name in Record._fields]
        records = tuple(Record(*map(float, row)) for row in zip(*columns, strict=True))
        events = {str(name): int(count) for name, count in plain["events"].items()}
        restarts = tuple(map(float, plain["restarts"]))
        return cls(
            records, events, Status[plain["status"]], bool(plain["monotone"]), restarts, int(plain.get("passes", 0))
        )


class State(NamedTuple):
    """Where the loop stands after a pass; what stopping rules and callbacks are shown."""

    iteration: int
    params: Any  # after the M step of this pass
    statistics: Statistics
    record: Record
    records: Sequence[Record] = ()  # of all passes so far, this one included
    climb: int = 0  # a number that no other climb has; 0 where climbs are run one after the other


@dataclass(frozen=True)
class Fit:
    """The outcome of one run of the loop, or of the best of several."""

    params: Any
    statistics: Statistics
    history: History
    entered: Any = None  # the parameters at which the last pass began
    at_end: Statistics | None = None  # at the parameters themselves, under the posterior, where a pass was run there

    @property
    def objective(self) -> float:
        """Objective of the last pass; minus infinity when no pass was completed."""
        return self.history[-1].objective if self.history else -np.inf

    @property
    def status(self) -> Status:
        """How it ended."""
        return self.history.status

    def noting(self, event: str, count: int) -> Fit:
        """The same outcome, with one more thing that is known of it."""
        events = {**self.history.events, event: count}
        return replace(self, history=replace(self.history, events=events))

    @property
    def bare(self) -> Fit:
        """The same outcome, without snapshots."""
        return replace(self, history=replace(self.history, snapshots=())) if self.history.snapshots else self


def add_events(total: Counter[str], new: Mapping[str, int]) -> None:
    """Add `new` to `total`, in place, leaving out what did not happen."""
    total.update({name: count for name, count in new.items() if count})
