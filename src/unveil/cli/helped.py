"""Help of the verbs on a screen of any width: tables where five columns fit, one option above its words where not."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

WIDE = 80  # columns: on narrower screens the tables of typer cut names of options off
INDENT = 4  # columns before what is said of an option, below its name


def plain(options: list[Any]) -> list[Any]:
    """Options and arguments, without a type of Python behind what needs none: flags, and arguments with a name."""
    for one in options:
        if getattr(one, "is_flag", False):
            one.metavar = ""
        if one.param_type_name == "argument":
            one.display_type_rich = _no_type  # typer 0.29 shows <str> behind DATA; earlier ones do not ask
    return options


def _no_type(ctx: Any) -> None:
    return None


class _Stacked(TyperCommand.context_class.formatter_class):  # type: ignore[misc, name-defined, valid-type]
    """Lists of options with what is said of each on lines of its own."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(width=_columns())

    def write_dl(self, rows: Any, *_: Any, **__: Any) -> None:
        """A definition list whose words start near the left edge, whatever the names."""
        super().write_dl(rows, col_max=0, col_spacing=INDENT)

    def write_heading(self, heading: str) -> None:
        """The name of a list, on as many lines as it takes."""
        self.write_text(f"{heading}:")


def _columns() -> int:
    """Of the screen, as typer's tables see it: also where the output goes through a pipe to a pager."""
    from rich.console import Console

    return Console().width


class _Context(TyperCommand.context_class):  # type: ignore[misc, valid-type]
    formatter_class = _Stacked


class Verb(TyperCommand):
    """A verb."""

    context_class = _Context

    def get_params(self, ctx: Any) -> Any:
        """Options and arguments."""
        return plain(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Typer's tables, or its plain text where they are too wide."""
        if _columns() < WIDE:
            self.rich_markup_mode = None
        super().format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Plain text: arguments and options under the names that their tables have."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            standard = "Arguments" if one.param_type_name == "argument" else "Options"
            if record := one.get_help_record(ctx):
                panels.setdefault(getattr(one, "rich_help_panel", None) or standard, []).append(record)
        for name, records in panels.items():
            with formatter.section(name):
                formatter.write_dl(records)
