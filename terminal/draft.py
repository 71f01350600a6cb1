"""The words of an answer on a terminal as a language model writes them."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from terminal.output import console, printable
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from rich.console import Console


class Draft:
    """Shows words as they come, dim, on standard output: a draft, after which the checked answer is printed.

    ``bars`` end with the first of them, so that nothing is drawn over it. Use it as a context, so that what
    is printed next begins on a line of its own. Words may come from any thread.
    """

    def __init__(self, bars: ProgressBars) -> None:
        self._bars = bars
        self._console: Console | None = None

    @staticmethod
    def is_wanted() -> bool:
        """Whether somebody watches: standard output is a terminal."""
        return sys.stdout.isatty()

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console is not None:
            self._console.print("\n")

    def __call__(self, words: str) -> None:
        """Some more words."""
        if self._console is None:
            self._bars.stop()
            self._console = console()
        # One line for the terminal to fold: how the model has broken its lines is not part of the answer.
        self._console.print(printable(words), style="dim", end="", markup=False, soft_wrap=True)
