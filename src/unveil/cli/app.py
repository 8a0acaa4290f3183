"""The command ``unveil``: its verbs, and the one place where errors become one line and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import unveil
from unveil.cli import (
    compare,
    demo,
    errors,
    fit,
    listing,
    parse,
    predict,
    report,
    sample,
    select,
    show,
    transform,
    warm_up,
)
from unveil.cli.helped import Verb, plain

COMPLETION = ("install_completion", "show_completion")


class OneLineErrors(TyperGroup):
    """The verbs. Whatever goes wrong in one of them is said on one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a verb and leave the process with its exit code."""
        with errors.signals_noted(), errors.on_one_line():
            code = super().main(*args, **{**options, "standalone_mode": False})
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; Ctrl-C and SIGTERM end it with the exit code that shells expect."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            errors.say("interrupted; nothing was written")
            raise typer.Exit(errors.interruption()) from None

    def get_params(self, ctx: Any) -> Any:
        """Options besides the verbs; those that set up completion are not listed: the end of the help names one."""
        found = plain(super().get_params(ctx))
        for one in found:
            if one.name in COMPLETION:
                one.hidden = True  # type: ignore[attr-defined]
        return found


app = typer.Typer(
    cls=OneLineErrors,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n\n".join(
        (
            "Exit codes: "
            + "; ".join(f"{code} {meaning}" for code, meaning in errors.EXIT_CODES.items())
            + ". Errors are one line on stderr; UNVEIL_TRACEBACK=1 shows where they come from.",
            "unveil --install-completion makes Tab complete verbs, options and models in your shell.",
        )
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unveil {unveil.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Find the hidden structure in data: directions, groups, mixtures, sequences, grammars.

    New here? unveil demo lists data sets with known answers; unveil report FILE writes a page on a table of yours.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _paragraphs(text: str) -> str:
    """A docstring for a screen of any width: paragraphs stay, line breaks inside them go."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


VERBS = {
    "A table": (report.report, compare.compare),
    "Models": (select.select, fit.fit, predict.predict, transform.transform, sample.sample, show.show, parse.parse),
    "Help": (listing.models, demo.demo, warm_up.warm_up),
}
for _panel, _verbs in VERBS.items():
    for _verb in _verbs:
        app.command(cls=Verb, help=_paragraphs(_verb.__doc__ or ""), rich_help_panel=_panel)(_verb)
