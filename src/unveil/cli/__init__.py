"""The command line: one file per verb. Nothing heavy loads before a verb runs, so that ``unveil --help`` is instant."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the console script ``unveil``."""
    try:
        from unveil.cli.app import app

        app(prog_name="unveil")
    except KeyboardInterrupt:  # as early or as late as no verb is there to answer it
        sys.exit(130)
