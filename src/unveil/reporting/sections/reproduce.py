"""How to get the same again."""

from __future__ import annotations

from unveil.reporting.parts import Block, Listing, Section
from unveil.reporting.reproduce import ReportRequest, command_line, model_lines, python_lines
from unveil.reporting.study.analysis import Analysis


def reproduce(analysis: Analysis, request: ReportRequest) -> Section:
    """Lines of the command line and of Python."""
    command = command_line(analysis, request)
    blocks: list[Block] = [] if command is None else [Listing(command, "Command line")]
    blocks += [Listing(python_lines(analysis, request), "Python")]
    blocks += [Listing(model_lines(analysis), "The chosen model alone")]
    return Section(
        "reproduce", "How to reproduce this", "The same seed gives the same page and the same model.", blocks
    )
