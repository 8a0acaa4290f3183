"""``unveil compare``: what changed between two tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.errors import printable
from unveil.cli.options import (
    Columns,
    Drop,
    Json,
    MemoryLimit,
    Roles,
    Seed,
    Threads,
    argument,
    names_in,
    number,
    pairs_in,
    reads_tables,
    use_memory,
    use_threads,
)

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions

STYLES = {"large": "bold red", "kind": "bold red", "clear": "yellow", "small": "", "none": "dim"}
MOST_ROWS = 20  # rows that no longer fit which are listed
MOST_COLUMNS = 40  # columns without drift beyond which they are counted, not listed


@reads_tables
def compare(
    old: Annotated[str, argument(metavar="OLD", help="The table as it was.")],
    new: Annotated[str, argument(metavar="NEW", help="The table as it is.")],
    columns: Columns = None,
    drop: Drop = None,
    roles: Roles = None,
    max_components: Annotated[int, number(min=1, help="Largest number of groups to look for in OLD.")] = 9,
    seed: Seed = 0,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    as_json: Json = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Say what changed from OLD to NEW: columns that drifted, groups that grew, rows that no longer fit.

    A column has drifted if its values or its holes differ by more than chance (one pair of equal tables in a hundred
    is said to differ) and by enough to speak of: the share of rows that moved is small from 8%, clear from 20%, large
    from 31%. Groups are those of a mixture fitted to OLD. Rows no longer fit if they are less likely than all but 0.1%
    of the rows of OLD.
    """
    from unveil.cli.progress import progress
    from unveil.reporting.comparison.compare import compare as compared

    use_threads(threads)
    use_memory(memory_limit)
    asked: dict[str, Any] = {"columns": names_in(columns), "drop": names_in(drop, "--drop") or ()}
    asked |= {"roles": pairs_in(roles, "--roles") or None, **reading._asdict()}
    with progress(f"{old} and {new}"):
        found = compared(old, new, **asked, max_components=max_components, seed=seed)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in _page(found):
        console.print(part)


def _page(found: Any) -> list[Any]:
    """What changed, for a terminal."""
    from rich.text import Text

    rows = f"{found.rows[0]:,} rows then, {found.rows[1]:,} now"
    parts: list[Any] = [Text(printable(f"{found.titles[0]} and {found.titles[1]}: {rows}"), style="bold")]
    parts += [Text(printable(words)) for words in found.words]
    parts += [Text("\nColumns", style="bold"), _columns(found)]
    if found.groups:
        parts += [Text("\nGroups of the old table", style="bold"), _groups(found)]
    if found.misfits is not None and len(found.misfits.rows):
        parts += [Text("\nRows of the new table that no longer fit", style="bold"), _rows(found)]
    return parts


def _grid(*headings: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="cyan", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading)
    return table


def _columns(found: Any) -> Any:
    table = _grid("column", "drift", "rows that moved", "missing", "what")
    shown = [column for column in found.columns if column.drifted or len(found.columns) <= MOST_COLUMNS]
    for column in shown:
        drift = "another kind" if column.size == "kind" else column.size
        moved = f"{column.effect:.0%}" if column.size in ("small", "clear", "large") else ""
        missing = (
            f"{column.missing_then:.0%}, now {column.missing_now:.0%}"
            if column.missing_then or column.missing_now
            else ""
        )
        table.add_row(printable(column.name), drift, moved, missing, printable(column.words), style=STYLES[column.size])
    if len(shown) < len(found.columns):
        table.add_row(f"and {len(found.columns) - len(shown):,} more", "none", style="dim")
    return table


def _groups(found: Any) -> Any:
    table = _grid("group", "then", "now", "change", "what sets it apart")
    for group, words in zip(found.groups, found.described, strict=True):
        change = f"{100 * group.low:+.1f} to {100 * group.high:+.1f} points"
        style = "yellow" if group.changed else ""
        shares = f"{group.share_then:.1%}", f"{group.share_now:.1%}"
        table.add_row(str(group.group + 1), *shares, change, printable(words), style=style)
    return table


def _rows(found: Any) -> Any:
    table = _grid("row", *(["identifier"] if found.row_names else []), "log-density")
    for place, row in enumerate(found.misfits.rows[:MOST_ROWS].tolist()):
        name = [printable(found.row_names[place])] if found.row_names else []
        table.add_row(f"{row:,}", *name, f"{found.misfits.log_density[place]:.4g}")
    if len(found.misfits.rows) > MOST_ROWS:
        table.add_row(f"and {len(found.misfits.rows) - MOST_ROWS:,} more")
    return table
