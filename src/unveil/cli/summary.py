"""A fitted estimator in a few words: as plain values for machines, as a page for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unveil.cli.counting import COUNTED, certificate_of, from_one
from unveil.cli.errors import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_NUMBERS = 1000  # numbers of one array that a summary spells out
SAID_ELSEWHERE = (
    "history_",
    "certificate_",
    "feature_names_in_",
    "lower_bounds_",
    "labels_",
    "random_seed_",
    "recipe_",
)  # said elsewhere
INSIDE = ("frame_", "params_", "origins", "floored")  # how parameters of mixed columns are kept, not what they are
STYLES = {"warning": "bold red", "doubt": "yellow", "note": "", "fine": "green"}  # the worst first
ANSWER_STYLES = {"yes": "bold green", "doubtful": "bold yellow", "no": "bold red", "not examined": "dim"}


def summary(model: Any) -> dict[str, Any]:
    """What JSON can say of a fitted estimator. What is not finite becomes null; of large arrays the shape is given."""
    return {
        "class": type(model).__name__,
        "parameters": {name: plain(value) for name, value in model.get_params(deep=False).items()},
        "columns": [str(name) for name in getattr(model, "feature_names_in_", ())] or None,
        "fitted": {name: plain(value) for name, value in _fitted(model).items()},
        "history": _course(model),
        "certificate": _certificate(getattr(model, "certificate_", None)),
    }


def page(facts: Mapping[str, Any], model: Any, title: str) -> RenderableType:
    """The same for people; `facts` stand at the top."""
    from rich.console import Group
    from rich.text import Text

    from unveil.certificate.certificate import QUESTIONS

    parts: list[RenderableType] = [Text(printable(title), style="bold"), _rows(facts)]
    parts += [Text("\nParameters that differ from their default", style="bold"), _rows(_changed(model))]
    parts += [Text("\nFitted", style="bold"), _rows(_counted(_fitted(model)))]
    if hasattr(model, "certificate_"):
        certificate = certificate_of(model)
        parts += [Text("\nVerdicts", style="bold")]
        parts += [part for question in QUESTIONS for part in _answered(certificate, question)]
    return Group(*parts)


def show_page(facts: Mapping[str, Any], model: Any, title: str) -> None:
    """Print the page on stdout."""
    from rich.console import Console

    Console(highlight=False).print(page(facts, model, title))


def _rows(facts: Mapping[str, Any]) -> RenderableType:
    """Names and values, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for name, value in (facts or {"none": ""}).items():
        table.add_row(Text(f"  {printable(name)}", style="cyan"), Text(printable(str(value))))
    return table


def _answered(certificate: Any, question: str) -> list[RenderableType]:
    """A question, its answer, and the findings behind it, one a line, the worst first."""
    from rich.table import Table
    from rich.text import Text

    from unveil.certificate.certificate import QUESTIONS

    answer = certificate.verdicts[question]
    asked = Text.assemble(f"  {QUESTIONS[question]} ", (f"{answer.capitalize()}.", ANSWER_STYLES[answer]))
    table = Table.grid(padding=(0, 2))
    ranks = {severity: rank for rank, severity in enumerate(STYLES)}
    about = [finding for finding in certificate.findings if finding.question == question]
    for finding in sorted(about, key=lambda finding: ranks.get(finding.severity, 0)):
        style = STYLES.get(finding.severity, "")
        table.add_row(Text(f"    {printable(finding.severity)}", style=style), Text(printable(finding.words)))
    return [asked, table]


def _fitted(model: Any) -> dict[str, Any]:
    """What the fit left behind, except for what is said elsewhere and what goes by rows."""
    left = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: value for name, value in (left | _by_kind(model)).items() if name not in (*SAID_ELSEWHERE, *INSIDE)}


def _counted(fitted: Mapping[str, Any]) -> dict[str, str]:
    """What was fitted, for people: what numbers something counts from 1."""
    return {
        COUNTED.get(name, name): _size(from_one(value) if name in COUNTED else value) for name, value in fitted.items()
    }


def _by_kind(model: Any) -> dict[str, Any]:
    """Parameters of each group of columns, where there are columns of several kinds."""
    if not hasattr(model, "kinds_") or not hasattr(model, "components_"):
        return {}
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return {
        f"{field} of {', '.join(str(names[column]) for column in columns)}": value
        for _, columns, params in model.components_
        for field, value in vars(params).items()
        if field not in INSIDE
    }


def _changed(model: Any) -> dict[str, str]:
    """Parameters other than the default, shortened."""
    default = type(model)().get_params(deep=False)
    now = model.get_params(deep=False)
    return {name: _size(value) for name, value in now.items() if repr(value) != repr(default[name])}


def _size(value: Any) -> str:
    """An array by its shape, unless it is short; anything else as it is."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.size > 12:
        return f"{' x '.join(f'{length:,}' for length in value.shape)} {value.dtype}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ").replace("\n", "")
    if isinstance(value, list):
        return f"[{', '.join(_size(item) for item in value)}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """What JSON has a word for."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.size > MOST_NUMBERS:
        return {"shape": list(value.shape), "dtype": value.dtype.name}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return repr(value)


def _course(model: Any) -> dict[str, Any] | None:
    """How the fit went, if it was one that iterates."""
    history = getattr(model, "history_", None)
    if history is None:
        return None
    course: dict[str, Any] = {"passes": len(history), "status": history.status.value, "events": dict(history.events)}
    if len(history):
        last = history[-1]
        course |= {"log_likelihood": last.log_likelihood, "free_energy": last.free_energy, "seconds": last.seconds}
    told: dict[str, Any] = plain(course)
    return told


def _certificate(certificate: Any) -> dict[str, Any] | None:
    return None if certificate is None else {"ok": certificate.ok, **plain(certificate.to_dict())}
