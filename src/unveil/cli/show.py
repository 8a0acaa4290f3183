"""``unveil show``: what is in a model file."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from unveil.cli.options import Json, argument


def show(
    model: Annotated[str, argument(metavar="MODEL", help="A model file.")],
    as_json: Json = False,
) -> None:
    """Show what is in a model file: class, parameters, sizes, how the fit went, and three verdicts on it.

    Is the fit sound, does it describe the data, are its groups real? The reasons stand below each.
    """
    import unveil
    from unveil.cli.summary import show_page
    from unveil.storage.file import read

    estimator = unveil.load(model)
    header = read(model)[0]
    facts: dict[str, Any] = {
        name: header.get(name) for name in ("created", "library_version", "format_version", "seed")
    }
    if as_json:
        typer.echo(json.dumps({"file": model, **facts, "not_kept": header.get("not_kept"), **_all(estimator)}))
        return
    said = {
        "written": f"{facts['created']} by unveil {facts['library_version']}",
        "columns": ", ".join(header.get("feature_names") or ()) or estimator.n_features_in_,
        "seed": facts["seed"],
        **_course(estimator),
        **_taken(getattr(estimator, "recipe_", None)),
    }
    said |= {"not kept": ", ".join(header["not_kept"])} if header.get("not_kept") else {}
    show_page({name: value for name, value in said.items() if value is not None}, estimator, type(estimator).__name__)


def _all(estimator: Any) -> dict[str, Any]:
    """What JSON has of a model, with how tables are read for it."""
    from unveil.cli.summary import summary

    return {**summary(estimator), "recipe": getattr(estimator, "recipe_", None)}


def _taken(recipe: Any) -> dict[str, str]:
    """What columns of a table are taken for, where the model was fitted to one."""
    if recipe is None:
        return {}
    columns = recipe["columns"]
    used = ", ".join(f"{column['name']} ({column['role']})" for column in columns if column["kind"])
    left = ", ".join(f"{column['name']} ({column['role']})" for column in columns if not column["kind"])
    found = {"takes": used, "leaves out": left, "sequences by": recipe["sequence"] or ""}
    return {name: words for name, words in found.items() if words}


def _course(estimator: Any) -> dict[str, Any]:
    """How the fit went, in a line or two."""
    history = getattr(estimator, "history_", None)
    if not history:
        return {}
    passes = f"{len(history):,} {'pass' if len(history) == 1 else 'passes'} in {history[-1].seconds:.3g} s"
    return {"fit": f"{history.status.value}, {passes}", "log-likelihood": f"{history[-1].log_likelihood:.8g}"}
