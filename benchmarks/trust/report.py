"""What a part of the benchmark says: tables in Markdown, and the requirements that it misses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


class Report(NamedTuple):
    """One part."""

    title: str
    text: str
    missed: tuple[str, ...] = ()

    def __str__(self) -> str:
        verdict = "\n".join(f"MISSED: {line}" for line in self.missed) or "All that is asked for is met."
        return f"### {self.title}\n\n{self.text}\n\n{verdict}\n"


def share(part: int, whole: int) -> str:
    """A count and its percentage.

    >>> share(3, 60), share(0, 0)
    ('3 of 60 (5%)', '0 of 0')
    """
    return f"{part} of {whole} ({100 * part / whole:.0f}%)" if whole else f"{part} of {whole}"


def write(page: Path, reports: Iterable[Report]) -> None:
    """Replace what is between the two markers of a page."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page.name} has no place for tables: it needs the lines {BEGIN} and {END}")
    said = "\n".join(map(str, reports))
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    page.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{said}\n{END}", text, count=1), encoding="utf-8")
