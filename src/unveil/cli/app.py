"""The command ``unveil``: its verbs, and the one place where errors become one line and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import unveil
from unveil.cli import errors, fit, predict, report, show, warm_up


class OneLineErrors(TyperGroup):
    """The verbs. Whatever goes wrong in one of them is said on one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a verb and leave the process with its exit code."""
        with errors.on_one_line():
            code = super().main(*args, **{**options, "standalone_mode": False})
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; Ctrl-C ends it with the exit code that shells expect."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            errors.say("interrupted; nothing was written")
            raise typer.Exit(errors.INTERRUPTED) from None


app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unveil {unveil.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Find the hidden structure in data: directions, groups, mixtures.

    Errors are one line on stderr, with exit code 2; UNVEIL_TRACEBACK=1 shows where they come from.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _paragraphs(text: str) -> str:
    """A docstring for a screen of any width: paragraphs stay, line breaks inside them go."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


for _verb in (report.report, fit.fit, predict.predict, show.show, warm_up.warm_up):
    app.command(help=_paragraphs(_verb.__doc__ or ""))(_verb)
