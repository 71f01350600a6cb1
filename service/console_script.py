"""The console script ``storyqa``, of which nothing is loaded yet when Ctrl-C may already be pressed."""

from __future__ import annotations

import sys

from text.errors import Stopped


def main() -> None:
    """Run this process's command line, and end it; Ctrl-C is one line wherever it meets it."""
    try:
        from service.cli import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:  # before ``run`` is there to hear it, or after it
        print("storyqa: stopped", file=sys.stderr)
        sys.exit(Stopped.exit_code)
